package decode

import (
	"math"

	"tidemill/state/column"
)

// The raise functions turn n values as Arrow writes them into the table's form, and return the
// first value that has none, or -1. Both buffers are as long as n values need.

func raiseDate64(raw []byte, n int, out []byte) int {
	for i := range n {
		ms := int64(le.Uint64(raw[8*i:]))
		d := ms / 86_400_000
		if d*86_400_000 != ms || d != int64(int32(d)) {
			return i
		}
		le.PutUint32(out[4*i:], uint32(d))
	}
	return -1
}

func raiseTime32s(raw []byte, n int, out []byte) int  { return raiseTime32(raw, n, out, 1_000_000) }
func raiseTime32ms(raw []byte, n int, out []byte) int { return raiseTime32(raw, n, out, 1_000) }

func raiseTime32(raw []byte, n int, out []byte, factor int64) int {
	for i := range n {
		le.PutUint64(out[8*i:], uint64(int64(int32(le.Uint32(raw[4*i:])))*factor))
	}
	return -1
}

func raiseSeconds(raw []byte, n int, out []byte) int { return multiply(raw, n, out, 1_000_000) }
func raiseMillis(raw []byte, n int, out []byte) int  { return multiply(raw, n, out, 1_000) }
func raiseNanos(raw []byte, n int, out []byte) int   { return divide(raw, n, out, 1_000) }

// multiply multiplies int64 values, up to the first that overflows.
func multiply(raw []byte, n int, out []byte, factor int64) int {
	limit := math.MaxInt64 / factor
	for i := range n {
		v := int64(le.Uint64(raw[8*i:]))
		if v > limit || v < -limit {
			return i
		}
		le.PutUint64(out[8*i:], uint64(v*factor))
	}
	return -1
}

// divide divides int64 values, up to the first that does not divide evenly.
func divide(raw []byte, n int, out []byte, by int64) int {
	for i := range n {
		v := int64(le.Uint64(raw[8*i:]))
		q := v / by
		if q*by != v {
			return i
		}
		le.PutUint64(out[8*i:], uint64(q))
	}
	return -1
}

func raiseDecimal32(raw []byte, n int, out []byte) int {
	for i := range n {
		put128(out[16*i:], column.Int128Of(int64(int32(le.Uint32(raw[4*i:])))))
	}
	return -1
}

// raiseDecimal256 takes what a UHUGEINT holds.
func raiseDecimal256(raw []byte, n int, out []byte) int {
	for i := range n {
		v := raw[32*i : 32*i+32]
		if le.Uint64(v[16:])|le.Uint64(v[24:]) != 0 {
			return i
		}
		copy(out[16*i:16*i+16], v)
	}
	return -1
}

func raiseDecimal64(raw []byte, n int, out []byte) int {
	for i := range n {
		put128(out[16*i:], column.Int128Of(int64(le.Uint64(raw[8*i:]))))
	}
	return -1
}

func raiseFloat16(raw []byte, n int, out []byte) int {
	for i := range n {
		h := uint32(le.Uint16(raw[2*i:]))
		sign, exp, frac := h>>15<<31, h>>10&31, h&0x3ff
		var v uint32
		switch {
		case exp == 31:
			v = sign | 0xff<<23 | frac<<13
		case exp == 0: // zero and subnormals: frac * 2^-24 is exact
			v = sign | math.Float32bits(float32(frac)/(1<<24))
		default:
			v = sign | (exp+127-15)<<23 | frac<<13
		}
		le.PutUint32(out[4*i:], v)
	}
	return -1
}

func raiseMonths(raw []byte, n int, out []byte) int {
	for i := range n {
		putInterval(out[16*i:], le.Uint32(raw[4*i:]), 0, 0)
	}
	return -1
}

func raiseDayTime(raw []byte, n int, out []byte) int {
	for i := range n {
		ms := int64(int32(le.Uint32(raw[8*i+4:])))
		putInterval(out[16*i:], 0, le.Uint32(raw[8*i:]), ms*1000)
	}
	return -1
}

func raiseMonthDayNano(raw []byte, n int, out []byte) int {
	for i := range n {
		nanos := int64(le.Uint64(raw[16*i+8:]))
		if nanos%1000 != 0 {
			return i
		}
		putInterval(out[16*i:], le.Uint32(raw[16*i:]), le.Uint32(raw[16*i+4:]), nanos/1000)
	}
	return -1
}

func putInterval(at []byte, months, days uint32, micros int64) {
	le.PutUint32(at, months)
	le.PutUint32(at[4:], days)
	le.PutUint64(at[8:], uint64(micros))
}
