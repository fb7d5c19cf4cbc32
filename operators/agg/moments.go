package agg

import (
	"encoding/binary"
	"math"
	"math/big"

	"tidemill/operators/agg/exact"
	"tidemill/state/column"
)

// moment is a function of the sums of powers and products of a group's numbers, or pairs of numbers.
type moment struct {
	args     int
	powers   int  // sums of x, x*x, ... up to this power
	fallible bool // may have no finite value
	formula  func(*sums) answer
}

// answer is the value of a moment.
type answer struct {
	v     *big.Float // nil for NULL or special
	float float64    // when v is nil and null is not set
	null  bool
	bad   bool // out of range
}

// moments are the functions; the first argument is y and the second x where there are two, as SQL has it.
var moments = map[string]moment{
	"var_pop":        {1, 2, true, func(s *sums) answer { return s.variance(0) }},
	"var_samp":       {1, 2, true, func(s *sums) answer { return s.variance(1) }},
	"stddev_pop":     {1, 2, true, func(s *sums) answer { return s.variance(0).root() }},
	"stddev_samp":    {1, 2, true, func(s *sums) answer { return s.variance(1).root() }},
	"sem":            {1, 2, true, standardError},
	"skewness":       {1, 3, true, skewness},
	"kurtosis":       {1, 4, true, func(s *sums) answer { return kurtosis(s, true) }},
	"kurtosis_pop":   {1, 4, true, func(s *sums) answer { return kurtosis(s, false) }},
	"covar_pop":      {2, 1, false, func(s *sums) answer { return s.covariance(0) }},
	"covar_samp":     {2, 1, false, func(s *sums) answer { return s.covariance(1) }},
	"corr":           {2, 2, true, correlation},
	"regr_avgx":      {2, 1, false, func(s *sums) answer { return s.mean(1) }},
	"regr_avgy":      {2, 1, false, func(s *sums) answer { return s.mean(0) }},
	"regr_sxx":       {2, 2, true, func(s *sums) answer { return s.squares(1) }},
	"regr_syy":       {2, 2, true, func(s *sums) answer { return s.squares(0) }},
	"regr_sxy":       {2, 1, false, func(s *sums) answer { return s.covariance(0).times(s.n) }},
	"regr_slope":     {2, 2, false, slope},
	"regr_intercept": {2, 2, false, intercept},
	"regr_r2":        {2, 2, true, determination},
}

// sums are what a slot keeps: exact, so that they do not depend on the order of rows and a retraction leaves no trace.
// DuckDB's own, of running means, differ from them in the last digits.
type sums struct {
	n     int64
	first [2]exact.Sum         // of each argument
	more  [2][3]exact.Products // of its squares, cubes and fourth powers
	both  exact.Products       // of the arguments' product
}

func (s *sums) clone() *sums {
	c := &sums{n: s.n, both: s.both.Clone()}
	for i := range s.first {
		c.first[i] = s.first[i].Clone()
		for k := range s.more[i] {
			c.more[i][k] = s.more[i][k].Clone()
		}
	}
	return c
}

func (s *sums) isZero() bool {
	zero := s.n == 0 && s.both.IsZero()
	for i := range s.first {
		zero = zero && s.first[i].IsZero()
		for k := range s.more[i] {
			zero = zero && s.more[i][k].IsZero()
		}
	}
	return zero
}

// momentAgg is an aggregate of moments. A row costs some additions; a result some divisions of long numbers.
type momentAgg struct {
	m moment
	v []pair[*sums] // nil for no rows
	f string
}

func newMoment(fn string, m moment) Aggregate { return &momentAgg{m: m, f: fn} }

func (a *momentAgg) Grow(n int) { a.v = grown(a.v, n) }

func (a *momentAgg) Save(slots []int32) {
	for _, s := range slots {
		p := &a.v[s]
		if p.prev = p.cur; p.cur != nil {
			p.cur = p.cur.clone()
		}
	}
}

func (a *momentAgg) Restore(slots []int32) {
	for _, s := range slots {
		p := &a.v[s]
		if p.cur = p.prev; p.prev != nil {
			p.cur = p.prev.clone()
		}
	}
}

func (a *momentAgg) Reset(slot int32) { a.v[slot] = pair[*sums]{} }

func (a *momentAgg) Empty(slot int32) bool { return a.v[slot].cur == nil || a.v[slot].cur.isZero() }

// sumsBytes is about what the sums of a slot take, in two versions.
const sumsBytes = 700

func (a *momentAgg) Bytes() int64 { return int64(cap(a.v)) * (16 + sumsBytes) }

func (a *momentAgg) Encode(dst []byte, slot int32) []byte {
	if a.Empty(slot) {
		return append(dst, 0)
	}
	s := a.v[slot].cur
	dst = binary.AppendVarint(append(dst, 1), s.n)
	for i := range a.m.args {
		dst = s.first[i].AppendTo(dst)
		for k := range a.m.powers - 1 {
			dst = s.more[i][k].AppendTo(dst)
		}
	}
	if a.m.args == 2 {
		dst = s.both.AppendTo(dst)
	}
	return dst
}

func (a *momentAgg) Decode(slot int32, b []byte) ([]byte, error) {
	if len(b) == 0 || b[0] > 1 {
		return nil, errShort
	}
	if b[0] == 0 {
		a.Reset(slot)
		return b[1:], nil
	}
	s := &sums{}
	var err error
	if s.n, b, err = decodeVarint(b[1:]); err != nil {
		return nil, err
	}
	for i := range a.m.args {
		if s.first[i], b, err = exact.Decode(b); err != nil {
			return nil, err
		}
		for k := range a.m.powers - 1 {
			if s.more[i][k], b, err = exact.DecodeProducts(b); err != nil {
				return nil, err
			}
		}
	}
	if a.m.args == 2 {
		if s.both, b, err = exact.DecodeProducts(b); err != nil {
			return nil, err
		}
	}
	a.v[slot] = pair[*sums]{s, s.clone()}
	return b, nil
}

func (a *momentAgg) Add(slots []int32, args []column.Column, w []int64) error {
	var cols [2][]float64
	for i := range args {
		cols[i] = column.Values[float64](&args[i])
	}
	for i, slot := range slots {
		if slot < 0 || anyNull(args, i) {
			continue
		}
		wt := weightOf(w, i)
		s := a.v[slot].cur
		if s == nil {
			s = &sums{}
			a.v[slot].cur = s
		}
		s.n += wt
		for k := range args {
			x := cols[k][i]
			s.first[k].Add(x, wt)
			powers := [4]float64{x, x, x, x}
			for p := 2; p <= a.m.powers; p++ {
				s.more[k][p-2].Add(wt, powers[:p]...)
			}
		}
		if len(args) == 2 {
			s.both.Add(wt, cols[0][i], cols[1][i])
		}
	}
	return nil
}

func (a *momentAgg) Output(slots []int32, prev bool) (column.Column, *Errors) {
	b := column.NewBuilder(column.T(column.Double), len(slots))
	var errs *Errors
	for i, slot := range slots {
		s := a.v[slot].cur
		if prev {
			s = a.v[slot].prev
		}
		if s == nil || s.n == 0 {
			b.AppendNull()
			continue
		}
		v, null, ok := a.m.formula(s).value()
		switch {
		case null:
			b.AppendNull()
		case !ok && a.m.fallible:
			b.AppendNull()
			errs = errs.add(i, a.f+" is out of range of DOUBLE")
		default:
			column.Append(b, v)
		}
	}
	return b.Finish(), errs
}

// value rounds an answer; ok is false when it is out of range.
func (a answer) value() (v float64, null, ok bool) {
	switch {
	case a.null:
		return 0, true, true
	case a.bad:
		return math.NaN(), false, false
	case a.v == nil:
		return a.float, false, true
	}
	v, _ = a.v.Float64()
	return v, false, !math.IsInf(v, 0)
}
