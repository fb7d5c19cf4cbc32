package operators

import (
	"fmt"
	"sync/atomic"

	"tidemill/state"
	"tidemill/state/column"
	"tidemill/state/rowkey"
)

// Lookup returns the output row of a group as of the newest published commit, as columns of one row, or
// nil when the group is not there. key has a column of one row per group column. It may run beside
// the committer.
func (a *Aggregate) Lookup(key []column.Column, published *atomic.Uint64) ([]column.Column, error) {
	var out []column.Column
	var err error
	show := func(cells *aggCells, slot int32, previous bool) {
		out, err = a.showRow(cells, slot, previous, key)
	}
	found, raw, rerr := a.read(key, published, func(slot int32, previous bool) { show(a.cells, slot, previous) })
	if rerr != nil || !found {
		return nil, rerr
	}
	if out == nil && err == nil && raw != nil {
		cells, err := a.decode(raw)
		if err != nil {
			return nil, err
		}
		show(cells, 0, false)
	}
	return out, err
}

func (a *Aggregate) read(key []column.Column, published *atomic.Uint64, f func(int32, bool)) (bool, []byte, error) {
	if !a.fixed {
		return a.table.ReadBytes(a.keys.AppendKey(nil, key, 0), published, f)
	}
	if len(key) == 0 {
		return a.table.ReadFixed(0, false, published, f)
	}
	k, _, _ := rowkey.FixedKey(key, 1)
	return a.table.ReadFixed(k[0], key[0].IsNull(0), published, f)
}

// decode reads a stored entry into cells of its own.
func (a *Aggregate) decode(raw []byte) (*aggCells, error) {
	cells, err := a.newCells(false)
	if err != nil {
		return nil, err
	}
	for _, c := range cells.each() {
		c.Grow(1)
		if raw, err = c.Decode(0, raw); err != nil {
			return nil, fmt.Errorf("%s: stored group: %w", a.c.Name, err)
		}
	}
	if len(raw) != 0 {
		return nil, fmt.Errorf("%s: stored group: %w", a.c.Name, state.ErrCorrupt)
	}
	return cells, nil
}

// showRow returns a slot's output row; nil when it cannot be represented.
func (a *Aggregate) showRow(cells *aggCells, slot int32, previous bool, key []column.Column) ([]column.Column, error) {
	one := []int32{slot}
	out := key
	if cells.identity != nil {
		var err error
		if out, err = cells.identity.Columns(one, previous); err != nil {
			return nil, err
		}
	}
	out = append(make([]column.Column, 0, len(a.outT)), out...)
	for _, g := range cells.aggs {
		c, errs := g.Output(one, previous)
		if errs != nil {
			return nil, nil
		}
		out = append(out, c)
	}
	return out, nil
}
