package rowkey

import (
	"errors"
	"fmt"

	"tidemill/state/column"
)

// endOfList is below the tags of elements, so that a list is before those that it begins.
const endOfList = 0x00

// appendNested appends the value at a row, which is not NULL.
func appendNested(dst []byte, c *column.Column, row int, identity bool) []byte {
	if !identity || !c.Type.HidesBits() {
		return appendParts(dst, c, row, false)
	}
	return appendParts(appendParts(dst, c, row, false), c, row, true)
}

// appendParts appends the parts of the value at a row; bits says whether every bit of them counts.
func appendParts(dst []byte, c *column.Column, row int, bits bool) []byte {
	part := func(k *column.Column, i int) {
		if k.Type.Nested() && !k.IsNull(i) {
			dst = appendParts(append(dst, tagValue), k, i, bits)
		} else {
			dst = appendValue(dst, k, i, bits)
		}
	}
	switch c.Type.Kind {
	case column.List, column.Map, column.Array:
		for e, to := c.Elements(row); e < to; e++ {
			part(&c.Kids[0], e)
		}
		if c.Type.Kind != column.Array {
			dst = append(dst, endOfList)
		}
	case column.Struct:
		for k := range c.Kids {
			part(&c.Kids[k], row)
		}
	case column.Union:
		tag := c.Kids[0].Data[row]
		dst = append(dst, tag)
		part(&c.Kids[1+tag], row)
	}
	return dst
}

// decodeNested reads what appendNested has written.
func decodeNested(b []byte, t column.Type, out *column.Builder, identity bool) ([]byte, error) {
	if !identity || !t.HidesBits() {
		return decodeParts(b, t, out, false)
	}
	b, err := decodeParts(b, t, column.NewBuilder(t, 1), false)
	if err != nil {
		return nil, err
	}
	return decodeParts(b, t, out, true)
}

func decodeParts(b []byte, t column.Type, out *column.Builder, bits bool) (_ []byte, err error) {
	part := func(t column.Type, k *column.Builder) {
		switch {
		case err != nil:
		case t.Nested() && len(b) > 0 && b[0] == tagValue:
			b, err = decodeParts(b[1:], t, k, bits)
		default:
			b, err = decodeValue(b, t, k, bits)
		}
	}
	kids := t.Kids()
	switch t.Kind {
	case column.List, column.Map:
		for err == nil {
			if len(b) == 0 {
				return nil, errors.New("it ends early")
			}
			if b[0] == endOfList {
				b = b[1:]
				break
			}
			part(kids[0], out.Kid(0))
		}
	case column.Array:
		for range t.Length() {
			part(kids[0], out.Kid(0))
		}
	case column.Struct:
		for k := range kids {
			part(kids[k], out.Kid(k))
		}
	case column.Union:
		if len(b) == 0 || int(b[0]) >= len(kids)-1 {
			return nil, fmt.Errorf("a UNION of %d members without a tag", len(kids)-1)
		}
		tag := b[0]
		b = b[1:]
		column.Append(out.Kid(0), tag)
		for k := 1; k < len(kids) && err == nil; k++ {
			if k == 1+int(tag) {
				part(kids[k], out.Kid(k))
			} else {
				out.Kid(k).AppendNull()
			}
		}
	}
	if err != nil {
		return nil, err
	}
	out.Close()
	return b, nil
}
