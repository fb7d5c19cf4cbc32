package expr

import (
	"encoding/binary"
	"math/big"
	"math/bits"

	"tidemill/state/column"
)

// int128 is column.Int128 with arithmetic.
type int128 column.Int128

var (
	minInt128 = int128{0, -1 << 63}
	// pow10 has the powers of ten that a DECIMAL can need, 10^0 to 10^38.
	pow10 = func() (p [39]int128) {
		p[0] = int128{1, 0}
		for i := 1; i < len(p); i++ {
			p[i], _ = p[i-1].mul(int128{10, 0})
		}
		return p
	}()
)

func int128Of(raw []byte) int128 {
	return int128{binary.LittleEndian.Uint64(raw), int64(binary.LittleEndian.Uint64(raw[8:]))}
}

func int128From(v int64) int128 { return int128{uint64(v), v >> 63} }

func (a int128) cmp(b int128) int {
	switch {
	case a.Hi < b.Hi || a.Hi == b.Hi && a.Lo < b.Lo:
		return -1
	case a == b:
		return 0
	}
	return 1
}

func (a int128) less(b int128) bool { return a.Hi < b.Hi || a.Hi == b.Hi && a.Lo < b.Lo }

func (a int128) neg() int128 {
	lo, borrow := bits.Sub64(0, a.Lo, 0)
	hi, _ := bits.Sub64(0, uint64(a.Hi), borrow)
	return int128{lo, int64(hi)}
}

// abs returns the magnitude, which for the least value is read as unsigned.
func (a int128) abs() int128 {
	if a.Hi < 0 {
		return a.neg()
	}
	return a
}

// add returns the sum and whether it fits.
func (a int128) add(b int128) (int128, bool) {
	lo, carry := bits.Add64(a.Lo, b.Lo, 0)
	hi, _ := bits.Add64(uint64(a.Hi), uint64(b.Hi), carry)
	r := int128{lo, int64(hi)}
	return r, (a.Hi^r.Hi)&(b.Hi^r.Hi) >= 0
}

// sub returns the difference and whether it fits.
func (a int128) sub(b int128) (int128, bool) {
	lo, borrow := bits.Sub64(a.Lo, b.Lo, 0)
	hi, _ := bits.Sub64(uint64(a.Hi), uint64(b.Hi), borrow)
	r := int128{lo, int64(hi)}
	return r, (a.Hi^b.Hi)&(a.Hi^r.Hi) >= 0
}

// mul returns the product and whether it fits; as in DuckDB the least value does not.
func (a int128) mul(b int128) (int128, bool) {
	if a.Hi == int64(a.Lo)>>63 && b.Hi == int64(b.Lo)>>63 {
		return mul64(int64(a.Lo), int64(b.Lo)), true
	}
	neg := (a.Hi < 0) != (b.Hi < 0)
	x, y := a.abs(), b.abs()
	hi, lo := bits.Mul64(x.Lo, y.Lo)
	h1, l1 := bits.Mul64(uint64(x.Hi), y.Lo)
	h2, l2 := bits.Mul64(x.Lo, uint64(y.Hi))
	over := h1 | h2
	if x.Hi != 0 && y.Hi != 0 {
		over = 1
	}
	hi, c1 := bits.Add64(hi, l1, 0)
	hi, c2 := bits.Add64(hi, l2, 0)
	over |= c1 | c2
	r := int128{lo, int64(hi)}
	if neg {
		return r.neg(), over == 0 && r.Hi >= 0
	}
	return r, over == 0 && r.Hi >= 0
}

// mul64 returns the full product of two 64-bit integers.
func mul64(a, b int64) int128 {
	hi, lo := bits.Mul64(uint64(a), uint64(b))
	return int128{lo, int64(hi) - (a >> 63 & b) - (b >> 63 & a)}
}

// quoRem divides towards zero. b is not 0 and not -1 under the least value.
func (a int128) quoRem(b int128) (q, r int128) {
	q, r = a.abs().quoRemUnsigned(b.abs())
	if (a.Hi < 0) != (b.Hi < 0) {
		q = q.neg()
	}
	if a.Hi < 0 {
		r = r.neg()
	}
	return q, r
}

// quoRemUnsigned divides two values read as unsigned.
func (a int128) quoRemUnsigned(b int128) (q, r int128) {
	if b.Hi == 0 {
		qh, rem := uint64(a.Hi)/b.Lo, uint64(a.Hi)%b.Lo
		ql, rem := bits.Div64(rem, a.Lo, b.Lo)
		return int128{ql, int64(qh)}, int128{rem, 0}
	}
	// The divisor has more than 64 bits, so the quotient has fewer: estimate it from the top
	// words, at most one too large, and correct.
	n := uint(bits.LeadingZeros64(uint64(b.Hi)))
	top := uint64(b.Hi)
	if n > 0 {
		top = uint64(b.Hi)<<n | b.Lo>>(64-n)
	}
	uh, ul := uint64(a.Hi)>>1, a.Lo>>1|uint64(a.Hi)<<63
	t, _ := bits.Div64(uh, ul, top)
	t >>= 63 - n
	if t != 0 {
		t--
	}
	hi, lo := bits.Mul64(b.Lo, t)
	hi += uint64(b.Hi) * t
	rl, borrow := bits.Sub64(a.Lo, lo, 0)
	rh, _ := bits.Sub64(uint64(a.Hi), hi, borrow)
	if rh > uint64(b.Hi) || rh == uint64(b.Hi) && rl >= b.Lo {
		t++
		rl, borrow = bits.Sub64(rl, b.Lo, 0)
		rh, _ = bits.Sub64(rh, uint64(b.Hi), borrow)
	}
	return int128{t, 0}, int128{rl, int64(rh)}
}

func (a int128) big() *big.Int {
	v := new(big.Int).Lsh(big.NewInt(a.Hi), 64)
	return v.Add(v, new(big.Int).SetUint64(a.Lo))
}

// String prints a in decimal.
func (a int128) String() string { return a.big().String() }
