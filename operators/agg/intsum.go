package agg

import (
	"encoding/binary"
	"fmt"
	"math/big"
	"math/bits"

	"tidemill/state/column"
)

// intSum is sum and avg of integers, BOOLEAN and DECIMAL. Its sum has 192 bits, so that it cannot overflow
// on the way, whatever the order of rows and retractions; a sum that its result type cannot hold
// rejects the output row of its group until it fits again.
type intSum struct {
	versioned[wideSum]
	arg    column.Type
	result column.Type
	avg    bool
}

// wideSum is a count of rows that are not NULL and their sum, in two's complement.
type wideSum struct {
	n      int64
	lo, mi uint64
	hi     int64
}

func (s *wideSum) add(lo uint64, hi int64, w int64) {
	if w == 1 {
		s.n++
		var c uint64
		s.lo, c = bits.Add64(s.lo, lo, 0)
		s.mi, c = bits.Add64(s.mi, uint64(hi), c)
		s.hi += hi>>63 + int64(c)
		return
	}
	if w == -1 {
		s.n--
		var b uint64
		s.lo, b = bits.Sub64(s.lo, lo, 0)
		s.mi, b = bits.Sub64(s.mi, uint64(hi), b)
		s.hi -= hi>>63 + int64(b)
		return
	}
	s.addWeighted(lo, hi, w)
}

// addWeighted adds the 128-bit value times w: its magnitude times w's, then the sign.
func (s *wideSum) addWeighted(lo uint64, hi int64, w int64) {
	s.n += w
	neg := hi < 0 != (w < 0)
	mlo, mhi := lo, uint64(hi)
	if hi < 0 {
		var b uint64
		mlo, b = bits.Sub64(0, lo, 0)
		mhi, _ = bits.Sub64(0, uint64(hi), b)
	}
	mw := uint64(w)
	if w < 0 {
		mw = -mw
	}
	p1, p0 := bits.Mul64(mlo, mw)
	q1, q0 := bits.Mul64(mhi, mw)
	p1, c := bits.Add64(p1, q0, 0)
	p2 := q1 + c
	if neg {
		var b uint64
		s.lo, b = bits.Sub64(s.lo, p0, 0)
		s.mi, b = bits.Sub64(s.mi, p1, b)
		s.hi = int64(uint64(s.hi) - p2 - b)
		return
	}
	s.lo, c = bits.Add64(s.lo, p0, 0)
	s.mi, c = bits.Add64(s.mi, p1, c)
	s.hi = int64(uint64(s.hi) + p2 + c)
}

func (s *wideSum) fits128() bool { return s.hi == int64(s.mi)>>63 }

func (s *wideSum) big() *big.Int {
	v := new(big.Int).Lsh(big.NewInt(s.hi), 128)
	v.Add(v, new(big.Int).Lsh(new(big.Int).SetUint64(s.mi), 64))
	return v.Add(v, new(big.Int).SetUint64(s.lo))
}

func (a *intSum) Empty(slot int32) bool { return a.v[slot].cur == wideSum{} }

func (a *intSum) Encode(dst []byte, slot int32) []byte {
	s := &a.v[slot].cur
	dst = binary.AppendVarint(dst, s.n)
	if s.hi == int64(s.lo)>>63 && s.mi == uint64(s.hi) { // the usual case: 64 bits
		return binary.AppendVarint(append(dst, 0), int64(s.lo))
	}
	dst = binary.LittleEndian.AppendUint64(append(dst, 1), s.lo)
	dst = binary.LittleEndian.AppendUint64(dst, s.mi)
	return binary.LittleEndian.AppendUint64(dst, uint64(s.hi))
}

func (a *intSum) Decode(slot int32, b []byte) ([]byte, error) {
	n, b, err := decodeVarint(b)
	if err != nil || len(b) == 0 {
		return nil, errShort
	}
	s := wideSum{n: n}
	form := b[0]
	b = b[1:]
	switch {
	case form == 0:
		var v int64
		if v, b, err = decodeVarint(b); err != nil {
			return nil, err
		}
		s.lo, s.mi, s.hi = uint64(v), uint64(v>>63), v>>63
	case form == 1 && len(b) >= 24:
		s.lo, s.mi = binary.LittleEndian.Uint64(b), binary.LittleEndian.Uint64(b[8:])
		s.hi = int64(binary.LittleEndian.Uint64(b[16:]))
		b = b[24:]
	default:
		return nil, errShort
	}
	a.set(slot, s)
	return b, nil
}

func (a *intSum) Add(slots []int32, args []column.Column, w []int64) error {
	arg := &args[0]
	switch a.arg.Kind {
	case column.Bool, column.UInt8:
		addInts(a.v, slots, column.Values[uint8](arg), arg, w)
	case column.Int8:
		addInts(a.v, slots, column.Values[int8](arg), arg, w)
	case column.Int16:
		addInts(a.v, slots, column.Values[int16](arg), arg, w)
	case column.UInt16:
		addInts(a.v, slots, column.Values[uint16](arg), arg, w)
	case column.Int32:
		addInts(a.v, slots, column.Values[int32](arg), arg, w)
	case column.UInt32:
		addInts(a.v, slots, column.Values[uint32](arg), arg, w)
	case column.Int64:
		addInts(a.v, slots, column.Values[int64](arg), arg, w)
	default: // UBIGINT, HUGEINT, DECIMAL
		for i, s := range slots {
			if s < 0 || arg.IsNull(i) {
				continue
			}
			var v column.Int128
			if a.arg.Kind == column.UInt64 {
				v.Lo = column.Values[uint64](arg)[i]
			} else {
				v = column.Values[column.Int128](arg)[i]
			}
			wt := weightOf(w, i)
			a.v[s].cur.add(v.Lo, v.Hi, wt)
		}
	}
	return nil
}

func addInts[V int8 | uint8 | int16 | uint16 | int32 | uint32 | int64](v []pair[wideSum], slots []int32, vals []V, arg *column.Column, w []int64) {
	for i, s := range slots {
		if s < 0 || arg.Valid != nil && arg.IsNull(i) {
			continue
		}
		x := int64(vals[i])
		if w == nil {
			v[s].cur.add(uint64(x), x>>63, 1)
		} else {
			v[s].cur.add(uint64(x), x>>63, w[i])
		}
	}
}

var pow10 = func() (p [39]*big.Int) {
	p[0] = big.NewInt(1)
	for i := 1; i < len(p); i++ {
		p[i] = new(big.Int).Mul(p[i-1], big.NewInt(10))
	}
	return p
}()

func (a *intSum) Output(slots []int32, prev bool) (column.Column, *Errors) {
	if a.avg {
		return a.averages(slots, prev), nil
	}
	var errs *Errors
	var valid []byte
	out := make([]column.Int128, len(slots))
	null := func(i int) {
		if valid == nil {
			valid = column.NewBitmap(len(slots), true)
		}
		column.ClearBit(valid, i)
	}
	for i, s := range slots {
		v := a.at(s, prev)
		switch {
		case v.n == 0:
			null(i)
		case !v.fits128() || a.result.Kind == column.Decimal && v.tooLong(int(a.result.Width)):
			null(i)
			errs = errs.add(i, fmt.Sprintf("sum of %s is out of range of %s", a.arg, a.result))
		default:
			out[i] = column.Int128{Lo: v.lo, Hi: int64(v.mi)}
		}
	}
	return column.Of(a.result, out, valid), errs
}

// tooLong reports whether the sum has more than width decimal digits.
func (s *wideSum) tooLong(width int) bool {
	if s.hi == 0 && s.mi < 1<<60 || s.hi == -1 && s.mi > ^uint64(1<<60) {
		return width < 38 && s.big().CmpAbs(pow10[width]) >= 0
	}
	return s.big().CmpAbs(pow10[width]) >= 0
}

// averages returns the correctly rounded quotients.
func (a *intSum) averages(slots []int32, prev bool) column.Column {
	b := column.NewBuilder(column.T(column.Double), len(slots))
	for _, s := range slots {
		v := a.at(s, prev)
		if v.n == 0 {
			b.AppendNull()
			continue
		}
		const exactBits = 1 << 53
		if n := int64(v.lo); a.arg.Scale == 0 && v.hi == n>>63 && v.mi == uint64(v.hi) && -exactBits <= n && n <= exactBits && v.n <= exactBits {
			column.Append(b, float64(n)/float64(v.n)) // both exact: one rounding
			continue
		}
		q := new(big.Rat).SetFrac(v.big(), new(big.Int).Mul(big.NewInt(v.n), pow10[a.arg.Scale]))
		f, _ := q.Float64()
		column.Append(b, f)
	}
	return b.Finish()
}
