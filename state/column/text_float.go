package column

import (
	"bytes"
	"math"
	"math/bits"
	"strconv"
)

// appendFloat appends the shortest digits that read back as v: plain from 1e-4 to below 1e16, with
// an exponent of at least two digits elsewhere.
func appendFloat(dst []byte, v float64, size int) []byte {
	a := math.Abs(v)
	switch {
	case v != v:
		if math.Signbit(v) {
			dst = append(dst, '-')
		}
		return append(dst, "nan"...)
	case a > math.MaxFloat64:
		if v < 0 {
			dst = append(dst, '-')
		}
		return append(dst, "inf"...)
	}
	least := 1e-4
	if size == 32 {
		least = float64(float32(1e-4))
		if shortestIsUndecided(float32(a)) {
			size = 64
		}
	}
	if a != 0 && (a < least || a >= 1e16) {
		return strconv.AppendFloat(dst, v, 'e', -1, size)
	}
	from := len(dst)
	dst = strconv.AppendFloat(dst, v, 'f', -1, size)
	for _, x := range dst[from:] {
		if x == '.' {
			return dst
		}
	}
	return append(dst, ".0"...)
}

// shortestIsUndecided reports whether DuckDB's printer gives up on the shortest digits of the FLOAT
// v > 0 and prints the shortest ones of the DOUBLE instead (333079.125, not 333079.12). It is Grisu3,
// which computes with a margin, and gives up where the best digits are exactly as far from v as the
// next best, or exactly half way to the next FLOAT. Both happen only where v and its neighbours are
// exact in a few decimals. Here the same steps run in exact integers, in units of 1/2,000,000.
func shortestIsUndecided(v float32) bool {
	b := math.Float32bits(v)
	m, e := uint64(b&(1<<23-1)|1<<23), int(b>>23)-150
	if e < -6 || e > 37 {
		return e < 0 && decimalTie(v, m, e)
	}
	const unit = 2_000_000
	gap := uint64(unit)
	w := uint128{lo: m * unit}
	if e >= 0 {
		w, _ = w.mulAdd(1<<e, 0)
		gap <<= e
	} else {
		w.lo >>= -e
		gap >>= -e
	}
	above, below := gap/2, gap/2
	if m == 1<<23 { // the float below is half as far
		below = gap / 4
	}
	width := above + below
	hi := uint128{w.hi, w.lo + above}
	if hi.lo < above {
		hi.hi++
	}
	// r is how far the candidate lies below hi. The first step with a multiple in reach is the one.
	step, r := uint64(unit*1e11), uint64(0)
	for ; step >= 2; step /= 10 {
		if _, r = hi.divMod(step); r <= width {
			break
		}
	}
	for r < above && width-r >= step {
		next := r + step
		if next > above && above-r == next-above {
			return true
		}
		if next > above && above-r < next-above {
			break
		}
		r = next
	}
	return r == 0 || r == width
}

// decimalTie reports whether v = m * 2^e, with e so small that only that can happen, is half way
// between two shortest candidates: one digit more, a 5, and it is exact. Few such v have bits that
// end early enough.
func decimalTie(v float32, m uint64, e int) bool {
	if zeros := bits.TrailingZeros64(m); e < -40 || 10*(-e-zeros) > 4*-e+30 {
		return false
	}
	var short, long [40]byte
	digits := bytes.IndexByte(strconv.AppendFloat(short[:0], float64(v), 'e', -1, 32), 'e')
	if digits > 1 {
		digits-- // the point
	}
	exact := strconv.AppendFloat(long[:0], float64(v), 'e', 24, 64)
	tail, exponent, _ := bytes.Cut(exact[digits+1:], []byte("e"))
	if len(tail) == 0 || tail[0] != '5' || len(bytes.Trim(tail[1:], "0")) != 0 {
		return false
	}
	if m == 1<<23 { // the candidate below must be in reach too
		exp10, _ := strconv.Atoi(string(exponent))
		return math.Pow10(exp10-digits+1)/2 <= math.Ldexp(1, e-2)
	}
	return true
}
