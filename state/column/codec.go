package column

import (
	"encoding/binary"
	"fmt"
	"math"
	"unsafe"
)

// Format constants of FORMAT.md, frozen as version 1.
const (
	formatVersion  = 1
	headerBytes    = 16
	descBytes      = 16
	flagHasValid   = 1
	maxRows        = math.MaxInt32 - 1 // offsets of n+1 rows still count in 32 bits
	maxColumnBytes = math.MaxInt32     // text addressed by 32-bit offsets
)

var padding [8]byte

func pad8(n int) int { return -n & 7 }

// EncodeColumns returns cols as one payload, which DecodeColumns reads without copying. All columns
// must have the same N. See FORMAT.md.
func EncodeColumns(cols []Column) []byte {
	return AppendColumns(make([]byte, 0, EncodedSize(cols)), cols)
}

// AppendColumns appends the payload of cols to dst. Buffers are aligned to 8 bytes from the
// payload's start, so append at a multiple of 8 where decoding should not copy.
func AppendColumns(dst []byte, cols []Column) []byte {
	if need := EncodedSize(cols); cap(dst)-len(dst) < need {
		grown := make([]byte, len(dst), max(len(dst)+need, 2*cap(dst)))
		copy(grown, dst)
		dst = grown
	}
	for _, p := range Parts(cols) {
		dst = append(dst, p...)
	}
	return dst
}

// EncodedSize returns the length of the payload of cols, a multiple of 8.
func EncodedSize(cols []Column) int {
	if needsTrees(cols) {
		return treesSize(cols)
	}
	size := headerBytes + descBytes*len(cols)
	for i := range cols {
		c := &cols[i]
		if c.NullCount() > 0 {
			n := (c.N + 7) / 8
			size += n + pad8(n)
		}
		data := c.N * c.Type.Size()
		if c.Type.Varlen() {
			offs := 4 * (c.N + 1)
			size += offs + pad8(offs)
			data = len(c.usedText())
		}
		size += data + pad8(data)
	}
	return size
}

// Parts returns the payload of cols in pieces, to be written one after the other (writev). Large
// pieces alias the columns: do not change them.
func Parts(cols []Column) [][]byte {
	if needsTrees(cols) {
		return treeParts(cols)
	}
	rows := 0
	if len(cols) > 0 {
		rows = cols[0].N
	}
	head := make([]byte, headerBytes+descBytes*len(cols))
	head[0] = formatVersion
	binary.LittleEndian.PutUint32(head[4:], uint32(len(cols)))
	binary.LittleEndian.PutUint32(head[8:], uint32(rows))
	parts := make(pieces, 1, 1+4*len(cols))
	parts[0] = head
	for i := range cols {
		c := &cols[i]
		if c.N != rows || c.N > maxRows || !c.Type.wellFormed() {
			panic(fmt.Sprintf("column: encode column %d of type %v with %d rows beside %d", i, c.Type, c.N, rows))
		}
		d := head[headerBytes+descBytes*i:]
		d[0], d[1], d[2] = byte(c.Type.Kind), c.Type.Width, c.Type.Scale
		if c.NullCount() > 0 {
			d[3] = flagHasValid
			parts.add(cleanBitmap(c.Valid, c.N))
		}
		binary.LittleEndian.PutUint64(d[8:], parts.addValues(c))
	}
	return parts
}

// pieces are the parts of a payload.
type pieces [][]byte

// addValues appends the buffers of a column without parts, the bitmap aside, and returns how many bytes its values have.
func (p *pieces) addValues(c *Column) uint64 {
	data := c.Data
	if c.Type.Varlen() {
		data = c.usedText()
		p.add(c.rebasedOffsets())
	} else {
		data = data[:c.N*c.Type.Size()]
	}
	p.add(data)
	return uint64(len(data))
}

// add appends a buffer and the zeros after it.
func (p *pieces) add(b []byte) {
	if len(b) == 0 {
		return
	}
	*p = append(*p, b)
	if k := pad8(len(b)); k > 0 {
		*p = append(*p, padding[:k])
	}
}

// usedText returns the bytes that the offsets of a text column span.
func (c *Column) usedText() []byte {
	if c.N == 0 {
		return nil
	}
	return c.Data[c.Offsets[0]:c.Offsets[c.N]]
}

// rebasedOffsets returns the N+1 offsets as bytes, the first being 0.
func (c *Column) rebasedOffsets() []byte {
	offs := c.Offsets
	switch {
	case c.N == 0:
		offs = []int32{0}
	case offs[0] != 0:
		offs = make([]int32, c.N+1)
		for i, o := range c.Offsets[:c.N+1] {
			offs[i] = o - c.Offsets[0]
		}
	}
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(offs))), 4*(c.N+1))
}

// cleanBitmap returns the bitmap of n bits with the bits past n clear; it aliases b if they are.
func cleanBitmap(b []byte, n int) []byte {
	b = b[:(n+7)/8]
	if r := n & 7; r != 0 && b[len(b)-1]>>r != 0 {
		return sliceBitmap(b, 0, n)
	}
	return b
}

// wellFormed reports whether t can stand in a payload: a known kind, with parameters that it takes.
func (t Type) wellFormed() bool {
	if t.Kind == Decimal {
		return t.Width >= 1 && t.Width <= 38 && t.Scale <= t.Width
	}
	return t.Valid() && (t.Width == 0 || t.Kind == Enum) && t.Scale == 0
}

// DecodeColumns reads a payload and returns its columns and their number of rows. b must be exactly
// the payload. The columns alias b, which must not change afterwards, if b starts at a multiple of 8
// in memory; else they alias one copy of it. Every length, offset and BOOLEAN is checked before
// use, and nothing is allocated on the word of a length; text is not checked to be UTF-8. Errors
// wrap ErrMalformed.
func DecodeColumns(b []byte) ([]Column, int, error) {
	if len(b) < headerBytes {
		return nil, 0, fmt.Errorf("%w: %d bytes are less than a header", ErrMalformed, len(b))
	}
	if b[0] != formatVersion && b[0] != treeVersion {
		return nil, 0, fmt.Errorf("%w: format version %d, this build reads %d and %d", ErrMalformed, b[0], formatVersion, treeVersion)
	}
	count, rows := binary.LittleEndian.Uint32(b[4:]), binary.LittleEndian.Uint32(b[8:])
	if b[1]|b[2]|b[3] != 0 || binary.LittleEndian.Uint32(b[12:]) != 0 {
		return nil, 0, fmt.Errorf("%w: reserved header bytes are not 0", ErrMalformed)
	}
	if uint64(count)*descBytes > uint64(len(b)-headerBytes) { // a tree takes at least as much
		return nil, 0, fmt.Errorf("%w: %d columns in %d bytes", ErrMalformed, count, len(b))
	}
	if rows > maxRows || count == 0 && rows != 0 {
		return nil, 0, fmt.Errorf("%w: %d rows in %d columns", ErrMalformed, rows, count)
	}
	if uintptr(unsafe.Pointer(unsafe.SliceData(b)))&7 != 0 {
		b = append(make([]byte, 0, len(b)), b...)
	}
	if b[0] == treeVersion {
		return decodeTrees(b, int(count), int(rows))
	}
	descs := b[headerBytes : headerBytes+descBytes*int(count)]
	r := reader{rest: b[headerBytes+len(descs):], rows: int(rows)}
	cols := make([]Column, count)
	for i := range cols {
		if err := r.column(descs[descBytes*i:], &cols[i]); err != nil {
			return nil, 0, fmt.Errorf("%w: column %d: %w", ErrMalformed, i, err)
		}
	}
	if len(r.rest) != 0 {
		return nil, 0, fmt.Errorf("%w: %d bytes after the last column", ErrMalformed, len(r.rest))
	}
	return cols, int(rows), nil
}

// reader takes buffers off the front of a payload's body.
type reader struct {
	rest []byte
	rows int
}

func (r *reader) take(what string, n int) ([]byte, error) {
	if n+pad8(n) > len(r.rest) {
		return nil, fmt.Errorf("%s of %d bytes, %d are left", what, n, len(r.rest))
	}
	out := r.rest[:n:n]
	for _, x := range r.rest[n : n+pad8(n)] {
		if x != 0 {
			return nil, fmt.Errorf("padding after %s is not 0", what)
		}
	}
	r.rest = r.rest[n+pad8(n):]
	return out, nil
}

func (r *reader) column(d []byte, c *Column) (err error) {
	c.Type = Type{Kind: Kind(d[0]), Width: d[1], Scale: d[2]}
	if !c.Type.wellFormed() {
		return fmt.Errorf("type %d(%d,%d) is unknown", d[0], d[1], d[2])
	}
	if d[3]&^flagHasValid != 0 || binary.LittleEndian.Uint32(d[4:]) != 0 {
		return fmt.Errorf("unknown flags %#x", d[3])
	}
	c.N = r.rows
	if d[3]&flagHasValid != 0 {
		if c.Valid, err = r.take("validity", (r.rows+7)/8); err != nil {
			return err
		}
		if err = checkLastBits(c.Valid, r.rows); err != nil {
			return err
		}
	}
	size := binary.LittleEndian.Uint64(d[8:])
	if size > uint64(len(r.rest)) {
		return fmt.Errorf("%d bytes of data, %d are left", size, len(r.rest))
	}
	if c.Type.Varlen() {
		if size > maxColumnBytes {
			return fmt.Errorf("%d bytes of text pass 32-bit offsets", size)
		}
		offs, err := r.take("offsets", 4*(r.rows+1))
		if err != nil {
			return err
		}
		c.Offsets = unsafe.Slice((*int32)(unsafe.Pointer(unsafe.SliceData(offs))), r.rows+1)
		if err := checkOffsets(c.Offsets, int32(size)); err != nil {
			return err
		}
	} else if size != uint64(r.rows)*uint64(c.Type.Size()) {
		return fmt.Errorf("%d bytes of data for %d rows of %v", size, r.rows, c.Type)
	}
	if c.Data, err = r.take("data", int(size)); err != nil {
		return err
	}
	return c.checkValues()
}

// checkValues refuses bytes that are no values of the type where a reader would go wrong by them.
func (c *Column) checkValues() error {
	switch c.Type.Kind {
	case Bool:
		return checkBools(c.Data)
	case BitString:
		for i := range c.N {
			if v := c.Bytes(i); !c.IsNull(i) && (len(v) < 2 || v[0] > 7) {
				return fmt.Errorf("row %d: a BIT of %d bytes", i, len(v))
			}
		}
	case Enum:
		for i := range c.N {
			if p := c.place(i); p >= uint32(len(c.Type.Labels())) {
				return fmt.Errorf("row %d: place %d in an ENUM of %d labels", i, p, len(c.Type.Labels()))
			}
		}
	case Union:
		for i, tag := range c.Kids[0].Data {
			if int(tag) >= len(c.Kids)-1 || c.Kids[0].IsNull(i) != c.IsNull(i) {
				return fmt.Errorf("row %d: tag %d in a UNION of %d members", i, tag, len(c.Kids)-1)
			}
		}
	}
	return nil
}

// place returns row i of an ENUM.
func (c *Column) place(i int) uint32 {
	switch c.Type.Width {
	case 1:
		return uint32(c.Data[i])
	case 2:
		return uint32(value[uint16](c, i))
	}
	return value[uint32](c, i)
}

func checkLastBits(valid []byte, rows int) error {
	if k := rows & 7; k != 0 && valid[len(valid)-1]>>k != 0 {
		return fmt.Errorf("validity bits past the last row are set")
	}
	return nil
}

func checkOffsets(offs []int32, size int32) error {
	if offs[0] != 0 || offs[len(offs)-1] != size {
		return fmt.Errorf("offsets span %d to %d of %d bytes of text", offs[0], offs[len(offs)-1], size)
	}
	// The sign bits of all differences at once: between 0 and size, ascending offsets have no
	// difference below 0, and a difference that overflows 32 bits belongs to an offset below 0.
	prev, bad := int32(0), int32(0)
	for _, o := range offs {
		bad |= (o - prev) | o
		prev = o
	}
	if bad < 0 {
		return fmt.Errorf("offsets do not ascend")
	}
	return nil
}

func checkBools(b []byte) error {
	const low = 0x0101010101010101
	bad := uint64(0)
	for len(b) >= 8 {
		bad |= binary.LittleEndian.Uint64(b)
		b = b[8:]
	}
	for _, x := range b {
		bad |= uint64(x)
	}
	if bad&^low != 0 {
		return fmt.Errorf("a BOOLEAN is neither 0 nor 1")
	}
	return nil
}
