package decode

import (
	"math"

	"tidemill/state/column"
)

// two reads two digits; anything else gives more than 99.
func two(s []byte) int {
	a, b := s[0]-'0', s[1]-'0'
	if a > 9 || b > 9 {
		return 1 << 20
	}
	return int(a)*10 + int(b)
}

// daysOf reads YYYY-MM-DD at the start of s as days since 1970-01-01.
func daysOf(s []byte) (int, bool) {
	if len(s) < 10 || s[4] != '-' || s[7] != '-' {
		return 0, false
	}
	y, m, d := two(s)*100+two(s[2:]), two(s[5:]), two(s[8:])
	if y > 9999 || m < 1 || m > 12 || d < 1 || d > monthDays(y, m) {
		return 0, false
	}
	// Days from the civil calendar, years counted from March.
	if m <= 2 {
		y--
		m += 12
	}
	era := y / 400
	if y < 0 {
		era = -1
	}
	yoe := y - era*400
	return era*146097 + yoe*365 + yoe/4 - yoe/100 + (153*(m-3)+2)/5 + d - 1 - 719468, true
}

func monthDays(y, m int) int {
	switch m {
	case 2:
		if y%4 == 0 && (y%100 != 0 || y%400 == 0) {
			return 29
		}
		return 28
	case 4, 6, 9, 11:
		return 30
	}
	return 31
}

// dateOf reads a date in its usual form, YYYY-MM-DD of the years 1 to 9999; other forms are left to
// column.ParseText.
func dateOf(s []byte) (int32, bool) {
	if len(s) != 10 || string(s[:4]) == "0000" {
		return 0, false
	}
	d, ok := daysOf(s)
	return int32(d), ok
}

// timestampOf reads a timestamp in its usual form: a date, T or a space, HH:MM:SS, perhaps a
// fraction of no more digits than the type has, perhaps Z. Other forms, and times in a zone, are left
// to column.ParseText.
func timestampOf(s []byte, k column.Kind) (int64, bool) {
	if len(s) < 19 || s[10] != 'T' && s[10] != ' ' || s[13] != ':' || s[16] != ':' || string(s[:4]) == "0000" {
		return 0, false
	}
	days, ok := daysOf(s)
	h, m, sec := two(s[11:]), two(s[14:]), two(s[17:])
	if !ok || h > 23 || m > 59 || sec > 59 {
		return 0, false
	}
	if s[len(s)-1] == 'Z' {
		s = s[:len(s)-1]
	}
	digits := 6
	switch k {
	case column.TimestampS:
		digits = 0
	case column.TimestampMS:
		digits = 3
	case column.TimestampNS:
		digits = 9
	}
	frac, n := int64(0), 0
	if len(s) > 19 {
		if s[19] != '.' || len(s) == 20 || len(s)-20 > digits {
			return 0, false
		}
		for _, c := range s[20:] {
			if c -= '0'; c > 9 {
				return 0, false
			}
			frac = frac*10 + int64(c)
			n++
		}
	}
	unit := int64(1)
	for ; n < digits; n++ {
		frac *= 10
	}
	for range digits {
		unit *= 10
	}
	v := int64(days)*86400 + int64(h*3600+m*60+sec)
	if v >= math.MaxInt64/unit || v <= math.MinInt64/unit {
		return 0, false
	}
	return v*unit + frac, true
}
