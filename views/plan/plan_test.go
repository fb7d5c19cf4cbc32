package plan

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"tidemill/operators/expr"
	"tidemill/state/column"
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
		n, err := Build(b, b.ev, d.Input, b.lookup)
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
	if err := check(n); err != nil {
		b.t.Fatal(err)
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

// check returns an error when a tree is not well formed: every column that an expression names is
// there with its type, and every node outputs what its schema says.
func check(n *Node) error {
	for _, in := range n.Inputs {
		if in == nil {
			return fmt.Errorf("%s without its input", n.Op)
		}
		if err := check(in); err != nil {
			return err
		}
	}
	inputs := map[Op]int{Scan: 0, Values: 0, Filter: 1, Project: 1, Aggregate: 1, Distinct: 1}
	if want, ok := inputs[n.Op]; ok && want != len(n.Inputs) {
		return fmt.Errorf("%s with %d inputs", n.Op, len(n.Inputs))
	}
	var in []column.Field
	if len(n.Inputs) > 0 {
		in = n.Inputs[0].Schema
	}
	var out []column.Type
	typesOf := func(list []*expr.Expr) {
		for _, e := range list {
			out = append(out, e.Type)
		}
	}
	switch n.Op {
	case Scan:
		if len(n.Columns) != len(n.Schema) {
			return fmt.Errorf("scan of %d columns outputs %d", len(n.Columns), len(n.Schema))
		}
		return nil
	case Project:
		typesOf(n.Exprs)
	case Aggregate:
		if n.Sets != nil {
			out = append(out, column.T(column.Int32))
		}
		typesOf(n.Groups)
		for _, a := range n.Aggs {
			out = append(out, a.Type)
		}
	case Values:
		for _, r := range n.Rows {
			if len(r) != len(n.Schema) {
				return fmt.Errorf("values of %d columns, not %d", len(r), len(n.Schema))
			}
			for _, e := range r {
				if err := checkExpr(e, nil); err != nil {
					return err
				}
			}
		}
		return nil
	default:
		for _, f := range in {
			out = append(out, f.Type)
		}
	}
	if len(out) != len(n.Schema) {
		return fmt.Errorf("%s of %d columns outputs %d", n.Op, len(out), len(n.Schema))
	}
	for i, f := range n.Schema {
		if f.Type != out[i] {
			return fmt.Errorf("%s outputs column %d as %s, computes %s", n.Op, i, f.Type, out[i])
		}
	}
	for _, e := range expressions(n) {
		if err := checkExpr(e, in); err != nil {
			return fmt.Errorf("%s: %w", n.Op, err)
		}
	}
	return nil
}

func checkExpr(e *expr.Expr, in []column.Field) error {
	if e == nil {
		return errors.New("an expression is nil")
	}
	if e.Kind == expr.Column && (e.Col < 0 || e.Col >= len(in) || in[e.Col].Type != e.Type) {
		return fmt.Errorf("column %d of type %s among %d", e.Col, e.Type, len(in))
	}
	for _, a := range e.Args {
		if err := checkExpr(a, in); err != nil {
			return err
		}
	}
	return nil
}
