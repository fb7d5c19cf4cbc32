package agg

import (
	"math"
	"math/big"

	"tidemill/state/column"
)

// productBits is the precision of a product on its way: with 53 bits wanted, some 2^140 factors may round in it
// before the last bit of the result is in doubt.
const productBits = 256

// multiply is product: the real product of the group's numbers, rounded once, so that it depends neither on the order
// of the factors nor on how large their product is on the way (DuckDB's may overflow there). A NaN, or an infinity
// and a zero, make it NaN. Its result costs a step for each of the group's different numbers, because a product
// with a zero in it cannot be divided by it.
func multiply(m *multiset) (result, bool) {
	ok := m.spec.Args[0].Kind == column.Double && m.sameType()
	return func(slot int32) (string, error) {
		col, w, err := m.values(slot)
		if err != nil || len(w) == 0 {
			return "", err
		}
		return m.double(product(column.Values[float64](&col), w)), nil
	}, ok
}

func product(vals []float64, w []int64) float64 {
	negative, zero, infinite := false, false, false
	p := new(big.Float).SetPrec(productBits).SetInt64(1)
	for i, v := range vals {
		if math.IsNaN(v) {
			return v
		}
		negative = negative != (math.Signbit(v) && w[i]&1 == 1)
		switch {
		case v == 0:
			zero = true
		case math.IsInf(v, 0):
			infinite = true
		default:
			power(p, new(big.Float).SetPrec(productBits).SetFloat64(math.Abs(v)), w[i])
		}
	}
	f, _ := p.Float64()
	switch {
	case zero && infinite:
		return math.NaN()
	case zero:
		f = 0
	case infinite:
		f = math.Inf(1)
	}
	if negative {
		f = -f
	}
	return f
}

// power multiplies p by v to the nth.
func power(p, v *big.Float, n int64) {
	for ; n > 0; n >>= 1 {
		if n&1 == 1 {
			p.Mul(p, v)
		}
		if n > 1 {
			v.Mul(v, v)
		}
	}
}
