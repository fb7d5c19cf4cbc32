package exact

import (
	"bytes"
	"flag"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"unsafe"
)

var (
	seed   = flag.Uint64("seed", 1, "seed of the random tests")
	rounds = flag.Int("rounds", 60, "length of the random tests")
)

// eachFamily runs f over every distribution with a generator of its own.
func eachFamily(t *testing.T, f func(t *testing.T, r *rand.Rand, value func() float64)) {
	n := uint64(0)
	for _, name := range slices.Sorted(func(yield func(string) bool) {
		for name := range families {
			if !yield(name) {
				return
			}
		}
	}) {
		n++
		r := rand.New(rand.NewPCG(*seed, n))
		t.Run(name, func(t *testing.T) {
			t.Logf("seed %d", *seed)
			f(t, r, func() float64 { return families[name](r) })
		})
	}
}

// check compares every reading of s with the oracle.
func check(t *testing.T, s *Sum, o *oracle) {
	t.Helper()
	if got, want := s.Float64(), o.div(1); !same(got, want) {
		t.Fatalf("Float64 = %v (%x), want %v (%x)", got, math.Float64bits(got), want, math.Float64bits(want))
	}
	for _, n := range []int64{1, 2, 3, 7, 10, 1000, 1<<53 + 1, -1, -49, math.MaxInt64, math.MinInt64} {
		if got, want := s.Div(n), o.div(n); !same(got, want) {
			t.Fatalf("Div(%d) = %v (%x), want %v (%x)", n, got, math.Float64bits(got), want, math.Float64bits(want))
		}
	}
	if got, want := s.IsZero(), o.sum.Sign() == 0 && o.counts == (counts{}); got != want {
		t.Fatalf("IsZero = %v, want %v", got, want)
	}
	d, rest, err := Decode(s.AppendTo(nil))
	if err != nil || len(rest) != 0 || !d.Equal(s) || !s.Equal(&d) {
		t.Fatalf("Decode: %v, %d bytes left, equal %v", err, len(rest), d.Equal(s))
	}
}

func TestSize(t *testing.T) {
	if got := unsafe.Sizeof(Sum{}); got != 32 {
		t.Errorf("a Sum has %d bytes, want 32", got)
	}
}

func TestAgainstRationals(t *testing.T) {
	eachFamily(t, func(t *testing.T, r *rand.Rand, value func() float64) {
		for range *rounds {
			var s Sum
			o := newOracle()
			for range r.IntN(120) {
				v, w := value(), weight(r)
				s.Add(v, w)
				o.add(v, w)
				if r.IntN(20) == 0 {
					check(t, &s, o)
				}
			}
			check(t, &s, o)
		}
	})
}

// Content, and with it the encoding, depends on the terms only: not on their
// order, on batches, on merges, or on terms that were added and retracted.
func TestHistoryLeavesNoTrace(t *testing.T) {
	eachFamily(t, func(t *testing.T, r *rand.Rand, value func() float64) {
		for range *rounds {
			terms := make([]term, r.IntN(60))
			var plain Sum
			for i := range terms {
				terms[i] = term{value(), weight(r)}
				plain.Add(terms[i].v, terms[i].w)
			}
			want := plain.AppendTo(nil)

			for range 2 { // others that come and go
				v, w := value(), weight(r)
				terms = append(terms, term{v, w}, term{v, -w})
			}
			r.Shuffle(len(terms), func(i, j int) { terms[i], terms[j] = terms[j], terms[i] })
			parts := make([]Sum, 3)
			for _, x := range terms {
				parts[r.IntN(3)].Add(x.v, x.w)
			}
			decoded, _, err := Decode(parts[2].AppendTo(nil))
			if err != nil {
				t.Fatal(err)
			}
			parts[0].Merge(&parts[1])
			decoded.Merge(&parts[0])
			if got := decoded.AppendTo(nil); !bytes.Equal(got, want) {
				t.Fatalf("encoding %x, want %x", got, want)
			}
			if !decoded.Equal(&plain) || !same(decoded.Float64(), plain.Float64()) {
				t.Fatal("equal encodings, unequal sums")
			}
			for _, x := range terms {
				decoded.Add(x.v, -x.w)
			}
			if !decoded.IsZero() || !bytes.Equal(decoded.AppendTo(nil), []byte{0}) || decoded.Float64() != 0 {
				t.Fatalf("all retracted, left %x", decoded.AppendTo(nil))
			}
		}
	})
}

func TestKnownSums(t *testing.T) {
	inf, nan := math.Inf(1), math.NaN()
	tiny, huge := math.SmallestNonzeroFloat64, math.MaxFloat64
	halfUlp := math.Ldexp(1, 970) // half a unit in the last place of huge
	for _, c := range []struct {
		name string
		vals []float64
		want float64
	}{
		{"empty", nil, 0},
		{"negative zeros", []float64{math.Copysign(0, -1)}, 0},
		{"cancelled", []float64{1e16, 1, -1e16}, 1},
		{"cancelled to zero", []float64{-3, 1, 2}, 0},
		{"far apart", []float64{1e300, 1e-300, -1e300}, 1e-300},
		{"farthest apart", []float64{huge, tiny, -huge}, tiny},
		{"tie to even below", []float64{1, 0x1p-53}, 1},
		{"tie to even above", []float64{1 + 0x1p-52, 0x1p-53}, 1 + 0x1p-51},
		{"tie broken from afar", []float64{1, 0x1p-53, tiny}, 1 + 0x1p-52},
		{"tie broken downwards", []float64{1 + 0x1p-52, 0x1p-53, -tiny}, 1 + 0x1p-52},
		{"subnormals", []float64{tiny, tiny, -3 * tiny}, -tiny},
		{"into the normal range", []float64{0x1p-1022 - tiny, tiny}, 0x1p-1022},
		{"largest", []float64{huge, huge, -huge}, huge},
		{"beyond", []float64{huge, huge}, inf},
		{"below half a unit beyond", []float64{huge, halfUlp, -tiny}, huge},
		{"half a unit beyond", []float64{-huge, -halfUlp}, -inf},
		{"infinite", []float64{1, inf, -1e300}, inf},
		{"both infinities", []float64{inf, -inf}, nan},
		{"not a number", []float64{nan, inf}, nan},
	} {
		t.Run(c.name, func(t *testing.T) {
			var s Sum
			for _, v := range c.vals {
				s.Add(v, 1)
			}
			if got := s.Float64(); !same(got, c.want) {
				t.Errorf("got %v, want %v", got, c.want)
			}
			for _, v := range c.vals {
				s.Add(v, -1)
			}
			if !s.IsZero() || s.Float64() != 0 {
				t.Errorf("retracted: zero %v, reads %v", s.IsZero(), s.Float64())
			}
		})
	}
}

func TestDivByZeroAndUnderflow(t *testing.T) {
	var s Sum
	if got := s.Div(0); !math.IsNaN(got) {
		t.Errorf("0/0 = %v", got)
	}
	s.Add(-math.SmallestNonzeroFloat64, 1)
	if got := s.Div(0); !math.IsInf(got, -1) {
		t.Errorf("-x/0 = %v", got)
	}
	if got := s.Div(2); !same(got, math.Copysign(0, -1)) {
		t.Errorf("half of the smallest = %v, want -0", got)
	}
	s.Add(-math.SmallestNonzeroFloat64, 2)
	if got := s.Div(2); got != -2*math.SmallestNonzeroFloat64 {
		t.Errorf("1.5 of the smallest = %v, want 2", got)
	}
}

// Long runs of one value fill the window; it empties into the accumulator and
// the sum stays exact.
func TestWindowOverflows(t *testing.T) {
	for _, v := range []float64{0.1, -math.MaxFloat64, 5e-324, 1 + 0x1p-52} {
		var s Sum
		o := newOracle()
		for _, w := range []int64{1, math.MaxInt64, math.MaxInt64, 1 << 40, math.MinInt64, -1} {
			for range 300 {
				s.Add(v, w)
				o.add(v, w)
			}
			check(t, &s, o)
		}
	}
	var s Sum
	o := newOracle()
	s.Add(1+0x1p-52, 1) // low bit at home, so the window cannot move up for long
	o.add(1+0x1p-52, 1)
	for i := range 60 {
		v := math.Ldexp(1+0x1p-52, i)
		for range 1 << 8 {
			s.Add(v, 1)
		}
		o.add(v, 1<<8)
		check(t, &s, o)
	}
}

// Values that a group's first ones did not announce do not stay on the slow
// path: the window follows them.
func TestWindowFollows(t *testing.T) {
	for _, first := range []float64{1e-300, 1e300} {
		var s Sum
		s.Add(first, 1)
		for range missLimit {
			s.Add(12.34, 1)
		}
		before := *s.wide.acc
		for range 1000 {
			s.Add(12.34, 1)
		}
		if before != *s.wide.acc {
			t.Errorf("after %g the values of the group still go to the accumulator", first)
		}
	}
}

// A group gives its accumulator back: at once when the values that needed it
// go, and otherwise when the window is placed anew.
func TestWideIsGivenBack(t *testing.T) {
	var s Sum
	s.Add(12.34, 1)
	for _, w := range []int64{1, -1} {
		s.Add(1e300, w)
		s.Add(math.NaN(), w)
	}
	if s.wide != nil {
		t.Error("one value out of range that came and went")
	}
	for range missLimit {
		s.Add(1e300, 1)
	}
	for range 2 * missLimit {
		s.Add(0.5, 1)
	}
	s.Add(1e300, -missLimit)
	for range missLimit {
		s.Add(0x1p-500, 1)
	}
	s.Add(0x1p-500, -missLimit)
	for range missLimit {
		s.Add(1e100, 1)
		s.Add(1e100, -1)
	}
	if s.wide != nil {
		t.Errorf("all that is out of range is gone, %v is left in wide", s.wide.acc)
	}
	o := newOracle()
	o.add(12.34, 1)
	o.add(0.5, 2*missLimit)
	check(t, &s, o)
}

func TestTypicalValuesStayInWindow(t *testing.T) {
	r := rand.New(rand.NewPCG(*seed, 0))
	for range 200 {
		var s Sum
		for range 5000 {
			s.Add(float64(r.IntN(100_000_000))/100, 1)
			s.Add(float64(r.IntN(1000)), 1)
		}
		if s.wide != nil {
			t.Fatal("cents and integers left the window")
		}
	}
}

func TestCopies(t *testing.T) {
	var s Sum
	for _, v := range []float64{1, 1e300, math.NaN(), math.Inf(1)} {
		s.Add(v, 1)
	}
	c := s.Clone()
	var set Sum
	set.Set(&s)
	set.Set(&set)
	want := s.AppendTo(nil)
	s.Add(1e300, 1)
	s.Add(math.NaN(), 1)
	for name, other := range map[string]*Sum{"Clone": &c, "Set": &set} {
		if got := other.AppendTo(nil); !bytes.Equal(got, want) {
			t.Errorf("%s: %x, want %x", name, got, want)
		}
	}
	c.Merge(&c)
	set.Merge(&set)
	if !c.Equal(&set) || c.Equal(&s) {
		t.Error("merging with itself")
	}
	set.Set(new(Sum))
	if !set.IsZero() || set.wide != nil {
		t.Error("Set to empty left something")
	}
}

func TestBatches(t *testing.T) {
	eachFamily(t, func(t *testing.T, r *rand.Rand, value func() float64) {
		const n = 2000
		groups := [...]int{7, touchSums + 1}[r.IntN(2)]
		vals, slots, weights := make([]float64, n), make([]int32, n), make([]int64, n)
		for i := range vals {
			vals[i], slots[i], weights[i] = value(), int32(r.IntN(groups+1)-1), weight(r)
		}
		for _, ws := range [][]int64{weights, nil} {
			got, want := make([]Sum, groups), make([]Sum, groups)
			var gotAll, wantAll Sum
			AddTo(got, slots, vals, ws)
			gotAll.AddMany(vals, ws)
			for i, v := range vals {
				w := int64(1)
				if ws != nil {
					w = ws[i]
				}
				if slots[i] >= 0 {
					want[slots[i]].Add(v, w)
				}
				wantAll.Add(v, w)
			}
			for i := range got {
				if !got[i].Equal(&want[i]) {
					t.Fatalf("slot %d differs", i)
				}
			}
			if !gotAll.Equal(&wantAll) {
				t.Fatal("AddMany differs")
			}
		}
	})
}
