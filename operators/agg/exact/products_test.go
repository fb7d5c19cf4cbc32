package exact

import (
	"bytes"
	"math"
	"math/big"
	"math/rand/v2"
	"testing"
)

// TestProducts adds and retracts products of numbers of every size and compares the sum with math/big's.
func TestProducts(t *testing.T) {
	r := rand.New(rand.NewPCG(*seed, 0))
	for range 300 {
		var p, other Products
		want := new(big.Float).SetPrec(bigPrec)
		type term struct {
			w int64
			f []float64
		}
		var terms []term
		for range 1 + r.IntN(8) {
			f := make([]float64, 1+r.IntN(4))
			for i := range f {
				if f[i] = math.Float64frombits(r.Uint64()); math.IsNaN(f[i]) || math.IsInf(f[i], 0) || r.IntN(3) == 0 {
					f[i] = float64(r.IntN(200)-100) / 8
				}
			}
			terms = append(terms, term{int64(r.Uint64()) >> r.IntN(63), f})
		}
		for _, x := range terms {
			p.Add(x.w, x.f...)
			v := new(big.Float).SetPrec(bigPrec).SetInt64(x.w)
			for _, f := range x.f {
				v.Mul(v, new(big.Float).SetFloat64(f))
			}
			want.Add(want, v)
		}
		if p.Big().Cmp(want) != 0 {
			t.Fatalf("%v: sum is %v, want %v", terms, p.Big(), want)
		}
		for i := len(terms) - 1; i >= 0; i-- {
			other.Add(terms[i].w, terms[i].f...)
		}
		enc := p.AppendTo(nil)
		if !bytes.Equal(enc, other.AppendTo(nil)) {
			t.Fatalf("%v: another order gives another encoding", terms)
		}
		back, rest, err := DecodeProducts(append(bytes.Clone(enc), 7))
		if err != nil || len(rest) != 1 || !bytes.Equal(back.AppendTo(nil), enc) {
			t.Fatalf("%x comes back as %x: %v", enc, back.AppendTo(nil), err)
		}
		for cut := range enc {
			if _, _, err := DecodeProducts(enc[:cut]); err == nil {
				t.Fatalf("%x of %x is accepted", enc[:cut], enc)
			}
		}
		clone := p.Clone()
		for _, x := range terms {
			p.Add(-x.w, x.f...)
		}
		if !p.IsZero() || len(p.AppendTo(nil)) != 1 {
			t.Fatalf("%v: not empty after everything was retracted", terms)
		}
		if !bytes.Equal(clone.AppendTo(nil), enc) {
			t.Fatal("a clone changed with its original")
		}
	}
}
