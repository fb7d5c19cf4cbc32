package exact

import (
	"bytes"
	"encoding/binary"
	"math"
	"testing"
)

// FuzzAdd reads terms of 9 bytes: a float64 and a weight from -128 to 127.
//
//   - Every reading equals that of rational arithmetic.
//   - The terms in reverse order give the same bytes.
//   - Retracting all of them leaves an empty sum.
func FuzzAdd(f *testing.F) {
	one := func(vals ...float64) (b []byte) {
		for _, v := range vals {
			b = append(binary.LittleEndian.AppendUint64(b, math.Float64bits(v)), 1)
		}
		return b
	}
	f.Add(one(1e16, 1, -1e16))
	f.Add(one(math.MaxFloat64, 5e-324, math.MaxFloat64))
	f.Add(one(math.NaN(), math.Inf(1), math.Inf(-1)))
	f.Fuzz(func(t *testing.T, b []byte) {
		var terms []term
		for ; len(b) >= 9 && len(terms) < 100; b = b[9:] {
			terms = append(terms, term{math.Float64frombits(binary.LittleEndian.Uint64(b)), int64(int8(b[8]))})
		}
		var s, reversed Sum
		o := newOracle()
		for i, x := range terms {
			s.Add(x.v, x.w)
			o.add(x.v, x.w)
			back := terms[len(terms)-1-i]
			reversed.Add(back.v, back.w)
		}
		check(t, &s, o)
		if !bytes.Equal(s.AppendTo(nil), reversed.AppendTo(nil)) {
			t.Fatal("order shows in the bytes")
		}
		for _, x := range terms {
			s.Add(x.v, -x.w)
		}
		if !s.IsZero() || s.Float64() != 0 {
			t.Fatal("a retraction left a trace")
		}
	})
}

// FuzzDecode feeds any bytes.
//
//   - No panic, and no allocation beyond the input's order of size.
//   - What is accepted encodes to the bytes that were read.
//   - Readings, a merge with itself and a full retraction work on it.
func FuzzDecode(f *testing.F) {
	f.Add([]byte{0})
	f.Add([]byte{0x02, 0x32, 0x04, 0x01, 0x01})
	f.Add([]byte{0x1f, 0xb0, 0x08, 0x02, 0xff, 0xff, 2, 4, 1})
	f.Fuzz(func(t *testing.T, b []byte) {
		s, rest, err := Decode(b)
		if err != nil {
			return
		}
		if got := s.AppendTo(nil); !bytes.Equal(got, b[:len(b)-len(rest)]) {
			t.Fatalf("read %x, wrote %x", b, got)
		}
		c := s.Clone()
		c.Merge(&c)
		if s.Float64() != 0 && same(c.Div(2), s.Float64()) != same(s.Div(1), s.Float64()) {
			t.Fatal("twice the sum by two is not the sum")
		}
		if c.Equal(&s) != s.IsZero() {
			t.Fatal("twice the sum is the sum")
		}
	})
}
