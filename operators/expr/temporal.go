package expr

import (
	"math"
	"strings"

	"tidemill/state/column"
)

// instant is a DATE or TIMESTAMP taken apart: a day since 1970 and microseconds within it.
type instant struct {
	day   int64
	micro int64
}

// instants returns a reader of argument i's rows; inf tells an infinite value.
func instants(k *kcall, i int) func(row int) (t instant, inf bool) {
	k.spread(i)
	if k.args[i].Type.Kind == column.Date {
		x := viewAs[int32](&k.args[i])
		return func(row int) (instant, bool) {
			return instant{day: int64(x[row])}, x[row] == infDate || x[row] == -infDate
		}
	}
	x := viewAs[int64](&k.args[i])
	return func(row int) (instant, bool) {
		day := floorDiv(x[row], microsPerDay)
		return instant{day, x[row] - day*microsPerDay}, infinite(x[row])
	}
}

// parts are the parts of a date or time that are integers.
var parts = map[string]func(t instant) int64{
	"year":    func(t instant) int64 { y, _, _ := civil(t.day); return y },
	"month":   func(t instant) int64 { _, m, _ := civil(t.day); return int64(m) },
	"day":     func(t instant) int64 { _, _, d := civil(t.day); return int64(d) },
	"quarter": func(t instant) int64 { _, m, _ := civil(t.day); return int64(m+2) / 3 },
	"decade":  func(t instant) int64 { y, _, _ := civil(t.day); return y / 10 },
	"century": func(t instant) int64 {
		if y, _, _ := civil(t.day); y > 0 {
			return (y-1)/100 + 1
		} else {
			return y/100 - 1
		}
	},
	"millennium": func(t instant) int64 {
		if y, _, _ := civil(t.day); y > 0 {
			return (y-1)/1000 + 1
		} else {
			return y/1000 - 1
		}
	},
	"dayofweek":   func(t instant) int64 { return weekday(t.day) % 7 },
	"isodow":      func(t instant) int64 { return weekday(t.day) },
	"dayofyear":   func(t instant) int64 { y, _, _ := civil(t.day); return t.day - daysOf(y, 1, 1) + 1 },
	"week":        func(t instant) int64 { _, w := isoWeek(t.day); return w },
	"isoyear":     func(t instant) int64 { y, _ := isoWeek(t.day); return y },
	"hour":        func(t instant) int64 { return t.micro / 3600e6 },
	"minute":      func(t instant) int64 { return t.micro / 60e6 % 60 },
	"second":      func(t instant) int64 { return t.micro / 1e6 % 60 },
	"millisecond": func(t instant) int64 { return t.micro % 60e6 / 1000 },
	"microsecond": func(t instant) int64 { return t.micro % 60e6 },
}

// partAliases are other names of parts, as functions and as the first argument of date_part.
var partAliases = map[string]string{
	"weekday": "dayofweek", "dow": "dayofweek", "doy": "dayofyear", "weekofyear": "week",
	"years": "year", "months": "month", "days": "day", "hours": "hour", "minutes": "minute", "seconds": "second",
	"milliseconds": "millisecond", "microseconds": "microsecond", "weeks": "week", "quarters": "quarter",
	"decades": "decade", "centuries": "century",
}

// weekday is 1 for Monday to 7 for Sunday.
func weekday(day int64) int64 {
	return day + 3 - floorDiv(day+3, 7)*7 + 1
}

// isoWeek returns the ISO 8601 year and week.
func isoWeek(day int64) (year, week int64) {
	thursday := day + 4 - weekday(day)
	y, _, _ := civil(thursday)
	return y, (thursday-daysOf(y, 1, 1))/7 + 1
}

func partNamed(name string) func(t instant) int64 {
	if a := partAliases[name]; a != "" {
		name = a
	}
	return parts[name]
}

// firstWholeYear is the first day of the first year that DATE holds from its first day on: parts
// that need it fail in earlier dates, so those are left to DuckDB.
var firstWholeYear = daysOf(-5877640, 1, 1)

// weekFails tells that week and isoyear of a DATE before firstWholeYear fail.
func weekFails(e *Expr) bool {
	name := e.Func
	if len(e.Args) == 2 {
		name, _ = constantText(e.Args[0])
	}
	return strings.Contains(name, "week") && !strings.Contains(name, "day") || name == "isoyear"
}

var clocks = map[string]struct{ unit, modulus int64 }{
	"hour": {3600e6, 24}, "minute": {60e6, 60}, "second": {1e6, 60},
}

// clockKernel is hour, minute or second of a TIMESTAMP.
func clockKernel(unit, modulus int64) kernelFunc {
	return func(k *kcall) {
		x, dst := viewAs[int64](&k.args[0]), outVals[int64](k)
		for i, v := range x[:len(dst)] {
			m := v % microsPerDay
			m += m >> 63 & microsPerDay
			dst[i] = m / unit % modulus
			if infinite(v) && k.ok(i) {
				k.setNull(i)
			}
		}
	}
}

// partKernel takes a part of the last argument; infinite values have none.
func partKernel(part func(t instant) int64) kernelFunc {
	return func(k *kcall) {
		read, dst := instants(k, len(k.args)-1), outVals[int64](k)
		first := int64(math.MinInt64)
		if k.args[len(k.args)-1].Type.Kind == column.Date {
			first = firstWholeYear
		}
		for i := range dst {
			t, inf := read(i)
			if inf {
				if dst[i] = 0; k.ok(i) {
					k.setNull(i)
				}
				continue
			}
			if t.day < first && k.ok(i) {
				k.leave(i)
			}
			dst[i] = part(t)
		}
	}
}

// epochKernel is a TIMESTAMP's microseconds divided towards zero.
func epochKernel(div int64) kernelFunc {
	return partKernel(func(t instant) int64 { return (t.day*microsPerDay + t.micro) / div })
}

// epochSeconds is the DOUBLE that epoch() gives.
func epochSeconds(k *kcall) {
	k.spread(len(k.args) - 1)
	read, dst := instants(k, len(k.args)-1), outVals[float64](k)
	for i := range dst {
		t, inf := read(i)
		dst[i] = 0
		if inf {
			if k.ok(i) {
				k.setNull(i)
			}
			continue
		}
		if k.args[len(k.args)-1].Type.Kind == column.Date {
			dst[i] = float64(t.day * 86400)
			continue
		}
		dst[i] = float64(t.day*microsPerDay+t.micro) / 1e6
	}
}

// constantText returns a constant VARCHAR argument in lower case.
func constantText(e *Expr) (string, bool) {
	if e.Kind != Constant || e.Const == nil || e.Const.Null {
		return "", false
	}
	b := []byte(nil)
	for _, c := range e.Const.Raw {
		if c >= 'A' && c <= 'Z' {
			c += 'a' - 'A'
		}
		b = append(b, c)
	}
	return string(b), true
}

// truncations cut a time down to a unit, in microseconds since 1970.
var truncations = map[string]func(t instant) instant{
	"microseconds": func(t instant) instant { return t },
	"milliseconds": func(t instant) instant { return instant{t.day, t.micro / 1000 * 1000} },
	"second":       func(t instant) instant { return instant{t.day, t.micro / 1e6 * 1e6} },
	"minute":       func(t instant) instant { return instant{t.day, t.micro / 60e6 * 60e6} },
	"hour":         func(t instant) instant { return instant{t.day, t.micro / 3600e6 * 3600e6} },
	"day":          func(t instant) instant { return instant{day: t.day} },
	"week":         func(t instant) instant { return instant{day: t.day + 1 - weekday(t.day)} },
	"month":        func(t instant) instant { y, m, _ := civil(t.day); return instant{day: daysOf(y, m, 1)} },
	"quarter":      func(t instant) instant { y, m, _ := civil(t.day); return instant{day: daysOf(y, (m-1)/3*3+1, 1)} },
	"year":         func(t instant) instant { y, _, _ := civil(t.day); return instant{day: daysOf(y, 1, 1)} },
	"decade":       func(t instant) instant { y, _, _ := civil(t.day); return instant{day: daysOf(y/10*10, 1, 1)} },
	"century":      func(t instant) instant { y, _, _ := civil(t.day); return instant{day: daysOf(y/100*100, 1, 1)} },
	"millennium":   func(t instant) instant { y, _, _ := civil(t.day); return instant{day: daysOf(y/1000*1000, 1, 1)} },
}

// truncFails reports whether a truncation can leave the range of TIMESTAMP, which begins at a
// midnight: units up to a day cannot.
func truncFails(e *Expr) bool {
	name, _ := constantText(e.Args[0])
	switch strings.TrimSuffix(name, "s") {
	case "microsecond", "millisecond", "second", "minute", "hour", "day":
		return e.Args[1].Type.Kind != column.Timestamp
	}
	return true
}

func truncKernel(e *Expr) kernelFunc {
	name, _ := constantText(e.Args[0])
	switch name {
	case "millisecond", "microsecond":
		name += "s"
	}
	trunc := truncations[name]
	if trunc == nil {
		return nil
	}
	return func(k *kcall) {
		read, dst := instants(k, 1), outVals[int64](k)
		const last = math.MaxInt64/microsPerDay - 1
		for i := range dst {
			t, inf := read(i)
			r := trunc(t)
			dst[i] = 0
			switch {
			case inf && k.args[1].Type.Kind == column.Timestamp:
				dst[i] = viewAs[int64](&k.args[1])[i]
			case inf:
				dst[i] = infTime
				if t.day < 0 {
					dst[i] = -infTime
				}
			case r.day < -last || r.day > last:
				if k.ok(i) {
					k.leave(i)
				}
			default:
				dst[i] = r.day*microsPerDay + r.micro
			}
		}
	}
}

// temporal is parts, truncation and epochs of DATE and TIMESTAMP.
func temporal() []native {
	var out []native
	for _, k := range []column.Kind{column.Date, column.Timestamp} {
		one := []column.Kind{k}
		var fails func(*Expr) bool
		if k == column.Date {
			fails = weekFails
		}
		for name, part := range parts {
			if _, clock := clocks[name]; clock && k == column.Timestamp {
				continue
			}
			out = append(out, native{name: name, args: one, ret: column.Int64, fn: partKernel(part), fallible: fails})
		}
		for alias, name := range partAliases {
			if alias == "weekday" || alias == "weekofyear" {
				out = append(out, native{name: alias, args: one, ret: column.Int64, fn: partKernel(parts[name]), fallible: fails})
			}
		}
		out = append(out,
			native{name: "date_part", args: []column.Kind{column.Varchar, k}, ret: column.Int64, fallible: fails,
				prepare: func(e *Expr) kernelFunc {
					if name, ok := constantText(e.Args[0]); ok && partNamed(name) != nil {
						return partKernel(partNamed(name))
					}
					return nil
				}},
			native{name: "date_part", args: []column.Kind{column.Varchar, k}, ret: column.Double,
				prepare: func(e *Expr) kernelFunc {
					if name, ok := constantText(e.Args[0]); ok && name == "epoch" {
						return epochSeconds
					}
					return nil
				}},
			native{name: "date_trunc", args: []column.Kind{column.Varchar, k}, ret: column.Timestamp, prepare: truncKernel, fallible: truncFails},
			native{name: "epoch", args: one, ret: column.Double, fn: epochSeconds},
		)
	}
	one := []column.Kind{column.Timestamp}
	for name, c := range clocks {
		out = append(out, native{name: name, args: one, ret: column.Int64, fn: clockKernel(c.unit, c.modulus)})
	}
	return append(out,
		native{name: "epoch_ms", args: one, ret: column.Int64, fn: epochKernel(1000)},
		native{name: "epoch_us", args: one, ret: column.Int64, fn: epochKernel(1)})
}
