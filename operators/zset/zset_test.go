package zset_test

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"tidemill/operators/zset"
	"tidemill/operators/zset/zsettest"
	"tidemill/state/column"
	"tidemill/state/column/columntest"
)

func ints(vals []int64, weights ...int64) *zset.Batch {
	return &zset.Batch{Cols: []column.Column{column.Of(column.T(column.Int64), vals, nil)}, N: len(vals), W: weights}
}

func TestConsolidate(t *testing.T) {
	for _, tt := range []struct {
		name  string
		in    *zset.Batch
		rows  []int64
		wants []int64
	}{
		{"nil", nil, nil, nil},
		{"no rows", ints(nil), nil, nil},
		{"one row of weight 0", ints([]int64{1}, 0), nil, nil},
		{"cancel", ints([]int64{1, 1}, 1, -1), nil, nil},
		{"sum, first appearance", ints([]int64{7, 3, 7, 9, 3}, 1, 2, 1, -1, -1), []int64{7, 3, 9}, []int64{2, 1, -1}},
		{"unweighted", ints([]int64{5, 5, 4}), []int64{5, 4}, []int64{2, 1}},
		{"gone and back", ints([]int64{1, 2, 1, 1}, 1, 1, -1, 1), []int64{1, 2}, []int64{1, 1}},
		{"zero among others", ints([]int64{1, 2}, 0, 1), []int64{2}, []int64{1}},
	} {
		out := zset.Consolidate(tt.in)
		if (out == nil) != (tt.rows == nil) {
			t.Errorf("%s: %v", tt.name, out)
			continue
		}
		if out == nil {
			continue
		}
		got := column.Values[int64](&out.Cols[0])
		for i := range tt.rows {
			if out.N != len(tt.rows) || got[i] != tt.rows[i] || out.Weight(i) != tt.wants[i] {
				t.Errorf("%s: %v %v", tt.name, got, out.W)
				break
			}
		}
	}
	plain := ints([]int64{1, 2}, 3, -1)
	if zset.Consolidate(plain) != plain {
		t.Error("a consolidated batch was copied")
	}
	if out := zset.Consolidate(ints([]int64{1, 1, 2}, 2, -1, 1)); out.W != nil {
		t.Error("weights of +1 are spelled out")
	}
}

// TestConsolidateIsByIdentity: values that SQL calls equal but an expression can tell stay apart.
func TestConsolidateIsByIdentity(t *testing.T) {
	for _, c := range []column.Column{
		column.Of(column.T(column.Double), []float64{0, math.Copysign(0, -1)}, nil),
		column.Of(column.T(column.Double), []float64{math.NaN(), -math.NaN()}, nil),
		column.Of(column.T(column.Interval), []column.IntervalValue{{Months: 1}, {Days: 30}}, nil),
		column.Of(column.T(column.Int64), []int64{0, 0}, []byte{1}), // 0 and NULL
		column.OfStrings(column.T(column.Varchar), []string{"", "\x00"}),
	} {
		if out := zset.Consolidate(&zset.Batch{Cols: []column.Column{c}, N: 2}); out.N != 2 {
			t.Errorf("%v: rows were merged", c.Type)
		}
	}
	garbage := column.Of(column.T(column.Int64), []int64{5, 6}, []byte{0}) // NULLs, whatever lies under them
	if out := zset.Consolidate(&zset.Batch{Cols: []column.Column{garbage}, N: 2}); out.N != 1 || out.W[0] != 2 {
		t.Error("two NULLs are one row")
	}
	empty := &zset.Batch{N: 3, W: []int64{1, 1, -1}}
	if out := zset.Consolidate(empty); out == nil || out.N != 1 || out.Weight(0) != 1 {
		t.Errorf("rows without columns: %+v", out)
	}
}

func TestOverflowPanics(t *testing.T) {
	for name, f := range map[string]func(){
		"above":  func() { zset.Consolidate(ints([]int64{1, 1}, math.MaxInt64, 1)) },
		"below":  func() { zset.Consolidate(ints([]int64{1, 1}, math.MinInt64, -1)) },
		"negate": func() { ints([]int64{1}, math.MinInt64).Negate() },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Error(name, "did not panic")
				}
			}()
			f()
		}()
	}
	if out := zset.Consolidate(ints([]int64{1, 1}, math.MaxInt64, math.MinInt64)); out.W[0] != -1 {
		t.Error("sum within 64 bits")
	}
}

// naive consolidates with a map from the row's text and bits.
func naive(b *zset.Batch) map[string]int64 {
	sums := map[string]int64{}
	for i := range b.N {
		var id strings.Builder
		for k := range b.Cols {
			c := &b.Cols[k]
			if c.IsNull(i) {
				id.WriteString("N")
				continue
			}
			raw := c.Raw(i)
			id.WriteString("V" + string(rune(len(raw))))
			id.Write(raw)
		}
		sums[id.String()] += b.Weight(i)
	}
	for id, w := range sums {
		if w == 0 {
			delete(sums, id)
		}
	}
	return sums
}

func randomTypes(r *rand.Rand) []column.Type {
	all := columntest.Types()
	types := make([]column.Type, 1+r.IntN(4))
	for i := range types {
		types[i] = all[r.IntN(len(all))]
	}
	return types
}

// TestLaws checks that batches are an abelian group under Concat and Negate, up to Equal, and that
// Consolidate, Filter and Slice respect it.
func TestLaws(t *testing.T) {
	r := columntest.Rand(t)
	for range 150 {
		types, n := randomTypes(r), r.IntN(60)
		x, y, z := zsettest.Random(r, types, n), zsettest.Random(r, types, 1+n/2), zsettest.Random(r, types, 1+r.IntN(9))
		if n > 0 { // share rows, so that something cancels
			y = zset.Concat(y, x.Slice(0, n/2))
		}
		law := func(name string, a, b *zset.Batch) {
			t.Helper()
			if !zset.Equal(a, b) {
				t.Fatalf("%s over %v:\n%s\nagainst\n%s", name, types, zsettest.Format(a), zsettest.Format(b))
			}
		}
		law("commutative", zset.Concat(x, y), zset.Concat(y, x))
		law("associative", zset.Concat(zset.Concat(x, y), z), zset.Concat(x, zset.Concat(y, z)))
		law("neutral", zset.Concat(x, nil), x)
		law("inverse", zset.Concat(x, x.Negate()), nil)
		law("double negation", x.Negate().Negate(), x)
		law("negation of a sum", zset.Concat(x, y).Negate(), zset.Concat(x.Negate(), y.Negate()))
		law("slices sum up", zset.Concat(x.Slice(0, n/3), x.Slice(n/3, n)), x)
		c := zset.Consolidate(zset.Concat(x, y))
		law("consolidation", c, zset.Concat(x, y))
		if again := zset.Consolidate(c); again != c {
			t.Fatal("consolidation is not idempotent")
		}
		if x != nil && zset.Equal(x, zset.Concat(x, z)) != (zset.Consolidate(z) == nil) {
			t.Fatal("equal with a row more")
		}
		all := zset.Concat(x, y)
		want := naive(all)
		if c == nil {
			c = &zset.Batch{}
		}
		if got := naive(c); len(got) != c.N || len(got) != len(want) {
			t.Fatalf("%d rows, %d distinct ones, want %d", c.N, len(got), len(want))
		} else {
			for id, w := range want {
				if got[id] != w {
					t.Fatalf("%q has weight %d, want %d", id, got[id], w)
				}
			}
		}
		keep := make([]byte, (all.N+7)/8)
		not := make([]byte, len(keep))
		for i := range all.N {
			if r.IntN(2) == 0 {
				column.SetBit(keep, i)
			} else {
				column.SetBit(not, i)
			}
		}
		law("filter and its complement", zset.Concat(all.Filter(keep), all.Filter(not)), all)
	}
}

func TestFilter(t *testing.T) {
	vals := make([]int64, 150)
	for i := range vals {
		vals[i] = int64(i)
	}
	b := ints(vals)
	keep := column.NewBitmap(150, false)
	for _, i := range []int{0, 63, 64, 127, 128, 149} {
		column.SetBit(keep, i)
	}
	out := b.Filter(keep)
	if got := column.Values[int64](&out.Cols[0]); len(got) != 6 || got[1] != 63 || got[5] != 149 || out.W != nil {
		t.Fatal(got)
	}
	if b.Filter(nil) != b || b.Filter(column.NewBitmap(150, true)) != b || b.Filter(column.NewBitmap(150, false)) != nil {
		t.Fatal("all or none")
	}
}

func TestEqualTellsApart(t *testing.T) {
	one := ints([]int64{1})
	small := &zset.Batch{Cols: []column.Column{column.Of(column.T(column.Int32), []int32{1}, nil)}, N: 1}
	two := &zset.Batch{Cols: []column.Column{one.Cols[0], one.Cols[0]}, N: 1}
	for _, other := range []*zset.Batch{nil, ints([]int64{2}), ints([]int64{1}, 2), ints([]int64{1, 1}), small, two} {
		if zset.Equal(one, other) || zset.Equal(other, one) {
			t.Errorf("equal to %s", zsettest.Format(other))
		}
	}
	if !zset.Equal(nil, ints([]int64{1, 1}, 1, -1)) || !zset.Equal(ints([]int64{1, 1}), ints([]int64{1}, 2)) {
		t.Error("the same Z-set listed otherwise")
	}
}

func TestIntegral(t *testing.T) {
	var in zsettest.Integral
	for _, d := range []*zset.Batch{ints([]int64{1, 2}), nil, ints([]int64{1}, -1)} {
		if err := in.Add(d); err != nil {
			t.Fatal(err)
		}
	}
	if got := zsettest.Format(in.Batch()); got != "(2) +1\n" {
		t.Fatal(got)
	}
	if err := in.Add(ints([]int64{3}, -2)); err == nil || !strings.Contains(err.Error(), "(3) has weight -2") {
		t.Fatal(err)
	}
}

func BenchmarkConsolidate(b *testing.B) {
	r := columntest.Rand(b)
	const n = 8192
	vals, w := make([]int64, n), make([]int64, n)
	for i := range vals {
		vals[i], w[i] = r.Int64N(n/2), int64(1-2*r.IntN(2))
	}
	one := ints(vals, w...)
	five := &zset.Batch{N: n, W: w, Cols: append(columntest.Columns(r, []column.Type{column.T(column.Varchar), column.T(column.Double), column.DecimalOf(18, 3), column.T(column.Timestamp)}, n), one.Cols...)}
	for name, in := range map[string]*zset.Batch{"bigint": one, "five": five} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				zset.Consolidate(in)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/n, "ns/row")
		})
	}
}
