package column

import (
	"math"
	"strings"
)

// The bounds that DuckDB's casts have: a TIMESTAMP must lie in a day that starts in range, and the
// largest value of each is the infinity.
const (
	minTimestamp = -9223372022400000000 // 290309-12-22 (BC)
	minDate      = -math.MaxInt32 + 1   // 5877642-06-25 (BC)
	maxDate      = math.MaxInt32 - 1    // 5881580-07-10
)

const outOfRange = "it is out of range"

// scanner reads digits and marks off the front of a text.
type scanner struct{ rest string }

func (s *scanner) take(prefix string) bool {
	rest, ok := strings.CutPrefix(s.rest, prefix)
	s.rest = rest
	return ok
}

// number reads lo to hi digits.
func (s *scanner) number(lo, hi int) (v int64, ok bool) {
	n := 0
	for n < len(s.rest) && n < hi && s.rest[n] >= '0' && s.rest[n] <= '9' {
		v = v*10 + int64(s.rest[n]-'0')
		n++
	}
	s.rest = s.rest[n:]
	return v, n >= lo
}

// date reads YYYY-MM-DD and perhaps " (BC)".
func (s *scanner) date() (day int64, why string, ok bool) {
	year, ok1 := s.number(4, 7)
	ok1 = ok1 && s.take("-")
	month, ok2 := s.number(2, 2)
	ok2 = ok2 && s.take("-")
	dom, ok3 := s.number(2, 2)
	if !ok1 || !ok2 || !ok3 {
		return 0, "the form is YYYY-MM-DD", false
	}
	if s.take(" (BC)") {
		if year == 0 { // which is 1 BC without the mark
			return 0, "there is no such year", false
		}
		year = 1 - year
	}
	if month < 1 || month > 12 || dom < 1 || dom > int64(daysInMonth(year, int(month))) {
		return 0, "there is no such day", false
	}
	return dayOf(year, int(month), int(dom)), "", true
}

// clock reads HH:MM[:SS[.fraction]] and returns nanoseconds, up to 24:00:00; further digits are cut
// off.
func (s *scanner) clock() (nanos int64, why string, ok bool) {
	h, ok1 := s.number(2, 2)
	ok1 = ok1 && s.take(":")
	m, ok2 := s.number(2, 2)
	sec, ok3 := int64(0), true
	if s.take(":") {
		sec, ok3 = s.number(2, 2)
	}
	if !ok1 || !ok2 || !ok3 {
		return 0, "the form is HH:MM:SS.ffffff", false
	}
	if m > 59 || sec > 59 {
		return 0, "there is no such time", false
	}
	nanos = (h*3600 + m*60 + sec) * 1e9
	if s.take(".") {
		f, ok := s.fraction()
		if !ok {
			return 0, "digits are missing after the point", false
		}
		nanos += f
	}
	if nanos > dayNanos {
		return 0, "there is no such time", false
	}
	return nanos, "", true
}

// fraction reads the digits after a point as nanoseconds.
func (s *scanner) fraction() (nanos int64, ok bool) {
	n := len(s.rest)
	nanos, ok = s.number(1, 9)
	for n = n - len(s.rest); n < 9; n++ {
		nanos *= 10
	}
	s.rest = strings.TrimLeft(s.rest, "0123456789")
	return nanos, ok
}

// offset reads Z, or +HH, +HHMM, +HH:MM or +HH:MM:SS, and returns seconds east of UTC.
func (s *scanner) offset() (seconds int64, numeric, ok bool) {
	if s.take("Z") || s.rest == "" {
		return 0, false, true
	}
	sign := int64(1)
	if s.take("-") {
		sign = -1
	} else if !s.take("+") {
		return 0, true, false
	}
	h, ok1 := s.number(2, 2)
	m, sec, ok2 := int64(0), int64(0), true
	if s.take(":") {
		if m, ok2 = s.number(2, 2); ok2 && s.take(":") {
			sec, ok2 = s.number(2, 2)
		}
	} else if s.rest != "" {
		m, ok2 = s.number(2, 2)
	}
	if !ok1 || !ok2 || h > 15 || m > 59 || sec > 59 {
		return 0, true, false
	}
	return sign * (h*3600 + m*60 + sec), true, true
}

func infinity(s string) (sign int64, ok bool) {
	switch s {
	case "infinity":
		return 1, true
	case "-infinity":
		return -1, true
	}
	return 0, false
}

func parseDate(text string) (day int32, why string, ok bool) {
	if sign, ok := infinity(text); ok {
		return int32(sign * dateInfinity), "", true
	}
	s := scanner{text}
	d, why, ok := s.date()
	switch {
	case !ok:
		return 0, why, false
	case s.rest != "":
		return 0, "more text follows the day", false
	case d < minDate || d > maxDate:
		return 0, outOfRange, false
	}
	return int32(d), "", true
}

func parseTime(text string) (us int64, why string, ok bool) {
	s := scanner{text}
	nanos, why, ok := s.clock()
	if ok && s.rest != "" {
		return 0, "more text follows the time", false
	}
	return nanos / 1000, why, ok
}

func parseTimestamp(k Kind, text string) (v int64, why string, ok bool) {
	if sign, ok := infinity(text); ok {
		return sign * timestampInfinity, "", true
	}
	s := scanner{text}
	day, why, ok := s.date()
	if !ok {
		return 0, why, false
	}
	nanos := int64(0)
	var offset int64
	if s.rest != "" {
		if !s.take("T") && !s.take(" ") {
			return 0, "a blank or T and a time follow the day", false
		}
		if nanos, why, ok = s.clock(); !ok {
			return 0, why, false
		}
		numeric := false
		if offset, numeric, ok = s.offset(); !ok || s.rest != "" {
			return 0, "more text follows the time", false
		}
		if numeric && k != TimestampTZ {
			return 0, "only a TIMESTAMP WITH TIME ZONE has an offset", false
		}
	}
	v, ok = instant(k, day, nanos, offset)
	return v, outOfRange, ok
}

// instant returns a day and a time of day, less an offset, in the unit of k.
func instant(k Kind, day, nanos, offset int64) (v int64, ok bool) {
	if k == TimestampNS {
		if day < math.MinInt64/dayNanos || day > math.MaxInt64/dayNanos {
			return 0, false
		}
		v = day*dayNanos + nanos
		return v, v >= day*dayNanos && v < timestampInfinity
	}
	if day < minTimestamp/dayMicros || day > math.MaxInt64/dayMicros {
		return 0, false
	}
	v = day*dayMicros + nanos/1000
	if v < day*dayMicros {
		return 0, false
	}
	shift := offset * 1e6
	if shift > 0 && v < math.MinInt64+shift || shift < 0 && v > math.MaxInt64+shift {
		return 0, false
	}
	if v -= shift; v < minTimestamp || v >= timestampInfinity {
		return 0, false
	}
	switch k {
	case TimestampS:
		v = roundDiv(v, 1e6)
	case TimestampMS:
		v = roundDiv(v, 1e3)
	}
	return v, true
}

// roundDiv divides and rounds half away from zero.
func roundDiv(a, b int64) int64 {
	q, r := a/b, a%b
	switch {
	case r >= b-b/2:
		q++
	case -r >= b-b/2:
		q--
	}
	return q
}

// parseInterval reads what appendInterval writes: numbers with units, then a time.
func parseInterval(text string) (v IntervalValue, ok bool) {
	months := int64(0)
	days := int64(0)
	rest := text
	for last := 0; ; {
		word, after, more := strings.Cut(rest, " ")
		if strings.Contains(word, ":") {
			us, ok := signedClock(word)
			if !ok || more {
				return v, false
			}
			v.Micros = us
			break
		}
		unit, tail, moreUnits := strings.Cut(after, " ")
		s := scanner{strings.TrimPrefix(word, "-")}
		n, ok := s.number(1, 10)
		if !ok || s.rest != "" {
			return v, false
		}
		if strings.HasPrefix(word, "-") {
			n = -n
		}
		order := 0
		switch strings.TrimSuffix(unit, "s") {
		case "year":
			order, months = 1, months+12*n
		case "month":
			order, months = 2, months+n
		case "day":
			order, days = 3, n
		}
		if order <= last {
			return v, false
		}
		last = order
		if !moreUnits {
			break
		}
		rest = tail
	}
	v.Months, v.Days = int32(months), int32(days)
	return v, int64(v.Months) == months && int64(v.Days) == days
}

// signedClock reads [-]H..:MM:SS[.ffffff] as microseconds.
func signedClock(text string) (us int64, ok bool) {
	body, negative := strings.CutPrefix(text, "-")
	s := scanner{body}
	h, ok1 := s.number(2, 10)
	ok1 = ok1 && s.take(":")
	m, ok2 := s.number(2, 2)
	ok2 = ok2 && s.take(":")
	sec, ok3 := s.number(2, 2)
	fraction := int64(0)
	if s.take(".") {
		n := len(s.rest)
		f, ok := s.fraction()
		ok3 = ok3 && ok && n <= 6
		fraction = f / 1000
	}
	if !ok1 || !ok2 || !ok3 || s.rest != "" || m > 59 || sec > 59 || h > math.MaxInt64/3600_000_000 {
		return 0, false
	}
	// Counted below zero, where there is one more.
	us = -h*3600_000_000 - (m*60+sec)*1e6 - fraction
	if us > 0 || !negative && us == math.MinInt64 {
		return 0, false
	}
	if !negative {
		us = -us
	}
	return us, true
}
