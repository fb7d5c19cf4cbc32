package viewtest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sort"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// TestScripts runs testdata: exec runs statements, one a line; query prints rows, sorted; lookup finds a key;
// restart closes and opens; crash opens what was synced.
func TestScripts(t *testing.T) {
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		x, err := newRunner(settings{Workers: 1}, &Totals{})
		if err != nil {
			t.Fatal(err)
		}
		defer func() {
			if err := x.close(); err != nil {
				t.Error(err)
			}
		}()
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			switch d.Cmd {
			case "exec":
				return x.script(d.Input)
			case "explain":
				return x.explain(d.Input)
			case "query":
				rows, err := x.read(d.Input)
				if err != nil {
					return "error: " + err.Error() + "\n"
				}
				return printed(rows)
			case "lookup":
				words := strings.Fields(d.Input)
				_, cols, err := x.e.LookupRow(words[0], words[1:])
				if err != nil {
					return "error: " + err.Error() + "\n"
				}
				if cols == nil {
					return "no row\n"
				}
				return printed([][]cell{cells(cols, 0)})
			case "crash":
				clone := x.fs.CrashClone(vfs.CrashCloneCfg{RNG: rand.New(rand.NewPCG(1, 1))})
				if err := x.e.Close(); err != nil {
					return err.Error()
				}
				x.fs = clone
			case "restart":
				if err := x.e.Close(); err != nil {
					return err.Error()
				}
			default:
				d.Fatalf(t, "unknown command %s", d.Cmd)
			}
			if err := x.open(); err != nil {
				return err.Error()
			}
			return fmt.Sprintf("at commit %d\n", x.e.Commit())
		})
	})
}

func (x *runner) script(input string) string {
	var b strings.Builder
	for _, q := range strings.Split(input, "\n") {
		if err := x.run(q); err != nil {
			fmt.Fprintf(&b, "error: %v\n", err)
		} else {
			b.WriteString("ok\n")
		}
	}
	return b.String()
}

func printed(rows [][]cell) string {
	if len(rows) == 0 {
		return "no rows\n"
	}
	var lines []string
	for _, r := range rows {
		lines = append(lines, strings.TrimSpace(show(r))+"\n")
	}
	sort.Strings(lines)
	return strings.Join(lines, "")
}

func (x *runner) explain(view string) string {
	a, err := x.e.Execute(context.Background(), "EXPLAIN MATERIALIZED VIEW "+view)
	if err != nil {
		return "error: " + err.Error() + "\n"
	}
	var b strings.Builder
	for i := range a.N {
		b.WriteString(a.Cols[0].Str(i) + "\n")
	}
	return b.String()
}
