package expr

import (
	"errors"
	"slices"

	"tidemill/state/column"
)

// remote is a subtree that the Evaluator computes in one call: an expression over a dense list of
// columns, each an input column or the value of a node computed here first.
type remote struct {
	e      *Expr
	inputs []remoteInput
	index  map[*node]int
}

type remoteInput struct {
	col int
	nd  *node // nil for input column col
}

var errNoEvaluator = errors.New("an expression is left to DuckDB and there is no evaluator")

// movable reports whether DuckDB evaluates e as we do, errors included. Its AND and OR fail when
// any argument does; ours look for a deciding one first.
func movable(e *Expr) bool {
	if (e.Kind == And || e.Kind == Or) && slices.ContainsFunc(e.Args, Fallible) {
		return false
	}
	for _, a := range e.Args {
		if !movable(a) {
			return false
		}
	}
	return true
}

// makeRemote leaves nd to DuckDB with everything below it, except what may fail and has kernels,
// which is cheaper to evaluate here, and what is not movable.
func (c *compiler) makeRemote(nd *node) {
	r := &remote{index: map[*node]int{}}
	r.e = r.call(c, nd)
	nd.remote, nd.run = r, runRemote
	nd.args, nd.calls = nil, 1
	for _, in := range r.inputs {
		if in.nd != nil {
			nd.args = append(nd.args, in.nd)
			nd.calls += in.nd.calls
		}
	}
}

func (r *remote) call(c *compiler, nd *node) *Expr {
	e := *nd.e
	e.Args = make([]*Expr, len(nd.e.Args))
	for i, arg := range nd.e.Args {
		a := c.node(arg)
		switch {
		case arg.Kind == Column:
			e.Args[i] = r.input(a, remoteInput{col: arg.Col})
		case arg.Kind == Constant:
			e.Args[i] = arg
		case !movable(arg) || a.calls == 0 && a.fallible:
			e.Args[i] = r.input(a, remoteInput{nd: a})
		default:
			e.Args[i] = r.call(c, a)
		}
	}
	return &e
}

func (r *remote) input(nd *node, in remoteInput) *Expr {
	i, ok := r.index[nd]
	if !ok {
		i = len(r.inputs)
		r.index[nd] = i
		r.inputs = append(r.inputs, in)
	}
	return &Expr{Kind: Column, Type: nd.typ, Col: i}
}

func runRemote(f *frame, nd *node, fresh bool) (vec, *RowErrors, error) {
	cols := make([]column.Column, len(nd.remote.inputs))
	var errs *RowErrors
	for i, in := range nd.remote.inputs {
		if in.nd == nil {
			cols[i] = f.inputs[in.col]
			continue
		}
		v, e, err := f.eval(in.nd, true)
		if err != nil {
			return v, nil, err
		}
		if v.konst {
			v.Column = repeat(&v.Column, f.n)
		} else if !v.alias {
			zeroNulls(&v.Column)
		}
		cols[i], errs = v.Column, MergeErrors(errs, e)
	}
	c, own, err := f.evaluate(nd.remote.e, cols, f.n)
	if err != nil {
		return vec{}, nil, err
	}
	out := vec{Column: c, alias: true}
	out.mask(errs, f.n)
	return out, MergeErrors(errs, own), nil
}

func (f *frame) evaluate(e *Expr, cols []column.Column, n int) (column.Column, *RowErrors, error) {
	if f.p.ev == nil {
		return column.Column{}, nil, errNoEvaluator
	}
	return f.p.ev.Evaluate(e, cols, n)
}

// runDeferred has DuckDB compute the rows that a kernel left to it, and puts them into out.
func (f *frame) runDeferred(nd *node, k *kcall, out *vec) error {
	if nd.lone == nil {
		e := *nd.e
		r := &remote{}
		e.Args = make([]*Expr, len(nd.args))
		for i, a := range nd.args {
			if a.e.Kind == Constant {
				e.Args[i] = a.e
				continue
			}
			e.Args[i] = &Expr{Kind: Column, Type: a.typ, Col: len(r.inputs)}
			r.inputs = append(r.inputs, remoteInput{col: i})
		}
		r.e = &e
		nd.lone = r
	}
	cols := make([]column.Column, len(nd.lone.inputs))
	for i, in := range nd.lone.inputs {
		a := &k.args[in.col]
		if a.konst {
			cols[i] = repeat(&a.Column, len(k.deferred))
		} else {
			cols[i] = a.Gather(k.deferred)
		}
	}
	c, errs, err := f.evaluate(nd.lone.e, cols, len(k.deferred))
	if err != nil {
		return err
	}
	k.errs = MergeErrors(k.errs, errs.at(k.deferred))
	*out = merge(nd.typ, f.n, []pick{{v: *out}, {v: vec{Column: c}, rows: k.deferred}})
	return nil
}
