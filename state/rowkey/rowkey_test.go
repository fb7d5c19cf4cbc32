package rowkey_test

import (
	"bytes"
	"cmp"
	"errors"
	"math"
	"math/rand/v2"
	"testing"

	"tidemill/state/column"
	"tidemill/state/column/columntest"
	"tidemill/state/rowkey"
)

// compareSQL is the order that keys must have, written from SQL's side: NULL last, NaN above all
// numbers, -0 equal to 0, INTERVAL by the fields after carrying.
func compareSQL(c *column.Column, i, j int) int {
	switch ni, nj := c.IsNull(i), c.IsNull(j); {
	case ni && nj:
		return 0
	case ni:
		return 1
	case nj:
		return -1
	}
	switch c.Type.Kind {
	case column.List, column.Map, column.Array:
		a, aEnd := c.Elements(i)
		b, bEnd := c.Elements(j)
		for ; a < aEnd && b < bEnd; a, b = a+1, b+1 {
			if d := compareSQL(&c.Kids[0], a, b); d != 0 {
				return d
			}
		}
		return cmp.Compare(aEnd-a, bEnd-b)
	case column.Struct, column.Union: // of a UNION the tag, then members of which one can differ
		for k := range c.Kids {
			if d := compareSQL(&c.Kids[k], i, j); d != 0 {
				return d
			}
		}
		return 0
	case column.Enum:
		return cmp.Compare(place(c.Raw(i)), place(c.Raw(j)))
	case column.UHugeInt:
		v := column.Values[column.Int128](c)
		return cmp.Or(cmp.Compare(uint64(v[i].Hi), uint64(v[j].Hi)), cmp.Compare(v[i].Lo, v[j].Lo))
	case column.TimeTZ:
		v := column.Values[column.TimeTZValue](c)
		instant := func(v column.TimeTZValue) int64 { return v.Micros() - v.Offset()*1e6 }
		return cmp.Or(cmp.Compare(instant(v[i]), instant(v[j])), cmp.Compare(v[j].Offset(), v[i].Offset()))
	case column.Varchar, column.Blob, column.UUID, column.BitString, column.JSON:
		return bytes.Compare(c.Raw(i), c.Raw(j))
	case column.Bool, column.UInt8:
		return compareAs[uint8](c, i, j)
	case column.UInt16:
		return compareAs[uint16](c, i, j)
	case column.UInt32:
		return compareAs[uint32](c, i, j)
	case column.UInt64:
		return compareAs[uint64](c, i, j)
	case column.Int8:
		return compareAs[int8](c, i, j)
	case column.Int16:
		return compareAs[int16](c, i, j)
	case column.Int32, column.Date:
		return compareAs[int32](c, i, j)
	case column.Float:
		v := column.Values[float32](c)
		return compareFloats(float64(v[i]), float64(v[j]))
	case column.Double:
		v := column.Values[float64](c)
		return compareFloats(v[i], v[j])
	case column.HugeInt, column.Decimal:
		v := column.Values[column.Int128](c)
		return cmp.Or(cmp.Compare(v[i].Hi, v[j].Hi), cmp.Compare(v[i].Lo, v[j].Lo))
	case column.Interval:
		v := column.Values[column.IntervalValue](c)
		a, b := carry(v[i]), carry(v[j])
		return cmp.Or(cmp.Compare(a[0], b[0]), cmp.Compare(a[1], b[1]), cmp.Compare(a[2], b[2]))
	}
	return compareAs[int64](c, i, j)
}

func place(raw []byte) (p int) {
	for k, b := range raw {
		p |= int(b) << (8 * k)
	}
	return p
}

func compareAs[V interface {
	column.Fixed
	cmp.Ordered
}](c *column.Column, i, j int) int {
	v := column.Values[V](c)
	return cmp.Compare(v[i], v[j])
}

func compareFloats(a, b float64) int {
	switch {
	case a != a && b != b:
		return 0
	case a != a:
		return 1
	case b != b:
		return -1
	}
	return cmp.Compare(a, b) // 0 for -0 and 0
}

func carry(v column.IntervalValue) [3]int64 {
	const day = 86400_000_000
	days := int64(v.Days) + v.Micros/day
	return [3]int64{int64(v.Months) + days/30, days % 30, v.Micros % day}
}

func sign(c int) int { return cmp.Compare(c, 0) }

func TestOrder(t *testing.T) {
	r := columntest.Rand(t)
	for _, typ := range columntest.Types() {
		e := rowkey.NewEncoder([]column.Type{typ})
		for range 4 {
			cols := []column.Column{columntest.Random(r, typ, 60)}
			c := &cols[0]
			for i := range c.N {
				for j := range c.N {
					want := sign(compareSQL(c, i, j))
					if got := bytes.Compare(e.AppendKey(nil, cols, i), e.AppendKey(nil, cols, j)); got != want {
						t.Fatalf("%v: key of %s against %s: %d, want %d", typ, text(c, i), text(c, j), got, want)
					}
					id := bytes.Compare(e.AppendIdentity(nil, cols, i), e.AppendIdentity(nil, cols, j))
					same := c.IsNull(i) == c.IsNull(j) && (c.IsNull(i) || bytes.Equal(c.Raw(i), c.Raw(j)))
					if want != 0 && id != want || (id == 0) != same {
						t.Fatalf("%v: identity of %s against %s: %d, key order %d, same bits %v", typ, text(c, i), text(c, j), id, want, same)
					}
				}
			}
		}
	}
}

func text(c *column.Column, i int) string { return string(column.AppendText(nil, c, i)) }

// TestOrderOfRows compares whole rows: the first column that differs decides.
func TestOrderOfRows(t *testing.T) {
	r := columntest.Rand(t)
	all := columntest.Types()
	for range 200 {
		types := make([]column.Type, 1+r.IntN(4))
		for i := range types {
			types[i] = all[r.IntN(len(all))]
		}
		if r.IntN(2) == 0 {
			types[0] = column.T(column.Varchar)
		}
		e := rowkey.NewEncoder(types)
		cols := columntest.Columns(r, types, 12)
		for i := range 12 {
			for j := range 12 {
				want := 0
				for k := range cols {
					if want = sign(compareSQL(&cols[k], i, j)); want != 0 {
						break
					}
				}
				a, b := e.AppendKey(nil, cols, i), e.AppendKey(nil, cols, j)
				if got := bytes.Compare(a, b); got != want {
					t.Fatalf("%v: rows %d and %d: %d, want %d", types, i, j, got, want)
				}
				if want != 0 && (bytes.HasPrefix(a, b) || bytes.HasPrefix(b, a)) {
					t.Fatalf("%v: a key is the start of another", types)
				}
			}
		}
	}
}

// TestOrderLiteral lists values in the order that ORDER BY has, equal ones on one line.
func TestOrderLiteral(t *testing.T) {
	nan := math.Float64frombits(0xfff8000000000001)
	doubles := [][]float64{{math.Inf(-1)}, {-math.MaxFloat64}, {-1}, {-5e-324}, {0, math.Copysign(0, -1)}, {5e-324}, {1}, {math.Inf(1)}, {math.NaN(), nan, -math.NaN()}}
	literal(t, column.T(column.Double), doubles)
	floats := [][]float32{{float32(math.Inf(-1))}, {-1}, {0, float32(math.Copysign(0, -1))}, {1e-45}, {float32(math.Inf(1))}, {float32(nan), float32(math.NaN())}}
	literal(t, column.T(column.Float), floats)
	literal(t, column.T(column.Int64), [][]int64{{math.MinInt64}, {-1}, {0}, {1}, {256}, {math.MaxInt64}})
	literal(t, column.T(column.Interval), [][]column.IntervalValue{
		{{Months: -1}, {Days: -30}, {Days: -29, Micros: -86400_000_000}},
		{{Days: -15}, {Months: 1, Days: -45}},
		{{}, {Days: -1, Micros: 86400_000_000}},
		{{Micros: 82800_000_000}},
		{{Days: 1, Micros: -3600_000_000}}, // one day less an hour is more than 23 hours
		{{Days: 29}},
		{{Months: 1, Days: -1}}, // and this is more than 29 days
		{{Months: 1}, {Days: 30}, {Days: 29, Micros: 86400_000_000}},
		{{Days: 31}, {Months: 1, Days: 1}, {Days: 29, Micros: 2 * 86400_000_000}},
	})
	e := rowkey.NewEncoder([]column.Type{column.T(column.Varchar)})
	cols := []column.Column{column.OfStrings(column.T(column.Varchar), []string{"", "\x00", "\x00\x00", "\x00\x01", "\x01", "A", "a", "a\x00", "a\x00b", "a\x01", "ab", "b", "\u00e9"})}
	for i := 1; i < cols[0].N; i++ {
		if bytes.Compare(e.AppendKey(nil, cols, i-1), e.AppendKey(nil, cols, i)) >= 0 {
			t.Errorf("%q is not before %q", cols[0].Str(i-1), cols[0].Str(i))
		}
	}
}

func literal[V column.Fixed](t *testing.T, typ column.Type, groups [][]V) {
	t.Helper()
	e := rowkey.NewEncoder([]column.Type{typ})
	key := func(v V) []byte { return e.AppendKey(nil, []column.Column{column.Of(typ, []V{v}, nil)}, 0) }
	for g := range groups {
		for h := range groups {
			for _, a := range groups[g] {
				for _, b := range groups[h] {
					if got := bytes.Compare(key(a), key(b)); got != cmp.Compare(g, h) {
						t.Errorf("%v: %v against %v: %d", typ, a, b, got)
					}
				}
			}
		}
	}
}

func builders(types []column.Type) []*column.Builder {
	out := make([]*column.Builder, len(types))
	for i, t := range types {
		out[i] = column.NewBuilder(t, 1)
	}
	return out
}

func TestRoundTrip(t *testing.T) {
	r := columntest.Rand(t)
	types := columntest.Types()
	e := rowkey.NewEncoder(types)
	for _, n := range []int{0, 1, 9, 1500} {
		cols := columntest.Columns(r, types, n)
		for _, identity := range []bool{false, true} {
			one, all, decode := e.AppendKey, e.Keys, e.DecodeKey
			if identity {
				one, all, decode = e.AppendIdentity, e.Identities, e.DecodeIdentity
			}
			arena, offs := all(cols, n)
			out := builders(types)
			for i := range n {
				enc := arena[offs[i]:offs[i+1]]
				if !bytes.Equal(enc, one(nil, cols, i)) {
					t.Fatalf("row %d: the batch encodes it differently", i)
				}
				if rest, err := decode(append(enc[:len(enc):len(enc)], "rest"...), out); err != nil || string(rest) != "rest" {
					t.Fatalf("row %d: %q, %v", i, rest, err)
				}
			}
			back := make([]column.Column, len(out))
			for i, b := range out {
				back[i] = b.Finish()
				if d := columntest.Diff(&cols[i], &back[i]); identity && d != "" {
					t.Fatal(d)
				}
			}
			again, _ := all(back, n)
			if !bytes.Equal(again, arena) {
				t.Fatal("what was decoded encodes differently")
			}
		}
	}
}

func TestFixedKey(t *testing.T) {
	r := columntest.Rand(t)
	for _, typ := range columntest.Types() {
		cols := []column.Column{columntest.Random(r, typ, 200)}
		vals, valid, ok := rowkey.FixedKey(cols, 200)
		if want := typ.Size() > 0 && typ.Size() <= 8 && !typ.Floating(); ok != want || ok != rowkey.FixedType(typ) {
			t.Fatalf("%v: fixed %v", typ, ok)
		}
		if !ok {
			continue
		}
		c := &cols[0]
		b := column.NewBuilder(typ, 200)
		for i := range 200 {
			if (valid != nil && !column.Bit(valid, i)) != c.IsNull(i) {
				t.Fatal("validity")
			}
			if c.IsNull(i) {
				b.AppendNull()
				continue
			}
			rowkey.AppendFixed(b, typ, vals[i])
			for j := range i {
				if !c.IsNull(j) && cmp.Compare(vals[i], vals[j]) != sign(compareSQL(c, i, j)) {
					t.Fatalf("%v: %s against %s", typ, text(c, i), text(c, j))
				}
			}
		}
		back := b.Finish()
		if d := columntest.Diff(c, &back); d != "" {
			t.Fatal(d)
		}
	}
	if _, _, ok := rowkey.FixedKey(columntest.Columns(r, []column.Type{column.T(column.Int8), column.T(column.Int8)}, 1), 1); ok {
		t.Fatal("two columns")
	}
}

// TestIntervalExtremes: months that pass 32 bits after carrying still have a canonical INTERVAL.
func TestIntervalExtremes(t *testing.T) {
	typ := column.T(column.Interval)
	e := rowkey.NewEncoder([]column.Type{typ})
	edges32, edges64 := []int32{math.MinInt32, -30, 0, 29, math.MaxInt32}, []int64{math.MinInt64, -1, 0, 1, math.MaxInt64}
	for _, m := range edges32 {
		for _, d := range edges32 {
			for _, us := range edges64 {
				cols := []column.Column{column.Of(typ, []column.IntervalValue{{Months: m, Days: d, Micros: us}}, nil)}
				key := e.AppendKey(nil, cols, 0)
				out := builders(e.Types())
				if _, err := e.DecodeKey(key, out); err != nil {
					t.Fatalf("%d %d %d: %v", m, d, us, err)
				}
				back := out[0].Finish()
				if again := e.AppendKey(nil, []column.Column{back}, 0); !bytes.Equal(again, key) {
					t.Fatalf("%d %d %d has another key after decoding", m, d, us)
				}
			}
		}
	}
}

// FuzzDecode: never a panic; errors wrap ErrMalformed; what decodes encodes to the very same bytes,
// so each row has one encoding.
func FuzzDecode(f *testing.F) {
	types := columntest.Types()
	e := rowkey.NewEncoder(types)
	r := rand.New(rand.NewPCG(1, 2))
	for range 8 {
		cols := columntest.Columns(r, types, 1)
		f.Add(uint8(0), e.AppendKey(nil, cols, 0))
		f.Add(uint8(0), e.AppendIdentity(nil, cols, 0))
		for k := range types {
			one := rowkey.NewEncoder(types[k : k+1])
			f.Add(uint8(k+1), one.AppendIdentity(nil, cols[k:k+1], 0))
		}
	}
	f.Fuzz(func(t *testing.T, which uint8, b []byte) {
		enc := e
		if k := int(which) % (len(types) + 1); k > 0 {
			enc = rowkey.NewEncoder(types[k-1 : k])
		}
		for _, identity := range []bool{false, true} {
			one, decode := enc.AppendKey, enc.DecodeKey
			if identity {
				one, decode = enc.AppendIdentity, enc.DecodeIdentity
			}
			out := builders(enc.Types())
			rest, err := decode(b, out)
			if err != nil {
				if !errors.Is(err, rowkey.ErrMalformed) {
					t.Fatal(err)
				}
				continue
			}
			cols := make([]column.Column, len(out))
			for i := range out {
				cols[i] = out[i].Finish()
			}
			if again := one(nil, cols, 0); !bytes.Equal(again, b[:len(b)-len(rest)]) {
				t.Fatalf("%x is encoded as %x", b[:len(b)-len(rest)], again)
			}
		}
	})
}

func BenchmarkKeys(b *testing.B) {
	r := columntest.Rand(b)
	types := []column.Type{column.T(column.Int64), column.T(column.Varchar)}
	cols := columntest.Columns(r, types, 4096)
	e := rowkey.NewEncoder(types)
	b.ReportAllocs()
	for b.Loop() {
		e.Keys(cols, 4096)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/4096, "ns/row")
}
