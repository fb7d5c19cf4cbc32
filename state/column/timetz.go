package column

// TimeTZValue is a TIME WITH TIME ZONE as DuckDB has it: the microseconds of the wall clock above 24 bits
// of the offset, counted down from the easternmost, 15:59:59. Its bits are not in the order of SQL: see
// Order.
type TimeTZValue uint64

const (
	maxTimeOffset = 16*3600 - 1 // seconds east of UTC
	offsetBits    = 24
)

// TimeTZOf returns the time of a wall clock at an offset in seconds east of UTC, up to 15:59:59 either way.
func TimeTZOf(micros, offset int64) TimeTZValue {
	return TimeTZValue(micros<<offsetBits | (maxTimeOffset - offset))
}

// Micros returns the microseconds of the wall clock since midnight.
func (v TimeTZValue) Micros() int64 { return int64(v >> offsetBits) }

// Offset returns the seconds east of UTC.
func (v TimeTZValue) Offset() int64 { return maxTimeOffset - int64(v&(1<<offsetBits-1)) }

// Order returns an integer that sorts as SQL sorts times: by the instant, then from east to west.
func (v TimeTZValue) Order() uint64 {
	low := uint64(v) & (1<<offsetBits - 1)
	return uint64(v) + low*1_000_000<<offsetBits
}

// TimeTZOrdered is the inverse of Order.
func TimeTZOrdered(order uint64) TimeTZValue {
	low := order & (1<<offsetBits - 1)
	return TimeTZValue(order - low*1_000_000<<offsetBits)
}

func appendTimeTZ(dst []byte, v TimeTZValue) []byte {
	us := uint64(v.Micros())
	dst = appendClock(dst, us/1e6, us%1e6, 6)
	off := v.Offset()
	sign := byte('+')
	if off < 0 {
		sign, off = '-', -off
	}
	dst = append2(append(dst, sign), int(off/3600))
	if off%3600 == 0 {
		return dst
	}
	dst = append2(append(dst, ':'), int(off/60%60))
	if off%60 != 0 {
		dst = append2(append(dst, ':'), int(off%60))
	}
	return dst
}

func parseTimeTZ(text string) (v TimeTZValue, why string, ok bool) {
	s := scanner{text}
	nanos, why, ok := s.clock()
	if !ok {
		return 0, why, false
	}
	offset, _, ok := s.offset()
	if !ok || s.rest != "" {
		return 0, "an offset such as +01:00 follows the time", false
	}
	return TimeTZOf(nanos/1000, offset), "", true
}

func parseTimeNS(text string) (nanos int64, why string, ok bool) {
	s := scanner{text}
	nanos, why, ok = s.clock()
	if ok && s.rest != "" {
		return 0, "more text follows the time", false
	}
	return nanos, why, ok
}

// appendBits appends a BIT as ones and zeros.
func appendBits(dst, v []byte) []byte {
	for i := int(v[0]); i < 8*(len(v)-1); i++ {
		dst = append(dst, '0'+v[1+i>>3]>>(7-i&7)&1)
	}
	return dst
}

func parseBits(dst []byte, s string) ([]byte, string, bool) {
	if s == "" {
		return dst, "it needs at least one bit", false
	}
	pad := -len(s) & 7
	from := len(dst)
	dst = append(dst, byte(pad))
	dst = append(dst, make([]byte, (len(s)+7)/8)...)
	bits := dst[from+1:]
	bits[0] = 0xff << (8 - pad)
	for i := range len(s) {
		switch s[i] {
		case '0':
		case '1':
			bits[(pad+i)>>3] |= 0x80 >> ((pad + i) & 7)
		default:
			return dst[:from], "it is written with 0 and 1", false
		}
	}
	return dst, "", true
}
