package exact

import (
	"math"
	"math/big"
	"math/rand/v2"
)

// oracle is the plain recomputation: a rational number and three counts.
type oracle struct {
	sum *big.Rat
	counts
}

func newOracle() *oracle { return &oracle{sum: new(big.Rat)} }

func (o *oracle) add(v float64, w int64) {
	switch {
	case math.IsNaN(v):
		o.nan += w
	case math.IsInf(v, 1):
		o.posInf += w
	case math.IsInf(v, -1):
		o.negInf += w
	default:
		r := new(big.Rat).SetFloat64(v)
		o.sum.Add(o.sum, r.Mul(r, new(big.Rat).SetInt64(w)))
	}
}

func (o *oracle) div(n int64) float64 {
	if o.counts != (counts{}) {
		v := math.NaN()
		plus := o.posInf > 0 || o.negInf < 0
		minus := o.negInf > 0 || o.posInf < 0
		if o.nan == 0 && plus != minus {
			v = math.Inf(1)
			if minus {
				v = math.Inf(-1)
			}
		}
		return v / float64(n)
	}
	v, _ := new(big.Rat).Quo(o.sum, new(big.Rat).SetInt64(n)).Float64()
	return v
}

// same compares bit for bit, all NaN being one.
func same(a, b float64) bool {
	return math.Float64bits(a) == math.Float64bits(b) || a != a && b != b
}

// term is one addition.
type term struct {
	v float64
	w int64
}

// families are the distributions that tests draw values from.
var families = map[string]func(*rand.Rand) float64{
	"cents":    func(r *rand.Rand) float64 { return float64(r.IntN(2_000_001)-1_000_000) / 100 },
	"integers": func(r *rand.Rand) float64 { return float64(r.Int64N(1<<40) - 1<<39) },
	"float32":  func(r *rand.Rand) float64 { return float64(float32(r.NormFloat64())) },
	"normal":   func(r *rand.Rand) float64 { return r.NormFloat64() * 1000 },
	"bits": func(r *rand.Rand) float64 {
		for {
			if v := math.Float64frombits(r.Uint64()); v-v == 0 {
				return v
			}
		}
	},
	"anything":   func(r *rand.Rand) float64 { return anything(r) },
	"subnormals": func(r *rand.Rand) float64 { return math.Float64frombits(r.Uint64() & (1<<63 | 1<<54 - 1)) },
	"near": func(r *rand.Rand) float64 {
		return math.Ldexp(float64(r.Int64N(1<<53)-1<<52), r.IntN(150)-75)
	},
	"huge": func(r *rand.Rand) float64 {
		return math.Copysign(math.MaxFloat64/float64(r.IntN(9)+1), r.Float64()-0.5)
	},
	"mixed": func(r *rand.Rand) float64 {
		return [...]float64{1e16, -1e16, 1, -1, 1e300, -1e300, 1e-300, 5e-324, 0.1, -0.1, 0}[r.IntN(11)]
	},
}

// anything is any float64, with its special values often.
func anything(r *rand.Rand) float64 {
	switch r.IntN(12) {
	case 0:
		return math.NaN()
	case 1:
		return math.Inf(1)
	case 2:
		return math.Inf(-1)
	case 3:
		return math.Copysign(0, r.Float64()-0.5)
	case 4:
		return math.Copysign(math.SmallestNonzeroFloat64, r.Float64()-0.5)
	case 5:
		return math.Copysign(math.MaxFloat64, r.Float64()-0.5)
	}
	return math.Float64frombits(r.Uint64())
}

// weight is ±1 mostly, and any int64 at times but the one without an opposite.
func weight(r *rand.Rand) int64 {
	switch r.IntN(10) {
	case 0:
		return int64(r.IntN(2001) - 1000)
	case 1:
		return [...]int64{0, math.MaxInt64, math.MinInt64 + 1, int64(r.Uint64() >> 1)}[r.IntN(4)]
	case 2, 3:
		return -1
	}
	return 1
}
