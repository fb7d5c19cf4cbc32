package exact

import (
	"math"
	"math/bits"
)

// Float64 is the sum rounded once to the nearest float64, ties to even. A sum
// of 0 reads +0. Beyond the largest float64 by half a unit or more it is
// infinite; such a sum is still exact and comes back when it shrinks.
//
// It is NaN if NaN is among the values or infinities of both signs are, and
// otherwise an infinity if one is. A count below zero reads as the product v*w:
// a retracted +Inf that was never added is -Inf.
func (s *Sum) Float64() float64 {
	if s.wide != nil {
		if v, ok := s.wide.value(); ok {
			return v
		}
		if s.wide.acc != nil {
			t := s.total()
			neg := t.abs()
			return roundWords(neg, t[:], -1074, false)
		}
	}
	neg, m := s.window()
	if m.isZero() {
		return 0
	}
	return round128(neg, m, s.base()-1074)
}

// Div is the exact quotient of the sum by n rounded once to the nearest
// float64, ties to even: an average has one rounding, not two. A quotient too
// small for a float64 is a zero with its sign; a sum of 0 gives +0. By n = 0 it
// is the limit: NaN for a sum of 0, else an infinity with the sign of the sum.
func (s *Sum) Div(n int64) float64 {
	if n == 0 || n == 1 {
		v := s.Float64()
		switch {
		case n == 1 || math.IsNaN(v):
			return v
		case v == 0:
			return math.NaN()
		}
		return math.Copysign(math.Inf(1), v)
	}
	divisor := uint64(n)
	if n < 0 {
		divisor = -divisor
	}
	if s.wide != nil {
		if v, ok := s.wide.value(); ok {
			return math.Copysign(v, math.Copysign(1, v)*float64(n))
		}
		if s.wide.acc != nil {
			return s.divWide(n < 0, divisor)
		}
	}
	neg, m := s.window()
	if m.isZero() {
		return 0
	}
	return div128(neg != (n < 0), m, s.base()-1074, divisor)
}

// value is what the special values of w make of the sum; ok is false if there
// are none.
func (w *wide) value() (v float64, ok bool) {
	if w.counts == (counts{}) {
		return 0, false
	}
	plus := w.posInf > 0 || w.negInf < 0
	minus := w.negInf > 0 || w.posInf < 0
	switch {
	case w.nan != 0 || plus && minus:
		return math.NaN(), true
	case plus:
		return math.Inf(1), true
	}
	return math.Inf(-1), true
}

// div128 is m*2^exp/divisor for m > 0. The dividend fills the upper two of
// three words, so the quotient has at least 128 bits before the remainder, of
// which rounding wants 64.
func div128(neg bool, m uint128, exp int, divisor uint64) float64 {
	by := 128 - m.bitLen()
	m = m.shift(by)
	var q [3]uint64
	var rem uint64
	q[2], rem = bits.Div64(0, m.hi, divisor)
	q[1], rem = bits.Div64(rem, m.lo, divisor)
	q[0], rem = bits.Div64(rem, 0, divisor)
	return roundWords(neg, q[:], exp-by-64, rem != 0)
}

// divWide is Div for a sum with an accumulator. Two words of zeros below the
// dividend leave 65 bits of quotient even for the smallest sum and the largest
// divisor.
func (s *Sum) divWide(negDivisor bool, divisor uint64) float64 {
	t := s.total()
	neg := t.abs() != negDivisor
	var q [accumulatorWords + 2]uint64
	var rem uint64
	for i := t.top() - 1; i >= 0; i-- {
		q[i+2], rem = bits.Div64(rem, t[i], divisor)
	}
	q[1], rem = bits.Div64(rem, 0, divisor)
	q[0], rem = bits.Div64(rem, 0, divisor)
	return roundWords(neg, q[:], -1074-128, rem != 0)
}

// roundWords rounds the magnitude in words, lowest first, times 2^exp; below
// says that the exact magnitude is larger by less than 2^exp.
func roundWords(neg bool, words []uint64, exp int, below bool) float64 {
	n := len(words)
	for n > 0 && words[n-1] == 0 {
		n--
	}
	if n == 0 {
		return 0
	}
	m := uint128{hi: words[n-1]}
	if n == 1 {
		m = uint128{lo: words[0]}
	} else {
		m.lo = words[n-2]
		exp += 64 * (n - 2)
		for _, w := range words[:n-2] {
			below = below || w != 0
		}
	}
	by := 128 - m.bitLen()
	m = m.shift(by)
	return roundTop(neg, m.hi, exp+64-by, below || m.lo != 0)
}

// round128 rounds m*2^exp for m > 0.
func round128(neg bool, m uint128, exp int) float64 {
	by := 128 - m.bitLen()
	m = m.shift(by)
	return roundTop(neg, m.hi, exp+64-by, m.lo != 0)
}

// roundTop rounds top*2^exp, where the highest bit of top is set; below says
// that the exact magnitude is larger by less than 2^exp. The last bit kept is
// 2^-1074 at least, so a subnormal result is rounded once as well.
func roundTop(neg bool, top uint64, exp int, below bool) float64 {
	drop := max(11, -1074-exp)
	sign := uint64(0)
	if neg {
		sign = 1 << 63
	}
	switch {
	case drop > 64: // under half of the smallest subnormal
		return math.Float64frombits(sign)
	case exp+drop > 1023-52:
		return math.Float64frombits(sign | exponentMax<<52)
	}
	kept, rest := top>>uint(drop), top<<uint(64-drop)
	if rest > 1<<63 || rest == 1<<63 && (below || kept&1 == 1) {
		kept++
	}
	// kept has its hidden bit exactly when the result is normal, so adding it
	// to the exponent field less one also carries into the field, up to infinity.
	return math.Float64frombits(sign | (uint64(exp+drop+1074)<<52 + kept))
}
