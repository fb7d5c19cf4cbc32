package column

import (
	"encoding/binary"
	"errors"
	"fmt"
	"unicode/utf8"

	"github.com/apache/arrow-go/v18/arrow"
)

var errTooMuchText = errors.New("text of the column passes 2 GiB")

// texts reads strings as VARCHAR and binaries as BLOB.
func (a arrowInput) texts(t Type) (c Column, err error) {
	id := a.dt.ID()
	isText := id == arrow.STRING || id == arrow.LARGE_STRING || id == arrow.STRING_VIEW
	if isText != (t.Kind == Varchar || t.Kind == JSON) {
		return Column{}, errNoConversion
	}
	switch id {
	case arrow.STRING, arrow.BINARY:
		c, err = offsetTexts[int32](a, t)
	case arrow.LARGE_STRING, arrow.LARGE_BINARY:
		c, err = offsetTexts[int64](a, t)
	case arrow.STRING_VIEW, arrow.BINARY_VIEW:
		c, err = viewTexts(a, t)
	case arrow.FIXED_SIZE_BINARY:
		c, err = fixedTexts(a, t, a.dt.(*arrow.FixedSizeBinaryType).ByteWidth)
	default:
		return Column{}, errNoConversion
	}
	if err != nil {
		return Column{}, err
	}
	if isText {
		if i := invalidUTF8(&c); i >= 0 {
			return Column{}, fmt.Errorf("row %d: text is not UTF-8", i)
		}
	}
	return c, nil
}

func offsetTexts[O int32 | int64](a arrowInput, t Type) (Column, error) {
	n := a.Len()
	if n == 0 {
		return Column{Type: t, Offsets: []int32{0}}, nil
	}
	offs, err := bufferValues[O](a, 1, a.Offset(), n+1)
	if err != nil {
		return Column{}, err
	}
	var data []byte
	if bufs := a.Buffers(); len(bufs) > 2 && bufs[2] != nil {
		data = bufs[2].Bytes()
	}
	if offs[0] < 0 || int64(offs[n]) > int64(len(data)) {
		return Column{}, fmt.Errorf("offsets span %d to %d of %d bytes of text", offs[0], offs[n], len(data))
	}
	clean := true
	for i := range n {
		if offs[i] > offs[i+1] {
			return Column{}, fmt.Errorf("row %d: offsets do not ascend", i)
		}
		clean = clean && (offs[i] == offs[i+1] || !a.isNull(i))
	}
	c := Column{Type: t, N: n, Valid: a.valid, Data: data[:offs[n]]}
	if narrow, ok := any(offs).([]int32); ok {
		c.Offsets = narrow
	} else {
		if int64(offs[n]-offs[0]) > maxColumnBytes {
			return Column{}, errTooMuchText
		}
		c.Data = data[offs[0]:offs[n]]
		c.Offsets = make([]int32, n+1)
		for i, o := range offs {
			c.Offsets[i] = int32(o - offs[0])
		}
	}
	if !clean { // a Column has no text under its NULLs
		b := NewBuilder(t, n)
		for i := range n {
			b.AppendFrom(&c, i)
		}
		c = b.Finish()
	}
	return c, nil
}

// viewTexts reads Arrow's views: 16 bytes each, a length and either the text (up to 12 bytes) or 4
// bytes of it, the number of a buffer and a place there.
func viewTexts(a arrowInput, t Type) (Column, error) {
	views, err := inputValues[[16]byte](a)
	if err != nil {
		return Column{}, err
	}
	bufs := a.Buffers()
	bufs = bufs[min(2, len(bufs)):]
	b := NewBuilder(t, len(views))
	for i := range views {
		if a.isNull(i) {
			b.AppendNull()
			continue
		}
		v := views[i][:]
		size := int(int32(binary.LittleEndian.Uint32(v)))
		text := v[4:]
		if size > 12 {
			k, at := int(int32(binary.LittleEndian.Uint32(v[8:]))), int(int32(binary.LittleEndian.Uint32(v[12:])))
			if k < 0 || k >= len(bufs) || bufs[k] == nil || at < 0 || at+size > bufs[k].Len() {
				return Column{}, fmt.Errorf("row %d: view of %d bytes at %d of buffer %d", i, size, at, k)
			}
			text = bufs[k].Bytes()[at:]
		}
		if size < 0 || b.DataLen()+size > maxColumnBytes {
			return Column{}, fmt.Errorf("row %d: %d bytes: %w", i, size, errTooMuchText)
		}
		b.AppendRaw(text[:size])
	}
	return b.Finish(), nil
}

func fixedTexts(a arrowInput, t Type, width int) (Column, error) {
	var data []byte
	if bufs := a.Buffers(); len(bufs) > 1 && bufs[1] != nil {
		data = bufs[1].Bytes()
	}
	if width < 0 || width > maxColumnBytes || (a.Offset()+a.Len())*width > len(data) {
		return Column{}, fmt.Errorf("buffer of %d bytes for %d values of %d from %d on", len(data), a.Len(), width, a.Offset())
	}
	if a.Len()*width > maxColumnBytes {
		return Column{}, errTooMuchText
	}
	b := NewBuilder(t, a.Len())
	for i := range a.Len() {
		if a.isNull(i) {
			b.AppendNull()
		} else {
			b.AppendRaw(data[(a.Offset()+i)*width:][:width])
		}
	}
	return b.Finish(), nil
}

// invalidUTF8 returns the first row of c that is not UTF-8, or -1.
func invalidUTF8(c *Column) int {
	if isASCII(c.usedText()) {
		return -1
	}
	for i := range c.N {
		if !utf8.Valid(c.Bytes(i)) {
			return i
		}
	}
	return -1
}

func isASCII(b []byte) bool {
	for len(b) >= 8 {
		if binary.LittleEndian.Uint64(b)&0x8080808080808080 != 0 {
			return false
		}
		b = b[8:]
	}
	for _, x := range b {
		if x >= utf8.RuneSelf {
			return false
		}
	}
	return true
}
