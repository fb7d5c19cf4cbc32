package decode

import (
	"slices"

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
	if m.s.mask != nil {
		if valid = slices.Clone(valid); valid == nil {
			valid = column.NewBitmap(n, true)
		}
		for i := range valid {
			valid[i] &= m.s.mask[i]
		}
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
