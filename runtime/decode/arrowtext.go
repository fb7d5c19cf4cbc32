package decode

import (
	"unicode/utf8"
	"unsafe"

	"tidemill/state/column"
)

// offsets allocates the offsets of n texts.
func (m *message) offsets(n int) ([]int32, error) {
	if err := m.s.budget.take(4 * int64(n+1)); err != nil {
		return nil, err
	}
	return make([]int32, n+1), nil
}

// text reads texts with 32-bit offsets.
func (m *message) text(c *column.Column) error {
	raw, err := m.offsetBuffer(c.N, 4)
	if err != nil {
		return err
	}
	data, err := m.buffer(0)
	if err != nil {
		return err
	}
	if raw == nil {
		c.Offsets = []int32{0}
		return nil
	}
	if raw, err = m.aligned(raw); err != nil {
		return err
	}
	offs := unsafe.Slice((*int32)(unsafe.Pointer(unsafe.SliceData(raw))), c.N+1)
	first, last := offs[0], offs[c.N]
	sign := first // negative as soon as an offset or a length is
	prev := first
	for _, o := range offs[1:] {
		sign |= o | (o - prev)
		prev = o
	}
	if sign < 0 || int(last) > len(data) {
		return m.s.garbage("the offsets of the texts run backwards or out of the buffer")
	}
	c.Offsets, c.Data = offs, data[:last]
	return m.emptyNulls(c)
}

// offsetBuffer takes a buffer of n+1 offsets; it may be left out, and is nil, when n is 0.
func (m *message) offsetBuffer(n, size int) ([]byte, error) {
	need := size * (n + 1)
	if n == 0 {
		need = 0
	}
	b, err := m.buffer(int64(need))
	if err != nil || n == 0 {
		return nil, err
	}
	return b[:need], nil
}

// large reads texts with 64-bit offsets, which become 32-bit ones.
func (m *message) large(c *column.Column) error {
	raw, err := m.offsetBuffer(c.N, 8)
	if err != nil {
		return err
	}
	data, err := m.buffer(0)
	if err != nil {
		return err
	}
	if raw == nil {
		c.Offsets = []int32{0}
		return nil
	}
	first, last := int64(le.Uint64(raw)), int64(le.Uint64(raw[8*c.N:]))
	if first < 0 || last < first || last > int64(len(data)) {
		return m.s.garbage("the offsets of the texts run backwards or out of the buffer")
	}
	if last-first > maxText {
		return m.s.garbage("more than 2 GiB of text in one column")
	}
	offs, err := m.offsets(c.N)
	if err != nil {
		return err
	}
	prev, sign := first, int64(0)
	for i := range offs {
		o := int64(le.Uint64(raw[8*i:]))
		sign |= o | (o - prev)
		prev = o
		offs[i] = int32(o - first)
	}
	if sign < 0 {
		return m.s.garbage("the offsets of the texts run backwards or out of the buffer")
	}
	c.Offsets, c.Data = offs, data[first:last]
	return m.emptyNulls(c)
}

// views reads texts of 16 bytes each: a length, and the text itself when it has up to 12 bytes, else
// its first four, a buffer and a place in it.
func (m *message) views(c *column.Column) error {
	raw, err := m.buffer(16 * int64(c.N))
	if err != nil {
		return err
	}
	if len(m.variadic) == 0 {
		return m.s.garbage("a view array has no count of its buffers")
	}
	count := int64(le.Uint64(m.variadic))
	m.variadic = m.variadic[8:]
	if count < 0 || count > int64(len(m.buffers)/16) {
		return m.s.garbage("a view array has %d buffers, and %d are left", count, len(m.buffers)/16)
	}
	bufs := make([][]byte, count)
	for i := range bufs {
		if bufs[i], err = m.buffer(0); err != nil {
			return err
		}
	}
	view := func(i int) ([]byte, bool) {
		if c.IsNull(i) {
			return nil, true
		}
		v := raw[16*i : 16*i+16]
		n, k, at := int64(int32(le.Uint32(v))), int64(int32(le.Uint32(v[8:]))), int64(int32(le.Uint32(v[12:])))
		switch {
		case n < 0:
			return nil, false
		case n <= 12:
			return v[4 : 4+n], true
		case k < 0 || k >= count || at < 0 || at+n > int64(len(bufs[k])):
			return nil, false
		}
		return bufs[k][at : at+n], true
	}
	total := int64(0)
	for i := range c.N {
		t, ok := view(i)
		if !ok {
			return m.s.garbage("view %d lies outside its buffer", i+1)
		}
		total += int64(len(t))
	}
	if total > maxText {
		return m.s.garbage("more than 2 GiB of text in one column")
	}
	offs, err := m.offsets(c.N)
	if err != nil {
		return err
	}
	data, err := m.make(total)
	if err != nil {
		return err
	}
	data = data[:0]
	for i := range c.N {
		t, _ := view(i)
		data = append(data, t...)
		offs[i+1] = int32(len(data))
	}
	c.Offsets, c.Data = offs, data
	return nil
}

// emptyNulls makes the texts under NULLs empty, as columns have it.
func (m *message) emptyNulls(c *column.Column) error {
	if c.Valid == nil {
		return nil
	}
	full := false
	for i := 0; i < c.N && !full; i++ {
		if i&7 == 0 && c.Valid[i>>3] == 0xff {
			i += 7
			continue
		}
		full = !column.Bit(c.Valid, i) && c.Offsets[i+1] != c.Offsets[i]
	}
	if !full {
		return nil
	}
	offs, err := m.offsets(c.N)
	if err != nil {
		return err
	}
	data, err := m.make(int64(c.Offsets[c.N] - c.Offsets[0]))
	if err != nil {
		return err
	}
	data = data[:0]
	for i := range c.N {
		if !c.IsNull(i) {
			data = append(data, c.Bytes(i)...)
		}
		offs[i+1] = int32(len(data))
	}
	c.Offsets, c.Data = offs, data
	return nil
}

// checkUTF8 checks a text column: all bytes at once, which for ASCII settles it, and then whether
// each text starts at a character.
func checkUTF8(c *column.Column) error {
	from := c.Offsets[0]
	all := c.Data[from:c.Offsets[c.N]]
	if ascii(all) {
		return nil
	}
	ok := utf8.Valid(all)
	for _, o := range c.Offsets[:c.N] {
		if !ok {
			break
		}
		ok = int(o) == len(c.Data) || utf8.RuneStart(c.Data[o])
	}
	if ok {
		return nil
	}
	for i := range c.N {
		if b := c.Bytes(i); !utf8.Valid(b) {
			return &badValue{row: i, value: shorten(b), reason: "the text is not valid UTF-8"}
		}
	}
	return nil
}

func ascii(b []byte) bool {
	i, acc := 0, uint64(0)
	for ; i+32 <= len(b); i += 32 {
		acc |= le.Uint64(b[i:]) | le.Uint64(b[i+8:]) | le.Uint64(b[i+16:]) | le.Uint64(b[i+24:])
	}
	for ; i < len(b); i++ {
		acc |= uint64(b[i])
	}
	return acc&high == 0
}
