package operators

import (
	"bytes"

	"tidemill/operators/agg"
	"tidemill/state"
)

// slotTrace is an aggregate's ordered trace: the values of every group, under the group's key. No key
// is the beginning of another.
type slotTrace struct {
	a   *Aggregate
	o   *state.Ordered
	buf []byte
}

var _ agg.Trace = (*slotTrace)(nil)

func (t *slotTrace) prefix(slot int32) []byte {
	t.buf = t.buf[:0]
	if t.a.fixed {
		if _, null := t.a.table.KeyFixed(slot); null {
			t.buf = append(t.buf, 0)
			return t.buf
		}
		t.buf = append(t.buf, 1)
	}
	t.buf = t.a.table.AppendKey(t.buf, slot)
	return t.buf
}

// Add changes how often the slot's group has the value.
func (t *slotTrace) Add(slot int32, value []byte, w int64) (before, after int64, err error) {
	return t.o.Add(append(t.prefix(slot), value...), w)
}

// First returns the smallest value of the slot's group.
func (t *slotTrace) First(slot int32) ([]byte, bool, error) {
	p := t.prefix(slot)
	key, _, ok, err := t.o.First(p)
	return cutPrefix(key, len(p), ok), ok, err
}

// Last returns the largest value of the slot's group.
func (t *slotTrace) Last(slot int32) ([]byte, bool, error) {
	p := t.prefix(slot)
	key, _, ok, err := t.o.Last(p)
	return cutPrefix(key, len(p), ok), ok, err
}

// Ascend calls fn with the values of the slot's group from the given one on.
func (t *slotTrace) Ascend(slot int32, from []byte, fn func(value []byte, w int64) bool) error {
	p := t.prefix(slot)
	n := len(p)
	lo := append(bytes.Clone(p), from...)
	return t.o.Ascend(lo, p, func(key []byte, w int64) bool { return fn(key[n:], w) })
}

// Descend calls fn with the values of the slot's group below the given one, downwards.
func (t *slotTrace) Descend(slot int32, below []byte, fn func(value []byte, w int64) bool) error {
	p := t.prefix(slot)
	n := len(p)
	var hi []byte
	if below != nil {
		hi = append(bytes.Clone(p), below...)
	}
	return t.o.Descend(hi, p, func(key []byte, w int64) bool { return fn(key[n:], w) })
}

func cutPrefix(key []byte, n int, ok bool) []byte {
	if !ok {
		return nil
	}
	return key[n:]
}
