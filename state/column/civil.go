package column

import "math"

const (
	dayMicros = dayMillis * 1000
	dayNanos  = dayMicros * 1000
)

// The infinities of DATE and of all timestamps, as DuckDB has them.
const (
	dateInfinity      = math.MaxInt32
	timestampInfinity = math.MaxInt64
)

// civil returns the date of a day counted from 1970-01-01 in the proleptic Gregorian calendar. Year
// 0 is 1 BC. The year is counted in eras of 400 years from 0000-03-01.
func civil(day int64) (year int64, month, dom int) {
	z := day + 719468
	era := floorDiv(z, 146097)
	doe := z - era*146097
	yoe := (doe - doe/1460 + doe/36524 - doe/146096) / 365
	doy := doe - (365*yoe + yoe/4 - yoe/100)
	mp := (5*doy + 2) / 153
	dom = int(doy-(153*mp+2)/5) + 1
	month = int(mp) + 3
	if month > 12 {
		month -= 12
	}
	year = yoe + era*400
	if month <= 2 {
		year++
	}
	return year, month, dom
}

// dayOf is the inverse of civil.
func dayOf(year int64, month, dom int) int64 {
	if month <= 2 {
		year--
		month += 12
	}
	era := floorDiv(year, 400)
	yoe := year - era*400
	doy := int64((153*(month-3)+2)/5 + dom - 1)
	return era*146097 + yoe*365 + yoe/4 - yoe/100 + doy - 719468
}

func daysInMonth(year int64, month int) int {
	switch month {
	case 4, 6, 9, 11:
		return 30
	case 2:
		if year%4 == 0 && (year%100 != 0 || year%400 == 0) {
			return 29
		}
		return 28
	}
	return 31
}

func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}

func append2(dst []byte, v int) []byte { return append(dst, '0'+byte(v/10), '0'+byte(v%10)) }

func appendDate(dst []byte, day int64) []byte {
	year, month, dom := civil(day)
	bc := year <= 0
	if bc {
		year = 1 - year
	}
	if year < 10000 {
		dst = append2(append2(dst, int(year/100)), int(year%100))
	} else {
		dst = uint128{lo: uint64(year)}.appendTo(dst)
	}
	dst = append2(append(dst, '-'), month)
	dst = append2(append(dst, '-'), dom)
	if bc {
		dst = append(dst, " (BC)"...)
	}
	return dst
}

// appendClock appends hours, minutes, seconds and, unless it is 0, the fraction, which is in units
// of 10^-digits seconds and loses its trailing zeros.
func appendClock(dst []byte, seconds, fraction uint64, digits int) []byte {
	if hours := seconds / 3600; hours < 100 {
		dst = append2(dst, int(hours))
	} else {
		dst = uint128{lo: hours}.appendTo(dst)
	}
	dst = append2(append(dst, ':'), int(seconds/60%60))
	dst = append2(append(dst, ':'), int(seconds%60))
	if fraction == 0 {
		return dst
	}
	var f [9]byte
	for i := digits - 1; i >= 0; i-- {
		f[i] = '0' + byte(fraction%10)
		fraction /= 10
	}
	for f[digits-1] == '0' {
		digits--
	}
	return append(append(dst, '.'), f[:digits]...)
}

// unitDigits is the number of decimals of a second that a timestamp's unit has.
func unitDigits(k Kind) int {
	switch k {
	case TimestampS:
		return 0
	case TimestampMS:
		return 3
	case TimestampNS:
		return 9
	}
	return 6
}

var powersOfTen = [...]int64{1, 10, 100, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9}

func appendTimestamp(dst []byte, v int64, k Kind) []byte {
	switch v {
	case timestampInfinity:
		return append(dst, "infinity"...)
	case -timestampInfinity:
		return append(dst, "-infinity"...)
	}
	digits := unitDigits(k)
	unit := powersOfTen[digits]
	seconds := floorDiv(v, unit)
	day := floorDiv(seconds, 86400)
	dst = append(appendDate(dst, day), ' ')
	dst = appendClock(dst, uint64(seconds-day*86400), uint64(v-seconds*unit), digits)
	if k == TimestampTZ {
		dst = append(dst, "+00"...)
	}
	return dst
}

func appendInterval(dst []byte, v IntervalValue) []byte {
	empty := len(dst)
	part := func(n int32, unit string) {
		if n == 0 {
			return
		}
		if len(dst) > empty {
			dst = append(dst, ' ')
		}
		dst = append(Int128Of(int64(n)).appendTo(dst), unit...)
		if n != 1 && n != -1 {
			dst = append(dst, 's')
		}
	}
	part(v.Months/12, " year")
	part(v.Months%12, " month")
	part(v.Days, " day")
	if v.Micros == 0 && len(dst) > empty {
		return dst
	}
	if len(dst) > empty {
		dst = append(dst, ' ')
	}
	us := uint64(v.Micros)
	if v.Micros < 0 {
		dst = append(dst, '-')
		us = -us
	}
	return appendClock(dst, us/1e6, us%1e6, 6)
}
