package duck

import (
	"encoding/binary"
	"fmt"
	"slices"
	"unsafe"

	m "github.com/duckdb/duckdb-go-bindings"

	"tidemill/state/column"
)

// stringHeader is DuckDB's string_t: up to 12 bytes stand in the header itself.
type stringHeader struct {
	n    uint32
	head [4]byte
	ptr  unsafe.Pointer // or the last 8 of 12 inline bytes: only read when n > 12
}

func (h *stringHeader) bytes() []byte {
	if h.n <= 12 {
		return unsafe.Slice(&h.head[0], 12)[:h.n:h.n]
	}
	return unsafe.Slice((*byte)(h.ptr), h.n)
}

// collector gathers result vectors of one type into a column, copying.
type collector struct {
	t     column.Type
	n     int
	valid []byte
	nulls int
	data  []byte
	offs  []int32
	kids  []*collector
}

func newCollector(t column.Type) *collector {
	c := &collector{t: t}
	if t.Varlen() || t.Kind == column.List || t.Kind == column.Map {
		c.offs = []int32{0}
	}
	for _, k := range t.Kids() {
		c.kids = append(c.kids, newCollector(k))
	}
	return c
}

// add appends the first n values of a flat vector.
func (c *collector) add(v m.Vector, n int) error {
	if n == 0 {
		return nil
	}
	var mask []uint64
	if p := m.VectorGetValidity(v); p != nil {
		mask = unsafe.Slice((*uint64)(p), (n+63)/64)
	}
	c.addValid(mask, n)
	isNull := func(i int) bool { return mask != nil && mask[i>>6]>>(i&63)&1 == 0 }
	if c.kids != nil {
		return c.addKids(v, n, isNull)
	}
	src := m.VectorGetData(v)
	if c.offs != nil {
		return c.addText(unsafe.Slice((*stringHeader)(src), n), isNull)
	}
	from, size := len(c.data), c.t.Size()
	c.data = append(c.data, make([]byte, n*size)...)
	dst := c.data[from:]
	switch {
	case c.t.Kind == column.UUID:
		for i, h := range unsafe.Slice((*column.Int128)(src), n) {
			binary.BigEndian.PutUint64(dst[16*i:], uint64(h.Hi)^1<<63)
			binary.BigEndian.PutUint64(dst[16*i+8:], h.Lo)
		}
	case c.t.Kind == column.Decimal && c.t.Width <= 4:
		widen(dst, unsafe.Slice((*int16)(src), n))
	case c.t.Kind == column.Decimal && c.t.Width <= 9:
		widen(dst, unsafe.Slice((*int32)(src), n))
	case c.t.Kind == column.Decimal && c.t.Width <= 18:
		widen(dst, unsafe.Slice((*int64)(src), n))
	default:
		copy(dst, unsafe.Slice((*byte)(src), n*size))
	}
	if mask != nil { // what DuckDB leaves under a NULL is anything
		for i := range n {
			if isNull(i) {
				clear(dst[i*size : (i+1)*size])
			}
		}
	}
	return nil
}

// entry is DuckDB's place of a list among the elements.
type entry struct{ from, n uint64 }

// addKids appends the parts of n values. Elements of lists may lie in any order in a vector, and twice.
func (c *collector) addKids(v m.Vector, n int, isNull func(int) bool) error {
	switch c.t.Kind {
	case column.Array:
		return c.kids[0].add(m.ArrayVectorGetChild(v), n*c.t.Length())
	case column.Struct, column.Union:
		for i, k := range c.kids {
			if err := k.add(m.StructVectorGetChild(v, m.IdxT(i)), n); err != nil {
				return err
			}
		}
		return nil
	}
	entries := unsafe.Slice((*entry)(m.VectorGetData(v)), n)
	size := uint64(m.ListVectorGetSize(v))
	kid, inOrder, next := c.kids[0], true, uint64(0)
	for i, e := range entries {
		if !isNull(i) && e.n > 0 {
			if e.from > size || e.n > size-e.from {
				return fmt.Errorf("a list of %d elements at %d of %d", e.n, e.from, size)
			}
			inOrder = inOrder && e.from == next
			next += e.n
		}
		if uint64(c.offs[0])+uint64(kid.n)+next > 1<<31-2 {
			return fmt.Errorf("a result column of more than 2^31 elements in one batch")
		}
		c.offs = append(c.offs, int32(uint64(kid.n)+next))
	}
	if inOrder {
		return kid.add(m.ListVectorGetChild(v), int(next))
	}
	all := newCollector(kid.t)
	if err := all.add(m.ListVectorGetChild(v), int(size)); err != nil {
		return err
	}
	whole := all.finish()
	sel := make([]int32, 0, next)
	for i, e := range entries {
		for k := e.from; !isNull(i) && k < e.from+e.n; k++ {
			sel = append(sel, int32(k))
		}
	}
	part := whole.Gather(sel)
	kid.addColumn(&part)
	return nil
}

// addColumn appends the values of a column.
func (c *collector) addColumn(p *column.Column) {
	so := c.finish()
	joined := column.Concat(c.t, &so, p)
	c.restart(&joined)
}

// restart makes c hold what p has.
func (c *collector) restart(p *column.Column) {
	*c = collector{t: p.Type, n: p.N, valid: slices.Clone(p.Valid), nulls: p.NullCount(), data: p.Data, offs: p.Offsets, kids: c.kids}
	for i, k := range c.kids {
		k.restart(&p.Kids[i])
	}
}

func widen[V int16 | int32 | int64](dst []byte, src []V) {
	for i, v := range src {
		binary.LittleEndian.PutUint64(dst[16*i:], uint64(int64(v)))
		binary.LittleEndian.PutUint64(dst[16*i+8:], uint64(int64(v)>>63))
	}
}

func (c *collector) addText(src []stringHeader, isNull func(int) bool) error {
	total := len(c.data)
	for i := range src {
		if !isNull(i) {
			total += int(src[i].n)
		}
	}
	if total > 1<<31-1 {
		return fmt.Errorf("a result column of more than 2 GiB of text in one batch")
	}
	for i := range src {
		if !isNull(i) {
			c.data = append(c.data, src[i].bytes()...)
		}
		c.offs = append(c.offs, int32(len(c.data)))
	}
	return nil
}

func (c *collector) addValid(mask []uint64, n int) {
	if mask == nil && c.valid == nil {
		c.n += n
		return
	}
	if c.valid == nil {
		c.valid = column.NewBitmap(c.n, true)
	}
	for len(c.valid) < (c.n+n+7)/8 {
		c.valid = append(c.valid, 0)
	}
	for i := range n {
		if mask == nil || mask[i>>6]>>(i&63)&1 != 0 {
			column.SetBit(c.valid, c.n+i)
		} else {
			c.nulls++
		}
	}
	c.n += n
}

func (c *collector) finish() column.Column {
	out := column.Column{Type: c.t, N: c.n, Data: c.data, Offsets: c.offs}
	if c.nulls > 0 {
		out.Valid = c.valid
	}
	for _, k := range c.kids {
		out.Kids = append(out.Kids, k.finish())
	}
	if c.kids != nil { // what DuckDB has under NULLs, and in the members that a UNION is not, is anything
		return out.Canonical()
	}
	return out
}

// appendNulls appends the places, counted from base, of the NULLs among a vector's first n values.
func appendNulls(to []int32, v m.Vector, base, n int) []int32 {
	p := m.VectorGetValidity(v)
	if p == nil {
		return to
	}
	mask := unsafe.Slice((*uint64)(p), (n+63)/64)
	for i := range n {
		if mask[i>>6]>>(i&63)&1 == 0 {
			to = append(to, int32(base+i))
		}
	}
	return to
}
