package agg

import (
	"fmt"

	"tidemill/state/column"
	"tidemill/state/rowkey"
)

// extreme is min and max. All values of a group are kept, counted, in the trace; the extreme one is kept
// beside, so that the trace is read only when the last copy of the extreme value is retracted. Equal
// values that differ in their bits (0.0 and -0.0) are ordered by those, so the answer does not
// depend on which came first.
type extreme struct {
	shown // the encoded value
	arg   column.Type
	max   bool
	trace Trace
	enc   *rowkey.Encoder
	buf   []byte
	lost  []int32 // slots of the commit whose extreme value has no row left
}

func newExtreme(arg column.Type, max bool, trace Trace) *extreme {
	return &extreme{arg: arg, max: max, trace: trace, enc: rowkey.NewEncoder([]column.Type{arg})}
}

func (e *extreme) Add(slots []int32, cols []column.Column, w []int64) error {
	for i, s := range slots {
		if s < 0 || cols[0].IsNull(i) {
			continue
		}
		wt := weightOf(w, i)
		e.buf = e.enc.AppendIdentity(e.buf[:0], cols, i)
		if err := e.add(s, e.buf, wt); err != nil {
			return err
		}
	}
	return nil
}

// add adds a value to the trace. When it was the extreme one and has no row left, it stays until Settle
// looks for the next: once a commit, because the trace steps over every value retracted before.
func (e *extreme) add(s int32, value []byte, w int64) error {
	before, after, err := e.trace.Add(s, value, w)
	if err != nil {
		return err
	}
	cur := e.v[s].cur
	switch {
	case after <= 0:
		if string(value) == cur {
			e.lost = append(e.lost, s)
		}
	case before <= 0 && (cur == "" || (string(value) > cur) == e.max && string(value) != cur):
		e.put(s, string(value))
	}
	return nil
}

// Settle finds the extreme values of the slots that lost theirs.
func (e *extreme) Settle() error {
	find := e.trace.First
	if e.max {
		find = e.trace.Last
	}
	for i, s := range e.lost {
		if i > 0 && s == e.lost[i-1] {
			continue
		}
		value, ok, err := find(s)
		if err != nil {
			return err
		}
		if !ok {
			value = nil
		}
		e.put(s, string(value))
	}
	e.lost = e.lost[:0]
	return nil
}

// Restore undoes what happened since Save, and forgets which slots were to be settled.
func (e *extreme) Restore(slots []int32) {
	e.shown.Restore(slots)
	e.lost = e.lost[:0]
}

func (e *extreme) Output(slots []int32, prev bool) (column.Column, *Errors) {
	return e.results(e.arg, e.enc, "", slots, prev)
}

// Identity is the group columns of a group whose equal keys may differ in their bits: the smallest, by
// identity order, of those that are present.
type Identity struct {
	extreme
	types []column.Type
}

// NewIdentity returns the identities of groups of these columns.
func NewIdentity(types []column.Type, trace Trace) *Identity {
	return &Identity{extreme{trace: trace, enc: rowkey.NewEncoder(types)}, types}
}

// AddRows adds row i of the group columns to slots[i].
func (d *Identity) AddRows(slots []int32, cols []column.Column, w []int64) error {
	for i, s := range slots {
		wt := weightOf(w, i)
		d.buf = d.enc.AppendIdentity(d.buf[:0], cols, i)
		if err := d.add(s, d.buf, wt); err != nil {
			return err
		}
	}
	return nil
}

// Columns returns the group columns of slots.
func (d *Identity) Columns(slots []int32, prev bool) ([]column.Column, error) {
	builders := make([]*column.Builder, len(d.types))
	for i, t := range d.types {
		builders[i] = column.NewBuilder(t, len(slots))
	}
	for _, s := range slots {
		v := *d.at(s, prev)
		if _, err := d.enc.DecodeIdentity([]byte(v), builders); err != nil {
			return nil, fmt.Errorf("decode group %x: %w", v, err)
		}
	}
	cols := make([]column.Column, len(builders))
	for i, b := range builders {
		cols[i] = b.Finish()
	}
	return cols, nil
}
