package operators_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"tidemill/operators"
	"tidemill/operators/zset"
	"tidemill/state/column"
)

// benchRows is the rows of a commit in the benchmarks.
const benchRows = 100_000

// deltas returns commits of n rows whose first columns are made of numbers below keys, in random order, and
// whose last is a DOUBLE.
func deltas(commits, n, keys int, key func(nums []int64) []column.Column) []*zset.Batch {
	r := rand.New(rand.NewPCG(1, 2))
	out := make([]*zset.Batch, commits)
	for i := range out {
		nums, vals := make([]int64, n), make([]float64, n)
		for k := range nums {
			nums[k], vals[k] = r.Int64N(int64(keys)), float64(r.Int64N(1<<30))/1024
		}
		out[i] = &zset.Batch{N: n, Cols: append(key(nums), column.Of(column.T(column.Double), vals, nil))}
	}
	return out
}

func intKey(nums []int64) []column.Column { return []column.Column{column.Of(int64T, nums, nil)} }

// textKeys spreads the numbers over two texts of 8 to 16 bytes.
func textKeys(nums []int64) []column.Column {
	a, b := make([]string, len(nums)), make([]string, len(nums))
	for i, n := range nums {
		a[i], b[i] = fmt.Sprintf("region-%04d", n%300), fmt.Sprintf("product%06d", n/300)
	}
	t := column.T(column.Varchar)
	return []column.Column{column.OfStrings(t, a), column.OfStrings(t, b)}
}

type stepper struct {
	b *testing.B
	a *operators.Aggregate
	n uint64
}

func (s *stepper) commit(d *zset.Batch, wanted bool) {
	s.n++
	must(s.b, s.a.Begin(s.n, s.n == 1))
	must(s.b, s.a.Add(d, nil))
	_, err := s.a.Finish(wanted, nil)
	must(s.b, err)
	s.a.Publish()
}

// benchmarkAggregate measures commits over groups that are all there, in nanoseconds a row.
func benchmarkAggregate(b *testing.B, types []column.Type, key func([]int64) []column.Column, wanted bool) {
	fields := fieldsOf(append(types, column.T(column.Double))...)
	p := plainAggregate{fields: fields, calls: []plainCall{call("count_star", -1), call("sum", len(types))}}
	for i := range types {
		p.groups = append(p.groups, i)
	}
	s := &stepper{b: b, a: newAggregate(b, p.config(openDB(b)))}
	ds := deltas(4, benchRows, 100_000, key)
	for _, d := range ds {
		s.commit(d, false)
	}
	b.ReportAllocs()
	b.ResetTimer()
	for i := range b.N {
		s.commit(ds[i%len(ds)], wanted)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/benchRows, "ns/row")
}

func BenchmarkAggregateInt(b *testing.B) { benchmarkAggregate(b, typeOf(column.Int64), intKey, false) }

func BenchmarkAggregateIntWanted(b *testing.B) {
	benchmarkAggregate(b, typeOf(column.Int64), intKey, true)
}

func BenchmarkAggregateTexts(b *testing.B) {
	benchmarkAggregate(b, typeOf(column.Varchar, column.Varchar), textKeys, false)
}

// BenchmarkAggregateOneRow is a commit of one row, whose cost must not depend on how many groups there are.
func BenchmarkAggregateOneRow(b *testing.B) {
	for _, groups := range []int{10_000, 100_000, 1_000_000} {
		b.Run(fmt.Sprintf("groups=%d", groups), func(b *testing.B) {
			p := plainAggregate{fieldsOf(int64T, column.T(column.Double)), []int{0}, []plainCall{call("count_star", -1), call("sum", 1)}}
			s := &stepper{b: b, a: newAggregate(b, p.config(openDB(b)))}
			nums := make([]int64, groups)
			for i := range nums {
				nums[i] = int64(i)
			}
			s.commit(&zset.Batch{N: groups, Cols: append(intKey(nums), column.Of(column.T(column.Double), make([]float64, groups), nil))}, false)
			ds := deltas(1024, 1, groups, intKey)
			b.ReportAllocs()
			b.ResetTimer()
			for i := range b.N {
				s.commit(ds[i%len(ds)], true)
			}
		})
	}
}
