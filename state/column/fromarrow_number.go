package column

import (
	"fmt"
	"math"

	"github.com/apache/arrow-go/v18/arrow"
)

type integer interface {
	~int8 | ~int16 | ~int32 | ~int64 | ~uint8 | ~uint16 | ~uint32 | ~uint64
}

func widen[V integer](v V) Int128 {
	out := Int128{Lo: uint64(v)}
	if v < 0 {
		out.Hi = -1
	}
	return out
}

// exactNumbers reads integers and decimals as an integer type or DECIMAL.
func (a arrowInput) exactNumbers(t Type) (Column, error) {
	if dec, ok := a.dt.(arrow.DecimalType); ok {
		return a.decimals(dec.ID(), t)
	}
	switch a.dt.ID() {
	case arrow.INT8:
		return integers[int8](a, t)
	case arrow.INT16:
		return integers[int16](a, t)
	case arrow.INT32:
		return integers[int32](a, t)
	case arrow.INT64:
		return integers[int64](a, t)
	case arrow.UINT8:
		return integers[uint8](a, t)
	case arrow.UINT16:
		return integers[uint16](a, t)
	case arrow.UINT32:
		return integers[uint32](a, t)
	case arrow.UINT64:
		return integers[uint64](a, t)
	}
	return Column{}, errNoConversion
}

func integers[S interface {
	integer
	Fixed
}](a arrowInput, t Type) (Column, error) {
	if a.dt.ID() == ArrowType(t).ID() {
		return aliasValues[S](a, t)
	}
	return fromInt128(a, t, widen[S])
}

func (a arrowInput) decimals(id arrow.Type, t Type) (Column, error) {
	switch id {
	case arrow.DECIMAL32:
		return fromInt128(a, t, widen[int32])
	case arrow.DECIMAL64:
		return fromInt128(a, t, widen[int64])
	case arrow.DECIMAL256:
		if t.Kind == UHugeInt && a.scale() == 0 {
			return mapValues(a, t, func(v [4]uint64) (Int128, bool) {
				return Int128{Lo: v[0], Hi: int64(v[1])}, v[2]|v[3] == 0
			})
		}
		return Column{}, errNoConversion
	case arrow.DECIMAL128:
		if t.Kind == UHugeInt || t.Size() != 16 || int(t.Scale) != a.scale() {
			return fromInt128(a, t, func(v Int128) Int128 { return v })
		}
		c, err := aliasValues[Int128](a, t)
		if err != nil || t.Kind == HugeInt {
			return c, err
		}
		for i, v := range Values[Int128](&c) { // a writer may have lied about the precision
			if !v.fitsDecimal(t.Width) {
				return Column{}, fmt.Errorf("row %d: unscaled %v: %w", i, v, ErrNotLossless)
			}
		}
		return c, nil
	}
	return Column{}, errNoConversion
}

// fromInt128 makes a column of type t of unscaled values, changing their scale to t's.
func fromInt128[S any](a arrowInput, t Type, wide func(S) Int128) (Column, error) {
	up := int(t.Scale) - a.scale()
	switch t.Kind {
	case Int8:
		return narrowed[S, int8](a, t, up, wide)
	case Int16:
		return narrowed[S, int16](a, t, up, wide)
	case Int32:
		return narrowed[S, int32](a, t, up, wide)
	case Int64:
		return narrowed[S, int64](a, t, up, wide)
	case UInt8:
		return narrowed[S, uint8](a, t, up, wide)
	case UInt16:
		return narrowed[S, uint16](a, t, up, wide)
	case UInt32:
		return narrowed[S, uint32](a, t, up, wide)
	case UInt64:
		return narrowed[S, uint64](a, t, up, wide)
	}
	return mapValues(a, t, func(s S) (Int128, bool) {
		v, ok := wide(s).rescale(up)
		if t.Kind == UHugeInt {
			return v, ok && v.Hi >= 0
		}
		return v, ok && (t.Kind == HugeInt || v.fitsDecimal(t.Width))
	})
}

// scale returns the scale of the array's own values.
func (a arrowInput) scale() int {
	if dec, ok := a.dt.(arrow.DecimalType); ok {
		return int(dec.GetScale())
	}
	return 0
}

func narrowed[S any, V interface {
	integer
	Fixed
}](a arrowInput, t Type, up int, wide func(S) Int128) (Column, error) {
	return mapValues(a, t, func(s S) (V, bool) {
		v, ok := wide(s).rescale(up)
		out := V(v.Lo)
		return out, ok && widen(out) == v
	})
}

const dayMillis = 86_400_000

// instants reads DATE, TIME and the timestamps.
func (a arrowInput) instants(t Type) (Column, error) {
	switch dt := a.dt.(type) {
	case *arrow.Date32Type:
		if t.Kind == Date {
			return aliasValues[int32](a, t)
		}
	case *arrow.Date64Type:
		if t.Kind == Date {
			return mapValues(a, t, func(ms int64) (int32, bool) {
				days := ms / dayMillis
				return int32(days), ms%dayMillis == 0 && int64(int32(days)) == days
			})
		}
	case *arrow.Time32Type:
		if t.Kind == Time {
			return mapValues(a, t, func(v int32) (int64, bool) { return timeOfDay(int64(v), dt.Unit) })
		}
	case *arrow.Time64Type:
		if t.Kind == TimeNS && dt.Unit == arrow.Nanosecond {
			return aliasValues[int64](a, t)
		}
		if t.Kind == Time {
			return mapValues(a, t, func(v int64) (int64, bool) { return timeOfDay(v, dt.Unit) })
		}
	case *arrow.TimestampType:
		if t.Kind < TimestampS || t.Kind > TimestampTZ || (dt.TimeZone != "") != (t.Kind == TimestampTZ) {
			break
		}
		to := ArrowType(t).(*arrow.TimestampType).Unit
		if to == dt.Unit {
			return aliasValues[int64](a, t)
		}
		return mapValues(a, t, func(v int64) (int64, bool) { return changeUnit(v, dt.Unit, to) })
	}
	return Column{}, errNoConversion
}

func timeOfDay(v int64, from arrow.TimeUnit) (int64, bool) {
	us, ok := changeUnit(v, from, arrow.Microsecond)
	return us, ok && us >= 0 && us <= dayMillis*1000
}

func changeUnit(v int64, from, to arrow.TimeUnit) (int64, bool) {
	for ; from < to; from++ {
		if v > math.MaxInt64/1000 || v < math.MinInt64/1000 {
			return v, false
		}
		v *= 1000
	}
	for ; from > to; from-- {
		if v%1000 != 0 {
			return v, false
		}
		v /= 1000
	}
	return v, true
}
