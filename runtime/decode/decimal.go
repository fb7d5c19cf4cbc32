package decode

import (
	"math"
	"math/bits"

	"tidemill/state/column"
)

// decimal reads a DECIMAL into row d.n of c. Digits beyond the scale must be zeros.
func (d *NDJSON) decimal(c *target, b []byte, i int) (int, string) {
	t := c.field.Type
	if v, end, ok := decimalAt(b, i, int(t.Scale)); ok {
		if w := column.Int128Of(v); fits(w, t.Width) {
			put128(c.data[d.n*16:], w)
			return end, ""
		}
	}
	n, reason := numberAt(b, i)
	if reason != "" {
		return 0, reason
	}
	w, ok := n.scaled(int(t.Scale))
	if !ok {
		return 0, "the value has more digits than the type holds exactly"
	}
	if !fits(w, t.Width) {
		return 0, outOfRange
	}
	put128(c.data[d.n*16:], w)
	return n.end, ""
}

// decimalAt reads the number at b[i:] times 10^scale when that has at most 18 digits and the number
// no more digits after its point than scale, and no exponent.
func decimalAt(b []byte, i, scale int) (v int64, end int, ok bool) {
	neg := b[i] == '-'
	if neg {
		i++
	}
	s, point := i, -1
	for ; i < len(b); i++ {
		c := b[i] - '0'
		if c > 9 {
			if b[i] != '.' || point >= 0 {
				break
			}
			point = i
			continue
		}
		v = v*10 + int64(c)
	}
	digits, frac := i-s, 0
	if point >= 0 {
		digits, frac = point-s, i-point-1
		if frac == 0 {
			return 0, 0, false
		}
	}
	if digits == 0 || digits > 1 && b[s] == '0' || frac > scale || digits+scale > 18 || i < len(b) && (b[i]|0x20 == 'e' || b[i] == '.') {
		return 0, 0, false
	}
	for ; frac < scale; frac++ {
		v *= 10
	}
	if neg {
		v = -v
	}
	return v, i, true
}

// scaled returns n * 10^scale as an integer; ok is false when that is not whole or not 128 bits.
func (n *number) scaled(scale int) (v column.Int128, ok bool) {
	drop := -(n.exp + scale) // digits to leave off at the right, or zeros to add when negative
	total := len(n.whole) + len(n.frac)
	var m column.Int128
	zero := true
	for k := range total {
		c := n.digit(k)
		zero = zero && c == 0
		if k >= total-drop {
			if c != 0 {
				return v, false
			}
			continue
		}
		if m, ok = mulAdd(m, 10, c); !ok {
			return v, false
		}
	}
	if zero {
		return v, true
	}
	for ; drop < 0; drop++ {
		if m, ok = mulAdd(m, 10, 0); !ok {
			return v, false
		}
	}
	if n.neg {
		return m.Neg(), true
	}
	return m, m != column.Int128{Hi: math.MinInt64}
}

func (n *number) digit(k int) uint64 {
	if k < len(n.whole) {
		return uint64(n.whole[k] - '0')
	}
	return uint64(n.frac[k-len(n.whole)] - '0')
}

// mulAdd returns m*f + a for a magnitude m; 2^127 passes, since its negation is an Int128.
func mulAdd(m column.Int128, f, a uint64) (column.Int128, bool) {
	h, lo := bits.Mul64(m.Lo, f)
	lo, c := bits.Add64(lo, a, 0)
	over, mid := bits.Mul64(uint64(m.Hi), f)
	hi, c2 := bits.Add64(mid, h, c)
	out := column.Int128{Lo: lo, Hi: int64(hi)}
	return out, over == 0 && c2 == 0 && (hi < 1<<63 || hi == 1<<63 && lo == 0)
}

// powers has 10^0 to 10^38.
var powers = func() (p [39]column.Int128) {
	p[0].Lo = 1
	for i := 1; i < len(p); i++ {
		p[i], _ = mulAdd(p[i-1], 10, 0)
	}
	return p
}()

// fits reports whether v has at most width decimal digits.
func fits(v column.Int128, width uint8) bool {
	p := powers[min(width, 38)]
	return v.Cmp(p) < 0 && p.Neg().Cmp(v) < 0
}

func put128(at []byte, v column.Int128) {
	le.PutUint64(at, v.Lo)
	le.PutUint64(at[8:], uint64(v.Hi))
}
