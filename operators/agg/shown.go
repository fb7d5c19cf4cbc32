package agg

import (
	"encoding/binary"
	"fmt"

	"tidemill/state/column"
	"tidemill/state/rowkey"
)

// A result kept as text begins with a tag of rowkey's, or with badResult and the reason why there is no value.
const badResult = 0x00

// shown keeps a group's result, encoded, "" for the result of no rows: what an aggregate with a multiset shows
// without reading the multiset, beside commits and of groups that are only on disk.
type shown struct {
	versioned[string]
	text int64 // bytes of the current results
}

// put sets a slot's current result.
func (s *shown) put(slot int32, v string) {
	cur := &s.v[slot].cur
	s.text += int64(len(v) - len(*cur))
	*cur = v
}

// Restore undoes what happened since Save.
func (s *shown) Restore(slots []int32) {
	for _, slot := range slots {
		s.put(slot, s.v[slot].prev)
	}
}

// Reset empties a slot.
func (s *shown) Reset(slot int32) {
	s.put(slot, "")
	s.versioned.Reset(slot)
}

// Bytes returns the memory of both versions; a result that did not change is one string.
func (s *shown) Bytes() int64 { return s.versioned.Bytes() + s.text }

// Empty reports whether the slot shows the result of no rows.
func (s *shown) Empty(slot int32) bool { return s.v[slot].cur == "" }

// Encode appends the result.
func (s *shown) Encode(dst []byte, slot int32) []byte {
	v := s.v[slot].cur
	return append(binary.AppendUvarint(dst, uint64(len(v))), v...)
}

// Decode reads what Encode wrote.
func (s *shown) Decode(slot int32, b []byte) ([]byte, error) {
	n, k := binary.Uvarint(b)
	if k <= 0 || n > uint64(len(b)-k) {
		return nil, errShort
	}
	v := string(b[k : k+int(n)])
	s.put(slot, v)
	s.v[slot].prev = v
	return b[k+int(n):], nil
}

// results decodes the results of slots, which are identities of one value of the type; none is that of no rows, "" for
// NULL.
func (s *shown) results(t column.Type, enc *rowkey.Encoder, none string, slots []int32, prev bool) (column.Column, *Errors) {
	b := column.NewBuilder(t, len(slots))
	one := []*column.Builder{b}
	var errs *Errors
	for i, slot := range slots {
		v := *s.at(slot, prev)
		if v == "" {
			v = none
		}
		switch {
		case v == "":
			b.AppendNull()
		case v[0] == badResult:
			b.AppendNull()
			errs = errs.add(i, v[1:])
		default:
			if _, err := enc.DecodeIdentity([]byte(v), one); err != nil {
				panic(fmt.Sprintf("agg: result %x of %s: %v", v, t, err))
			}
		}
	}
	return b.Finish(), errs
}
