package plan

import (
	"slices"

	"tidemill/operators/expr"
	"tidemill/state/column"
)

// folder replaces what has no column by its value. The plans come without DuckDB's own rewriting of expressions: it
// takes away what can fail (a cast on one side of a comparison moves to the constant on the other), in some places of a
// plan and not in others, and which rows fail must hang on the SELECT alone. Folding changes no row's outcome: a constant
// that cannot be computed stays, and fails on every row.
type folder struct {
	ev  expr.Evaluator
	err error // of the machinery
}

// fold returns n with its constant expressions computed.
func fold(n *Node, ev expr.Evaluator) (*Node, error) {
	f := folder{ev: ev}
	out := f.node(n)
	return out, f.err
}

func (f *folder) node(n *Node) *Node {
	c := *overInputs(n, f.node)
	c.Exprs, c.Groups = f.all(c.Exprs), f.all(c.Groups)
	c.Aggs = slices.Clone(c.Aggs)
	for i := range c.Aggs {
		a := &c.Aggs[i]
		if a.Args = f.all(a.Args); a.Filter != nil {
			a.Filter = f.expr(a.Filter)
		}
	}
	c.Rows = slices.Clone(c.Rows)
	for i := range c.Rows {
		c.Rows[i] = f.all(c.Rows[i])
	}
	if c.Op == Project {
		c.Schema = slices.Clone(c.Schema)
		for i, e := range c.Exprs {
			c.Schema[i].NotNull = c.Schema[i].NotNull || neverNull(e, c.Inputs[0])
		}
	}
	return &c
}

func (f *folder) all(list []*expr.Expr) []*expr.Expr {
	out := slices.Clone(list)
	for i := range out {
		out[i] = f.expr(out[i])
	}
	return out
}

func (f *folder) expr(e *expr.Expr) *expr.Expr {
	if e.Kind == expr.Column || e.Kind == expr.Constant {
		return e
	}
	if !hasColumn(e) {
		if c := f.value(e); c != nil {
			return c
		}
	}
	args := f.all(e.Args)
	if e.Kind == expr.And || e.Kind == expr.Or {
		return conjunction(e, args)
	}
	if e.Kind == expr.Case {
		return cases(e, args)
	}
	if slices.Equal(args, e.Args) {
		return e
	}
	c := *e
	c.Args = args
	return &c
}

// value computes e, which has no column; nil when that fails.
func (f *folder) value(e *expr.Expr) *expr.Expr {
	if !e.Type.Valid() || f.err != nil {
		return nil
	}
	v, errs, err := expr.Compile(e, f.ev).Eval(nil, 1)
	if err != nil {
		f.err = err
	}
	if err != nil || errs != nil {
		return nil
	}
	c := &expr.Expr{Kind: expr.Constant, Type: e.Type, Const: &expr.Value{Null: v.IsNull(0)}}
	if !c.Const.Null {
		c.Const.Raw = slices.Clone(v.Raw(0))
	}
	return c
}

// conjunction leaves out the constants of an AND or OR that decide nothing; one that decides is the value, whatever the
// others do.
func conjunction(e *expr.Expr, args []*expr.Expr) *expr.Expr {
	deciding, neutral := isFalse, isTrue
	if e.Kind == expr.Or {
		deciding, neutral = isTrue, isFalse
	}
	var kept []*expr.Expr
	for _, a := range args {
		switch {
		case deciding(a):
			return a
		case !neutral(a):
			kept = append(kept, a)
		}
	}
	switch len(kept) {
	case 0:
		return args[0]
	case 1:
		return kept[0]
	}
	c := *e
	c.Args = kept
	return &c
}

// cases leaves out the branches of a CASE that are never taken.
func cases(e *expr.Expr, args []*expr.Expr) *expr.Expr {
	n := len(args) &^ 1
	var kept []*expr.Expr
	last := args[n:] // the ELSE
	for i := 0; i < n; i += 2 {
		if isTrue(args[i]) {
			last = args[i+1 : i+2]
			break
		}
		if !isNotTrue(args[i]) {
			kept = append(kept, args[i], args[i+1])
		}
	}
	if kept = append(kept, last...); len(kept) == 1 {
		return kept[0]
	}
	if len(kept) == 0 {
		return &expr.Expr{Kind: expr.Constant, Type: e.Type, Const: &expr.Value{Null: true}}
	}
	c := *e
	c.Args = kept
	return &c
}

func hasColumn(e *expr.Expr) bool {
	return e.Kind == expr.Column || slices.ContainsFunc(e.Args, hasColumn)
}

func isFalse(e *expr.Expr) bool {
	return e.Kind == expr.Constant && e.Type.Kind == column.Bool && !e.Const.Null && !isTrue(e)
}
