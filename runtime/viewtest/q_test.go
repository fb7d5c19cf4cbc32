package viewtest

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

func TestQ(t *testing.T) {
	b, err := os.ReadFile(os.Getenv("Q"))
	if err != nil {
		t.Skip()
	}
	o, _ := openOracle()
	for _, q := range strings.Split(string(b), ";\n") {
		if strings.TrimSpace(q) == "" {
			continue
		}
		rows, err := o.query(q)
		fmt.Println(q, err)
		for _, r := range rows {
			fmt.Println("   ", show(r))
		}
	}
}
