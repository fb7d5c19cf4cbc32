package shell

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

func TestHistory(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state", "history")
	h, err := OpenHistory(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{"SELECT 1;", "SELECT 1;", "SELECT\n  2;\n", " secret", "", `\d`} {
		if _, err := h.Write(line); err != nil {
			t.Fatal(err)
		}
	}
	again, err := OpenHistory(path)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"SELECT 1;", "SELECT\n  2;", `\d`}
	for i, w := range want {
		if got, err := again.GetLine(i); got != w || err != nil || again.Len() != len(want) {
			t.Errorf("line %d of %d is %q, error %v", i, again.Len(), got, err)
		}
	}
	if _, err := again.GetLine(len(want)); err == nil {
		t.Error("there is a line after the last")
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the file is %v, error %v: others may not read it", info.Mode(), err)
	}
}

// TestHistoryShortened: a long history is cut at its old end when it is opened.
func TestHistoryShortened(t *testing.T) {
	path := filepath.Join(t.TempDir(), "history")
	var b []byte
	for i := range 2*keepLines + 1 {
		b = append(appendLine(b, fmt.Sprintf("SELECT %d;", i)), '\n')
	}
	if err := os.WriteFile(path, append(b, "not json\n"...), 0o600); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		h, err := OpenHistory(path)
		if err != nil {
			t.Fatal(err)
		}
		if last, _ := h.GetLine(h.Len() - 1); h.Len() != keepLines || last != fmt.Sprintf("SELECT %d;", 2*keepLines) {
			t.Errorf("%d lines, the last %q", h.Len(), last)
		}
	}
}
