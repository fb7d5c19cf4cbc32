package exact

import (
	"encoding/binary"
	"errors"
	"math"
	"math/big"
	"math/bits"
	"slices"
)

// Products is an exact sum of products of up to four float64 values, with integer weights: what variances and
// correlations are made of. Products leave the range of a float64 on both sides, so there is one Sum for each range of
// 2^bandBits that occurs, in most sums one:
//
//	content = sum over bands of Sum(band) * 2^(bandBits*band)
//
// The zero value is empty. Values that are not finite are left out: their Sum tells of them. Assignment shares memory:
// see Clone.
type Products struct {
	bands []band // ascending, none of them 0
}

type band struct {
	at  int32
	sum Sum
}

// bandBits is the width of a band. A product has at most 212 bits and a weight 63, so the highest place of a band
// is 1023 + 275 bits above the lowest, well inside a Sum.
const bandBits = 1024

// Add adds the product of the factors w times.
func (p *Products) Add(w int64, factors ...float64) {
	var m [5]uint64 // the product of the mantissas, lowest word first
	m[0] = 1
	n := 1
	pos := 0
	neg := w < 0
	for _, f := range factors {
		b := math.Float64bits(f)
		exponent, mantissa := int(b>>52&exponentMax), b&fractionMask
		switch exponent {
		case exponentMax:
			return
		case 0:
			exponent = 1
		default:
			mantissa |= hiddenBit
		}
		if mantissa == 0 {
			return
		}
		neg = neg != (b>>63 == 1)
		pos += exponent - 1 - 1074
		n = mulWord(&m, n, mantissa)
	}
	weight := uint64(w)
	if w < 0 {
		weight = -weight
	}
	if weight == 0 {
		return
	}
	n = mulWord(&m, n, weight)
	pos += 1074 // a Sum counts places from 2^-1074
	at := pos >> 10
	s := p.band(int32(at))
	place := pos - at*bandBits
	for i := 0; i < n; i += 2 {
		part := uint128{lo: m[i]}
		if i+1 < n {
			part.hi = m[i+1]
		}
		s.addAt(neg, part, place+64*i)
	}
	if s.IsZero() {
		p.drop(int32(at))
	}
}

// mulWord multiplies the n lowest words of m by f and returns how many words there are then.
func mulWord(m *[5]uint64, n int, f uint64) int {
	var carry uint64
	for i := range n {
		hi, lo := bits.Mul64(m[i], f)
		var c uint64
		m[i], c = bits.Add64(lo, carry, 0)
		carry = hi + c
	}
	if carry != 0 {
		m[n] = carry
		n++
	}
	return n
}

func (p *Products) find(at int32) (int, bool) {
	return slices.BinarySearchFunc(p.bands, at, func(b band, at int32) int { return int(b.at - at) })
}

func (p *Products) band(at int32) *Sum {
	i, ok := p.find(at)
	if !ok {
		p.bands = slices.Insert(p.bands, i, band{at: at})
	}
	return &p.bands[i].sum
}

func (p *Products) drop(at int32) {
	if i, ok := p.find(at); ok {
		if p.bands = slices.Delete(p.bands, i, i+1); len(p.bands) == 0 {
			p.bands = nil
		}
	}
}

// IsZero reports whether the sum is what an empty one is.
func (p *Products) IsZero() bool { return len(p.bands) == 0 }

// Clone is a copy that shares nothing.
func (p *Products) Clone() Products {
	if p.bands == nil {
		return Products{}
	}
	out := Products{make([]band, len(p.bands))}
	for i := range p.bands {
		out.bands[i] = band{p.bands[i].at, p.bands[i].sum.Clone()}
	}
	return out
}

// Bytes returns about how much memory the sum has beside itself.
func (p *Products) Bytes() int64 { return 40 * int64(cap(p.bands)) }

// AppendTo appends the content in its canonical form: a function of the products alone.
func (p *Products) AppendTo(dst []byte) []byte {
	dst = binary.AppendUvarint(dst, uint64(len(p.bands)))
	for i := range p.bands {
		dst = p.bands[i].sum.AppendTo(binary.AppendVarint(dst, int64(p.bands[i].at)))
	}
	return dst
}

var errProducts = errors.New("exact: sum of products is cut off or malformed")

// DecodeProducts reads what AppendTo wrote and returns the rest.
func DecodeProducts(b []byte) (p Products, rest []byte, err error) {
	n, k := binary.Uvarint(b)
	if k <= 0 || n > 16 {
		return p, nil, errProducts
	}
	b = b[k:]
	for range n {
		at, k := binary.Varint(b)
		if k <= 0 || at < -8 || at > 8 || len(p.bands) > 0 && int32(at) <= p.bands[len(p.bands)-1].at {
			return p, nil, errProducts
		}
		var s Sum
		if s, b, err = Decode(b[k:]); err != nil {
			return p, nil, err
		}
		p.bands = append(p.bands, band{int32(at), s})
	}
	return p, b, nil
}

// bigPrec is enough to add and multiply sums of products without rounding: their places span some 10,000 bits.
const bigPrec = 1 << 16

// Big returns the exact value of the sum.
func (p *Products) Big() *big.Float {
	out := new(big.Float).SetPrec(bigPrec)
	for i := range p.bands {
		f := p.bands[i].sum.Big()
		out.Add(out, f.SetMantExp(f, int(p.bands[i].at)*bandBits))
	}
	return out
}

// Big returns the exact value of the finite part of s.
func (s *Sum) Big() *big.Float {
	out := new(big.Float).SetPrec(bigPrec)
	if s.wide == nil || s.wide.acc == nil {
		neg, m := s.window()
		if m.isZero() {
			return out
		}
		i := new(big.Int).SetUint64(m.hi)
		i.Lsh(i, 64).Or(i, new(big.Int).SetUint64(m.lo))
		if neg {
			i.Neg(i)
		}
		out.SetInt(i)
		return out.SetMantExp(out, s.base()-1074)
	}
	t := s.total()
	neg := t.abs()
	words := make([]byte, 0, 8*len(t))
	for i := len(t) - 1; i >= 0; i-- {
		words = binary.BigEndian.AppendUint64(words, t[i])
	}
	i := new(big.Int).SetBytes(words)
	if neg {
		i.Neg(i)
	}
	out.SetInt(i)
	return out.SetMantExp(out, -1074)
}

// Special returns NaN or an infinity when such are among the values of s, as Float64 does; ok is false when all are finite.
func (s *Sum) Special() (v float64, ok bool) {
	if s.wide == nil {
		return 0, false
	}
	return s.wide.value()
}
