package exact

import (
	"math"
	"math/bits"
)

const (
	// scaleBias sets the scale of an unplaced window, 0, apart from every
	// placed one: 4096 is above any exponent field plus the 64 shifts of the
	// fast path, so that one comparison covers all cases that leave it.
	scaleBias = 4096
	// maxBase is the highest place of a window's lowest bit, counted from
	// 2^-1074. The exponent field of NaN and the infinities, 2047, is then 64
	// or more above the window's and leaves the fast path with the rest.
	maxBase = 2047 - 64 - 1
	// windowBits is the width of a window without its sign.
	windowBits = 127
	// roomBelow is the number of bits kept free under the first value: a
	// mantissa has 53 bits, so 42 remain above. Values 2^20 times larger then
	// fit 2^22 times and ones 2^32 times smaller fit in full. At most half of
	// what is spare goes below, so doubled it would act as 36.
	roomBelow = 32
	// missLimit is the number of values outside the window after which it is
	// moved to where they are. Fewer makes mixed magnitudes flush more often,
	// more makes a group whose first value was the odd one out pay for longer.
	missLimit = 8

	fractionMask = 1<<52 - 1
	hiddenBit    = 1 << 52
	exponentMax  = 0x7ff
)

// Sum is an exact sum of float64 values with integer weights. The zero value is
// an empty sum, ready for use.
//
// Assignment copies a Sum only while it has no wide part, and later additions
// to either copy may show in both. Keep a second version, such as the previous
// commit's, with [Sum.Clone] or [Sum.Set].
type Sum struct {
	hi, lo uint64 // the window, two's complement
	wide   *wide  // specials and the accumulator; nil in most sums
	// scale is scaleBias + 1 + base, where the lowest bit of the window is
	// worth 2^(base-1074); 0 if the window has no place yet. In this form the
	// shift of a normal float64 is its exponent field + scaleBias - scale.
	scale  uint16
	misses uint8 // values outside the window since it was placed
}

// Add adds v*w exactly. A weight of 0 adds nothing; a negative weight retracts.
// Negative zero counts as zero.
func (s *Sum) Add(v float64, w int64) {
	b := math.Float64bits(v)
	shift := uint(b>>52&exponentMax) + scaleBias - uint(s.scale)
	if shift >= 64 || (w+1)&^2 != 0 { // outside the window, or |w| is not 1
		s.addSlow(v, w)
		return
	}
	m := b&fractionMask | hiddenBit
	neg := uint64((int64(b) ^ w) >> 63) // all ones to subtract
	addHi := m>>1>>(^shift&63) ^ neg
	lo, carry := bits.Add64(s.lo, m<<(shift&63)^neg, neg&1)
	hi, _ := bits.Add64(s.hi, addHi, carry)
	if int64((hi^s.hi)&(hi^addHi)) < 0 { // signed overflow
		s.addSlow(v, w)
		return
	}
	s.hi, s.lo = hi, lo
}

// addSlow is Add for every value and weight.
func (s *Sum) addSlow(v float64, w int64) {
	b := math.Float64bits(v)
	exponent, m := int(b>>52&exponentMax), b&fractionMask
	if w == 0 || exponent == 0 && m == 0 {
		return
	}
	switch exponent {
	case exponentMax:
		s.addSpecial(v, w)
		return
	case 0:
		exponent = 1 // subnormal: no hidden bit
	default:
		m |= hiddenBit
	}
	neg, weight := b>>63 == 1, uint64(w)
	if w < 0 {
		neg, weight = !neg, -weight
	}
	hi, lo := bits.Mul64(m, weight)
	s.addAt(neg, uint128{hi, lo}, exponent-1)
}

// addAt adds ±m*2^(pos-1074):
//
//  1. to the window where it is,
//  2. else to the window moved to where both fit,
//  3. else to the accumulator.
func (s *Sum) addAt(neg bool, m uint128, pos int) {
	if m.isZero() || s.addToWindow(neg, m, pos) {
		return
	}
	if s.moveWindow(m, pos) && s.addToWindow(neg, m, pos) {
		return
	}
	s.spill(neg, m, pos)
}

// base is the place of the window's lowest bit above 2^-1074.
func (s *Sum) base() int { return int(s.scale) - scaleBias - 1 }

// window is the sign and magnitude of the window.
func (s *Sum) window() (neg bool, m uint128) {
	neg = int64(s.hi) < 0
	return neg, uint128{s.hi, s.lo}.negateIf(neg)
}

// toWindow is m*2^(pos-1074) in units of the window, if it is a whole number
// of them and below 2^127.
func (s *Sum) toWindow(m uint128, pos int) (shifted uint128, ok bool) {
	if s.scale == 0 {
		return uint128{}, false
	}
	by := pos - s.base()
	if m.bitLen()+by > windowBits || by < 0 && m.trailingZeros() < -by {
		return uint128{}, false
	}
	return m.shift(by), true
}

// addToWindow adds ±m*2^(pos-1074) if the window can take it as it stands;
// otherwise it changes nothing.
func (s *Sum) addToWindow(neg bool, m uint128, pos int) bool {
	m, ok := s.toWindow(m, pos)
	if !ok {
		return false
	}
	m = m.negateIf(neg)
	lo, carry := bits.Add64(s.lo, m.lo, 0)
	hi, _ := bits.Add64(s.hi, m.hi, carry)
	if int64((hi^s.hi)&(hi^m.hi)) < 0 {
		return false
	}
	s.hi, s.lo = hi, lo
	return true
}

// moveWindow places the window so that its content, m*2^(pos-1074) and their
// sum or difference all fit, and reports whether there is such a place.
func (s *Sum) moveWindow(m uint128, pos int) bool {
	neg, old := s.window()
	low, high := pos, pos+m.bitLen()+1 // from the lowest bit to past a carry
	if !old.isZero() || high-low > windowBits {
		low += m.trailingZeros()
	}
	if !old.isZero() {
		low = min(low, s.base()+old.trailingZeros())
		high = max(high, s.base()+old.bitLen()+1)
	}
	spare := windowBits - (high - low)
	if spare < 0 {
		return false
	}
	base := min(max(low-min(roomBelow, spare/2), 0), maxBase)
	if high-base > windowBits {
		return false
	}
	moved := uint128{}
	if !old.isZero() {
		moved = old.shift(s.base() - base).negateIf(neg)
	}
	s.hi, s.lo = moved.hi, moved.lo
	s.scale = uint16(scaleBias + 1 + base)
	s.misses = 0
	return true
}

// spill adds ±m*2^(pos-1074), for which the window has no room, to the
// accumulator. If the value alone would fit, the window is full, which happens
// once in many additions; then, and after missLimit values that lie outside it,
// the window is emptied and placed anew: around the whole sum if that has
// become narrow again, else around the value, so that its like are fast.
func (s *Sum) spill(neg bool, m uint128, pos int) {
	acc := s.accumulator()
	acc.add(neg, m, pos)
	s.misses++
	if _, full := s.toWindow(m, pos); full || s.misses >= missLimit {
		if windowNeg, w := s.window(); !w.isZero() {
			acc.add(windowNeg, w, s.base())
		}
		s.hi, s.lo, s.scale, s.misses = 0, 0, 0, 0
		sumNeg, sum, low, ok := acc.narrow()
		if ok && s.moveWindow(sum, low) && s.addToWindow(sumNeg, sum, low) {
			*acc = accumulator{}
		} else {
			s.moveWindow(m, pos)
		}
	}
	s.dropZeroWide()
}

// Merge adds the content of o, which it leaves as it is. A sum may be merged
// into itself.
func (s *Sum) Merge(o *Sum) {
	neg, m := o.window()
	base := o.base()
	if o.wide != nil {
		w := s.ensureWide()
		w.nan += o.wide.nan
		w.posInf += o.wide.posInf
		w.negInf += o.wide.negInf
		if o.wide.acc != nil {
			s.accumulator().addAll(o.wide.acc)
		}
		s.dropZeroWide()
	}
	switch {
	case m.isZero():
	case s.hi|s.lo == 0:
		s.hi, s.lo, s.scale, s.misses = o.hi, o.lo, o.scale, 0
	default:
		s.addAt(neg, m, base)
	}
}

// Clone is a copy of s that shares nothing with it.
func (s *Sum) Clone() Sum {
	c := *s
	c.wide = s.wide.clone()
	return c
}

// Set makes s a copy of o that shares nothing with it. Without wide parts it
// costs the copy of three words.
func (s *Sum) Set(o *Sum) {
	s.hi, s.lo, s.scale, s.misses = o.hi, o.lo, o.scale, o.misses
	if s.wide != o.wide {
		s.wide = o.wide.clone()
	}
}

// IsZero reports whether s is what an empty sum is: a finite part of exactly 0,
// and as many retractions as additions of NaN and of each infinity.
func (s *Sum) IsZero() bool {
	if s.wide == nil {
		return s.hi|s.lo == 0
	}
	if s.wide.counts != (counts{}) {
		return false
	}
	t := s.total()
	return t.isZero()
}

// Equal reports whether s and o have the same exact content, that is the same
// encoding, whatever their histories.
func (s *Sum) Equal(o *Sum) bool {
	if s.wide == nil && o.wide == nil && s.scale == o.scale {
		return s.hi == o.hi && s.lo == o.lo
	}
	return s.wide.specials() == o.wide.specials() && s.total() == o.total()
}
