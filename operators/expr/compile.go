package expr

import (
	"encoding/binary"
	"slices"

	"tidemill/state/column"
)

// evalFunc evaluates a node over a frame; see frame.eval.
type evalFunc func(f *frame, nd *node, fresh bool) (vec, *RowErrors, error)

// node is a compiled Expr. Equal expressions of a program are one node.
type node struct {
	e    *Expr
	typ  column.Type
	args []*node
	run  evalFunc

	kernel kernelFunc // of a strict call
	remote *remote    // of a subtree that DuckDB evaluates
	lone   *remote    // of this call alone, made when a kernel first leaves rows to DuckDB

	cols     []int // input columns read below, ascending
	konst    bool  // no columns below
	fallible bool
	eager    bool // a CASE evaluated for all rows
	calls    int  // of the Evaluator, below and here
	uses     int
	slot     int // in frame.memo, or -1
	folded   *result
	id       int
}

type compiler struct {
	nodes map[string]*node
}

// node compiles e, or returns the node of an equal expression.
func (c *compiler) node(e *Expr) *node {
	nd := &node{e: e, typ: e.Type, slot: -1}
	for _, a := range e.Args {
		nd.args = append(nd.args, c.node(a))
	}
	key := nd.key()
	if same := c.nodes[key]; same != nil {
		return same
	}
	nd.id = len(c.nodes)
	c.nodes[key] = nd
	nd.fallible = Fallible(e)
	switch e.Kind {
	case Column:
		nd.cols, nd.run = []int{e.Col}, runColumn
		return nd
	case Constant:
		nd.konst, nd.run = true, runConstant
		return nd
	}
	for _, a := range nd.args {
		nd.cols = append(nd.cols, a.cols...)
		nd.calls += a.calls
	}
	slices.Sort(nd.cols)
	nd.cols = slices.Compact(nd.cols)
	nd.konst = len(nd.cols) == 0
	c.choose(nd)
	return nd
}

// choose decides how a node is evaluated: by a kernel, by its own row-wise rule, or by DuckDB. A
// call with a kernel goes to DuckDB too when that makes one call of two or more below it.
func (c *compiler) choose(nd *node) {
	own := ownRule(nd.e)
	nd.kernel = kernelFor(nd.e)
	switch {
	case nd.calls >= 2 && nd.e.Kind != Try && movable(nd.e), own == nil && nd.kernel == nil:
		c.makeRemote(nd)
	case own != nil:
		nd.run, nd.eager = own, eagerCase(nd)
	default:
		nd.run = runStrict
	}
}

// key tells equal expressions whose arguments are compiled.
func (nd *node) key() string {
	e := nd.e
	b := make([]byte, 0, 64)
	b = append(b, e.Kind...)
	b = append(b, 0, byte(e.Type.Kind), e.Type.Width, e.Type.Scale)
	if e.Type.Kind >= column.Enum {
		b = append(append(b, e.Type.String()...), 0)
	}
	b = append(b, e.Func...)
	b = append(b, 0)
	b = append(b, e.Text...)
	b = binary.AppendVarint(append(b, 0), int64(e.Col))
	for _, a := range nd.args {
		b = binary.AppendVarint(b, int64(a.id))
	}
	if e.Const != nil {
		if e.Const.Null {
			b = append(b, 1)
		} else {
			b = append(append(b, 2), e.Const.Raw...)
		}
	}
	return string(b)
}

func runColumn(f *frame, nd *node, fresh bool) (vec, *RowErrors, error) {
	return vec{Column: f.inputs[nd.e.Col], alias: true}, nil, nil
}

func runConstant(f *frame, nd *node, fresh bool) (vec, *RowErrors, error) {
	b := column.NewBuilder(nd.typ, 1)
	if nd.e.Const == nil || nd.e.Const.Null {
		b.AppendNull()
	} else {
		b.AppendRaw(nd.e.Const.Raw)
	}
	return vec{Column: b.Finish(), konst: true, alias: true}, nil, nil
}
