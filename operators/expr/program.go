package expr

import (
	"fmt"
	"slices"

	"tidemill/state/column"
)

// Program is a compiled expression. Equal subtrees are evaluated once, constant ones once for all
// batches, and whatever has no kernel goes to the Evaluator in calls that are as large as possible.
//
// A Program reuses its buffers from one Eval to the next, so it serves one goroutine at a time;
// compile one for each. What Eval returns never aliases those buffers.
type Program struct {
	root *node
	ev   Evaluator
	memo int // slots for shared nodes
	pool pool
	sel  []int32
	lent []byte // buffer of the last EvalScratch
}

// Compile prepares e for evaluation. The Evaluator may be nil when Native will be true and every
// kernel is exact on every value; otherwise Eval fails where it would be needed. Compile does not
// keep or change e's nodes beyond reading them.
func Compile(e *Expr, ev Evaluator) *Program {
	c := compiler{nodes: map[string]*node{}}
	p := &Program{root: c.node(e), ev: ev}
	p.share(p.root)
	return p
}

// share counts the uses of every node and gives those with several a place in the frame.
func (p *Program) share(nd *node) {
	nd.uses++
	if nd.uses == 2 && len(nd.args) > 0 && !nd.konst {
		nd.slot = p.memo
		p.memo++
	}
	if nd.uses == 1 {
		for _, a := range nd.args {
			p.share(a)
		}
	}
}

// EvalScratch is Eval with a result that may lie in the program's buffers: it is valid until the
// next evaluation.
func (p *Program) EvalScratch(inputs []column.Column, n int) (column.Column, *RowErrors, error) {
	return p.eval(inputs, n, false)
}

// Select returns the rows, ascending, for which the program, a BOOLEAN, is true. They are valid
// until the next Select.
func (p *Program) Select(inputs []column.Column, n int) ([]int32, *RowErrors, error) {
	c, errs, err := p.eval(inputs, n, false)
	if err != nil {
		return nil, nil, err
	}
	if cap(p.sel) < n {
		p.sel = make([]int32, n)
	}
	return selectTrue(p.sel[:n], &c), errs, nil
}

// Eval evaluates the program over n rows of inputs. The column has n rows; where a row failed it
// holds NULL, and the row and its reason are in the RowErrors. The error is the machinery's.
// The column is the caller's, but may share buffers with inputs.
func (p *Program) Eval(inputs []column.Column, n int) (column.Column, *RowErrors, error) {
	return p.eval(inputs, n, true)
}

func (p *Program) eval(inputs []column.Column, n int, fresh bool) (column.Column, *RowErrors, error) {
	if p.lent != nil {
		p.pool.put(p.lent)
		p.lent = nil
	}
	if n == 0 {
		return column.NewBuilder(p.root.typ, 0).Finish(), nil, nil
	}
	f := &frame{p: p, inputs: inputs, n: n}
	v, errs, err := f.eval(p.root, fresh)
	if err != nil {
		return column.Column{}, nil, fmt.Errorf("evaluate expression: %w", err)
	}
	if v.scratch {
		p.lent = v.Data
	}
	c := v.Column
	if v.konst {
		c = repeat(&c, n)
	}
	if !v.alias {
		zeroNulls(&c)
	}
	return c, errs, nil
}

// Native reports whether every part of the program has a kernel, so that DuckDB is asked only for
// the rare value that a kernel leaves to it (text beyond ASCII in lower, for instance).
func (p *Program) Native() bool { return len(p.Describe()) == 0 }

// Describe returns the functions that are left to DuckDB, sorted and unique: a function's name, a
// cast as "CAST(a AS b)", or "expression" for an Opaque node.
func (p *Program) Describe() []string {
	seen := map[string]bool{}
	var walk func(nd *node)
	walk = func(nd *node) {
		if nd.remote != nil {
			describe(nd.e, seen)
		}
		for _, a := range nd.args {
			walk(a)
		}
	}
	walk(p.root)
	names := make([]string, 0, len(seen))
	for s := range seen {
		names = append(names, s)
	}
	slices.Sort(names)
	return names
}

// describe adds the parts of e that have no kernel.
func describe(e *Expr, seen map[string]bool) {
	if !hasKernel(e) {
		switch e.Kind {
		case Call:
			seen[e.Func] = true
		case Cast, TryCast:
			seen["CAST("+e.Args[0].Type.String()+" AS "+e.Type.String()+")"] = true
		case Opaque:
			seen["expression"] = true
		default:
			seen[string(e.Kind)] = true
		}
	}
	for _, a := range e.Args {
		describe(a, seen)
	}
}

// vec is a column in the making: n rows, or one row that stands for all of them.
type vec struct {
	column.Column
	konst   bool
	scratch bool // Data is the pool's
	alias   bool // Data is somebody else's
}

// frame is one evaluation over a batch or over a part of one.
type frame struct {
	p      *Program
	inputs []column.Column
	n      int
	memo   []*result
	// A frame over rows of another one names it, and which rows.
	parent *frame
	rows   []int32
}

type result struct {
	v    vec
	errs *RowErrors
}

// eval returns the value of nd for the frame's rows. With fresh set the value is not in the pool.
// Errors are at rows of this frame, whose values are NULL.
func (f *frame) eval(nd *node, fresh bool) (vec, *RowErrors, error) {
	if nd.konst {
		return f.constant(nd)
	}
	if nd.slot < 0 {
		return nd.run(f, nd, fresh)
	}
	if f.memo == nil {
		f.memo = make([]*result, f.p.memo)
	}
	if r := f.memo[nd.slot]; r != nil {
		return r.v, r.errs, nil
	}
	v, errs, ok := f.inherited(nd)
	if !ok {
		var err error
		if v, errs, err = nd.run(f, nd, true); err != nil {
			return v, nil, err
		}
	}
	f.memo[nd.slot] = &result{v, errs}
	return v, errs, nil
}

// constant evaluates a node without columns, once in the program's life.
func (f *frame) constant(nd *node) (vec, *RowErrors, error) {
	if nd.folded == nil {
		v, errs, err := nd.run(&frame{p: f.p, n: 1}, nd, true)
		if err != nil {
			return v, nil, err
		}
		zeroNulls(&v.Column)
		v.konst, v.alias = true, true
		nd.folded = &result{v, errs}
	}
	return nd.folded.v, nd.folded.errs.everywhere(f.n), nil
}

// inherited takes a shared node's value from the frame that this one is a part of.
func (f *frame) inherited(nd *node) (vec, *RowErrors, bool) {
	if f.parent == nil || f.parent.memo == nil || f.parent.memo[nd.slot] == nil {
		return vec{}, nil, false
	}
	r := f.parent.memo[nd.slot]
	if r.errs != nil {
		return vec{}, nil, false
	}
	if r.v.konst {
		return r.v, nil, true
	}
	return vec{Column: r.v.Gather(f.rows)}, nil, true
}

// part returns the frame over some rows of f for the nodes given, gathering only the columns that
// they read.
func (f *frame) part(rows []int32, nodes ...*node) *frame {
	if len(rows) == f.n {
		return f
	}
	sub := &frame{p: f.p, inputs: make([]column.Column, len(f.inputs)), n: len(rows), parent: f, rows: rows}
	for _, nd := range nodes {
		for _, c := range nd.cols {
			if sub.inputs[c].Type.Kind == 0 {
				sub.inputs[c] = f.inputs[c].Gather(rows)
			}
		}
	}
	return sub
}

// release gives a value's buffer back when nobody else can hold it.
func (f *frame) release(v *vec) {
	if v.scratch {
		f.p.pool.put(v.Data)
		v.scratch = false
	}
}

// repeat returns n copies of the one row of c.
func repeat(c *column.Column, n int) column.Column {
	if c.IsNull(0) {
		return column.Nulls(c.Type, n)
	}
	return c.Repeat(0, n)
}

// pool keeps the data buffers of a Program's intermediate values.
type pool struct{ free [][]byte }

func (p *pool) get(n int) []byte {
	for i := len(p.free) - 1; i >= 0; i-- {
		if b := p.free[i]; cap(b) >= n {
			p.free = slices.Delete(p.free, i, i+1)
			return b[:n]
		}
	}
	// A small buffer is rounded up so that its start is aligned for any value.
	return make([]byte, max(n, 64))[:n]
}

// maxFree bounds the buffers kept: a chain of kernels needs two or three at a time.
const maxFree = 8

func (p *pool) put(b []byte) {
	if len(p.free) < maxFree {
		p.free = append(p.free, b)
	} else if i := slices.IndexFunc(p.free, func(o []byte) bool { return cap(o) < cap(b) }); i >= 0 {
		p.free[i] = b
	}
}
