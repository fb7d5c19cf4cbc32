package decode

import (
	"fmt"
	"math"
	"strconv"

	"tidemill/state/column"
)

// widens says why values of an Arrow type cannot go into a column of type to; it is empty when they
// can: the types are equal; a wider integer, float or DECIMAL of the same scale; an integer into
// HUGEINT or DECIMAL, or into a float that holds all of them; decimal(p,0) into HUGEINT; a timestamp
// of another unit; text into BLOB. Where it depends on the value, fit checks each one.
func widens(t *arrowType, to column.Type) string {
	from := t.native
	switch {
	case t.layout == layoutNone && t.enc != nil:
		return "this kind of dictionary is not supported"
	case t.layout == layoutNone:
		return "this Arrow type is not supported"
	case t.layout == layoutNull:
		return ""
	case t.kids != nil:
		return widensNested(t, to)
	case to.Nested():
		return "the types do not match"
	case from == to, fromRaw(t, to):
		return ""
	case to.Kind == column.UHugeInt && (from.Kind == column.UInt8 || from.Kind == column.UInt16 || from.Kind == column.UInt32 || from.Kind == column.UInt64):
		return ""
	case from.Integer() && to.Integer() && from.Kind != column.UHugeInt && to.Kind != column.UHugeInt:
		if to.Kind == column.HugeInt || integerFits(from.Kind, to.Kind) {
			return ""
		}
		return "the table's type does not hold all of its values"
	case from.Integer() && to.Floating() && from.Kind != column.UHugeInt:
		mantissa := 24
		if to.Kind == column.Double {
			mantissa = 53
		}
		if 8*from.Size() <= mantissa {
			return ""
		}
		return "the table's type does not hold all of its values exactly"
	case from.Integer() && from.Kind != column.UHugeInt && to.Kind == column.Decimal,
		from.Kind == column.Float && to.Kind == column.Double,
		from.Kind == column.Decimal && from.Scale == 0 && to.Kind == column.HugeInt,
		from.Kind == column.Varchar && to.Kind == column.Blob,
		t.fixed && to.Kind == column.Blob,
		isPlainTimestamp(from.Kind) && isPlainTimestamp(to.Kind):
		return ""
	case from.Kind == column.Decimal && to.Kind == column.Decimal:
		if from.Scale == to.Scale && from.Width <= to.Width {
			return ""
		}
		return "only a DECIMAL of the same scale and no more digits fits"
	case isPlainTimestamp(from.Kind) && to.Kind == column.TimestampTZ:
		return "the stream's timestamps must carry a time zone"
	case from.Kind == column.TimestampTZ && isPlainTimestamp(to.Kind):
		return "the stream's timestamps must not carry a time zone"
	}
	return "the types do not match"
}

// fromRaw reports whether values of t are those of to by their bytes or texts, each of which fit checks.
func fromRaw(t *arrowType, to column.Type) bool {
	switch to.Kind {
	case column.JSON, column.Enum:
		return t.native.Kind == column.Varchar
	case column.BitString:
		return t.native.Kind == column.Blob
	case column.TimeTZ:
		return t.fixed && t.size == 8
	case column.Time:
		return t.native.Kind == column.TimeNS
	case column.TimeNS:
		return t.native.Kind == column.Time
	}
	return false
}

func isPlainTimestamp(k column.Kind) bool { return k >= column.TimestampS && k <= column.TimestampNS }

func integerFits(from, to column.Kind) bool {
	signed := func(k column.Kind) bool { return k <= column.Int64 }
	a, b := column.T(from).Size(), column.T(to).Size()
	if signed(from) == signed(to) {
		return a <= b
	}
	return !signed(from) && a < b
}

// fit turns a column as it came into one of its column's type.
func (s *stream) fit(t *arrowType, to column.Type, c column.Column) (column.Column, error) {
	if c.Type.Kind == 0 { // an array of type null
		if err := s.budget.take(int64(c.N)*(nullBytes(to)+3) + int64(c.N)/8 + 8); err != nil {
			return c, err
		}
		return column.Nulls(to, c.N), nil
	}
	from := c.Type
	if from == to || from.Kind == column.Decimal {
		if bad := outside(&c); bad >= 0 {
			return c, &badValue{row: bad, value: rawValue(c.Data, from.Size(), bad), reason: fmt.Sprintf("the value is out of the range of %s", from)}
		}
	}
	switch {
	case from == to:
		return c, nil
	case fromRaw(t, to):
		return s.fitRaw(to, c)
	case from.Kind == column.Varchar: // to BLOB
		c.Type = to
		return c, nil
	case from.Kind == column.Decimal: // to a wider one or HUGEINT
		c.Type = to
		return c, nil
	case from.Kind == column.UUID: // fixed_size_binary(16) to BLOB
		m := message{s: s}
		out := column.Column{Type: to, N: c.N, Valid: c.Valid}
		return out, m.blobs(&out, c.Data, 16)
	}
	m := message{s: s}
	data, err := m.make(int64(c.N) * int64(to.Size()))
	if err != nil {
		return c, err
	}
	out := column.Column{Type: to, N: c.N, Valid: c.Valid, Data: data}
	if bad := convert(&c, &out); bad >= 0 {
		return c, &badValue{row: bad, value: rawValue(c.Data, from.Size(), bad), reason: fmt.Sprintf("the value of type %s has no exact %s", t.name, to)}
	}
	return out, nil
}

// maxTime is the last moment of a day that a TIME may hold: 24:00:00.
const maxTime = 86_400_000_000

// outside returns the first value that its own type does not allow, or -1: a stream may hold what
// its schema rules out.
func outside(c *column.Column) int {
	switch c.Type.Kind {
	case column.Decimal:
		if c.Type.Width == 38 {
			p := powers[38]
			n := p.Neg()
			for i, v := range column.Values[column.Int128](c) {
				if v.Cmp(p) >= 0 || v.Cmp(n) <= 0 {
					return i
				}
			}
			return -1
		}
		for i, v := range column.Values[column.Int128](c) {
			if !fits(v, c.Type.Width) {
				return i
			}
		}
	case column.Time, column.TimeNS:
		most := uint64(maxTime)
		if c.Type.Kind == column.TimeNS {
			most *= 1000
		}
		for i, v := range column.Values[int64](c) {
			if uint64(v) > most {
				return i
			}
		}
	}
	return -1
}

// convert fills out with the values of in; it returns the first that does not fit, or -1.
func convert(in, out *column.Column) int {
	switch in.Type.Kind {
	case column.Int8:
		return widenFrom(column.Values[int8](in), out)
	case column.Int16:
		return widenFrom(column.Values[int16](in), out)
	case column.Int32:
		return widenFrom(column.Values[int32](in), out)
	case column.Int64:
		return widenFrom(column.Values[int64](in), out)
	case column.UInt8:
		return widenFrom(column.Values[uint8](in), out)
	case column.UInt16:
		return widenFrom(column.Values[uint16](in), out)
	case column.UInt32:
		return widenFrom(column.Values[uint32](in), out)
	case column.UInt64:
		return widenFrom(column.Values[uint64](in), out)
	case column.Float:
		return widenFrom(column.Values[float32](in), out)
	}
	return rescale(in, out)
}

// rescale converts between timestamps of different units.
func rescale(in, out *column.Column) int {
	factor := func(k column.Kind) int64 { return [4]int64{1, 1e3, 1e6, 1e9}[k-column.TimestampS] }
	a, b := factor(in.Type.Kind), factor(out.Type.Kind)
	if b > a {
		return multiply(in.Data, in.N, out.Data, b/a)
	}
	return divide(in.Data, in.N, out.Data, a/b)
}

type number64 interface {
	~int8 | ~int16 | ~int32 | ~int64 | ~uint8 | ~uint16 | ~uint32 | ~uint64 | ~float32
}

// widenFrom converts numbers to out's type, which widens has allowed.
func widenFrom[S number64](in []S, out *column.Column) int {
	switch out.Type.Kind {
	case column.Int16:
		widenTo(in, column.Values[int16](out))
	case column.Int32:
		widenTo(in, column.Values[int32](out))
	case column.Int64:
		widenTo(in, column.Values[int64](out))
	case column.UInt16:
		widenTo(in, column.Values[uint16](out))
	case column.UInt32:
		widenTo(in, column.Values[uint32](out))
	case column.UInt64:
		widenTo(in, column.Values[uint64](out))
	case column.Float:
		widenTo(in, column.Values[float32](out))
	case column.Double:
		widenTo(in, column.Values[float64](out))
	case column.HugeInt, column.UHugeInt:
		dst := column.Values[column.Int128](out)
		for i, v := range in {
			dst[i] = wide(v)
		}
	case column.Decimal:
		return toDecimal(in, out)
	}
	return -1
}

func widenTo[S number64, D number64 | ~float64](in []S, out []D) {
	for i, v := range in {
		out[i] = D(v)
	}
}

func wide[S number64](v S) column.Int128 {
	if v < 0 {
		return column.Int128Of(int64(v))
	}
	return column.Int128{Lo: uint64(v)}
}

// toDecimal multiplies integers by the scale, up to the first that has too many digits.
func toDecimal[S number64](in []S, out *column.Column) int {
	t, dst := out.Type, column.Values[column.Int128](out)
	for i, v := range in {
		w := wide(v)
		if !fits(w, t.Width-t.Scale) {
			return i
		}
		neg := w.Hi < 0
		if neg {
			w = w.Neg()
		}
		for range t.Scale {
			w, _ = mulAdd(w, 10, 0)
		}
		if neg {
			w = w.Neg()
		}
		dst[i] = w
	}
	return -1
}

// rawValue shows value i of a buffer of little-endian integers in an error.
func rawValue(b []byte, size, i int) string {
	b = b[i*size : (i+1)*size]
	switch size {
	case 1:
		return strconv.Itoa(int(int8(b[0])))
	case 2:
		return strconv.Itoa(int(int16(le.Uint16(b))))
	case 4:
		return strconv.Itoa(int(int32(le.Uint32(b))))
	case 8:
		if v := le.Uint64(b); v <= math.MaxInt64 {
			return strconv.FormatUint(v, 10)
		}
		return strconv.FormatInt(int64(le.Uint64(b)), 10)
	}
	return column.Int128{Lo: le.Uint64(b), Hi: int64(le.Uint64(b[8:]))}.String()
}
