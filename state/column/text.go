package column

import (
	"strconv"
	"unsafe"
)

const upperHex = "0123456789ABCDEF"
const lowerHex = "0123456789abcdef"

// value returns the fixed-width value at row i; the size of V must be the type's.
func value[V Fixed](c *Column, i int) V {
	var v V
	return *(*V)(unsafe.Pointer(unsafe.SliceData(c.Data[uintptr(i)*unsafe.Sizeof(v):])))
}

// AppendText appends the value at row i as DuckDB prints it when cast to VARCHAR in a session whose
// time zone is UTC: 1.0, 1e+16, nan, .50 as DECIMAL(2,2), 2026-01-02 03:04:05.5+00, 1 year 2 days,
// \x00 in a BLOB. A NULL appends "NULL".
func AppendText(dst []byte, c *Column, i int) []byte {
	if c.IsNull(i) {
		return append(dst, "NULL"...)
	}
	switch c.Type.Kind {
	case Bool:
		return strconv.AppendBool(dst, c.Data[i] != 0)
	case Int8, Int16, Int32, Int64:
		return strconv.AppendInt(dst, signedAt(c, i), 10)
	case UInt8, UInt16, UInt32, UInt64:
		return strconv.AppendUint(dst, unsignedAt(c, i), 10)
	case HugeInt:
		return value[Int128](c, i).appendTo(dst)
	case Float:
		return appendFloat(dst, float64(value[float32](c, i)), 32)
	case Double:
		return appendFloat(dst, value[float64](c, i), 64)
	case Decimal:
		return appendDecimal(dst, value[Int128](c, i), int(c.Type.Scale), c.Type.Width > c.Type.Scale)
	case UHugeInt:
		return value[Int128](c, i).unsigned().appendTo(dst)
	case Varchar, JSON:
		return append(dst, c.Bytes(i)...)
	case BitString:
		return appendBits(dst, c.Bytes(i))
	case Enum:
		return append(dst, c.Type.Labels()[c.place(i)]...)
	case List, Array, Struct, Map, Union:
		return appendNestedText(dst, c, i)
	case Blob:
		return appendBlob(dst, c.Bytes(i), `\x`)
	case Date:
		switch d := value[int32](c, i); d {
		case dateInfinity:
			return append(dst, "infinity"...)
		case -dateInfinity:
			return append(dst, "-infinity"...)
		default:
			return appendDate(dst, int64(d))
		}
	case Time:
		us := uint64(value[int64](c, i))
		return appendClock(dst, us/1e6, us%1e6, 6)
	case TimeNS:
		ns := uint64(value[int64](c, i))
		return appendClock(dst, ns/1e9, ns%1e9, 9)
	case TimeTZ:
		return appendTimeTZ(dst, value[TimeTZValue](c, i))
	case TimestampS, TimestampMS, Timestamp, TimestampNS, TimestampTZ:
		return appendTimestamp(dst, value[int64](c, i), c.Type.Kind)
	case Interval:
		return appendInterval(dst, value[IntervalValue](c, i))
	case UUID:
		return appendUUID(dst, value[[16]byte](c, i))
	}
	panic("column: no text for " + c.Type.String())
}

// signedAt returns row i of a TINYINT to BIGINT column.
func signedAt(c *Column, i int) int64 {
	switch c.Type.Kind {
	case Int8:
		return int64(value[int8](c, i))
	case Int16:
		return int64(value[int16](c, i))
	case Int32:
		return int64(value[int32](c, i))
	}
	return value[int64](c, i)
}

// unsignedAt returns row i of a UTINYINT to UBIGINT column.
func unsignedAt(c *Column, i int) uint64 {
	switch c.Type.Kind {
	case UInt8:
		return uint64(c.Data[i])
	case UInt16:
		return uint64(value[uint16](c, i))
	case UInt32:
		return uint64(value[uint32](c, i))
	}
	return value[uint64](c, i)
}

// appendDecimal appends the unscaled v with scale decimals; a 0 before the point is optional.
func appendDecimal(dst []byte, v Int128, scale int, zero bool) []byte {
	if v.Hi < 0 {
		dst = append(dst, '-')
	}
	m := v.magnitude()
	if scale == 0 {
		return m.appendTo(dst)
	}
	var buf [40]byte
	digits := m.appendTo(buf[:0])
	whole := len(digits) - scale
	if whole > 0 {
		dst = append(dst, digits[:whole]...)
		return append(append(dst, '.'), digits[whole:]...)
	}
	if m == (uint128{}) {
		digits = digits[:0]
	}
	if zero {
		dst = append(dst, '0')
	}
	dst = append(dst, '.')
	for n := scale - len(digits); n > 0; n-- {
		dst = append(dst, '0')
	}
	return append(dst, digits...)
}

// appendBlob appends printable ASCII as it is and other bytes, quotes and the backslash as escapes.
func appendBlob(dst, v []byte, escape string) []byte {
	for _, x := range v {
		if x < ' ' || x > '~' || x == '"' || x == '\'' || x == '\\' {
			dst = append(append(dst, escape...), upperHex[x>>4], upperHex[x&15])
		} else {
			dst = append(dst, x)
		}
	}
	return dst
}

func appendUUID(dst []byte, v [16]byte) []byte {
	for i, x := range v {
		if i == 4 || i == 6 || i == 8 || i == 10 {
			dst = append(dst, '-')
		}
		dst = append(dst, lowerHex[x>>4], lowerHex[x&15])
	}
	return dst
}
