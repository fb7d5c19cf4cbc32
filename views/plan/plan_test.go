package plan

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
)

// TestPlans runs the scripts in testdata, whose commands are
//
//	define name=t      the columns of a relation
//	plan               the tree of a SELECT, after the rules
//	decode             the tree before them; raw: of the plan that is not optimised
//	types              the tree, and the types of the output
//	sql                the tree printed back to SQL
//
// Every tree must survive being encoded as JSON.
func TestPlans(t *testing.T) {
	b := newBinder(t, disabledOptimizers)
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			return b.command(d)
		})
	})
}

func (b *testBinder) command(d *datadriven.TestData) string {
	switch d.Cmd {
	case "define":
		var name string
		d.ScanArgs(b.t, "name", &name)
		b.define(name, d.Input)
		return ""
	case "decode":
		text, err := b.Plan(d.Input, !d.HasArg("raw"))
		if err != nil {
			return err.Error()
		}
		n, err := Decode(text, b.lookup)
		return b.answer(n, err)
	case "plan", "types", "sql":
		n, err := Build(b, d.Input, b.lookup)
		out := b.answer(n, err)
		if err == nil && d.Cmd == "types" {
			for _, f := range n.Schema {
				out += fmt.Sprintf("%s %s %v\n", f.Name, f.Type, map[bool]string{true: "NOT NULL", false: ""}[f.NotNull])
			}
		}
		if err == nil && d.Cmd == "sql" {
			out = SQL(n, displayName) + "\n"
		}
		return out
	default:
		b.t.Fatalf("unknown command %s", d.Cmd)
		return ""
	}
}

func (b *testBinder) answer(n *Node, err error) string {
	var e *Error
	switch {
	case errors.As(err, &e):
		s := "error: " + e.Error() + "\n"
		if e.Hint != "" {
			s += "hint: " + strings.ReplaceAll(e.Hint, "\n\n", "\n") + "\n"
		}
		if e.Construct != "" {
			s += fmt.Sprintf("construct: %s at %d\n", e.Construct, e.Position)
		}
		return s
	case err != nil:
		return "other error: " + err.Error() + "\n"
	}
	text, err := json.Marshal(n)
	if err != nil {
		b.t.Fatal(err)
	}
	var back Node
	if err := json.Unmarshal(text, &back); err != nil {
		b.t.Fatal(err)
	}
	if again, _ := json.Marshal(&back); !reflect.DeepEqual(text, again) {
		b.t.Fatalf("JSON of the tree changed:\n%s\n%s", text, again)
	}
	return Explain(n, nil)
}
