package decode

// flatbuf reads a flatbuffer from a stranger. Every offset is checked against the buffer; the first
// one that points outside sets bad, and everything read from then on is zero. Callers read what they
// need and look at bad once. Nothing is allocated and nothing recurses.
//
// A flatbuffer is little endian. A table starts with a signed 32-bit offset back to its vtable; the
// vtable has its own size, the table's size, and 16-bit places of the fields in the table, 0 for a
// field that is left out. References are unsigned 32-bit offsets forward from where they stand.
type flatbuf struct {
	b   []byte
	bad bool
}

// table is a checked place of a table: its bytes and its vtable's field places.
type table struct {
	pos, size int
	vtable    []byte // field places only
}

// at returns n bytes at pos, or nil and bad.
func (f *flatbuf) at(pos, n int) []byte {
	if f.bad || pos < 0 || n < 0 || pos > len(f.b)-n {
		f.bad = true
		return nil
	}
	return f.b[pos : pos+n]
}

func (f *flatbuf) u16(pos int) int {
	if p := f.at(pos, 2); p != nil {
		return int(le.Uint16(p))
	}
	return 0
}

func (f *flatbuf) u32(pos int) int {
	if p := f.at(pos, 4); p != nil {
		return int(le.Uint32(p))
	}
	return 0
}

// root returns the table that the buffer is about.
func (f *flatbuf) root() table { return f.tableAt(f.u32(0)) }

func (f *flatbuf) tableAt(pos int) table {
	p := f.at(pos, 4)
	if p == nil {
		return table{}
	}
	v := pos - int(int32(le.Uint32(p)))
	vsize, size := f.u16(v), f.u16(v+2)
	if vsize < 4 || vsize&1 != 0 || size < 4 || f.at(pos, size) == nil {
		f.bad = true
		return table{}
	}
	vt := f.at(v, vsize)
	if vt == nil {
		return table{}
	}
	return table{pos: pos, size: size, vtable: vt[4:]}
}

// field returns the place of a field of n bytes, or 0 when the table leaves it out. It need not lie within the
// table's own size: Go's writer lets tables share a vtable whose fields have the same places and other sizes.
func (f *flatbuf) field(t table, slot, n int) int {
	if f.bad || 2*slot+2 > len(t.vtable) {
		return 0
	}
	o := int(le.Uint16(t.vtable[2*slot:]))
	if o == 0 {
		return 0
	}
	if o < 4 || o > len(f.b)-n-t.pos {
		f.bad = true
		return 0
	}
	return t.pos + o
}

// integer returns an integer field of n bytes, sign extended, or def when it is left out.
func (f *flatbuf) integer(t table, slot, n int, def int64) int64 {
	pos := f.field(t, slot, n)
	if pos == 0 {
		return def
	}
	p := f.at(pos, n)
	if p == nil {
		return def
	}
	switch n {
	case 1:
		return int64(int8(p[0]))
	case 2:
		return int64(int16(le.Uint16(p)))
	case 4:
		return int64(int32(le.Uint32(p)))
	}
	return int64(le.Uint64(p))
}

// ref returns where a reference field points, or 0 when it is left out.
func (f *flatbuf) ref(t table, slot int) int {
	pos := f.field(t, slot, 4)
	if pos == 0 {
		return 0
	}
	return pos + f.u32(pos)
}

// sub returns the table that a field refers to; ok is false when it is left out.
func (f *flatbuf) sub(t table, slot int) (sub table, ok bool) {
	pos := f.ref(t, slot)
	if pos == 0 || f.bad {
		return table{}, false
	}
	sub = f.tableAt(pos)
	return sub, !f.bad
}

// vector returns the bytes of a vector field of elements of size bytes, nil when it is left out,
// and the place of its first element.
func (f *flatbuf) vector(t table, slot, size int) (elems []byte, pos int) {
	pos = f.ref(t, slot)
	if pos == 0 || f.bad {
		return nil, 0
	}
	n := f.u32(pos)
	if n > len(f.b)/size {
		f.bad = true
		return nil, 0
	}
	return f.at(pos+4, n*size), pos + 4
}

// str returns a string field.
func (f *flatbuf) str(t table, slot int) string {
	s, _ := f.vector(t, slot, 1)
	return string(s)
}
