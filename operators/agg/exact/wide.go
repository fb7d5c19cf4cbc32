package exact

import (
	"math"
	"math/bits"
)

// accumulatorWords is the size of the superaccumulator: 2098 bits from the
// smallest subnormal to the largest float64, 63 for a weight, and the rest of
// 2304 for the number of additions and the sign.
const accumulatorWords = 36

// accumulator is a two's complement integer in units of 2^-1074, lowest word
// first.
type accumulator [accumulatorWords]uint64

// counts are the weights of the values that are not numbers. A count may be
// negative while a retraction has come before its row.
type counts struct{ nan, posInf, negInf int64 }

// wide holds what few sums have.
type wide struct {
	counts
	acc *accumulator // nil if 0
}

// specials are the counts of w, zero if w is nil.
func (w *wide) specials() counts {
	if w == nil {
		return counts{}
	}
	return w.counts
}

// clone is a deep copy of w, which may be nil.
func (w *wide) clone() *wide {
	if w == nil {
		return nil
	}
	c := *w
	if w.acc != nil {
		acc := *w.acc
		c.acc = &acc
	}
	return &c
}

// ensureWide returns the wide part of s, made if there was none.
func (s *Sum) ensureWide() *wide {
	if s.wide == nil {
		s.wide = new(wide)
	}
	return s.wide
}

// accumulator returns the accumulator of s, made if there was none.
func (s *Sum) accumulator() *accumulator {
	w := s.ensureWide()
	if w.acc == nil {
		w.acc = new(accumulator)
	}
	return w.acc
}

// dropZeroWide gives back the parts of s.wide that hold nothing.
func (s *Sum) dropZeroWide() {
	w := s.wide
	if w.acc != nil && w.acc.isZero() {
		w.acc = nil
	}
	if w.acc == nil && w.counts == (counts{}) {
		s.wide = nil
	}
}

// addSpecial counts v, which is NaN or an infinity, w times.
func (s *Sum) addSpecial(v float64, w int64) {
	c := &s.ensureWide().counts
	switch {
	case math.IsNaN(v):
		c.nan += w
	case v > 0:
		c.posInf += w
	default:
		c.negInf += w
	}
	s.dropZeroWide()
}

// total is the finite part of s.
func (s *Sum) total() (t accumulator) {
	if s.wide != nil && s.wide.acc != nil {
		t = *s.wide.acc
	}
	if neg, m := s.window(); !m.isZero() {
		t.add(neg, m, s.base())
	}
	return t
}

// add adds ±m*2^(pos-1074), which must lie within the accumulator.
func (a *accumulator) add(neg bool, m uint128, pos int) {
	by := uint(pos & 63)
	words := [3]uint64{m.lo << by, m.hi<<by | m.lo>>(64-by), m.hi >> (64 - by)}
	at := a[pos>>6:]
	n := min(len(words), len(at)) // the words beyond are 0
	var carry uint64
	if neg {
		for i, w := range words[:n] {
			at[i], carry = bits.Sub64(at[i], w, carry)
		}
		for i := n; carry != 0 && i < len(at); i++ {
			at[i], carry = bits.Sub64(at[i], 0, carry)
		}
		return
	}
	for i, w := range words[:n] {
		at[i], carry = bits.Add64(at[i], w, carry)
	}
	for i := n; carry != 0 && i < len(at); i++ {
		at[i], carry = bits.Add64(at[i], 0, carry)
	}
}

// addAll adds o, which may be a itself.
func (a *accumulator) addAll(o *accumulator) {
	var carry uint64
	for i := range a {
		a[i], carry = bits.Add64(a[i], o[i], carry)
	}
}

// isZero reports whether a is 0.
func (a *accumulator) isZero() bool { return *a == accumulator{} }

// abs replaces a by its magnitude and reports whether it was negative.
func (a *accumulator) abs() (neg bool) {
	if int64(a[len(a)-1]) >= 0 {
		return false
	}
	var borrow uint64
	for i := range a {
		a[i], borrow = bits.Sub64(0, a[i], borrow)
	}
	return true
}

// top is the number of words of the magnitude a up to its highest that is not 0.
func (a *accumulator) top() int {
	n := len(a)
	for n > 0 && a[n-1] == 0 {
		n--
	}
	return n
}

// narrow is a as ±m*2^(low-1074), if it is not 0 and m leaves a window room to
// grow.
func (a *accumulator) narrow() (neg bool, m uint128, low int, ok bool) {
	t := *a
	neg = t.abs()
	n := t.top()
	if n == 0 {
		return false, uint128{}, 0, false
	}
	i := 0
	for t[i] == 0 {
		i++
	}
	low = 64*i + bits.TrailingZeros64(t[i])
	if 64*(n-1)+bits.Len64(t[n-1])-low > windowBits-roomBelow {
		return false, uint128{}, 0, false
	}
	var words [3]uint64 // at most 95 bits, wherever they start
	copy(words[:], t[i:n])
	by := uint(low & 63)
	m.lo = words[0]>>by | words[1]<<(64-by)
	m.hi = words[1]>>by | words[2]<<(64-by)
	return neg, m, low, true
}
