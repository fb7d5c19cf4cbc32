package column

import "unsafe"

// Builder appends values to a growing column. It is not safe for concurrent use.
type Builder struct {
	t     Type
	n     int
	nulls int
	valid []byte // grown from the first NULL on
	data  []byte
	offs  []int32
	kids  []*Builder // of a nested type
}

// NewBuilder returns a builder of type t with room for n values.
func NewBuilder(t Type, n int) *Builder {
	b := &Builder{t: t}
	switch {
	case t.Nested():
		b.nest(n)
	case t.Varlen():
		b.offs = make([]int32, 1, n+1)
	default:
		b.data = make([]byte, 0, n*t.Size())
	}
	return b
}

// Len returns the number of values appended.
func (b *Builder) Len() int { return b.n }

// Type returns the type of the values.
func (b *Builder) Type() Type { return b.t }

// DataLen returns the bytes appended so far, those of kids included: a caller that builds text watches that
// it stays within the 2 GiB that 32-bit offsets can address.
func (b *Builder) DataLen() int {
	n := len(b.data)
	for _, k := range b.kids {
		n += k.DataLen()
	}
	return n
}

func (b *Builder) mark(ok bool) {
	if !ok && b.valid == nil {
		b.valid = NewBitmap(b.n, true)
	}
	if b.valid != nil {
		if b.n>>3 >= len(b.valid) {
			b.valid = append(b.valid, 0)
		}
		if ok {
			b.valid[b.n>>3] |= 1 << (b.n & 7)
		} else {
			b.nulls++
		}
	}
	b.n++
}

var zeros [16]byte

// AppendNull appends a NULL.
func (b *Builder) AppendNull() {
	if b.kids != nil {
		b.appendNestedNull()
		return
	}
	if b.offs != nil {
		b.offs = append(b.offs, int32(len(b.data)))
	} else {
		b.data = append(b.data, zeros[:b.t.Size()]...)
	}
	b.mark(false)
}

// AppendRaw appends a value given as its bytes, those of Column.Raw.
func (b *Builder) AppendRaw(v []byte) {
	if b.kids != nil {
		b.appendNestedRaw(v)
		return
	}
	b.data = append(b.data, v...)
	if b.offs != nil {
		b.offs = append(b.offs, b.textEnd())
	}
	b.mark(true)
}

// textEnd returns the end of the text appended so far. Past 2 GiB it would wrap and corrupt the
// column, so it panics: callers bound what they build.
func (b *Builder) textEnd() int32 {
	if len(b.data) > maxColumnBytes {
		panic("column: text of " + b.t.String() + " passes 2 GiB")
	}
	return int32(len(b.data))
}

// AppendString appends a text.
func (b *Builder) AppendString(s string) { b.AppendRaw(unsafe.Slice(unsafe.StringData(s), len(s))) }

// Append appends a fixed-width value to b. The size of V must be the type's.
func Append[V Fixed](b *Builder, v V) {
	b.AppendRaw(unsafe.Slice((*byte)(unsafe.Pointer(&v)), unsafe.Sizeof(v)))
}

// AppendFrom appends row i of c, which must have the builder's type.
func (b *Builder) AppendFrom(c *Column, i int) {
	switch {
	case c.IsNull(i):
		b.AppendNull()
	case b.kids != nil:
		one := c.Slice(i, i+1)
		b.AppendColumn(&one)
	default:
		b.AppendRaw(c.Raw(i))
	}
}

// AppendColumn appends all rows of c, which must have the builder's type.
func (b *Builder) AppendColumn(c *Column) {
	if c.N == 0 {
		return
	}
	if b.kids != nil {
		b.appendKids(c)
	} else if b.offs != nil {
		base := int32(len(b.data)) - c.Offsets[0]
		b.data = append(b.data, c.Data[c.Offsets[0]:c.Offsets[c.N]]...)
		b.textEnd()
		for _, o := range c.Offsets[1 : c.N+1] {
			b.offs = append(b.offs, o+base)
		}
	} else {
		b.data = append(b.data, c.Data[:c.N*c.Type.Size()]...)
	}
	nulls := c.NullCount()
	if nulls == 0 && b.valid == nil {
		b.n += c.N
		return
	}
	if b.valid == nil {
		b.valid = NewBitmap(b.n, true)
	}
	for len(b.valid) < (b.n+c.N+7)/8 {
		b.valid = append(b.valid, 0)
	}
	for i := range c.N {
		if !c.IsNull(i) {
			SetBit(b.valid, b.n+i)
		}
	}
	b.nulls += nulls
	b.n += c.N
}

// Finish returns the column and leaves the builder unusable.
func (b *Builder) Finish() Column {
	c := Column{Type: b.t, N: b.n, Data: b.data, Offsets: b.offs}
	if b.nulls > 0 {
		c.Valid = b.valid
	}
	if b.kids != nil {
		c.Kids = make([]Column, len(b.kids))
		for i, k := range b.kids {
			c.Kids[i] = k.Finish()
		}
	}
	return c
}

// View returns the column as it is so far. Later appends do not change it: they write behind its
// end, except into the last byte of the bitmap, which is therefore copied.
func (b *Builder) View() Column {
	c := Column{Type: b.t, N: b.n, Data: b.data[:len(b.data):len(b.data)]}
	if b.offs != nil {
		c.Offsets = b.offs[: b.n+1 : b.n+1]
	}
	if b.nulls > 0 {
		c.Valid = append([]byte(nil), b.valid...)
	}
	if b.kids != nil {
		c.Kids = make([]Column, len(b.kids))
		for i, k := range b.kids {
			c.Kids[i] = k.View()
		}
	}
	return c
}
