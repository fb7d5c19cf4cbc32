package agg

import (
	"encoding/binary"
	"fmt"

	"tidemill/state/column"
	"tidemill/state/rowkey"
)

// extreme is min and max. All values of a group are kept, counted, in the trace; the extreme one is kept
// beside, so that the trace is read only when the last copy of the extreme value is retracted. Equal
// values that differ in their bits (0.0 and -0.0) are ordered by those, so the answer does not
// depend on which came first.
type extreme struct {
	versioned[string] // the encoded value, "" for none
	arg               column.Type
	max               bool
	trace             Trace
	enc               *rowkey.Encoder
	buf               []byte
	lost              []int32 // slots of the batch whose extreme value has no row left
}

func newExtreme(arg column.Type, max bool, trace Trace) *extreme {
	return &extreme{arg: arg, max: max, trace: trace, enc: rowkey.NewEncoder([]column.Type{arg})}
}

func (e *extreme) Empty(slot int32) bool { return e.v[slot].cur == "" }

func (e *extreme) Encode(dst []byte, slot int32) []byte {
	v := e.v[slot].cur
	return append(binary.AppendUvarint(dst, uint64(len(v))), v...)
}

func (e *extreme) Decode(slot int32, b []byte) ([]byte, error) {
	n, k := binary.Uvarint(b)
	if k <= 0 || n > uint64(len(b)-k) {
		return nil, errShort
	}
	e.set(slot, string(b[k:k+int(n)]))
	return b[k+int(n):], nil
}

func (e *extreme) Add(slots []int32, arg *column.Column, w []int64) error {
	cols := []column.Column{*arg}
	for i, s := range slots {
		if s < 0 || arg.IsNull(i) {
			continue
		}
		wt := int64(1)
		if w != nil {
			wt = w[i]
		}
		e.buf = e.enc.AppendIdentity(e.buf[:0], cols, i)
		if err := e.add(s, e.buf, wt); err != nil {
			return err
		}
	}
	return e.settle()
}

// add adds a value to the trace. When it was the extreme one and has no row left, it stays until settle
// looks for the next: once a batch, because the trace steps over every value retracted before.
//
// Within a commit a retraction may come first, so that the trace has a value with a negative weight, and
// settle may find that. It is then the extreme one until its rows come, which lose or confirm it: no
// value with rows is beyond it.
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
		e.v[s].cur = string(value)
	}
	return nil
}

// settle ends a batch: it finds the extreme values of the slots that lost theirs.
func (e *extreme) settle() error {
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
		e.v[s].cur = ""
		if ok {
			e.v[s].cur = string(value)
		}
	}
	e.lost = e.lost[:0]
	return nil
}

func (e *extreme) Output(slots []int32, prev bool) (column.Column, *Errors) {
	b := column.NewBuilder(e.arg, len(slots))
	one := []*column.Builder{b}
	for _, s := range slots {
		v := *e.at(s, prev)
		if v == "" {
			b.AppendNull()
			continue
		}
		if _, err := e.enc.DecodeIdentity([]byte(v), one); err != nil {
			panic(fmt.Sprintf("agg: extreme value %x of %s: %v", v, e.arg, err))
		}
	}
	return b.Finish(), nil
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
		wt := int64(1)
		if w != nil {
			wt = w[i]
		}
		d.buf = d.enc.AppendIdentity(d.buf[:0], cols, i)
		if err := d.add(s, d.buf, wt); err != nil {
			return err
		}
	}
	return d.settle()
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
