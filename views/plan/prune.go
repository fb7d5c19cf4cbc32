package plan

import (
	"tidemill/operators/expr"
	"tidemill/state/column"
)

// prune leaves out the columns and aggregates that nothing above uses. What a view keeps in its
// state follows from it: a scan outputs only the columns that are read, an aggregate keeps only the
// values that are shown. Groups stay, because they decide the rows.
func prune(n *Node) *Node {
	all := make([]int, len(n.Schema))
	for i := range all {
		all[i] = 1
	}
	out, to := pruned(n, all)
	return narrowed(out, to, n.Schema)
}

// pruned returns n with at least the columns that are used, and where each of them is now; -1 for
// those that are gone.
func pruned(n *Node, used []int) (*Node, []int) {
	switch n.Op {
	case Scan:
		return pruneScan(n, used)
	case Filter:
		used = append([]int(nil), used...)
		countAll(n.Exprs, used)
		in, to := pruned(n.Inputs[0], used)
		out := withInputs(n, []*Node{in})
		out.Exprs = rewriteAll(n.Exprs, renumber(to))
		return out, to
	case Project:
		return pruneProject(n, used)
	case Aggregate:
		return pruneAggregate(n, used)
	case Distinct:
		out := overInputs(n, prune)
		return out, places(out.Schema)
	case Union:
		return pruneUnion(n, used)
	case Values:
		return pruneValues(n, used)
	default:
		panic("plan: prune of " + string(n.Op))
	}
}

func places(schema []column.Field) []int {
	to := make([]int, len(schema))
	for i := range to {
		to[i] = i
	}
	return to
}

// keep returns the used columns' new places, and their schema.
func keep(schema []column.Field, used []int) (to []int, kept []column.Field) {
	to = make([]int, len(schema))
	for i := range schema {
		to[i] = -1
		if used[i] > 0 {
			to[i] = len(kept)
			kept = append(kept, schema[i])
		}
	}
	return to, kept
}

func pruneScan(n *Node, used []int) (*Node, []int) {
	out := *n
	var to []int
	to, out.Schema = keep(n.Schema, used)
	out.Columns = nil
	for i, c := range n.Columns {
		if used[i] > 0 {
			out.Columns = append(out.Columns, c)
		}
	}
	return &out, to
}

func pruneProject(n *Node, used []int) (*Node, []int) {
	out := *n
	var to []int
	to, out.Schema = keep(n.Schema, used)
	var exprs []*expr.Expr
	below := make([]int, len(n.Inputs[0].Schema))
	for i, e := range n.Exprs {
		if used[i] > 0 {
			exprs = append(exprs, e)
			count(e, below)
		}
	}
	in, inTo := pruned(n.Inputs[0], below)
	out.Inputs = []*Node{in}
	out.Exprs = rewriteAll(exprs, renumber(inTo))
	return &out, to
}

func pruneAggregate(n *Node, used []int) (*Node, []int) {
	used = append([]int(nil), used...)
	for i := range n.Keys() {
		used[i]++
	}
	out := *n
	out.Aggs = nil
	for i, a := range n.Aggs {
		if used[n.Keys()+i] > 0 {
			out.Aggs = append(out.Aggs, a)
		}
	}
	if n.Keys() == 0 && len(out.Aggs) == 0 && len(n.Aggs) > 0 { // its one row is still needed
		out.Aggs = n.Aggs[:1]
		used[0]++
	}
	var to []int
	to, out.Schema = keep(n.Schema, used)
	below := make([]int, len(n.Inputs[0].Schema))
	countAll(expressions(&out), below)
	in, inTo := pruned(n.Inputs[0], below)
	out.Inputs = []*Node{in}
	out.Groups = rewriteAll(n.Groups, renumber(inTo))
	aggs := make([]Agg, len(out.Aggs))
	for i, a := range out.Aggs {
		aggs[i] = a.rewrite(renumber(inTo))
	}
	out.Aggs = aggs
	return &out, to
}

func pruneUnion(n *Node, used []int) (*Node, []int) {
	out := *n
	to, kept := keep(n.Schema, used)
	out.Schema = kept
	out.Inputs = nil
	for _, in := range n.Inputs {
		p, inTo := pruned(in, used)
		var want []int
		for i := range used {
			if used[i] > 0 {
				want = append(want, inTo[i])
			}
		}
		out.Inputs = append(out.Inputs, narrowed(p, want, nil))
	}
	return &out, to
}

func pruneValues(n *Node, used []int) (*Node, []int) {
	out := *n
	var to []int
	to, out.Schema = keep(n.Schema, used)
	out.Rows = nil
	for _, row := range n.Rows {
		kept := []*expr.Expr{}
		for i, e := range row {
			if used[i] > 0 {
				kept = append(kept, e)
			}
		}
		out.Rows = append(out.Rows, kept)
	}
	return &out, to
}

// narrowed returns a node that outputs exactly columns want of n, under the names of schema when it
// is not nil.
func narrowed(n *Node, want []int, schema []column.Field) *Node {
	p := &Node{Op: Project, Inputs: []*Node{n}}
	for _, c := range want {
		p.Exprs = append(p.Exprs, columnOf(n, c))
		p.Schema = append(p.Schema, n.Schema[c])
	}
	if unchanged(p) {
		return named(n, schema)
	}
	return named(p, schema)
}
