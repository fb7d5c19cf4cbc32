package rowkey

import (
	"fmt"
	"math"

	"tidemill/state/column"
)

// The order-preserving form of a value of up to 8 bytes is an unsigned integer in the value's own
// width, so that its big-endian bytes sort as the value does.

const (
	sign8  = 1 << 7
	sign16 = 1 << 15
	sign32 = 1 << 31
	sign64 = 1 << 63
)

// floatBits64 maps the bits of doubles to integers in the order -Inf, finite, +Inf, NaN with the sign
// bit clear, NaN with it set; -0 is the one before +0. Turning the bits of negative numbers gives
// IEEE's total order, which has the negative NaNs first; subtracting -Inf's place wraps them around to
// the end. It is a bijection.
func floatBits64(b uint64) uint64 {
	if b>>63 != 0 {
		b = ^b
	} else {
		b |= sign64
	}
	return b - 0x000fffffffffffff
}

func floatBits32(b uint32) uint32 {
	if b>>31 != 0 {
		b = ^b
	} else {
		b |= sign32
	}
	return b - 0x007fffff
}

func unfloatBits64(b uint64) uint64 {
	b += 0x000fffffffffffff
	if b>>63 != 0 {
		return b &^ sign64
	}
	return ^b
}

func unfloatBits32(b uint32) uint32 {
	b += 0x007fffff
	if b>>31 != 0 {
		return b &^ sign32
	}
	return ^b
}

// The NaN that stands for all in keys: DuckDB's own.
const (
	nan64 = 0x7ff8000000000000
	nan32 = 0x7fc00000
)

// canonical64 returns the bits that stand in keys for the double with bits b.
func canonical64(b uint64) uint64 {
	switch abs := b &^ sign64; {
	case abs == 0:
		return 0
	case abs > 0x7ff0000000000000:
		return nan64
	}
	return b
}

func canonical32(b uint32) uint32 {
	switch abs := b &^ sign32; {
	case abs == 0:
		return 0
	case abs > 0x7f800000:
		return nan32
	}
	return b
}

func each[V column.Fixed](c *column.Column, lo int, out []uint64, f func(V) uint64) {
	vals := column.Values[V](c)[lo:]
	for i := range out {
		out[i] = f(vals[i])
	}
}

// orderedBits fills out with the order-preserving forms of c's rows from lo on, NULLs included (of
// their zero bytes). c has values of up to 8 bytes.
func orderedBits(c *column.Column, lo int, identity bool, out []uint64) {
	if len(out) == 0 {
		return
	}
	kind := c.Type.Kind
	if kind == column.Enum {
		kind = placeKind(c.Type)
	}
	switch kind {
	case column.TimeTZ:
		each(c, lo, out, column.TimeTZValue.Order)
	case column.Bool, column.UInt8:
		each(c, lo, out, func(v uint8) uint64 { return uint64(v) })
	case column.UInt16:
		each(c, lo, out, func(v uint16) uint64 { return uint64(v) })
	case column.UInt32:
		each(c, lo, out, func(v uint32) uint64 { return uint64(v) })
	case column.UInt64:
		copy(out, column.Values[uint64](c)[lo:])
	case column.Int8:
		each(c, lo, out, func(v uint8) uint64 { return uint64(v ^ sign8) })
	case column.Int16:
		each(c, lo, out, func(v uint16) uint64 { return uint64(v ^ sign16) })
	case column.Int32, column.Date:
		each(c, lo, out, func(v uint32) uint64 { return uint64(v ^ sign32) })
	case column.Float:
		if identity {
			each(c, lo, out, func(v uint32) uint64 { return uint64(floatBits32(v)) })
		} else {
			each(c, lo, out, func(v uint32) uint64 { return uint64(floatBits32(canonical32(v))) })
		}
	case column.Double:
		if identity {
			each(c, lo, out, floatBits64)
		} else {
			each(c, lo, out, func(v uint64) uint64 { return floatBits64(canonical64(v)) })
		}
	default:
		if c.Type.Size() != 8 {
			panic(fmt.Sprintf("rowkey: %v is not of up to 8 bytes", c.Type))
		}
		each(c, lo, out, func(v uint64) uint64 { return v ^ sign64 })
	}
}

// placeKind returns the kind that the places of an ENUM are as wide as.
func placeKind(t column.Type) column.Kind {
	switch t.Width {
	case 1:
		return column.UInt8
	case 2:
		return column.UInt16
	}
	return column.UInt32
}

// unordered is the inverse of the identity form of orderedBits, as the value's own bits.
func unordered(k column.Kind, v uint64) uint64 {
	switch k {
	case column.Enum:
		return v
	case column.TimeTZ:
		return uint64(column.TimeTZOrdered(v))
	case column.Bool, column.UInt8, column.UInt16, column.UInt32, column.UInt64:
		return v
	case column.Int8:
		return v ^ sign8
	case column.Int16:
		return v ^ sign16
	case column.Int32, column.Date:
		return v ^ sign32
	case column.Float:
		return uint64(unfloatBits32(uint32(v)))
	case column.Double:
		return unfloatBits64(v)
	}
	return v ^ sign64
}

const (
	daysPerMonth = 30
	microsPerDay = 86400_000_000
)

// carried is an INTERVAL as SQL compares it: field by field.
type carried struct{ months, days, micros int64 }

func carry(v column.IntervalValue) carried {
	days := int64(v.Days) + v.Micros/microsPerDay
	return carried{
		months: int64(v.Months) + days/daysPerMonth,
		days:   days % daysPerMonth,
		micros: v.Micros % microsPerDay,
	}
}

// interval returns an INTERVAL that carries to c, c itself unless its months pass 32 bits.
func (c carried) interval() (v column.IntervalValue, ok bool) {
	if c.months > 1<<33 || c.months < -1<<33 { // past what carrying can reach
		return v, false
	}
	months := max(math.MinInt32, min(math.MaxInt32, c.months))
	days := c.days + (c.months-months)*daysPerMonth
	clamped := max(math.MinInt32, min(math.MaxInt32, days))
	micros := c.micros
	if days != clamped {
		over := days - clamped
		if over > math.MaxInt64/microsPerDay || over < math.MinInt64/microsPerDay {
			return v, false
		}
		micros += over * microsPerDay // an overflow shows below
	}
	v = column.IntervalValue{Months: int32(months), Days: int32(clamped), Micros: micros}
	return v, carry(v) == c
}
