package agg

import (
	"math"
	"math/big"
)

// quotientBits is the precision of quotients and roots, whose operands are exact: rounded once more to 53 bits, they are
// the nearest double but for one case in 2^140.
const quotientBits = 192

func num(n int64) *big.Float { return new(big.Float).SetInt64(n) }

func mul(a, b *big.Float) *big.Float { return exactly().Mul(a, b) }

func sub(a, b *big.Float) *big.Float { return exactly().Sub(a, b) }

func add(a, b *big.Float) *big.Float { return exactly().Add(a, b) }

// exactly returns a number into which products and sums go without rounding.
func exactly() *big.Float { return new(big.Float).SetPrec(1 << 16) }

func quo(a, b *big.Float) *big.Float { return new(big.Float).SetPrec(quotientBits).Quo(a, b) }

// finite reports whether all values of argument k are.
func (s *sums) finite(k int) bool {
	_, special := s.first[k].Special()
	return !special
}

// spread returns n times the sum of squares less the square of the sum: n*n times the variance.
func (s *sums) spread(k int) *big.Float {
	sum := s.first[k].Big()
	return sub(mul(num(s.n), s.more[k][0].Big()), mul(sum, sum))
}

// cospread is spread of the two arguments' products.
func (s *sums) cospread() *big.Float {
	return sub(mul(num(s.n), s.both.Big()), mul(s.first[0].Big(), s.first[1].Big()))
}

// variance returns the variance of the first argument, of the whole (less 0) or of a sample (less 1).
func (s *sums) variance(less int64) answer {
	switch {
	case s.n <= less:
		return answer{null: true}
	case s.n == 1:
		return answer{}
	case !s.finite(0):
		return answer{bad: true}
	}
	return answer{v: quo(s.spread(0), mul(num(s.n), num(s.n-less)))}
}

// root returns the square root.
func (a answer) root() answer {
	if a.v == nil {
		return a
	}
	if f, _ := a.v.Float64(); math.IsInf(f, 0) { // as DuckDB, which looks at the variance
		return answer{bad: true}
	}
	return answer{v: new(big.Float).SetPrec(quotientBits).Sqrt(a.v)}
}

// times multiplies by a count.
func (a answer) times(n int64) answer {
	if a.v == nil {
		return a
	}
	return answer{v: new(big.Float).SetPrec(quotientBits).Mul(a.v, num(n))}
}

func standardError(s *sums) answer {
	if !s.finite(0) {
		return answer{bad: true}
	}
	if s.n == 1 {
		return answer{}
	}
	a := s.variance(0)
	return answer{v: quo(a.v, num(s.n))}.rootOf(a)
}

// rootOf is root, out of range where of is.
func (a answer) rootOf(of answer) answer {
	if r := of.root(); r.bad {
		return r
	}
	return a.root()
}

func (s *sums) covariance(less int64) answer {
	switch {
	case s.n <= less:
		return answer{null: true}
	case !s.finite(0) || !s.finite(1):
		return answer{float: math.NaN()}
	}
	return answer{v: quo(s.cospread(), mul(num(s.n), num(s.n-less)))}
}

func (s *sums) mean(k int) answer {
	if s.finite(k) {
		return answer{v: quo(s.first[k].Big(), num(s.n))}
	}
	return answer{float: s.first[k].Div(s.n)}
}

// squares is the sum of the squared distances from the mean.
func (s *sums) squares(k int) answer {
	switch {
	case s.n == 1:
		return answer{}
	case !s.finite(k):
		return answer{bad: true}
	}
	d := s.spread(k)
	if isHuge(quo(d, mul(num(s.n), num(s.n)))) {
		return answer{bad: true}
	}
	return answer{v: quo(d, num(s.n))}
}

func isHuge(v *big.Float) bool {
	f, _ := v.Float64()
	return math.IsInf(f, 0)
}

func correlation(s *sums) answer {
	if s.n == 1 {
		return answer{float: math.NaN()}
	}
	if !s.finite(0) || !s.finite(1) {
		return answer{bad: true}
	}
	y, x := s.spread(0), s.spread(1)
	n2 := mul(num(s.n), num(s.n))
	if isHuge(quo(x, n2)) || isHuge(quo(y, n2)) {
		return answer{bad: true}
	}
	if x.Sign() == 0 || y.Sign() == 0 {
		return answer{float: math.NaN()}
	}
	root := new(big.Float).SetPrec(quotientBits).Sqrt(mul(x, y))
	return answer{v: quo(s.cospread(), root)}
}

func slope(s *sums) answer {
	if !s.finite(0) || !s.finite(1) || s.n == 1 {
		return answer{float: math.NaN()}
	}
	x := s.spread(1)
	if x.Sign() == 0 {
		return answer{float: math.NaN()}
	}
	return answer{v: quo(s.cospread(), x)}
}

func intercept(s *sums) answer {
	if a := slope(s); a.v == nil {
		return answer{null: true}
	}
	// (sum of y - slope * sum of x) / n, over the common denominator.
	x := s.spread(1)
	top := sub(mul(s.first[0].Big(), x), mul(s.cospread(), s.first[1].Big()))
	return answer{v: quo(top, mul(num(s.n), x))}
}

func determination(s *sums) answer {
	if s.n == 1 {
		return answer{null: true}
	}
	if !s.finite(1) {
		return answer{bad: true}
	}
	x := s.spread(1)
	switch {
	case x.Sign() == 0:
		return answer{null: true}
	case !s.finite(0):
		return answer{bad: true}
	}
	y := s.spread(0)
	n2 := mul(num(s.n), num(s.n))
	switch {
	case isHuge(quo(x, n2)), isHuge(quo(y, n2)):
		return answer{bad: true}
	case y.Sign() == 0:
		return answer{float: 1}
	}
	c := s.cospread()
	return answer{v: quo(mul(c, c), mul(x, y))}
}

func skewness(s *sums) answer {
	if s.n <= 2 {
		return answer{null: true}
	}
	if !s.finite(0) {
		return answer{bad: true}
	}
	d := s.spread(0)
	if d.Sign() == 0 {
		return answer{float: math.NaN()}
	}
	// n*n*sum3 - 3*n*sum2*sum + 2*sum^3, n^3 times the third central moment.
	n, sum := num(s.n), s.first[0].Big()
	third := mul(mul(n, n), s.more[0][1].Big())
	third = sub(third, mul(mul(num(3*s.n), s.more[0][0].Big()), sum))
	third = add(third, mul(num(2), mul(mul(sum, sum), sum)))
	root := new(big.Float).SetPrec(quotientBits).Sqrt(mul(num(s.n), num(s.n-1)))
	root.Quo(root, num(s.n-2))
	cube := new(big.Float).SetPrec(quotientBits).Sqrt(mul(mul(d, d), d))
	v := quo(third, cube)
	return answer{v: v.Mul(v, root)}
}

func kurtosis(s *sums, sample bool) answer {
	if s.n <= 1 || sample && s.n <= 3 {
		return answer{null: true}
	}
	if !s.finite(0) {
		return answer{bad: true}
	}
	d := s.spread(0)
	if d.Sign() == 0 {
		return answer{null: true}
	}
	// n^3*sum4 - 4*n*n*sum3*sum + 6*n*sum2*sum^2 - 3*sum^4, n^4 times the fourth central moment.
	n, sum := num(s.n), s.first[0].Big()
	sum2 := mul(sum, sum)
	n2 := mul(n, n)
	fourth := mul(mul(n2, n), s.more[0][2].Big())
	fourth = sub(fourth, mul(mul(mul(num(4), n2), s.more[0][1].Big()), sum))
	fourth = add(fourth, mul(mul(num(6), n), mul(s.more[0][0].Big(), sum2)))
	fourth = sub(fourth, mul(num(3), mul(sum2, sum2)))
	ratio := quo(fourth, mul(d, d)) // of the fourth moment to the squared variance
	if !sample {
		return answer{v: ratio.Sub(ratio, num(3))}
	}
	// (n-1) * ((n+1)*ratio - 3*(n-1)) / ((n-2)*(n-3))
	v := ratio.Mul(ratio, num(s.n+1))
	v.Sub(v, mul(num(3), num(s.n-1)))
	v.Mul(v, num(s.n-1))
	return answer{v: v.Quo(v, mul(num(s.n-2), num(s.n-3)))}
}
