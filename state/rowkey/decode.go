package rowkey

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"

	"tidemill/state/column"
)

// ErrMalformed is wrapped by the errors of DecodeKey and DecodeIdentity: the bytes were not written
// by an encoder of these types.
var ErrMalformed = errors.New("malformed row key")

// DecodeKey reads one key and appends its row to out, one builder for each type, and returns the
// bytes after it. The values are the canonical ones: 0.0, the NaN of DuckDB, the INTERVAL after
// carrying. After an error out may hold part of the row. Text is not checked to be UTF-8.
func (e *Encoder) DecodeKey(b []byte, out []*column.Builder) (rest []byte, err error) {
	return e.decode(b, out, false)
}

// DecodeIdentity is DecodeKey for an identity; the values are the encoded ones, bit for bit.
func (e *Encoder) DecodeIdentity(b []byte, out []*column.Builder) (rest []byte, err error) {
	return e.decode(b, out, true)
}

func (e *Encoder) decode(b []byte, out []*column.Builder, identity bool) ([]byte, error) {
	if len(out) != len(e.types) {
		panic(fmt.Sprintf("rowkey: %d builders for an encoder of %d", len(out), len(e.types)))
	}
	var err error
	for i, t := range e.types {
		if b, err = decodeValue(b, t, out[i], identity); err != nil {
			return nil, fmt.Errorf("%w: column %d (%v): %w", ErrMalformed, i, t, err)
		}
	}
	return b, nil
}

func decodeValue(b []byte, t column.Type, out *column.Builder, identity bool) ([]byte, error) {
	if len(b) == 0 {
		return nil, errors.New("it ends early")
	}
	tag, b := b[0], b[1:]
	switch tag {
	case tagNull:
		out.AppendNull()
		return b, nil
	case tagValue:
	default:
		return nil, fmt.Errorf("tag %#x", tag)
	}
	if t.Varlen() {
		return decodeText(b, out)
	}
	if t.Nested() {
		return decodeNested(b, t, out, identity)
	}
	size := t.Size()
	if t.Kind == column.Interval {
		size = intervalKeyBytes
		if identity {
			size = intervalIdentityBytes
		}
	}
	if len(b) < size {
		return nil, errors.New("it ends early")
	}
	v, rest := b[:size], b[size:]
	switch t.Kind {
	case column.HugeInt, column.Decimal:
		column.Append(out, column.Int128{
			Hi: int64(binary.BigEndian.Uint64(v) ^ sign64),
			Lo: binary.BigEndian.Uint64(v[8:]),
		})
		return rest, nil
	case column.UHugeInt:
		column.Append(out, column.Int128{Hi: int64(binary.BigEndian.Uint64(v)), Lo: binary.BigEndian.Uint64(v[8:])})
		return rest, nil
	case column.UUID:
		out.AppendRaw(v)
		return rest, nil
	case column.Interval:
		return rest, decodeInterval(v, out, identity)
	}
	return rest, decodeBits(v, t, out, identity)
}

func decodeBits(v []byte, t column.Type, out *column.Builder, identity bool) error {
	var wide [8]byte
	copy(wide[8-len(v):], v)
	bits := unordered(t.Kind, binary.BigEndian.Uint64(wide[:]))
	switch {
	case t.Kind == column.Bool && bits > 1:
		return fmt.Errorf("BOOLEAN of %d", bits)
	case t.Kind == column.Enum && bits >= uint64(len(t.Labels())):
		return fmt.Errorf("place %d in an ENUM of %d labels", bits, len(t.Labels()))
	case identity || !t.Floating():
	case t.Kind == column.Float && canonical32(uint32(bits)) != uint32(bits), t.Kind == column.Double && canonical64(bits) != bits:
		return fmt.Errorf("float %#x is not the one that keys hold", bits)
	}
	binary.LittleEndian.PutUint64(wide[:], bits)
	out.AppendRaw(wide[:len(v)])
	return nil
}

func decodeInterval(b []byte, out *column.Builder, identity bool) error {
	c := carried{
		months: int64(binary.BigEndian.Uint64(b) ^ sign64),
		days:   int64(int8(b[8] ^ sign8)),
		micros: int64(binary.BigEndian.Uint64(b[9:]) ^ sign64),
	}
	v, ok := c.interval()
	if identity {
		b = b[intervalKeyBytes:]
		v = column.IntervalValue{
			Months: int32(binary.BigEndian.Uint32(b) ^ sign32),
			Days:   int32(binary.BigEndian.Uint32(b[4:]) ^ sign32),
			Micros: int64(binary.BigEndian.Uint64(b[8:]) ^ sign64),
		}
		ok = carry(v) == c
	}
	if !ok {
		return fmt.Errorf("INTERVAL of %d months, %d days, %d microseconds", c.months, c.days, c.micros)
	}
	column.Append(out, v)
	return nil
}

// decodeText reads up to the terminator. Texts without 00, nearly all, are appended as they stand.
func decodeText(b []byte, out *column.Builder) ([]byte, error) {
	k := bytes.IndexByte(b, escape)
	if k >= 0 && k+1 < len(b) && b[k+1] == terminator {
		out.AppendRaw(b[:k])
		return b[k+2:], nil
	}
	var text []byte
	for {
		k := bytes.IndexByte(b, escape)
		if k < 0 || k+1 >= len(b) {
			return nil, errors.New("text has no end")
		}
		text = append(text, b[:k]...)
		next := b[k+1]
		b = b[k+2:]
		switch next {
		case terminator:
			out.AppendRaw(text)
			return b, nil
		case escapedNul:
			text = append(text, 0)
		default:
			return nil, fmt.Errorf("escape %#x in a text", next)
		}
	}
}
