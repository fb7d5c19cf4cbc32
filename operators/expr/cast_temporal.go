package expr

import (
	"math"
	"strings"

	"tidemill/state/column"
)

// Infinite dates and times, in each type's unit.
const (
	infDate = math.MaxInt32
	infTime = math.MaxInt64
)

func infinite(v int64) bool { return v == infTime || v == -infTime }

func castDateToTimestamp(k *kcall) {
	x, dst := viewAs[int32](&k.args[0]), outVals[int64](k)
	const last = math.MaxInt64 / microsPerDay
	for i := range dst {
		switch d := int64(x[i]); {
		case d == infDate:
			dst[i] = infTime
		case d == -infDate:
			dst[i] = -infTime
		case d < -last || d > last:
			if dst[i] = 0; k.ok(i) {
				k.leave(i)
			}
		default:
			dst[i] = d * microsPerDay
		}
	}
}

func castTimestampToDate(k *kcall) {
	x, dst := viewAs[int64](&k.args[0]), outVals[int32](k)
	for i := range dst {
		switch v := x[i]; v {
		case infTime:
			dst[i] = infDate
		case -infTime:
			dst[i] = -infDate
		default:
			dst[i] = int32(floorDiv(v, microsPerDay))
		}
	}
}

// rescaleTime converts between units of time: times mul, or divided by div, towards zero after half
// is added to the magnitude.
func rescaleTime(mul, div, half int64) kernelFunc {
	return func(k *kcall) {
		x, dst := viewAs[int64](&k.args[0]), outVals[int64](k)
		for i := range dst {
			v := x[i]
			switch {
			case infinite(v):
				dst[i] = v
			case div > 1:
				dst[i] = (v + half*(1|v>>63)) / div
			case v > math.MaxInt64/mul || v < -math.MaxInt64/mul:
				if dst[i] = 0; k.ok(i) {
					k.leave(i)
				}
			default:
				dst[i] = v * mul
			}
		}
	}
}

// castTimeToText prints dates and times from year 1 to 9999; others are left to DuckDB.
func castTimeToText(text func(v int64) string, perDay int64) kernelFunc {
	first, end := daysOf(1, 1, 1)*perDay, daysOf(10000, 1, 1)*perDay
	return func(k *kcall) {
		outText(k, func(i int, b []byte) []byte {
			v := rawInt(k.args[0].Raw(i))
			if v < first || v >= end {
				k.leave(i)
				return b
			}
			return append(b, text(v)...)
		})
	}
}

func timestampDisplay(v int64) string {
	s := timestampText(v, 6)
	if strings.IndexByte(s, '.') > 0 {
		s = strings.TrimRight(s, "0")
	}
	return s
}

func temporalCasts() []native {
	return []native{
		cast(column.Date, column.Timestamp, castDateToTimestamp, true),
		cast(column.Timestamp, column.Date, castTimestampToDate, false),
		cast(column.Timestamp, column.TimestampMS, rescaleTime(1, 1000, 500), false),
		cast(column.TimestampMS, column.Timestamp, rescaleTime(1000, 1, 0), true),
		cast(column.TimestampS, column.Timestamp, rescaleTime(1_000_000, 1, 0), true),
		cast(column.TimestampNS, column.Timestamp, rescaleTime(1, 1000, 0), false),
		cast(column.Date, column.Varchar, castTimeToText(func(v int64) string { return dateText(v, infDate) }, 1), false),
		cast(column.Timestamp, column.Varchar, castTimeToText(timestampDisplay, microsPerDay), false),
	}
}
