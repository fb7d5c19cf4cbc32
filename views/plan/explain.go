package plan

import (
	"fmt"
	"strings"

	"tidemill/operators/expr"
	"tidemill/state/column"
)

// Explain returns the plan as an indented tree, an operator a line, its inputs below it. The text
// that annotate returns for a node, about its state or strategy, ends the node's line; annotate may
// be nil.
func Explain(n *Node, annotate func(*Node) string) string {
	var b strings.Builder
	explain(&b, n, 0, annotate)
	return b.String()
}

func explain(b *strings.Builder, n *Node, depth int, annotate func(*Node) string) {
	b.WriteString(strings.Repeat("  ", depth))
	b.WriteString(describe(n))
	if annotate != nil {
		if s := annotate(n); s != "" {
			b.WriteString("  -- " + s)
		}
	}
	b.WriteByte('\n')
	for _, in := range n.Inputs {
		explain(b, in, depth+1, annotate)
	}
}

func describe(n *Node) string {
	var in []column.Field
	if len(n.Inputs) > 0 {
		in = n.Inputs[0].Schema
	}
	switch n.Op {
	case Scan:
		return "scan " + displayName(n.Relation) + " [" + strings.Join(names(n.Schema), ", ") + "]"
	case Filter:
		return "filter " + strings.Join(readableAll(n.Exprs, in), " AND ")
	case Project:
		return "project [" + strings.Join(assign(n.Schema, readableAll(n.Exprs, in)), ", ") + "]"
	case Aggregate:
		s := "aggregate"
		if len(n.Groups) > 0 {
			s += " by [" + strings.Join(assign(n.Schema[n.Keys()-len(n.Groups):], readableAll(n.Groups, in)), ", ") + "]"
		}
		if n.Sets != nil {
			s += " sets " + strings.ReplaceAll(fmt.Sprint(n.Sets), " ", ", ")
		}
		aggs := make([]string, len(n.Aggs))
		for i, a := range n.Aggs {
			aggs[i] = a.describe(in)
		}
		return s + " [" + strings.Join(assign(n.Schema[n.Keys():], aggs), ", ") + "]"
	case Values:
		return fmt.Sprintf("values %d rows%s", len(n.Rows), describeRows(n))
	default:
		return string(n.Op)
	}
}

func describeRows(n *Node) string {
	var b strings.Builder
	for i, r := range n.Rows {
		if i == 8 {
			b.WriteString(" ...")
			break
		}
		b.WriteString(" (" + strings.Join(readableAll(r, nil), ", ") + ")")
	}
	return b.String()
}

func (a *Agg) describe(in []column.Field) string {
	s := a.Func + "("
	if a.Distinct {
		s += "DISTINCT "
	}
	args := readableAll(a.Args, in)
	order := a.Order
	if strings.HasPrefix(a.Func, "arg_") && len(order) > 0 {
		args, order = append(args, readable(order[0].Expr, in)), order[1:]
		if a.Order[0].Desc {
			s = strings.Replace(s, "arg_min", "arg_max", 1)
		}
	}
	s += strings.Join(append(args, a.constants()...), ", ")
	for i, o := range order {
		s += map[bool]string{true: " ORDER BY ", false: ", "}[i == 0] + readable(o.Expr, in) + o.direction()
	}
	s += ")"
	if a.Filter != nil {
		s += " FILTER " + readable(a.Filter, in)
	}
	return s
}

func names(schema []column.Field) []string {
	out := make([]string, len(schema))
	for i, f := range schema {
		out[i] = displayName(f.Name)
	}
	return out
}

// assign writes "name := expression", or only the expression where that is the name.
func assign(schema []column.Field, exprs []string) []string {
	out := make([]string, len(exprs))
	for i, e := range exprs {
		if out[i] = displayName(schema[i].Name) + " := " + e; e == displayName(schema[i].Name) {
			out[i] = e
		}
	}
	return out
}

func readableAll(list []*expr.Expr, in []column.Field) []string {
	out := make([]string, len(list))
	for i, e := range list {
		out[i] = readable(e, in)
	}
	return out
}

// readable prints an expression for people: constants without their types. It hands the exact
// printer the constants as if they were columns.
func readable(e *expr.Expr, in []column.Field) string {
	var constants []string
	var hide func(*expr.Expr) *expr.Expr
	hide = func(e *expr.Expr) *expr.Expr {
		if e.Kind == expr.Constant {
			constants = append(constants, shortConstant(e))
			return &expr.Expr{Kind: expr.Column, Type: e.Type, Col: len(in) + len(constants) - 1}
		}
		c := *e
		c.Args = nil
		for _, a := range e.Args {
			c.Args = append(c.Args, hide(a))
		}
		return &c
	}
	return hide(e).Display(func(i int) string {
		if i >= len(in) {
			return constants[i-len(in)]
		}
		return displayName(in[i].Name)
	})
}

// shortConstant turns CAST('x' AS TYPE) into the form that SQL is usually written in.
func shortConstant(e *expr.Expr) string {
	if e.Const.Null {
		return "NULL"
	}
	s := e.Display(nil)
	text, _ := strings.CutPrefix(s, "CAST('")
	text, ok := strings.CutSuffix(text, "' AS "+e.Type.String()+")")
	if !ok {
		return s
	}
	switch k := e.Type.Kind; {
	case k == column.Bool, e.Type.Integer(), k == column.Decimal:
		return text
	case e.Type.Floating() && strings.ContainsAny(text, ".e"):
		return text
	case k == column.Varchar:
		return "'" + text + "'"
	default:
		return e.Type.String() + " '" + text + "'"
	}
}

// displayName quotes a name only where it is not a plain word.
func displayName(s string) string {
	for i := 0; i < len(s); i++ {
		c := s[i]
		if !(c == '_' || c|0x20 >= 'a' && c|0x20 <= 'z' || i > 0 && c >= '0' && c <= '9') {
			return quoteName(s)
		}
	}
	if s == "" {
		return `""`
	}
	return s
}
