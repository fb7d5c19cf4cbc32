package column

import (
	"math/bits"
	"strconv"
)

// Int128Of returns v widened.
func Int128Of(v int64) Int128 { return Int128{Lo: uint64(v), Hi: v >> 63} }

// Neg returns -v; the smallest value is its own negation.
func (v Int128) Neg() Int128 {
	lo, borrow := bits.Sub64(0, v.Lo, 0)
	hi, _ := bits.Sub64(0, uint64(v.Hi), borrow)
	return Int128{Lo: lo, Hi: int64(hi)}
}

// Float64 converts as DuckDB does: each half rounded, then their sum.
func (v Int128) Float64() float64 {
	const two64 = 18446744073709551616.0
	if v.Hi == -1 {
		return -float64(^v.Lo) - 1
	}
	hi := float64(v.Hi) * two64
	return float64(v.Lo) + hi
}

// Cmp returns -1, 0 or 1 as v is less than, equal to or greater than o.
func (v Int128) Cmp(o Int128) int {
	switch {
	case v.Hi < o.Hi || v.Hi == o.Hi && v.Lo < o.Lo:
		return -1
	case v == o:
		return 0
	}
	return 1
}

// uint128 is a magnitude.
type uint128 struct{ hi, lo uint64 }

// unsigned returns v's bits as a UHUGEINT has them.
func (v Int128) unsigned() uint128 { return uint128{uint64(v.Hi), v.Lo} }

// AppendUnsigned appends the UHUGEINT with v's bits in decimal.
func (v Int128) AppendUnsigned(dst []byte) []byte { return v.unsigned().appendTo(dst) }

func (v Int128) magnitude() uint128 {
	if v.Hi < 0 {
		v = v.Neg()
	}
	return uint128{uint64(v.Hi), v.Lo}
}

// signed returns m with a sign; ok is false if it has no place in 128 bits.
func (m uint128) signed(negative bool) (v Int128, ok bool) {
	v = Int128{Lo: m.lo, Hi: int64(m.hi)}
	if negative {
		v = v.Neg()
		return v, v.Hi < 0 || m == uint128{}
	}
	return v, v.Hi >= 0
}

func (m uint128) less(o uint128) bool { return m.hi < o.hi || m.hi == o.hi && m.lo < o.lo }

// mulAdd returns m*f + a.
func (m uint128) mulAdd(f, a uint64) (out uint128, ok bool) {
	h, lo := bits.Mul64(m.lo, f)
	lo, c := bits.Add64(lo, a, 0)
	over, mid := bits.Mul64(m.hi, f)
	hi, c2 := bits.Add64(mid, h, c)
	return uint128{hi, lo}, over == 0 && c2 == 0
}

func (m uint128) divMod(d uint64) (uint128, uint64) {
	qh, r := m.hi/d, m.hi%d
	ql, r := bits.Div64(r, m.lo, d)
	return uint128{qh, ql}, r
}

// appendTo appends m in decimal.
func (m uint128) appendTo(dst []byte) []byte {
	if m.hi == 0 {
		return strconv.AppendUint(dst, m.lo, 10)
	}
	q, r := m.divMod(1e19)
	dst = q.appendTo(dst)
	var digits [19]byte
	for i := 18; i >= 0; i-- {
		digits[i] = '0' + byte(r%10)
		r /= 10
	}
	return append(dst, digits[:]...)
}

// pow10 holds the powers of ten that fit in an Int128: 10^0 to 10^38.
var pow10 = func() (p [39]uint128) {
	p[0] = uint128{0, 1}
	for i := 1; i < len(p); i++ {
		p[i], _ = p[i-1].mulAdd(10, 0)
	}
	return p
}()

// fitsDecimal reports whether the unscaled v has at most width digits.
func (v Int128) fitsDecimal(width uint8) bool { return v.magnitude().less(pow10[width]) }

// rescale returns the unscaled v with the scale changed by up, which may be negative; ok is false if
// digits other than 0 would be lost or 128 bits passed.
func (v Int128) rescale(up int) (Int128, bool) {
	m, ok := v.magnitude().rescale(up)
	if !ok {
		return v, false
	}
	return m.signed(v.Hi < 0)
}

func (m uint128) rescale(up int) (_ uint128, ok bool) {
	if m == (uint128{}) {
		return m, true // whatever the scale: the loops below end by overflow or a remainder
	}
	for ; up > 0; up-- {
		if m, ok = m.mulAdd(10, 0); !ok {
			return m, false
		}
	}
	for ; up < 0; up++ {
		var r uint64
		if m, r = m.divMod(10); r != 0 {
			return m, false
		}
	}
	return m, true
}

func (v Int128) appendTo(dst []byte) []byte {
	if v.Hi < 0 {
		dst = append(dst, '-')
	}
	return v.magnitude().appendTo(dst)
}

// String returns v in decimal.
func (v Int128) String() string { return string(v.appendTo(nil)) }
