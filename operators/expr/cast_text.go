package expr

import (
	"math"
	"strconv"

	"tidemill/state/column"
)

func castIntToText[S integer](k *kcall) {
	x := viewAs[S](&k.args[0])
	if ^S(0) < 0 {
		outText(k, func(i int, b []byte) []byte { return strconv.AppendInt(b, int64(x[i]), 10) })
		return
	}
	outText(k, func(i int, b []byte) []byte { return strconv.AppendUint(b, uint64(x[i]), 10) })
}

// plainInt reads an optional minus and 1 to 18 digits. DuckDB accepts more (blanks, exponents,
// fractions, underscores): what is not plain is left to it.
func plainInt(s []byte) (v int64, ok bool) {
	neg := len(s) > 0 && s[0] == '-'
	if neg {
		s = s[1:]
	}
	if len(s) == 0 || len(s) > 18 {
		return 0, false
	}
	for _, c := range s {
		if c < '0' || c > '9' {
			return 0, false
		}
		v = v*10 + int64(c-'0')
	}
	if neg {
		v = -v
	}
	return v, true
}

func castTextToInt[D integer](k *kcall) {
	dst := outVals[D](k)
	for i := range dst {
		dst[i] = 0
		if !k.ok(i) {
			continue
		}
		v, ok := plainInt(k.args[0].Bytes(i))
		if dst[i] = D(v); !ok || int64(dst[i]) != v || (dst[i] < 0) != (v < 0) {
			k.leave(i)
		}
	}
}

// castTextToDouble reads an optional minus, digits, and a point with digits, which both languages
// round correctly; the rest is left to DuckDB.
func castTextToDouble(k *kcall) {
	dst := outVals[float64](k)
	for i := range dst {
		dst[i] = 0
		if !k.ok(i) {
			continue
		}
		s := k.args[0].Str(i)
		if !plainDecimal(s) {
			k.leave(i)
			continue
		}
		dst[i], _ = strconv.ParseFloat(s, 64)
	}
}

func plainDecimal(s string) bool {
	if len(s) > 0 && s[0] == '-' {
		s = s[1:]
	}
	points := 0
	for i := range len(s) {
		switch c := s[i]; {
		case c == '.' && i > 0 && i < len(s)-1:
			points++
		case c < '0' || c > '9':
			return false
		}
	}
	return len(s) > 0 && len(s) < 300 && points <= 1
}

func castTextToBool(k *kcall) {
	dst := outVals[uint8](k)
	for i := range dst {
		dst[i] = 0
		if !k.ok(i) {
			continue
		}
		switch k.args[0].Str(i) {
		case "true":
			dst[i] = 1
		case "false":
		default:
			k.leave(i)
		}
	}
}

func castBoolToText(k *kcall) {
	x := viewAs[uint8](&k.args[0])
	outText(k, func(i int, b []byte) []byte { return strconv.AppendBool(b, x[i] != 0) })
}

func castDoubleToText(k *kcall) {
	x := viewAs[float64](&k.args[0])
	outText(k, func(i int, b []byte) []byte {
		// From 2^53 on there are shortest digits half way to a neighbour, which Go takes and
		// DuckDB does not.
		if a := math.Abs(x[i]); a >= 1<<53 && !math.IsInf(a, 0) {
			k.leave(i)
			return b
		}
		return append(b, doubleText(x[i], 64)...)
	})
}

func castHugeToText(k *kcall) {
	x := ints128(k, 0)
	outText(k, func(i int, b []byte) []byte { return append(b, x[i].String()...) })
}

// digits reads s as a number of exactly len(s) digits.
func digits(s []byte) (v int64, ok bool) {
	for _, c := range s {
		if c < '0' || c > '9' {
			return 0, false
		}
		v = v*10 + int64(c-'0')
	}
	return v, len(s) > 0
}

// plainDate reads YYYY-MM-DD.
func plainDate(s []byte) (days int64, ok bool) {
	if len(s) != 10 || s[4] != '-' || s[7] != '-' {
		return 0, false
	}
	y, ok1 := digits(s[:4])
	m, ok2 := digits(s[5:7])
	d, ok3 := digits(s[8:])
	if !ok1 || !ok2 || !ok3 || y < 1 || m < 1 || m > 12 || d < 1 || d > int64(monthDays(y, int32(m))) {
		return 0, false
	}
	return daysOf(y, int32(m), int32(d)), true
}

// plainTimestamp reads YYYY-MM-DD HH:MM:SS with up to six more digits after a point.
func plainTimestamp(s []byte) (micros int64, ok bool) {
	if len(s) < 19 || s[10] != ' ' || s[13] != ':' || s[16] != ':' {
		return 0, false
	}
	days, ok := plainDate(s[:10])
	h, ok1 := digits(s[11:13])
	m, ok2 := digits(s[14:16])
	sec, ok3 := digits(s[17:19])
	if !ok || !ok1 || !ok2 || !ok3 || h > 23 || m > 59 || sec > 59 {
		return 0, false
	}
	frac := int64(0)
	if len(s) > 19 {
		if s[19] != '.' || len(s) > 26 {
			return 0, false
		}
		if frac, ok = digits(s[20:]); !ok {
			return 0, false
		}
		frac *= tenTo[26-len(s)]
	}
	return days*microsPerDay + (h*3600+m*60+sec)*1e6 + frac, true
}

func castTextToDate(k *kcall) {
	dst := outVals[int32](k)
	for i := range dst {
		dst[i] = 0
		if !k.ok(i) {
			continue
		}
		v, ok := plainDate(k.args[0].Bytes(i))
		if dst[i] = int32(v); !ok {
			k.leave(i)
		}
	}
}

func castTextToTimestamp(k *kcall) {
	dst := outVals[int64](k)
	for i := range dst {
		dst[i] = 0
		if !k.ok(i) {
			continue
		}
		v, ok := plainTimestamp(k.args[0].Bytes(i))
		if dst[i] = v; !ok {
			k.leave(i)
		}
	}
}

func textCasts() []native {
	return []native{
		cast(column.Varchar, column.Double, castTextToDouble, true),
		cast(column.Varchar, column.Bool, castTextToBool, true),
		cast(column.Varchar, column.Date, castTextToDate, true),
		cast(column.Varchar, column.Timestamp, castTextToTimestamp, true),
		cast(column.Bool, column.Varchar, castBoolToText, false),
		cast(column.Double, column.Varchar, castDoubleToText, false),
		cast(column.HugeInt, column.Varchar, castHugeToText, false),
	}
}
