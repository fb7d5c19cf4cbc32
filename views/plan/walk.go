package plan

import (
	"slices"

	"tidemill/operators/expr"
	"tidemill/state/column"
)

// rewrite returns e with f applied to its columns. Subtrees without a column are shared.
func rewrite(e *expr.Expr, f func(col *expr.Expr) *expr.Expr) *expr.Expr {
	if e == nil {
		return nil
	}
	if e.Kind == expr.Column {
		return f(e)
	}
	var args []*expr.Expr
	for i, a := range e.Args {
		b := rewrite(a, f)
		if b != a && args == nil {
			args = append([]*expr.Expr(nil), e.Args...)
		}
		if args != nil {
			args[i] = b
		}
	}
	if args == nil {
		return e
	}
	c := *e
	c.Args = args
	return &c
}

func rewriteAll(list []*expr.Expr, f func(*expr.Expr) *expr.Expr) []*expr.Expr {
	if list == nil {
		return nil
	}
	out := make([]*expr.Expr, len(list))
	for i, e := range list {
		out[i] = rewrite(e, f)
	}
	return out
}

// substitute replaces column i by exprs[i].
func substitute(exprs []*expr.Expr) func(*expr.Expr) *expr.Expr {
	return func(c *expr.Expr) *expr.Expr { return exprs[c.Col] }
}

// renumber replaces column i by column to[i].
func renumber(to []int) func(*expr.Expr) *expr.Expr {
	return func(c *expr.Expr) *expr.Expr {
		if to[c.Col] == c.Col {
			return c
		}
		n := *c
		n.Col = to[c.Col]
		return &n
	}
}

// count adds the uses of each column in e to uses.
func count(e *expr.Expr, uses []int) {
	if e == nil {
		return
	}
	if e.Kind == expr.Column {
		uses[e.Col]++
	}
	for _, a := range e.Args {
		count(a, uses)
	}
}

func countAll(list []*expr.Expr, uses []int) {
	for _, e := range list {
		count(e, uses)
	}
}

// expressions returns every expression of n over its inputs.
func expressions(n *Node) []*expr.Expr {
	out := append(append([]*expr.Expr(nil), n.Exprs...), n.Groups...)
	for _, a := range n.Aggs {
		out = append(out, a.inputs()...)
		if a.Filter != nil {
			out = append(out, a.Filter)
		}
	}
	return out
}

func anyFallible(list []*expr.Expr) bool {
	for _, e := range list {
		if expr.Fallible(e) {
			return true
		}
	}
	return false
}

// Fallible reports whether an expression of the node itself can fail.
func (n *Node) Fallible() bool {
	return anyFallible(expressions(n)) || slices.ContainsFunc(n.Rows, anyFallible)
}

// withInputs returns n over other inputs, which output the same columns.
func withInputs(n *Node, inputs []*Node) *Node {
	c := *n
	c.Inputs = inputs
	if n.Op == Filter {
		c.Schema = inputs[0].Schema
	}
	return &c
}

// overInputs applies f to the inputs of n.
func overInputs(n *Node, f func(*Node) *Node) *Node {
	if len(n.Inputs) == 0 {
		return n
	}
	inputs := make([]*Node, len(n.Inputs))
	for i, in := range n.Inputs {
		inputs[i] = f(in)
	}
	return withInputs(n, inputs)
}

// named returns n with the names of schema. A scan has its relation's names and a filter those of its
// input, so these get a project.
func named(n *Node, schema []column.Field) *Node {
	same := true
	for i := range schema {
		same = same && schema[i].Name == n.Schema[i].Name
	}
	if same {
		return n
	}
	if n.Op == Scan || n.Op == Filter {
		p := &Node{Op: Project, Inputs: []*Node{n}, Schema: append([]column.Field(nil), n.Schema...)}
		for i := range schema {
			p.Schema[i].Name = schema[i].Name
		}
		for i := range n.Schema {
			p.Exprs = append(p.Exprs, columnOf(n, i))
		}
		return p
	}
	c := *n
	c.Schema = append([]column.Field(nil), n.Schema...)
	for i := range schema {
		c.Schema[i].Name = schema[i].Name
	}
	return &c
}

// isTrue and isNotTrue tell of constants whether a filter by them keeps every row, or none.
func isTrue(e *expr.Expr) bool {
	return e.Kind == expr.Constant && !e.Const.Null && len(e.Const.Raw) == 1 && e.Const.Raw[0] == 1
}

func isNotTrue(e *expr.Expr) bool {
	return e.Kind == expr.Constant && e.Type.Kind == column.Bool && !isTrue(e)
}

// Relations returns the names of the relations that n scans, each once, in the order of its scans.
func Relations(n *Node) []string {
	var out []string
	seen := map[string]bool{}
	var visit func(*Node)
	visit = func(n *Node) {
		if n.Op == Scan && !seen[n.Relation] {
			seen[n.Relation] = true
			out = append(out, n.Relation)
		}
		for _, in := range n.Inputs {
			visit(in)
		}
	}
	visit(n)
	return out
}

// Rename gives the relations that n scans other names, in place.
func Rename(n *Node, name func(string) string) {
	eachScan(n, func(scan *Node) { scan.Relation = name(scan.Relation) })
}

func eachScan(n *Node, fn func(scan *Node)) {
	if n == nil {
		return
	}
	if n.Op == Scan {
		fn(n)
	}
	for _, in := range n.Inputs {
		eachScan(in, fn)
	}
}

// Uses returns which of a relation's columns n reads.
func Uses(n *Node, relation string) map[int]bool {
	out := map[int]bool{}
	eachScan(n, func(scan *Node) {
		if scan.Relation == relation {
			for _, c := range scan.Columns {
				out[c] = true
			}
		}
	})
	return out
}

// DropColumn tells n, in place, that a relation has lost a column that n does not read: those behind it move up.
func DropColumn(n *Node, relation string, at int) {
	eachScan(n, func(scan *Node) {
		for i, c := range scan.Columns {
			if scan.Relation == relation && c > at {
				scan.Columns[i]--
			}
		}
	})
}
