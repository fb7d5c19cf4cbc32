// Package column holds columns of SQL values in memory: a type, a validity bitmap and buffers in
// Arrow's physical layout. It is the noun that every other package passes around.
//
// A Column is not an arrow.Array: an Arrow batch of five columns costs 27 small objects and a
// reference count per buffer, and every kernel pays an interface call to reach its values. A
// Column is three slices. Its buffers are Arrow's own (validity least significant bit first, 32-bit
// offsets), so ToArrow and FromArrow are pointer work, except for BOOLEAN (a byte a value here, as
// DuckDB has it; a bit in Arrow) and INTERVAL (microseconds here, nanoseconds in Arrow).
//
// Ownership: buffers are garbage collected and immutable once a Column has been handed to another
// package; nobody releases anything. A Column may share buffers with others. Columns are safe for
// concurrent reading.
package column

import "unsafe"

// Column is N values of one type.
type Column struct {
	Type Type
	N    int
	// Valid has a bit per value, least significant first; 1 is a value, 0 is NULL. A nil Valid
	// means that no value is NULL. Its bit 0 is row 0 always: a Column has no offset.
	Valid []byte
	// Data holds N values of Type.Size bytes, little endian, or the bytes of all texts. The bytes
	// under a NULL are zero for fixed-width types and empty for text.
	Data []byte
	// Offsets has N+1 places in Data for texts (Type.Varlen), in the elements for LIST and MAP, and is nil
	// otherwise. Offsets[0] need not be 0.
	Offsets []int32
	// Kids are what a nested type's values are made of, with the types of Type.Kids, in Arrow's layout. LIST
	// and MAP: one column of the elements, those of row i from Offsets[i] to Offsets[i+1]; a NULL has none.
	// ARRAY: one of N times the length. STRUCT and UNION: N rows each. Under a NULL the kids of an ARRAY,
	// STRUCT or UNION are NULL, and so are the members of a UNION that its tag does not name.
	Kids []Column
}

// Fixed is a Go type that a fixed-width column's buffer can be viewed as.
type Fixed interface {
	~uint8 | ~int8 | ~uint16 | ~int16 | ~uint32 | ~int32 | ~uint64 | ~int64 | ~float32 | ~float64 | Int128 | IntervalValue | [16]byte
}

// Int128 is a 128-bit two's complement integer in Arrow's and DuckDB's order: HUGEINT and the
// unscaled value of a DECIMAL.
type Int128 struct {
	Lo uint64
	Hi int64
}

// IntervalValue is an INTERVAL as DuckDB keeps it.
type IntervalValue struct {
	Months, Days int32
	Micros       int64
}

// Values views the buffer of a fixed-width column as []V without a copy. The size of V must be the
// type's; anything else is a bug of the caller and panics.
func Values[V Fixed](c *Column) []V {
	var v V
	if int(unsafe.Sizeof(v)) != c.Type.Size() {
		panic("column: " + c.Type.String() + " viewed as a value of another size")
	}
	if c.N == 0 {
		return nil
	}
	return unsafe.Slice((*V)(unsafe.Pointer(unsafe.SliceData(c.Data))), c.N)
}

// Of makes a column of a fixed-width type over vals without a copy; valid may be nil.
func Of[V Fixed](t Type, vals []V, valid []byte) Column {
	var v V
	size := int(unsafe.Sizeof(v))
	if size != t.Size() {
		panic("column: " + t.String() + " made of values of another size")
	}
	c := Column{Type: t, N: len(vals), Valid: valid}
	if len(vals) > 0 {
		c.Data = unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(vals))), len(vals)*size)
	}
	return c
}

// OfStrings makes a VARCHAR (or BLOB) column by copying vals.
func OfStrings(t Type, vals []string) Column {
	b := NewBuilder(t, len(vals))
	for _, s := range vals {
		b.AppendString(s)
	}
	return b.Finish()
}

// Absent returns a column of n rows that nobody reads: it has a type and no values. Only Gather, Slice and
// Concat take it, and give absent columns.
func Absent(t Type, n int) Column { return Column{Type: t, N: n} }

// IsAbsent reports whether the column has rows and no values.
func (c *Column) IsAbsent() bool {
	return c.N > 0 && c.Data == nil && c.Offsets == nil && c.Kids == nil
}

// IsNull reports whether row i is NULL.
func (c *Column) IsNull(i int) bool { return c.Valid != nil && c.Valid[i>>3]>>(i&7)&1 == 0 }

// Bytes returns the bytes of row i of a column of texts; they alias the column.
func (c *Column) Bytes(i int) []byte { return c.Data[c.Offsets[i]:c.Offsets[i+1]] }

// Str returns row i of a column of texts; the string aliases the column.
func (c *Column) Str(i int) string {
	b := c.Bytes(i)
	return unsafe.String(unsafe.SliceData(b), len(b))
}

// Raw returns the bytes of the value at row i: the fixed-width value or the text, which alias the
// column, or for a nested type a new payload of EncodeColumns with this row alone. Values of a type are
// the same bit for bit when these are.
func (c *Column) Raw(i int) []byte {
	if c.Type.Nested() {
		one := c.Gather([]int32{int32(i)})
		return EncodeColumns([]Column{one})
	}
	if c.Offsets != nil {
		return c.Bytes(i)
	}
	s := c.Type.Size()
	return c.Data[i*s : i*s+s]
}

// HasNulls reports whether any value is NULL, by counting.
func (c *Column) HasNulls() bool { return c.NullCount() > 0 }

// NullCount returns how many values are NULL.
func (c *Column) NullCount() int {
	if c.Valid == nil {
		return 0
	}
	return c.N - countBits(c.Valid, c.N)
}

// Size returns the bytes that the column's buffers span.
func (c *Column) Size() int {
	n := len(c.Data) + len(c.Valid) + 4*len(c.Offsets)
	for i := range c.Kids {
		n += c.Kids[i].Size()
	}
	return n
}

// Elements returns where the elements of row i of a LIST, MAP or ARRAY lie in Kids[0].
func (c *Column) Elements(i int) (from, to int) {
	if c.Offsets != nil {
		return int(c.Offsets[i]), int(c.Offsets[i+1])
	}
	n := c.Type.Length()
	return i * n, i*n + n
}
