package views

import (
	"sync"
	"sync/atomic"

	"tidemill/operators"
	"tidemill/operators/expr"
	"tidemill/operators/zset"
	"tidemill/state/column"
	"tidemill/views/plan"
)

// Lookup finds the rows of a key in a table or view beside the committer. It is immutable and safe for
// concurrent use; it is good for as long as its relation exists.
type Lookup struct {
	// Key is the columns of the relation that make the key, in their order there.
	Key    []int
	Fields []column.Field

	table *Table
	op    *operators.Aggregate
	order []int // key column of the base at each place of Key
	chain []*plan.Node
	ev    expr.Evaluator
	pool  sync.Pool // of *[]operators.Linear
}

// NewLookup returns how to look the relation up, or ErrNoKey.
func (g *Graph) NewLookup(id uint32) (*Lookup, error) {
	if t := g.tables[id]; t != nil {
		if !t.Keyed() {
			return nil, ErrNoKey
		}
		l := &Lookup{Fields: t.Rel.Fields, table: t}
		l.setKey(t.Rel.PrimaryKey)
		return l, nil
	}
	v := g.views[id]
	if v == nil {
		return nil, ErrNoKey
	}
	l := &Lookup{Fields: v.Rel.Fields, ev: g.ev}
	base, err := l.descend(g, v, v.Rel.Plan)
	if err != nil {
		return nil, err
	}
	l.setKey(base)
	return l, nil
}

// setKey takes the columns of the relation that show the base's key columns, in the base's order.
func (l *Lookup) setKey(shown []int) {
	for c := range l.Fields {
		for k, s := range shown {
			if s == c {
				l.Key = append(l.Key, c)
				l.order = append(l.order, k)
			}
		}
	}
}

// descend follows filters and projections to what is stored with a key, and returns the columns of n that
// show the key.
func (l *Lookup) descend(g *Graph, v *View, n *plan.Node) ([]int, error) {
	for _, st := range v.stages {
		if st.plan == n {
			groups := n.Keys()
			if n.Op == plan.Distinct {
				groups = len(n.Schema)
			}
			if groups == 0 {
				return nil, ErrNoKey
			}
			l.op = st.op
			return upTo(groups), nil
		}
	}
	switch n.Op {
	case plan.Filter:
		key, err := l.descend(g, v, n.Inputs[0])
		l.chain = append(l.chain, n)
		return key, err
	case plan.Project:
		key, err := l.descend(g, v, n.Inputs[0])
		if err != nil {
			return nil, err
		}
		l.chain = append(l.chain, n)
		return through(key, n.Exprs)
	case plan.Scan:
		key, err := l.scanned(g, n)
		if err != nil {
			return nil, err
		}
		l.chain = append(l.chain, n)
		for i, k := range key {
			at := -1
			for o, c := range n.Columns {
				if c == k {
					at = o
				}
			}
			if at < 0 {
				return nil, ErrNoKey
			}
			key[i] = at
		}
		return key, nil
	}
	return nil, ErrNoKey
}

// scanned returns the key columns of the relation that n scans.
func (l *Lookup) scanned(g *Graph, n *plan.Node) ([]int, error) {
	id, err := g.resolve(n.Relation)
	if err != nil {
		return nil, err
	}
	if t := g.tables[id]; t != nil {
		if !t.Keyed() {
			return nil, ErrNoKey
		}
		l.table = t
		return append([]int(nil), t.Rel.PrimaryKey...), nil
	}
	return l.descend(g, g.views[id], g.views[id].Rel.Plan)
}

func upTo(n int) []int {
	out := make([]int, n)
	for i := range out {
		out[i] = i
	}
	return out
}

// through returns the outputs that show the key columns as they are.
func through(key []int, exprs []*expr.Expr) ([]int, error) {
	out := make([]int, len(key))
	for i, k := range key {
		out[i] = -1
		for o, e := range exprs {
			if e.Kind == expr.Column && e.Col == k && out[i] < 0 {
				out[i] = o
			}
		}
		if out[i] < 0 {
			return nil, ErrNoKey
		}
	}
	return out, nil
}

// Find returns the row of key as of the newest published commit, as columns of one row, or nil. key has a
// column of one row for each of Key, in that order.
func (l *Lookup) Find(key []column.Column, published *atomic.Uint64) ([]column.Column, error) {
	base := make([]column.Column, len(key))
	for i, k := range l.order {
		base[k] = key[i]
	}
	var cols []column.Column
	var err error
	if l.table != nil {
		cols, err = l.table.Lookup(base, published)
	} else {
		cols, err = l.op.Lookup(base, published)
	}
	if cols == nil || err != nil || len(l.chain) == 0 {
		return cols, err
	}
	ops, ok := l.pool.Get().(*[]operators.Linear)
	if !ok {
		fresh := l.compile()
		ops = &fresh
	}
	defer l.pool.Put(ops)
	b := &zset.Batch{Cols: cols, N: 1}
	for i, op := range *ops {
		if op == nil {
			b = (&scan{columns: l.chain[i].Columns}).pick(b)
			continue
		}
		if b, err = op.Apply(b, &operators.Rejects{}); b == nil || err != nil {
			return nil, err
		}
	}
	return b.Cols, nil
}

// compile makes the chain's operators, nil for a scan: they are not to be shared by goroutines.
func (l *Lookup) compile() []operators.Linear {
	ops := make([]operators.Linear, len(l.chain))
	for i, n := range l.chain {
		switch n.Op {
		case plan.Filter:
			ops[i] = operators.NewFilter("", n.Inputs[0].Schema, n.Exprs, l.ev)
		case plan.Project:
			ops[i] = operators.NewProject("", n.Inputs[0].Schema, n.Exprs, l.ev)
		}
	}
	return ops
}
