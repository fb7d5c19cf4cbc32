package agg_test

import (
	"bytes"
	"errors"
	"fmt"
	"math/big"
	"math/rand/v2"
	"sort"
	"testing"

	"tidemill/operators/agg"
	"tidemill/state/column"
	"tidemill/state/column/columntest"
)

// memTrace is a trace in a map.
type memTrace map[int32]map[string]int64

func (m memTrace) Add(slot int32, value []byte, w int64) (before, after int64, err error) {
	if m[slot] == nil {
		m[slot] = map[string]int64{}
	}
	before = m[slot][string(value)]
	if m[slot][string(value)] += w; before+w == 0 {
		delete(m[slot], string(value))
	}
	return before, before + w, nil
}

func (m memTrace) sorted(slot int32) []string {
	var all []string
	for v := range m[slot] {
		all = append(all, v)
	}
	sort.Strings(all)
	return all
}

func (m memTrace) First(slot int32) ([]byte, bool, error) {
	if all := m.sorted(slot); len(all) > 0 {
		return []byte(all[0]), true, nil
	}
	return nil, false, nil
}

func (m memTrace) Ascend(slot int32, from []byte, fn func([]byte, int64) bool) error {
	for _, v := range m.sorted(slot) {
		if v >= string(from) && !fn([]byte(v), m[slot][v]) {
			break
		}
	}
	return nil
}

func (m memTrace) Descend(slot int32, below []byte, fn func([]byte, int64) bool) error {
	all := m.sorted(slot)
	for i := len(all) - 1; i >= 0; i-- {
		if (below == nil || all[i] < string(below)) && !fn([]byte(all[i]), m[slot][all[i]]) {
			break
		}
	}
	return nil
}

func (m memTrace) Last(slot int32) ([]byte, bool, error) {
	if all := m.sorted(slot); len(all) > 0 {
		return []byte(all[len(all)-1]), true, nil
	}
	return nil, false, nil
}

// specs is every aggregate of every type that has it.
func specs() []agg.Spec {
	all := []agg.Spec{{Func: "count_star", Result: column.T(column.Int64)}}
	for _, t := range columntest.Types() {
		for _, fn := range []string{"count", "sum", "avg", "min", "max"} {
			s := agg.Spec{Func: fn, Args: []column.Type{t}, Result: resultOf(fn, t)}
			if _, err := agg.New(s, memTrace{}); err != nil {
				continue // sums of what is not a number
			}
			all = append(all, s)
			s.Distinct = true
			all = append(all, s)
		}
	}
	for _, c := range duckCalls() {
		all = append(all, c.spec)
	}
	return all
}

func resultOf(fn string, t column.Type) column.Type {
	switch {
	case fn == "count":
		return column.T(column.Int64)
	case fn == "min" || fn == "max":
		return t
	case fn == "avg" || t.Floating():
		return column.T(column.Double)
	case t.Kind == column.Decimal:
		return column.DecimalOf(38, int(t.Scale))
	}
	return column.T(column.HugeInt)
}

func newAgg(t *testing.T, s agg.Spec, slots int) agg.Aggregate {
	t.Helper()
	a, err := agg.New(s, memTrace{})
	if err != nil {
		t.Fatal(err)
	}
	a.Grow(slots)
	return a
}

// argsOf returns columns of the arguments and of the order.
func argsOf(r *rand.Rand, s agg.Spec, n int) []column.Column {
	types := append([]column.Type{}, s.Args...)
	for _, o := range s.Order {
		types = append(types, o.Type)
	}
	return columntest.Columns(r, types, n)
}

func add(t *testing.T, a agg.Aggregate, slots []int32, args []column.Column, w []int64) {
	t.Helper()
	if err := a.Add(slots, args, w); err != nil {
		t.Fatal(err)
	}
	if s, ok := a.(agg.Settler); ok {
		if err := s.Settle(); err != nil {
			t.Fatal(err)
		}
	}
}

func same(a, b agg.Aggregate, slot int32, prevA, prevB bool) string {
	x, xe := a.Output([]int32{slot}, prevA)
	y, ye := b.Output([]int32{slot}, prevB)
	if (xe == nil) != (ye == nil) {
		return fmt.Sprint("errors ", xe, " against ", ye)
	}
	return columntest.Diff(&x, &y)
}

// TestEncodeCanonical reaches the same rows in two ways: the bytes are the same, and are read back to a value
// that shows and encodes the same.
func TestEncodeCanonical(t *testing.T) {
	r := columntest.Rand(t)
	for _, s := range specs() {
		t.Run(fmt.Sprintf("%s(%v)%v", s.Func, s.Args, s.Distinct), func(t *testing.T) {
			const n = 30
			a, b, c := newAgg(t, s, 4), newAgg(t, s, 4), newAgg(t, s, 4)
			arg, more := argsOf(r, s, n), argsOf(r, s, n)
			slots, back, minus := make([]int32, n), make([]int32, n), make([]int64, n)
			for i := range slots {
				slots[i], minus[i] = int32(r.IntN(4))-1, -1
			}
			add(t, a, slots, arg, nil)
			add(t, b, slots, more, nil)
			for i := n - 1; i >= 0; i-- { // backwards, one by one
				var one []column.Column
				for k := range arg {
					one = append(one, arg[k].Gather([]int32{int32(i)}))
				}
				add(t, b, slots[i:i+1], one, []int64{1})
			}
			copy(back, slots)
			add(t, b, back, more, minus)
			for slot := range int32(3) {
				x, y := a.Encode(nil, slot), b.Encode(nil, slot)
				if !bytes.Equal(x, y) {
					t.Fatalf("slot %d: %x in one order, %x in another", slot, x, y)
				}
				rest, err := c.Decode(slot, append(x, "rest"...))
				if err != nil || string(rest) != "rest" {
					t.Fatalf("decode %x: %q %v", x, rest, err)
				}
				if got := c.Encode(nil, slot); !bytes.Equal(got, y) || c.Empty(slot) != a.Empty(slot) {
					t.Fatalf("%x came back as %x", y, got)
				}
				for _, prev := range []bool{false, true} {
					if d := same(a, c, slot, false, prev); d != "" {
						t.Fatal(d)
					}
				}
				for cutAt := range len(y) {
					if _, err := newAgg(t, s, 1).Decode(0, y[:cutAt]); err == nil {
						t.Fatalf("%x of %x is accepted", y[:cutAt], y)
					}
				}
			}
			add(t, a, slots, arg, minus)
			for slot := range int32(3) {
				if !a.Empty(slot) || !bytes.Equal(a.Encode(nil, slot), newAgg(t, s, 1).Encode(nil, 0)) {
					t.Fatalf("slot %d is not empty after everything was retracted", slot)
				}
			}
		})
	}
}

// TestSaveRestore keeps the saved version through changes, and gets it back.
func TestSaveRestore(t *testing.T) {
	r := columntest.Rand(t)
	for _, s := range specs() {
		const n = 20
		a, was := newAgg(t, s, 2), newAgg(t, s, 2)
		slots := make([]int32, n)
		for i := range slots {
			slots[i] = int32(r.IntN(2))
		}
		arg := argsOf(r, s, n)
		add(t, a, slots, arg, nil)
		add(t, was, slots, arg, nil)
		a.Save([]int32{0, 1})
		add(t, a, slots, argsOf(r, s, n), nil)
		for slot := range int32(2) {
			if d := same(a, was, slot, true, false); d != "" {
				t.Fatalf("%v: previous version: %s", s, d)
			}
		}
		a.Restore([]int32{0, 1})
		for slot := range int32(2) {
			if d := same(a, was, slot, false, false); d != "" {
				t.Fatalf("%v: restored: %s", s, d)
			}
		}
		a.Reset(0)
		if !a.Empty(0) {
			t.Fatalf("%v: not empty after Reset", s)
		}
	}
}

// TestWideSums holds 192-bit sums of weighted HUGEINTs and their averages against math/big.
func TestWideSums(t *testing.T) {
	r := columntest.Rand(t)
	typ := column.T(column.HugeInt)
	for range 500 {
		sum := newAgg(t, agg.Spec{Func: "sum", Args: []column.Type{typ}, Result: typ}, 1)
		avg := newAgg(t, agg.Spec{Func: "avg", Args: []column.Type{typ}, Result: column.T(column.Double)}, 1)
		want, n := new(big.Int), int64(0)
		for range 1 + r.IntN(8) {
			v := column.Int128{Lo: r.Uint64(), Hi: int64(r.Uint64()) >> r.IntN(64)}
			w := 1 + r.Int64N(1<<r.IntN(40))
			if n > w && r.IntN(3) == 0 {
				w = -w
			}
			n += w
			b := new(big.Int).Add(new(big.Int).Lsh(big.NewInt(v.Hi), 64), new(big.Int).SetUint64(v.Lo))
			want.Add(want, b.Mul(b, big.NewInt(w)))
			arg := column.Of(typ, []column.Int128{v}, nil)
			add(t, sum, []int32{0}, []column.Column{arg}, []int64{w})
			add(t, avg, []int32{0}, []column.Column{arg}, []int64{w})
		}
		out, errs := sum.Output([]int32{0}, false)
		fits := want.BitLen() < 128
		if fits != (errs == nil) {
			if min := new(big.Int).Lsh(big.NewInt(-1), 127); want.Cmp(min) != 0 {
				t.Fatalf("sum %v: errors %v", want, errs)
			}
		}
		if fits && column.Values[column.Int128](&out)[0].String() != want.String() {
			t.Fatalf("sum is %v, want %v", column.Values[column.Int128](&out)[0], want)
		}
		mean, _ := avg.Output([]int32{0}, false)
		f, _ := new(big.Rat).SetFrac(want, big.NewInt(n)).Float64()
		if got := column.Values[float64](&mean)[0]; got != f {
			t.Fatalf("average of %v by %d is %v, want %v", want, n, got, f)
		}
	}
}

// TestDecimalSumOutOfRange loses its value past the type's digits, with a reason, and has it again later.
func TestDecimalSumOutOfRange(t *testing.T) {
	typ := column.DecimalOf(38, 2)
	a := newAgg(t, agg.Spec{Func: "sum", Args: []column.Type{typ}, Result: typ}, 1)
	most := column.Of(typ, []column.Int128{{Lo: 0x098a223fffffffff, Hi: 0x4b3b4ca85a86c47a}}, nil) // 38 nines
	one := column.Of(typ, []column.Int128{{Lo: 1}}, nil)
	for _, step := range []struct {
		arg  *column.Column
		w    int64
		fits bool
	}{{&most, 1, true}, {&one, 1, false}, {&most, 1 << 62, false}, {&most, -1 << 62, false}, {&one, -1, true}, {&one, -2, true}, {&most, -1, true}} {
		add(t, a, []int32{0}, []column.Column{*step.arg}, []int64{step.w})
		out, errs := a.Output([]int32{0}, false)
		if (errs == nil) != step.fits || out.IsNull(0) == step.fits {
			t.Fatalf("after %+v: %v", step, errs)
		}
		if errs != nil && errs.Reasons[0] != "sum of DECIMAL(38,2) is out of range of DECIMAL(38,2)" {
			t.Fatal(errs.Reasons)
		}
	}
}

// TestAveragesRound takes averages of BIGINT and DECIMAL that two roundings would get wrong.
func TestAveragesRound(t *testing.T) {
	r := columntest.Rand(t)
	for _, typ := range []column.Type{column.T(column.Int64), column.DecimalOf(18, 3), column.DecimalOf(38, 38)} {
		for range 500 {
			a := newAgg(t, agg.Spec{Func: "avg", Args: []column.Type{typ}, Result: column.T(column.Double)}, 1)
			n, sum := 1+r.Int64N(50), new(big.Int)
			for range n {
				v := int64(r.Uint64()) >> r.IntN(64)
				sum.Add(sum, big.NewInt(v))
				var arg column.Column
				if typ.Kind == column.Decimal {
					arg = column.Of(typ, []column.Int128{column.Int128Of(v)}, nil)
				} else {
					arg = column.Of(typ, []int64{v}, nil)
				}
				add(t, a, []int32{0}, []column.Column{arg}, nil)
			}
			scale := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(typ.Scale)), nil)
			want, _ := new(big.Rat).SetFrac(sum, scale.Mul(scale, big.NewInt(n))).Float64()
			out, _ := a.Output([]int32{0}, false)
			if got := column.Values[float64](&out)[0]; got != want {
				t.Fatalf("average of %v by %d is %v, want %v", sum, n, got, want)
			}
		}
	}
}

// TestNewUnsupported names what is not maintained.
func TestNewUnsupported(t *testing.T) {
	for _, s := range []agg.Spec{{Func: "approx_quantile", Args: []column.Type{column.T(column.Double)}}, {Func: "sum", Args: []column.Type{column.T(column.Varchar)}}} {
		if _, err := agg.New(s, nil); !errors.Is(err, agg.ErrUnsupported) {
			t.Errorf("%v: %v", s, err)
		}
	}
}
