package exact

import (
	"math/rand/v2"
	"testing"
)

const (
	benchGroups = 100_000
	benchRows   = 1 << 20
)

// benchValues are the columns that the benchmarks sum.
var benchValues = []struct {
	name  string
	value func(*rand.Rand) float64
}{
	{"integers", func(r *rand.Rand) float64 { return float64(r.IntN(1000) + 1) }},
	{"cents", func(r *rand.Rand) float64 { return float64(r.IntN(10_000_000)+1) / 100 }},
	{"normal", func(r *rand.Rand) float64 { return r.NormFloat64() }},
	{"spread", func(r *rand.Rand) float64 { return families["bits"](r) }},
}

func benchColumns(value func(*rand.Rand) float64) (vals []float64, slots []int32, ones []int64) {
	r := rand.New(rand.NewPCG(1, 2))
	vals, slots, ones = make([]float64, benchRows), make([]int32, benchRows), make([]int64, benchRows)
	for i := range vals {
		vals[i], slots[i], ones[i] = value(r), int32(r.IntN(benchGroups)), 1
	}
	return vals, slots, ones
}

// perRow reports the cost of a row, of which an iteration had benchRows.
func perRow(b *testing.B) {
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/benchRows, "ns/row")
}

func BenchmarkAdd(b *testing.B) {
	for _, c := range benchValues {
		vals, slots, ones := benchColumns(c.value)
		sums := make([]Sum, benchGroups)
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				for i, v := range vals {
					sums[slots[i]].Add(v, ones[i])
				}
			}
			perRow(b)
		})
	}
}

func BenchmarkAddTo(b *testing.B) {
	for _, c := range benchValues {
		vals, slots, ones := benchColumns(c.value)
		for _, weights := range [][]int64{nil, ones} {
			name := c.name
			if weights != nil {
				name += "/weights"
			}
			sums := make([]Sum, benchGroups)
			b.Run(name, func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					AddTo(sums, slots, vals, weights)
				}
				perRow(b)
			})
		}
	}
}

// BenchmarkPlain is the floor: inexact sums in the same loop.
func BenchmarkPlain(b *testing.B) {
	vals, slots, _ := benchColumns(benchValues[1].value)
	sums := make([]float64, benchGroups)
	for b.Loop() {
		for i, v := range vals {
			sums[slots[i]] += v
		}
	}
	perRow(b)
}

func BenchmarkAddOne(b *testing.B) {
	for _, w := range []int64{1, 3} {
		var s Sum
		b.Run(map[int64]string{1: "weight1", 3: "weight3"}[w], func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				s.Add(12.34, w)
			}
		})
	}
}

func BenchmarkRead(b *testing.B) {
	var narrow, wide Sum
	narrow.AddMany([]float64{12.34, 0.1, 1e6}, nil)
	wide.AddMany([]float64{12.34, 0.1, 1e300}, nil)
	var sink float64
	for name, s := range map[string]*Sum{"narrow": &narrow, "wide": &wide} {
		b.Run("Float64/"+name, func(b *testing.B) {
			for b.Loop() {
				sink += s.Float64()
			}
		})
		b.Run("Div/"+name, func(b *testing.B) {
			for b.Loop() {
				sink += s.Div(3)
			}
		})
		b.Run("AppendTo/"+name, func(b *testing.B) {
			b.ReportAllocs()
			var buf []byte
			for b.Loop() {
				buf = s.AppendTo(buf[:0])
			}
		})
		encoded := s.AppendTo(nil)
		b.Run("Decode/"+name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, _, err := Decode(encoded); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	_ = sink
}
