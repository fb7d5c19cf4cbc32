package decode

import (
	"unicode/utf8"
	"unsafe"

	"tidemill/state/column"
)

// array takes the next array, of type t and n values, and returns it as a column of t.native. A
// null array gives a column without a type.
func (m *message) array(t *arrowType, n int) (column.Column, error) {
	nulls, err := m.node(n)
	if err != nil {
		return column.Column{}, err
	}
	if t.layout == layoutNull {
		return column.Column{N: n}, nil
	}
	valid, err := m.validity(n, nulls)
	if err != nil {
		return column.Column{}, err
	}
	c := column.Column{Type: t.native, N: n, Valid: valid}
	switch t.layout {
	case layoutBits:
		err = m.bits(&c)
	case layoutFixed:
		err = m.fixed(t, &c)
	case layoutText:
		err = m.text(&c)
	case layoutLarge:
		err = m.large(&c)
	case layoutView:
		err = m.views(&c)
	}
	if err == nil && t.utf8 {
		err = checkUTF8(&c)
	}
	return c, err
}

// spread has, for a byte of 8 bits, the 8 bytes that they become.
var spread = func() (s [256]uint64) {
	for b := range s {
		for k := range 8 {
			s[b] |= uint64(b>>k&1) << (8 * k)
		}
	}
	return s
}()

// bits reads booleans, a bit each, to bytes.
func (m *message) bits(c *column.Column) error {
	size := (c.N + 7) / 8
	b, err := m.buffer(int64(size))
	if err != nil {
		return err
	}
	out, err := m.make(int64(size) * 8)
	if err != nil {
		return err
	}
	for i, x := range b[:size] {
		if c.Valid != nil {
			x &= c.Valid[i]
		}
		le.PutUint64(out[8*i:], spread[x])
	}
	c.Data = out[:c.N]
	return nil
}

// fixed reads values of a fixed width.
func (m *message) fixed(t *arrowType, c *column.Column) error {
	if int64(t.size) > maxText {
		return m.s.garbage("values of %d bytes", t.size)
	}
	size := int64(c.N) * int64(t.size)
	b, err := m.buffer(size)
	if err != nil {
		return err
	}
	if b, err = m.aligned(b[:size]); err != nil {
		return err
	}
	if b, err = m.clearNulls(b, t.size, c.Valid); err != nil {
		return err
	}
	if t.fixed && t.native.Kind == column.Blob {
		return m.blobs(c, b, t.size)
	}
	if t.raise != nil {
		out, err := m.make(int64(c.N) * int64(t.native.Size()))
		if err != nil {
			return err
		}
		if bad := t.raise(b, c.N, out); bad >= 0 {
			return &badValue{row: bad, value: rawValue(b, t.size, bad), reason: "the value of type " + t.name + " has no exact " + t.native.String()}
		}
		b = out
	}
	c.Data = b
	return nil
}

// clearNulls returns b with zeros under every NULL, as columns have it: b itself when it has them
// already.
func (m *message) clearNulls(b []byte, size int, valid []byte) ([]byte, error) {
	if valid == nil || allZero(b, size, valid) {
		return b, nil
	}
	out, err := m.copied(b)
	if err != nil {
		return nil, err
	}
	for i := range len(b) / size {
		if !column.Bit(valid, i) {
			clear(out[i*size : (i+1)*size])
		}
	}
	return out, nil
}

func allZero(b []byte, size int, valid []byte) bool {
	n := len(b) / size
	for i := 0; i < n; i++ {
		if i&7 == 0 && valid[i>>3] == 0xff {
			i += 7
			continue
		}
		if !column.Bit(valid, i) {
			for _, x := range b[i*size : (i+1)*size] {
				if x != 0 {
					return false
				}
			}
		}
	}
	return true
}

// blobs makes c of values of a fixed size; those that are NULL are left out.
func (m *message) blobs(c *column.Column, b []byte, size int) error {
	if len(b) > maxText {
		return m.s.garbage("more than 2 GiB of values in one column")
	}
	offs, err := m.offsets(c.N)
	if err != nil {
		return err
	}
	if c.Valid == nil {
		for i := range offs {
			offs[i] = int32(i * size)
		}
		c.Data, c.Offsets = b, offs
		return nil
	}
	out, err := m.make(int64(len(b)))
	if err != nil {
		return err
	}
	out = out[:0]
	for i := range c.N {
		if column.Bit(c.Valid, i) {
			out = append(out, b[i*size:(i+1)*size]...)
		}
		offs[i+1] = int32(len(out))
	}
	c.Data, c.Offsets = out, offs
	return nil
}

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
