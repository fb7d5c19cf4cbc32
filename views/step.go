package views

import (
	"fmt"
	"runtime"

	"tidemill/operators"
	"tidemill/operators/zset"
	"tidemill/state/column"
	"tidemill/state/image"
)

// step is one commit on its way through the graph.
type step struct {
	g      *Graph
	commit uint64
	tables map[uint32]Delta
	// born is the view that this commit creates: it reads what its inputs hold, not what changes.
	born *View
	// filled are the born views that have run: others that the commit creates read what it has put into them.
	filled map[uint32]*View
	// reading says that stages give what they hold, not what changed: a relation's contents are read.
	reading bool
}

// run steps one view whose inputs have been stepped.
func (s *step) run(v *View) error {
	if s.born != v && !s.changed(v) {
		return nil
	}
	// A view in which no row can fail has nowhere to keep one. Should DuckDB refuse a value that a kernel leaves to it in
	// spite of that, the row is left out, as it would be with rejects, and its retraction too.
	v.active, v.bad, v.delta = true, &operators.Rejects{}, nil
	for _, st := range v.stages {
		if err := st.op.Begin(s.commit, s.born == v); err != nil {
			return err
		}
		each := func(add func(*zset.Batch) error) error { return st.input.each(s, add) }
		if err := st.op.Feed(st.input.rows(s), v.bad, each); err != nil {
			return err
		}
		var err error
		if st.out, err = st.op.Finish(st.wanted, v.bad); err != nil {
			return err
		}
	}
	if v.wanted || v.tail {
		err := v.root.each(s, func(b *zset.Batch) error {
			if v.wanted {
				v.delta = append(v.delta, b)
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	if v.rejects == nil {
		return nil
	}
	if err := v.rejects.Begin(s.commit, s.born == v); err != nil {
		return err
	}
	if b := v.bad.Batch(); b != nil {
		if err := v.rejects.Add(b, nil); err != nil {
			return err
		}
	}
	_, err := v.rejects.Finish(false, nil)
	return err
}

// changed reports whether the commit changes a relation that v reads.
func (s *step) changed(v *View) bool {
	for _, id := range v.reads {
		if f := s.g.views[id]; f != nil && len(f.delta) > 0 || len(s.tables[id]) > 0 {
			return true
		}
	}
	return false
}

func (n *scan) each(s *step, fn func(*zset.Batch) error) error {
	pick := func(b *zset.Batch) error { return fn(n.pick(b)) }
	if s.born != nil && s.filled[n.relation] == nil {
		return s.g.contents(n.relation, pick)
	}
	for _, b := range n.delta(s) {
		if err := pick(b); err != nil {
			return err
		}
	}
	return nil
}

func (n *scan) delta(s *step) Delta {
	if v := s.g.views[n.relation]; v != nil {
		return v.delta
	}
	return s.tables[n.relation]
}

func (n *scan) pick(b *zset.Batch) *zset.Batch {
	out := &zset.Batch{N: b.N, W: b.W, Cols: make([]column.Column, len(n.columns))}
	for i, c := range n.columns {
		if out.Cols[i] = b.Cols[c]; n.need != nil && !n.need[i] {
			out.Cols[i] = column.Absent(b.Cols[c].Type, b.N)
		}
	}
	return out
}

func (n *linear) each(s *step, fn func(*zset.Batch) error) error {
	bad := n.view.bad
	if bad == nil {
		bad = &operators.Rejects{} // contents are read: what failed has been rejected before
	}
	return n.input.each(s, func(b *zset.Batch) error {
		out, err := n.op.Apply(b, bad)
		if out == nil || err != nil {
			return err
		}
		return fn(out)
	})
}

func (n *union) each(s *step, fn func(*zset.Batch) error) error {
	for _, in := range n.inputs {
		if err := in.each(s, fn); err != nil {
			return err
		}
	}
	return nil
}

func (n *constant) each(s *step, fn func(*zset.Batch) error) error {
	if s.born == nil || n.batch.N == 0 {
		return nil
	}
	return fn(n.batch)
}

func (n *stage) each(s *step, fn func(*zset.Batch) error) error {
	if s.reading {
		snap, err := n.op.Snapshot()
		if err != nil {
			return err
		}
		return eachChunk(snap, fn)
	}
	if n.out == nil {
		return nil
	}
	return fn(n.out)
}

func (n *scan) rows(s *step) int {
	if s.born != nil {
		return manyRows
	}
	rows := 0
	for _, b := range n.delta(s) {
		rows += b.N
	}
	return rows
}

func (n *linear) rows(s *step) int { return n.input.rows(s) }

func (n *union) rows(s *step) int {
	rows := 0
	for _, in := range n.inputs {
		rows += in.rows(s)
	}
	return rows
}

func (n *constant) rows(*step) int { return n.batch.N }

func (n *stage) rows(s *step) int {
	switch {
	case s.reading:
		return manyRows
	case n.out == nil:
		return 0
	}
	return n.out.N
}

// contents calls fn with the rows that a relation holds as of the last published commit.
func (g *Graph) contents(id uint32, fn func(*zset.Batch) error) error {
	if t := g.tables[id]; t != nil {
		return eachChunk(t.Rows.Snapshot(), fn)
	}
	v := g.views[id]
	if v == nil {
		return fmt.Errorf("read relation %d: it is not there", id)
	}
	v.bad = nil
	return v.root.each(&step{g: g, born: v, reading: true}, fn)
}

func eachChunk(snap *image.Snapshot, fn func(*zset.Batch) error) error {
	for _, c := range snap.Chunks {
		cols, err := c.Columns()
		if err != nil {
			return err
		}
		b := &zset.Batch{Cols: cols, N: c.N}
		if c.Live != nil {
			var sel []int32
			for i := range c.N {
				if column.Bit(c.Live, i) {
					sel = append(sel, int32(i))
				}
			}
			if len(sel) == 0 {
				continue
			}
			b = b.Gather(sel)
		}
		if err := fn(b); err != nil {
			return err
		}
	}
	runtime.KeepAlive(snap) // mapped files go with their chunks
	return nil
}
