package decode

import (
	"errors"
	"math"
	"strconv"
	"unsafe"

	"tidemill/state/column"
)

// int64At reads the integer at b[i:] when it is a BIGINT in its usual form: at most 19 digits, no
// point, no exponent, not the smallest one.
func int64At(b []byte, i int) (v int64, end int, ok bool) {
	neg := b[i] == '-'
	if neg {
		i++
	}
	s := i
	var m uint64
	for i < len(b) {
		c := b[i] - '0'
		if c > 9 {
			break
		}
		m = m*10 + uint64(c)
		i++
	}
	n := i - s
	if n > 19 || m > math.MaxInt64 || n > 1 && b[s] == '0' || n == 0 || i < len(b) && (b[i] == '.' || b[i]|0x20 == 'e') {
		return 0, 0, false
	}
	if neg {
		return -int64(m), i, true
	}
	return int64(m), i, true
}

// exact10 has the powers of ten that a float64 holds exactly.
var exact10 = [23]float64{1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22}

// float64At reads the number at b[i:] when one division of two exact numbers gives the nearest
// float64: a mantissa of at most 53 bits, at most 22 digits after the point, and no exponent.
func float64At(b []byte, i int) (v float64, end int, ok bool) {
	neg := b[i] == '-'
	if neg {
		i++
	}
	s := i
	var m uint64
	for i < len(b) {
		c := b[i] - '0'
		if c > 9 {
			break
		}
		m = m*10 + uint64(c)
		i++
	}
	digits, frac := i-s, 0
	if digits == 0 || digits > 1 && b[s] == '0' {
		return 0, 0, false
	}
	if i < len(b) && b[i] == '.' {
		i++
		f := i
		for i < len(b) {
			c := b[i] - '0'
			if c > 9 {
				break
			}
			m = m*10 + uint64(c)
			i++
		}
		frac = i - f
		if frac == 0 {
			return 0, 0, false
		}
	}
	if digits+frac > 18 || m > 1<<53 || i < len(b) && b[i]|0x20 == 'e' {
		return 0, 0, false
	}
	v = float64(m)
	if frac > 0 {
		v /= exact10[frac]
	}
	if neg {
		v = -v
	}
	return v, i, true
}

// number is a JSON number taken apart.
type number struct {
	text []byte // all of it
	neg  bool
	exp  int // the power of ten that the digits are to be multiplied by; huge exponents are clamped
	end  int
	// The digits: those before the point, and those after it.
	whole, frac []byte
}

// numberAt takes the number at b[i:] apart, by JSON's grammar.
func numberAt(b []byte, i int) (n number, reason string) {
	from := i
	if n.neg = b[i] == '-'; n.neg {
		i++
	}
	digits := func() []byte {
		s := i
		for i < len(b) && b[i]-'0' <= 9 {
			i++
		}
		return b[s:i]
	}
	n.whole = digits()
	if len(n.whole) == 0 {
		if i >= len(b) {
			return n, cutShort
		}
		if from == i {
			return n, wantNumber
		}
		return n, badNumber
	}
	if len(n.whole) > 1 && n.whole[0] == '0' {
		return n, badNumber
	}
	if i < len(b) && b[i] == '.' {
		i++
		if n.frac = digits(); len(n.frac) == 0 {
			return n, badNumber
		}
	}
	if i < len(b) && b[i]|0x20 == 'e' {
		i++
		neg := i < len(b) && b[i] == '-'
		if i < len(b) && (b[i] == '-' || b[i] == '+') {
			i++
		}
		e := digits()
		if len(e) == 0 {
			return n, badNumber
		}
		for _, c := range e {
			n.exp = min(n.exp*10+int(c-'0'), 1<<40)
		}
		if neg {
			n.exp = -n.exp
		}
	}
	n.exp -= len(n.frac)
	n.text, n.end = b[from:i], i
	return n, ""
}

// integer reads an integer of any width into row d.n of c.
func (d *NDJSON) integer(c *target, b []byte, i int) (int, string) {
	v, end, ok := int64At(b, i)
	wide := column.Int128Of(v)
	if !ok {
		n, reason := numberAt(b, i)
		if reason == wantNumber {
			return 0, wantInteger
		}
		if reason != "" {
			return 0, reason
		}
		if n.frac != nil || n.end != i+len(n.whole)+btoi(n.neg) {
			return 0, wantInteger
		}
		if wide, ok = n.scaled(0); !ok {
			return 0, outOfRange
		}
		end = n.end
	}
	return end, storeInteger(c, d.n, wide)
}

// unsigned reads a UHUGEINT into row d.n of c.
func (d *NDJSON) unsigned(c *target, b []byte, i int) (int, string) {
	n, reason := numberAt(b, i)
	switch {
	case reason == wantNumber:
		return 0, wantInteger
	case reason != "":
		return 0, reason
	case n.frac != nil || n.end != i+len(n.whole)+btoi(n.neg):
		return 0, wantInteger
	}
	if reason = c.parse(d.n, n.text); reason != "" {
		reason = outOfRange
	}
	return n.end, reason
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

// storeInteger puts v into row n of an integer column, if it is in the type's range.
func storeInteger(c *target, n int, v column.Int128) string {
	small, neg := v.Hi == int64(v.Lo)>>63, v.Hi < 0 // small: v is an int64
	x := int64(v.Lo)
	ok, at := false, c.data[n*c.size:]
	switch c.field.Type.Kind {
	case column.Int8:
		ok = small && x == int64(int8(x))
		at[0] = byte(x)
	case column.Int16:
		ok = small && x == int64(int16(x))
		le.PutUint16(at, uint16(x))
	case column.Int32:
		ok = small && x == int64(int32(x))
		le.PutUint32(at, uint32(x))
	case column.Int64:
		ok = small
		le.PutUint64(at, uint64(x))
	case column.UInt8:
		ok = v.Hi == 0 && v.Lo <= math.MaxUint8
		at[0] = byte(x)
	case column.UInt16:
		ok = v.Hi == 0 && v.Lo <= math.MaxUint16
		le.PutUint16(at, uint16(x))
	case column.UInt32:
		ok = v.Hi == 0 && v.Lo <= math.MaxUint32
		le.PutUint32(at, uint32(x))
	case column.UInt64:
		ok = !neg && v.Hi == 0
		le.PutUint64(at, v.Lo)
	case column.HugeInt:
		ok = true
		put128(at, v)
	}
	if !ok {
		return outOfRange
	}
	return ""
}

// float reads a DOUBLE or FLOAT into row d.n of c, in any form.
func (d *NDJSON) float(c *target, b []byte, i int) (int, string) {
	if b[i] == '"' {
		s, end, reason := d.str(b, i)
		if reason != "" {
			return 0, reason
		}
		var v float64
		switch string(s) {
		case "NaN":
			v = math.NaN()
		case "Infinity":
			v = math.Inf(1)
		case "-Infinity":
			v = math.Inf(-1)
		default:
			return 0, `a number is wanted, or one of the strings "NaN", "Infinity" and "-Infinity"`
		}
		storeFloat(c, d.n, v)
		return end, ""
	}
	n, reason := numberAt(b, i)
	if reason != "" {
		return 0, reason
	}
	v, err := strconv.ParseFloat(unsafe.String(unsafe.SliceData(n.text), len(n.text)), 8*c.size)
	if err != nil {
		if errors.Is(err, strconv.ErrRange) {
			return 0, outOfRange
		}
		return 0, badNumber
	}
	storeFloat(c, d.n, v)
	return n.end, ""
}

func storeFloat(c *target, n int, v float64) {
	if c.size == 4 {
		le.PutUint32(c.data[n*4:], math.Float32bits(float32(v)))
	} else {
		le.PutUint64(c.data[n*8:], math.Float64bits(v))
	}
}
