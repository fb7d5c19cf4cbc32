package operators

import (
	"fmt"

	"tidemill/operators/expr"
	"tidemill/operators/zset"
	"tidemill/state/column"
	"tidemill/state/rowkey"
)

// Finish ends the commit's input. It returns the delta of the output when wanted, else nil. Groups whose
// output cannot be represented go to rejects.
func (a *Aggregate) Finish(wanted bool, rejects *Rejects) (*zset.Batch, error) {
	touched := a.table.Touched()
	if len(touched) == 0 {
		return nil, nil
	}
	if !wanted {
		if !a.outputFallible() {
			return nil, nil
		}
	}
	var was, is []int32
	for _, s := range touched {
		if a.present(s, true) {
			was = append(was, s)
		}
		if a.present(s, false) {
			is = append(is, s)
		}
	}
	old, err := a.rows(a.cells, was, true, -1, rejects)
	if err != nil {
		return nil, err
	}
	now, err := a.rows(a.cells, is, false, +1, rejects)
	if err != nil {
		return nil, err
	}
	return zset.Consolidate(zset.Concat(old, now)), nil
}

func (a *Aggregate) outputFallible() bool {
	for _, c := range a.c.Aggs {
		if c.Spec.OutputFallible() {
			return true
		}
	}
	return false
}

// present reports whether the slot's group is there, before or after the running commit.
func (a *Aggregate) present(slot int32, prev bool) bool {
	if len(a.c.Groups) == 0 {
		return !(prev && a.born)
	}
	return a.cells.rows.Present(slot, prev)
}

// rows returns the output rows of slots with the given weight; rejects may be nil, and rows that cannot
// be represented are then left out.
func (a *Aggregate) rows(cells *aggCells, slots []int32, prev bool, weight int64, rejects *Rejects) (*zset.Batch, error) {
	if len(slots) == 0 {
		return nil, nil
	}
	out := &zset.Batch{N: len(slots), W: make([]int64, len(slots))}
	for i := range out.W {
		out.W[i] = weight
	}
	var err error
	if out.Cols, err = a.groupColumns(cells, slots, prev); err != nil {
		return nil, err
	}
	groups := len(out.Cols)
	var all *expr.RowErrors
	for _, g := range cells.aggs {
		c, errs := g.Output(slots, prev)
		if errs != nil {
			all = mergeErrors(all, &expr.RowErrors{Rows: errs.Rows, Reasons: errs.Reasons})
		}
		out.Cols = append(out.Cols, c)
	}
	if all == nil {
		return out, nil
	}
	if rejects == nil {
		rejects = &Rejects{}
	}
	shown := &zset.Batch{Cols: out.Cols[:groups], N: out.N, W: out.W}
	if rejects.drop(a.c.Name, a.c.Output[:groups], shown, all) == nil {
		return nil, nil
	}
	return dropRows(out, all.Rows), nil
}

func dropRows(b *zset.Batch, rows []int32) *zset.Batch {
	sel := make([]int32, 0, b.N)
	k := 0
	for i := range int32(b.N) {
		if k < len(rows) && rows[k] == i {
			k++
			continue
		}
		sel = append(sel, i)
	}
	return gatherAll(b, sel)
}

// groupColumns returns the group columns of slots.
func (a *Aggregate) groupColumns(cells *aggCells, slots []int32, prev bool) ([]column.Column, error) {
	if len(a.types) == 0 {
		return nil, nil
	}
	if cells.identity != nil {
		return cells.identity.Columns(slots, prev)
	}
	return a.keyColumns(slots)
}

// keyColumns decodes the keys of slots of the live table.
func (a *Aggregate) keyColumns(slots []int32) ([]column.Column, error) {
	builders := newBuilders(a.types, len(slots))
	var key []byte
	for _, s := range slots {
		if a.fixed {
			k, null := a.table.KeyFixed(s)
			if null {
				builders[0].AppendNull()
			} else {
				rowkey.AppendFixed(builders[0], a.types[0], k)
			}
			continue
		}
		key = a.table.AppendKey(key[:0], s)
		if _, err := a.keys.DecodeKey(key, builders); err != nil {
			return nil, fmt.Errorf("%s: decode group %x: %w", a.c.Name, key, err)
		}
	}
	return finish(builders), nil
}

func newBuilders(types []column.Type, n int) []*column.Builder {
	builders := make([]*column.Builder, len(types))
	for i, t := range types {
		builders[i] = column.NewBuilder(t, n)
	}
	return builders
}

func finish(builders []*column.Builder) []column.Column {
	cols := make([]column.Column, len(builders))
	for i, b := range builders {
		cols[i] = b.Finish()
	}
	return cols
}
