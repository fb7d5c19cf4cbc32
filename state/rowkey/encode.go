package rowkey

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"

	"tidemill/state/column"
)

const (
	tagValue = 0x01
	tagNull  = 0xff
	// Within a text 00 is written 00 FF; 00 00 ends it. Both FF above every continuation and 00 below
	// are what keeps "a" before "a\x00" before "a\x01".
	escape     = 0x00
	escapedNul = 0xff
	terminator = 0x00

	intervalKeyBytes      = 17
	intervalIdentityBytes = intervalKeyBytes + 16
)

// Encoder encodes rows of fixed column types. It is immutable: one may be used by many goroutines.
type Encoder struct {
	types []column.Type
}

// NewEncoder returns an encoder of rows of these types.
func NewEncoder(types []column.Type) *Encoder {
	for i, t := range types {
		if !t.Valid() {
			panic(fmt.Sprintf("rowkey: column %d has type %v", i, t))
		}
	}
	return &Encoder{types: append([]column.Type(nil), types...)}
}

// Types returns the types of the columns. Do not change it.
func (e *Encoder) Types() []column.Type { return e.types }

// AppendKey appends the key of a row of cols.
func (e *Encoder) AppendKey(dst []byte, cols []column.Column, row int) []byte {
	e.check(cols)
	for i := range cols {
		dst = appendValue(dst, &cols[i], row, false)
	}
	return dst
}

// AppendIdentity appends the identity of a row of cols.
func (e *Encoder) AppendIdentity(dst []byte, cols []column.Column, row int) []byte {
	e.check(cols)
	for i := range cols {
		dst = appendValue(dst, &cols[i], row, true)
	}
	return dst
}

func (e *Encoder) check(cols []column.Column) {
	if len(cols) != len(e.types) {
		panic(fmt.Sprintf("rowkey: %d columns for an encoder of %d", len(cols), len(e.types)))
	}
	for i := range cols {
		if cols[i].Type != e.types[i] {
			panic(fmt.Sprintf("rowkey: column %d is %v, the encoder's is %v", i, cols[i].Type, e.types[i]))
		}
	}
}

func appendValue(dst []byte, c *column.Column, row int, identity bool) []byte {
	if c.IsNull(row) {
		return append(dst, tagNull)
	}
	dst = append(dst, tagValue)
	switch c.Type.Kind {
	case column.Varchar, column.Blob, column.BitString, column.JSON:
		return appendText(dst, c.Bytes(row))
	case column.HugeInt, column.Decimal:
		return appendInt128(dst, column.Values[column.Int128](c)[row])
	case column.UHugeInt:
		v := column.Values[column.Int128](c)[row]
		return binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(dst, uint64(v.Hi)), v.Lo)
	case column.List, column.Array, column.Struct, column.Map, column.Union:
		return appendNested(dst, c, row, identity)
	case column.UUID:
		return append(dst, c.Raw(row)...)
	case column.Interval:
		return appendInterval(dst, column.Values[column.IntervalValue](c)[row], identity)
	}
	var v [1]uint64
	orderedBits(c, row, identity, v[:])
	return appendBits(dst, v[0], c.Type.Size())
}

func appendBits(dst []byte, v uint64, size int) []byte {
	switch size {
	case 1:
		return append(dst, byte(v))
	case 2:
		return binary.BigEndian.AppendUint16(dst, uint16(v))
	case 4:
		return binary.BigEndian.AppendUint32(dst, uint32(v))
	}
	return binary.BigEndian.AppendUint64(dst, v)
}

func appendInt128(dst []byte, v column.Int128) []byte {
	dst = binary.BigEndian.AppendUint64(dst, uint64(v.Hi)^sign64)
	return binary.BigEndian.AppendUint64(dst, v.Lo)
}

func appendInterval(dst []byte, v column.IntervalValue, identity bool) []byte {
	c := carry(v)
	dst = binary.BigEndian.AppendUint64(dst, uint64(c.months)^sign64)
	dst = append(dst, byte(c.days)^sign8)
	dst = binary.BigEndian.AppendUint64(dst, uint64(c.micros)^sign64)
	if identity {
		dst = binary.BigEndian.AppendUint32(dst, uint32(v.Months)^sign32)
		dst = binary.BigEndian.AppendUint32(dst, uint32(v.Days)^sign32)
		dst = binary.BigEndian.AppendUint64(dst, uint64(v.Micros)^sign64)
	}
	return dst
}

func appendText(dst, v []byte) []byte {
	for {
		k := bytes.IndexByte(v, escape)
		if k < 0 {
			break
		}
		dst = append(append(dst, v[:k]...), escape, escapedNul)
		v = v[k+1:]
	}
	return append(append(dst, v...), escape, terminator)
}

// Keys returns the keys of rows 0 to n (not included) of cols in one arena: row i's is
// arena[offs[i]:offs[i+1]]. It panics if they pass 2 GiB; batches are bounded far below.
func (e *Encoder) Keys(cols []column.Column, n int) (arena []byte, offs []int32) {
	return e.encodeAll(cols, n, false)
}

// Identities is Keys for identities.
func (e *Encoder) Identities(cols []column.Column, n int) (arena []byte, offs []int32) {
	return e.encodeAll(cols, n, true)
}

// encodeAll measures all rows, then fills the arena column by column.
func (e *Encoder) encodeAll(cols []column.Column, n int, identity bool) ([]byte, []int32) {
	e.check(cols)
	offs := make([]int32, n+1)
	sizes := offs[1:]
	for i := range cols {
		measure(&cols[i], sizes, identity)
	}
	total := int64(0)
	for i, s := range sizes {
		total += int64(s)
		if total > math.MaxInt32 {
			panic(fmt.Sprintf("rowkey: %d rows pass 2 GiB", n))
		}
		sizes[i] = int32(total)
	}
	arena := make([]byte, total)
	pos := append([]int32(nil), offs[:n]...)
	for i := range cols {
		fill(&cols[i], arena, pos, identity)
	}
	return arena, offs
}

// measure adds the bytes of c's rows to sizes.
func measure(c *column.Column, sizes []int32, identity bool) {
	size := int32(c.Type.Size()) + 1
	switch c.Type.Kind {
	case column.Interval:
		size = 1 + intervalKeyBytes
		if identity {
			size = 1 + intervalIdentityBytes
		}
	case column.List, column.Array, column.Struct, column.Map, column.Union:
		var buf []byte
		for i := range sizes {
			buf = appendValue(buf[:0], c, i, identity)
			sizes[i] += int32(len(buf))
		}
		return
	case column.Varchar, column.Blob, column.BitString, column.JSON:
		if plain(c, len(sizes)) {
			for i := range sizes {
				if c.IsNull(i) {
					sizes[i]++
				} else {
					sizes[i] += c.Offsets[i+1] - c.Offsets[i] + 3
				}
			}
			return
		}
		for i := range sizes {
			if c.IsNull(i) {
				sizes[i]++
				continue
			}
			v := c.Bytes(i)
			sizes[i] += int32(len(v)+bytes.Count(v, []byte{escape})) + 3
		}
		return
	}
	if c.Valid == nil {
		for i := range sizes {
			sizes[i] += size
		}
		return
	}
	for i := range sizes {
		if c.IsNull(i) {
			sizes[i]++
		} else {
			sizes[i] += size
		}
	}
}

// plain reports whether no text of c's first n rows has a byte that is escaped.
func plain(c *column.Column, n int) bool {
	return bytes.IndexByte(c.Data[c.Offsets[0]:c.Offsets[n]], escape) < 0
}

// fillPlain is fill for texts without a byte that is escaped. The arena is zero, as terminators are.
func fillPlain(c *column.Column, arena []byte, pos []int32) {
	for i, p := range pos {
		if c.IsNull(i) {
			arena[p] = tagNull
			pos[i] = p + 1
			continue
		}
		arena[p] = tagValue
		n := copy(arena[p+1:], c.Data[c.Offsets[i]:c.Offsets[i+1]])
		pos[i] = p + int32(n) + 3
	}
}

// fill writes c's rows at pos and moves pos on.
func fill(c *column.Column, arena []byte, pos []int32, identity bool) {
	size := c.Type.Size()
	if c.Type.Varlen() && plain(c, len(pos)) {
		fillPlain(c, arena, pos)
		return
	}
	if size == 0 || size == 16 {
		for i, p := range pos {
			end := appendValue(arena[:p], c, i, identity) // within the arena's capacity
			pos[i] = int32(len(end))
		}
		return
	}
	const block = 1024
	var bits [block]uint64
	for lo := 0; lo < len(pos); lo += block {
		part := pos[lo:min(lo+block, len(pos))]
		orderedBits(c, lo, identity, bits[:len(part)])
		for i, p := range part {
			if c.IsNull(lo + i) {
				arena[p] = tagNull
				part[i] = p + 1
				continue
			}
			arena[p] = tagValue
			at := arena[p+1:]
			switch size {
			case 8:
				binary.BigEndian.PutUint64(at, bits[i])
			case 4:
				binary.BigEndian.PutUint32(at, uint32(bits[i]))
			case 2:
				binary.BigEndian.PutUint16(at, uint16(bits[i]))
			default:
				at[0] = byte(bits[i])
			}
			part[i] = p + 1 + int32(size)
		}
	}
}

// FixedKey returns the keys of rows 0 to n of cols as integers when cols is one column whose values
// have up to 8 bytes and are not floats: equal exactly when the keys are, and in the same order. valid
// is the column's validity (nil when no value is NULL); the integer of a NULL means nothing. For such
// columns key and identity agree.
func FixedKey(cols []column.Column, n int) (vals []uint64, valid []byte, ok bool) {
	if len(cols) != 1 || !FixedType(cols[0].Type) {
		return nil, nil, false
	}
	vals = make([]uint64, n)
	orderedBits(&cols[0], 0, true, vals)
	return vals, cols[0].Valid, true
}

// FixedType reports whether FixedKey takes a column of type t.
func FixedType(t column.Type) bool {
	size := t.Size()
	return size >= 1 && size <= 8 && !t.Floating()
}

// AppendFixed appends the value whose FixedKey is v to b, a builder of type t.
func AppendFixed(b *column.Builder, t column.Type, v uint64) {
	var raw [8]byte
	binary.LittleEndian.PutUint64(raw[:], unordered(t.Kind, v))
	b.AppendRaw(raw[:t.Size()])
}
