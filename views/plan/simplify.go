package plan

import (
	"tidemill/operators/expr"
	"tidemill/state/column"
)

// simplify merges adjacent projects, puts those of columns only into the scan below, drops those
// that change nothing, and evaluates nothing twice that was evaluated once before.
func simplify(n *Node) *Node {
	n = overInputs(n, simplify)
	switch n.Op {
	case Project:
		return simplifyProject(n)
	case Union:
		return simplifyUnion(n)
	default:
		return n
	}
}

func simplifyProject(n *Node) *Node {
	in := n.Inputs[0]
	switch {
	case unchanged(n):
		return named(in, n.Schema)
	case in.Op == Project && mergeable(n, in):
		m := *n
		m.Inputs = in.Inputs
		m.Exprs = rewriteAll(n.Exprs, substitute(in.Exprs))
		return simplifyProject(&m)
	case in.Op == Scan && columnsOnce(n):
		s := *in
		s.Columns, s.Schema = nil, nil
		for _, e := range n.Exprs {
			s.Columns = append(s.Columns, in.Columns[e.Col])
			s.Schema = append(s.Schema, in.Schema[e.Col])
		}
		return named(&s, n.Schema)
	case in.Op == Values && (onlyColumns(n) || len(in.Rows) <= 1 && !anyFallible(n.Exprs)):
		v := &Node{Op: Values, Schema: n.Schema}
		for _, row := range in.Rows {
			v.Rows = append(v.Rows, rewriteAll(n.Exprs, substitute(row)))
		}
		return v
	default:
		return n
	}
}

// unchanged reports whether a project outputs its input as it is.
func unchanged(n *Node) bool {
	if len(n.Exprs) != len(n.Inputs[0].Schema) {
		return false
	}
	for i, e := range n.Exprs {
		if e.Kind != expr.Column || e.Col != i {
			return false
		}
	}
	return true
}

func onlyColumns(n *Node) bool {
	for _, e := range n.Exprs {
		if e.Kind != expr.Column {
			return false
		}
	}
	return true
}

// columnsOnce reports whether a project only picks columns, none twice.
func columnsOnce(n *Node) bool {
	uses := make([]int, len(n.Inputs[0].Schema))
	countAll(n.Exprs, uses)
	for _, u := range uses {
		if u > 1 {
			return false
		}
	}
	return onlyColumns(n)
}

// mergeable reports whether the project outer can be evaluated over the input of inner. Nothing
// that costs is evaluated twice, and what can fail is only handed through: inside a CASE or a TRY
// it would fail on fewer rows than it does now.
func mergeable(outer, inner *Node) bool {
	uses := make([]int, len(inner.Exprs))
	countAll(outer.Exprs, uses)
	bare := make([]int, len(inner.Exprs))
	for _, e := range outer.Exprs {
		if e.Kind == expr.Column {
			bare[e.Col]++
		}
	}
	for i, e := range inner.Exprs {
		switch {
		case e.Kind == expr.Column || e.Kind == expr.Constant || uses[i] == 0:
		case uses[i] > 1, expr.Fallible(e) && bare[i] == 0:
			return false
		}
	}
	return true
}

// simplifyUnion takes unions in unions apart and drops inputs without rows.
func simplifyUnion(n *Node) *Node {
	u := *n
	u.Inputs = nil
	for _, in := range n.Inputs {
		switch {
		case in.Op == Union:
			u.Inputs = append(u.Inputs, in.Inputs...)
		case in.Op == Values && len(in.Rows) == 0:
		default:
			u.Inputs = append(u.Inputs, in)
		}
	}
	switch len(u.Inputs) {
	case 0:
		return &Node{Op: Values, Schema: n.Schema}
	case 1:
		return named(u.Inputs[0], n.Schema)
	}
	names := unionSchema(u.Inputs)
	u.Schema = append([]column.Field(nil), n.Schema...)
	for i := range u.Schema {
		u.Schema[i].NotNull = names[i].NotNull
	}
	return &u
}
