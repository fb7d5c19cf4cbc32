package plan

import (
	"reflect"

	"tidemill/operators/expr"
	"tidemill/state/column"
)

// pushFilters moves conjuncts towards the scans, merges filters and puts the conjuncts that can fail
// last, in the order in which they stand.
//
// A conjunct that can fail never moves: below a DISTINCT, an aggregate or another filter it would
// see rows that the SELECT drops before. One that cannot fail may move below an expression that can;
// that expression then sees fewer rows, as in one WHERE, where a row that another conjunct drops
// never errs.
func pushFilters(n *Node) *Node { return push(n, nil) }

// push returns n filtered by conds, which are over n's output and cannot fail.
func push(n *Node, conds []*expr.Expr) *Node {
	switch n.Op {
	case Filter:
		var fallible []*expr.Expr
		conds = append([]*expr.Expr(nil), conds...)
		for _, e := range n.Exprs {
			if expr.Fallible(e) {
				fallible = append(fallible, e)
			} else {
				conds = append(conds, e)
			}
		}
		return filtered(push(n.Inputs[0], conds), fallible)
	case Project:
		f := substitute(n.Exprs)
		down, stay := split(conds, f)
		return filtered(overInputs(n, func(in *Node) *Node { return push(in, down) }), stay)
	case Union:
		return overInputs(n, func(in *Node) *Node { return push(in, conds) })
	case Distinct:
		down, stay := splitStable(conds, n.Schema, len(n.Schema), nil)
		return filtered(overInputs(n, func(in *Node) *Node { return push(in, down) }), stay)
	case Aggregate:
		var down []*expr.Expr
		stay := conds
		if len(n.Groups) > 0 && n.Sets == nil { // without groups there is a row even for no input
			down, stay = splitStable(conds, n.Schema, len(n.Groups), substitute(n.Groups))
		}
		return filtered(overInputs(n, func(in *Node) *Node { return push(in, down) }), stay)
	default:
		return filtered(n, conds)
	}
}

// split rewrites the conditions with f and returns those that still cannot fail, and of the others
// what they were.
func split(conds []*expr.Expr, f func(*expr.Expr) *expr.Expr) (down, stay []*expr.Expr) {
	for _, c := range conds {
		if e := rewrite(c, f); expr.Fallible(e) {
			stay = append(stay, c)
		} else {
			down = append(down, e)
		}
	}
	return down, stay
}

// splitStable returns the conditions that may be asked of a group's rows instead of the group: those
// over only its first keys columns, of types in which equal values cannot be told apart. (0.0 and
// -0.0 are one group, as are 1 month and 30 days, and a function of them may differ.)
func splitStable(conds []*expr.Expr, schema []column.Field, keys int, f func(*expr.Expr) *expr.Expr) (down, stay []*expr.Expr) {
	for _, c := range conds {
		uses := make([]int, len(schema))
		count(c, uses)
		stable := true
		for i, u := range uses {
			if u > 0 && (i >= keys || schema[i].Type.HidesBits()) {
				stable = false
			}
		}
		e := c
		if stable && f != nil {
			e = rewrite(c, f)
		}
		if stable && !expr.Fallible(e) {
			down = append(down, e)
		} else {
			stay = append(stay, c)
		}
	}
	return down, stay
}

// filtered returns n filtered by conds, as one Filter with the conjuncts of n when n is one.
func filtered(n *Node, conds []*expr.Expr) *Node {
	var keep []*expr.Expr
	for _, c := range conds {
		if isNotTrue(c) {
			return &Node{Op: Values, Schema: n.Schema}
		}
		if !isTrue(c) && !contains(keep, c) {
			keep = append(keep, c)
		}
	}
	if len(keep) == 0 {
		return n
	}
	in := n
	if n.Op == Filter {
		more := keep
		keep = append([]*expr.Expr(nil), n.Exprs...)
		for _, c := range more {
			if !contains(keep, c) {
				keep = append(keep, c)
			}
		}
		in = n.Inputs[0]
	}
	out := &Node{Op: Filter, Inputs: []*Node{in}, Schema: in.Schema}
	var last []*expr.Expr
	for _, c := range keep {
		if expr.Fallible(c) {
			last = append(last, c)
		} else {
			out.Exprs = append(out.Exprs, c)
		}
	}
	out.Exprs = append(out.Exprs, last...)
	return out
}

func contains(list []*expr.Expr, e *expr.Expr) bool {
	for _, x := range list {
		if reflect.DeepEqual(x, e) {
			return true
		}
	}
	return false
}
