package column

import (
	"bytes"
	"unsafe"
)

// Gather returns the rows of c at sel, in that order; a row may be named more than once.
func (c *Column) Gather(sel []int32) Column {
	if c.IsAbsent() {
		return Absent(c.Type, len(sel))
	}
	out := Column{Type: c.Type, N: len(sel)}
	if c.Valid != nil {
		v := NewBitmap(len(sel), false)
		for k, i := range sel {
			v[k>>3] |= (c.Valid[i>>3] >> (i & 7) & 1) << (k & 7)
		}
		out.Valid = v
	}
	if c.Type.Nested() {
		c.gatherKids(&out, sel)
		return out
	}
	switch c.Type.Size() {
	case 0:
		out.Offsets = make([]int32, len(sel)+1)
		total := 0
		for k, i := range sel {
			total += int(c.Offsets[i+1] - c.Offsets[i])
			out.Offsets[k+1] = int32(total)
		}
		if total > maxColumnBytes {
			panic("column: gathered text of " + c.Type.String() + " passes 2 GiB")
		}
		out.Data = make([]byte, total)
		for k, i := range sel {
			copy(out.Data[out.Offsets[k]:], c.Data[c.Offsets[i]:c.Offsets[i+1]])
		}
	case 1:
		out.Data = gatherFixed[uint8](c, sel)
	case 2:
		out.Data = gatherFixed[uint16](c, sel)
	case 4:
		out.Data = gatherFixed[uint32](c, sel)
	case 8:
		out.Data = gatherFixed[uint64](c, sel)
	case 16:
		out.Data = gatherFixed[Int128](c, sel)
	}
	return out
}

func gatherFixed[V Fixed](c *Column, sel []int32) []byte {
	if len(sel) == 0 {
		return nil
	}
	src, dst := Values[V](c), make([]V, len(sel))
	for k, i := range sel {
		dst[k] = src[i]
	}
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(dst))), len(sel)*int(unsafe.Sizeof(dst[0])))
}

// Slice returns rows lo to hi (not included). It shares the values; the bitmap is copied when lo is
// not a multiple of 8.
func (c *Column) Slice(lo, hi int) Column {
	if lo == 0 && hi == c.N {
		return *c
	}
	if c.IsAbsent() {
		return Absent(c.Type, hi-lo)
	}
	out := Column{Type: c.Type, N: hi - lo}
	if c.Valid != nil {
		out.Valid = sliceBitmap(c.Valid, lo, hi-lo)
	}
	if c.Type.Nested() {
		c.sliceKids(&out, lo, hi)
	} else if c.Offsets != nil {
		out.Offsets, out.Data = c.Offsets[lo:hi+1], c.Data
	} else {
		s := c.Type.Size()
		out.Data = c.Data[lo*s : hi*s]
	}
	return out
}

// Concat returns the rows of all columns in order. With one column that column itself is returned.
// All must have type t; with none the result is empty.
func Concat(t Type, cols ...*Column) Column {
	if len(cols) == 1 {
		return *cols[0]
	}
	n, bytes, absent := 0, 0, false
	for _, c := range cols {
		n += c.N
		absent = absent || c.IsAbsent()
		if c.Offsets != nil && t.Varlen() && c.N > 0 {
			bytes += int(c.Offsets[c.N] - c.Offsets[0])
		}
	}
	if absent {
		return Absent(t, n)
	}
	b := NewBuilder(t, n)
	if t.Varlen() {
		b.data = make([]byte, 0, bytes)
	}
	for _, c := range cols {
		b.AppendColumn(c)
	}
	return b.Finish()
}

// Nulls returns a column of n NULLs.
func Nulls(t Type, n int) Column {
	c := Column{Type: t, N: n, Valid: NewBitmap(n, false)}
	if t.Nested() {
		c.nullKids()
	} else if t.Varlen() {
		c.Offsets = make([]int32, n+1)
	} else {
		c.Data = make([]byte, n*t.Size())
	}
	return c
}

// Repeat returns n copies of row i of c.
func (c *Column) Repeat(i, n int) Column {
	sel := make([]int32, n)
	for k := range sel {
		sel[k] = int32(i)
	}
	return c.Gather(sel)
}

// Differ sets differ[k] where row a[k] of x and row b[k] of y are not the same bits; x and y have the same type. Where one is
// absent nothing differs.
func Differ(x, y *Column, a, b []int32, differ []bool) {
	if x.IsAbsent() || y.IsAbsent() {
		return
	}
	if x.Valid == nil && y.Valid == nil {
		switch x.Type.Size() {
		case 8:
			differFixed(Values[uint64](x), Values[uint64](y), a, b, differ)
			return
		case 16:
			differFixed(Values[Int128](x), Values[Int128](y), a, b, differ)
			return
		}
	}
	for k := range differ {
		i, j := int(a[k]), int(b[k])
		if null := x.IsNull(i); null != y.IsNull(j) || !null && !bytes.Equal(x.Raw(i), y.Raw(j)) {
			differ[k] = true
		}
	}
}

func differFixed[V comparable](x, y []V, a, b []int32, differ []bool) {
	for k := range differ {
		if x[a[k]] != y[b[k]] {
			differ[k] = true
		}
	}
}
