package expr

import (
	"math"

	"tidemill/state/column"
)

// addInterval adds v times sign to a time as DuckDB does: months first, to the month's last day
// where the day does not exist, then days, then microseconds. What leaves the range of TIMESTAMP
// is not ok.
func addInterval(micros int64, v column.IntervalValue, sign int64) (int64, bool) {
	day := floorDiv(micros, microsPerDay)
	micro := micros - day*microsPerDay
	if v.Months != 0 {
		y, m, d := civil(day)
		n := y*12 + int64(m) - 1 + sign*int64(v.Months)
		y = floorDiv(n, 12)
		m = int32(n-y*12) + 1
		day = daysOf(y, m, min(d, monthDays(y, m)))
	}
	day += sign * int64(v.Days)
	const last = math.MaxInt64/microsPerDay - 1
	if day < -last || day > last || v.Micros > math.MaxInt64/4 || v.Micros < math.MinInt64/4 {
		return 0, false
	}
	base := day*microsPerDay + micro
	r := base + sign*v.Micros
	if (base > 0) == (sign*v.Micros > 0) && (r > 0) != (base > 0) && base != 0 || infinite(r) || r == math.MinInt64 {
		return 0, false
	}
	return r, true
}

// intervalKernel is a DATE or TIMESTAMP, argument t, plus or minus an INTERVAL.
func intervalKernel(t, v int, sign int64) kernelFunc {
	return func(k *kcall) {
		k.spread(t)
		k.spread(v)
		read, ivs, dst := instants(k, t), viewAs[column.IntervalValue](&k.args[v]), outVals[int64](k)
		const last = math.MaxInt64/microsPerDay - 1
		for i := range dst {
			x, inf := read(i)
			dst[i] = 0
			if !k.ok(i) {
				continue
			}
			if inf || x.day < -last || x.day > last {
				k.leave(i)
				continue
			}
			r, ok := addInterval(x.day*microsPerDay+x.micro, ivs[i], sign)
			if dst[i] = r; !ok {
				k.leave(i)
			}
		}
	}
}

// dayKernel is a DATE, argument d, plus or minus a number of days.
func dayKernel(d, n int, sign int64) kernelFunc {
	return func(k *kcall) {
		k.spread(d)
		k.spread(n)
		x, y, dst := viewAs[int32](&k.args[d]), viewAs[int32](&k.args[n]), outVals[int32](k)
		for i := range dst {
			r := int64(x[i]) + sign*int64(y[i])
			dst[i] = int32(r)
			if (x[i] == infDate || x[i] == -infDate || r >= infDate || r <= -infDate) && k.ok(i) {
				k.leave(i)
			}
		}
	}
}

func subDates(k *kcall) {
	k.spread(0)
	k.spread(1)
	x, y, dst := viewAs[int32](&k.args[0]), viewAs[int32](&k.args[1]), outVals[int64](k)
	for i := range dst {
		dst[i] = int64(x[i]) - int64(y[i])
	}
}

// temporalArithmetic is + and - of dates and times.
func temporalArithmetic() []native {
	var out []native
	for _, t := range []column.Kind{column.Date, column.Timestamp} {
		out = append(out,
			native{name: "+", args: []column.Kind{t, column.Interval}, ret: column.Timestamp, fn: intervalKernel(0, 1, 1), fallible: always},
			native{name: "+", args: []column.Kind{column.Interval, t}, ret: column.Timestamp, fn: intervalKernel(1, 0, 1), fallible: always},
			native{name: "-", args: []column.Kind{t, column.Interval}, ret: column.Timestamp, fn: intervalKernel(0, 1, -1), fallible: always})
	}
	return append(out,
		native{name: "+", args: []column.Kind{column.Date, column.Int32}, ret: column.Date, fn: dayKernel(0, 1, 1), fallible: always},
		native{name: "+", args: []column.Kind{column.Int32, column.Date}, ret: column.Date, fn: dayKernel(1, 0, 1), fallible: always},
		native{name: "-", args: []column.Kind{column.Date, column.Int32}, ret: column.Date, fn: dayKernel(0, 1, -1), fallible: always},
		native{name: "-", args: []column.Kind{column.Date, column.Date}, ret: column.Int64, fn: subDates})
}
