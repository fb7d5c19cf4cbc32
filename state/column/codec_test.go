package column_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"flag"
	"math"
	"math/rand/v2"
	"os"
	"testing"
	"unsafe"

	"tidemill/state/column"
	"tidemill/state/column/columntest"
)

var rewrite = flag.Bool("rewrite", false, "write the fixtures of the current format")

func mustDecode(t *testing.T, b []byte, rows int) []column.Column {
	t.Helper()
	got, n, err := column.DecodeColumns(b)
	if err != nil || n != rows {
		t.Fatalf("decode: %d rows for %d, %v", n, rows, err)
	}
	return got
}

func TestCodecRoundTrip(t *testing.T) {
	r := columntest.Rand(t)
	for _, n := range []int{0, 1, 2, 7, 8, 9, 63, 200} {
		cols := columntest.Columns(r, columntest.Types(), n)
		b := column.EncodeColumns(cols)
		if len(b) != column.EncodedSize(cols) || len(b)%8 != 0 {
			t.Fatalf("%d rows: %d bytes, announced %d", n, len(b), column.EncodedSize(cols))
		}
		if joined := bytes.Join(column.Parts(cols), nil); !bytes.Equal(joined, b) {
			t.Fatal("parts differ from the payload")
		}
		got := mustDecode(t, b, n)
		for i := range cols {
			if d := columntest.Diff(&cols[i], &got[i]); d != "" {
				t.Fatal(d)
			}
		}
		if again := column.EncodeColumns(got); !bytes.Equal(again, b) {
			t.Fatal("encoding what was decoded gives other bytes")
		}
	}
}

func TestCodecSlices(t *testing.T) {
	r := columntest.Rand(t)
	whole := columntest.Columns(r, columntest.Types(), 100)
	for _, span := range [][2]int{{0, 100}, {0, 13}, {8, 50}, {3, 100}, {17, 18}, {40, 40}} {
		cols := make([]column.Column, len(whole))
		for i := range whole {
			cols[i] = whole[i].Slice(span[0], span[1])
		}
		got := mustDecode(t, column.EncodeColumns(cols), span[1]-span[0])
		for i := range cols {
			if d := columntest.Diff(&cols[i], &got[i]); d != "" {
				t.Fatal(span, d)
			}
			if got[i].Type.Varlen() && got[i].Offsets[0] != 0 {
				t.Fatal("offsets do not start at 0")
			}
		}
	}
}

func TestCodecAliases(t *testing.T) {
	cols := []column.Column{column.OfStrings(column.T(column.Varchar), []string{"x", "yz"}), column.Of(column.T(column.Int64), []int64{1, 2}, nil)}
	b := column.AppendColumns(make([]byte, 16), cols)
	inside := func(p []byte) bool {
		at := uintptr(unsafe.Pointer(unsafe.SliceData(p)))
		lo := uintptr(unsafe.Pointer(unsafe.SliceData(b)))
		return at >= lo && at < lo+uintptr(len(b))
	}
	for _, c := range mustDecode(t, b[16:], 2) {
		if !inside(c.Data) {
			t.Fatal("aligned payload was copied")
		}
	}
	odd := column.AppendColumns(make([]byte, 3), cols)
	got := mustDecode(t, odd[3:], 2)
	if v := column.Values[int64](&got[1]); v[1] != 2 || got[0].Str(1) != "yz" {
		t.Fatal("payload at an odd address")
	}
}

func TestCodecEdges(t *testing.T) {
	if got, n, err := column.DecodeColumns(column.EncodeColumns(nil)); len(got) != 0 || n != 0 || err != nil {
		t.Fatal("no columns", got, n, err)
	}
	// A text column without offsets, a bitmap with bits past the end, a bitmap without NULLs.
	none := column.Column{Type: column.T(column.Varchar)}
	mustDecode(t, column.EncodeColumns([]column.Column{none}), 0)
	dirty := column.Of(column.T(column.Int8), []int8{1, 0, 3}, []byte{0b11111101})
	got := mustDecode(t, column.EncodeColumns([]column.Column{dirty}), 3)
	if got[0].Valid[0] != 0b101 {
		t.Fatalf("validity %b", got[0].Valid)
	}
	full := column.Of(column.T(column.Int8), []int8{1, 2, 3}, []byte{0xff, 0xff})
	if got := mustDecode(t, column.EncodeColumns([]column.Column{full}), 3); got[0].Valid != nil {
		t.Fatal("validity of a column without NULL was written")
	}
	func() {
		defer func() {
			if recover() == nil {
				t.Error("columns of different lengths were encoded")
			}
		}()
		column.EncodeColumns([]column.Column{dirty, column.Of(column.T(column.Int8), []int8{1}, nil)})
	}()
}

func fixture() []column.Column {
	str := column.NewBuilder(column.T(column.Varchar), 3)
	str.AppendString("tide")
	str.AppendNull()
	str.AppendString("z\u00fcrich")
	valid := []byte{0b101}
	type u16 = [16]byte
	c := []column.Column{
		str.Finish(),
		column.OfStrings(column.T(column.Blob), []string{"\x00\xff", "", "b"}),
		column.Of(column.T(column.Bool), []uint8{1, 0, 1}, valid),
		column.Of(column.T(column.Int8), []int8{-128, 0, 127}, nil),
		column.Of(column.T(column.Int16), []int16{-32768, 0, 32767}, valid),
		column.Of(column.T(column.Int32), []int32{math.MinInt32, 0, math.MaxInt32}, valid),
		column.Of(column.T(column.Int64), []int64{math.MinInt64, 0, math.MaxInt64}, valid),
		column.Of(column.T(column.UInt8), []uint8{0, 1, 255}, nil),
		column.Of(column.T(column.UInt16), []uint16{0, 1, 65535}, nil),
		column.Of(column.T(column.UInt32), []uint32{0, 1, math.MaxUint32}, nil),
		column.Of(column.T(column.UInt64), []uint64{0, 1, math.MaxUint64}, nil),
		column.Of(column.T(column.HugeInt), []column.Int128{{Hi: math.MinInt64}, {}, {Lo: 7}}, valid),
		column.Of(column.T(column.Float), []float32{1.5, 0, float32(math.Inf(-1))}, valid),
		column.Of(column.T(column.Double), []float64{0.1, 0, math.Copysign(0, -1)}, valid),
		column.Of(column.DecimalOf(18, 3), []column.Int128{{Lo: 1500}, {}, {Lo: math.MaxUint64, Hi: -1}}, valid),
		column.Of(column.T(column.Date), []int32{20455, 0, -1}, nil),
		column.Of(column.T(column.Interval), []column.IntervalValue{{Months: 1, Days: -2, Micros: 3}, {}, {}}, nil),
		column.Of(column.T(column.UUID), []u16{{0x12, 15: 0x34}, {}, {0xff}}, nil),
	}
	for k := column.Time; k <= column.TimestampTZ; k++ {
		c = append(c, column.Of(column.T(k), []int64{1_767_322_800, 0, 86399}, valid))
	}
	return c
}

// readFixture compares a fixture, whose columns have so many rows, with want, and returns its columns and bytes.
func readFixture(t *testing.T, path string, want []column.Column, rows int) ([]column.Column, []byte) {
	t.Helper()
	if *rewrite {
		if err := os.WriteFile(path, column.EncodeColumns(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	got := mustDecode(t, b, rows)
	for i := range want {
		if d := columntest.Diff(&want[i], &got[i]); d != "" {
			t.Error(d)
		}
	}
	return got, b
}

// TestFixtureV1 reads bytes written when version 1 was frozen, and writes the same ones.
func TestFixtureV1(t *testing.T) {
	want := fixture()
	if _, b := readFixture(t, "testdata/columns_v1.bin", want, 3); !bytes.Equal(column.EncodeColumns(want), b) {
		t.Error("version 1 is written differently now")
	}
}

// trees is a column of each type that version 2 is for.
func trees() []column.Column {
	r := rand.New(rand.NewPCG(4, 2))
	return columntest.Columns(r, columntest.Nested()[1:], 5)
}

// TestFixtureV2 is TestFixtureV1 for version 2.
func TestFixtureV2(t *testing.T) {
	if got, b := readFixture(t, "testdata/columns_v2.bin", trees(), 5); !bytes.Equal(column.EncodeColumns(got), b) {
		t.Error("version 2 is written differently now")
	}
}

// TestDecodeRefusesLyingTrees turns every bit of a payload with trees: what is still taken can be read
// everywhere.
func TestDecodeRefusesLyingTrees(t *testing.T) {
	good := column.EncodeColumns(trees())
	refused := 0
	for at := 0; at < 8*len(good); at += 17 {
		b := bytes.Clone(good)
		b[at/8] ^= 1 << (at % 8)
		cols, n, err := column.DecodeColumns(b)
		if err != nil {
			refused++
			continue
		}
		for i := range cols {
			for row := range n {
				column.AppendJSON(nil, &cols[i], row)
			}
			cols[i].Canonical()
		}
		column.EncodeColumns(cols)
	}
	if refused < len(good)/17 {
		t.Errorf("%d of %d changed payloads are refused", refused, 8*len(good))
	}
}

func TestDecodeRefusesLies(t *testing.T) {
	cols := []column.Column{column.OfStrings(column.T(column.Varchar), []string{"ab", "c"}), column.Of(column.T(column.Bool), []uint8{1, 0}, []byte{1})}
	good := column.EncodeColumns(cols)
	put32 := func(at int, v uint32) func([]byte) []byte {
		return func(b []byte) []byte { binary.LittleEndian.PutUint32(b[at:], v); return b }
	}
	put64 := func(at int, v uint64) func([]byte) []byte {
		return func(b []byte) []byte { binary.LittleEndian.PutUint64(b[at:], v); return b }
	}
	put8 := func(at int, v byte) func([]byte) []byte {
		return func(b []byte) []byte { b[at] = v; return b }
	}
	body := 16 + 2*16 // offsets (12 and 4 of padding), text 8, validity 8, data 8
	for name, change := range map[string]func([]byte) []byte{
		"version":           put8(0, 3),
		"another version":   put8(0, 2),
		"reserved":          put8(1, 1),
		"columns":           put32(4, math.MaxUint32),
		"a column more":     put32(4, 3),
		"a column less":     put32(4, 1),
		"no columns":        put32(4, 0),
		"rows":              put32(8, 3),
		"rows huge":         put32(8, math.MaxUint32),
		"rows large":        put32(8, math.MaxInt32-1),
		"kind":              put8(16, 99),
		"kind of a tree":    put8(16, byte(column.List)),
		"kind 0":            put8(16, 0),
		"width":             put8(17, 3),
		"flags":             put8(19, 2),
		"validity claimed":  put8(19, 1),
		"text length":       put64(24, 4),
		"text length huge":  put64(24, math.MaxUint64),
		"text past 32 bits": put64(24, 1<<31),
		"first offset":      put32(body, 1),
		"offset descends":   put32(body+4, 4),
		"offset negative":   put32(body+4, 1<<31),
		"last offset":       put32(body+8, 2),
		"padding":           put8(body+12, 1),
		"stray validity":    put8(body+24, 5),
		"bool":              put8(body+32, 2),
		"trailing":          func(b []byte) []byte { return append(b, 0) },
		"cut":               func(b []byte) []byte { return b[:len(b)-1] },
		"header only":       func(b []byte) []byte { return b[:16] },
		"empty":             func(b []byte) []byte { return nil },
	} {
		if _, _, err := column.DecodeColumns(change(bytes.Clone(good))); !errors.Is(err, column.ErrMalformed) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// FuzzDecodeColumns: never a panic; what decodes can be read everywhere and encodes to a payload
// with the same values; memory stays in proportion to the input.
func FuzzDecodeColumns(f *testing.F) {
	f.Add(column.EncodeColumns(fixture()))
	f.Add(column.EncodeColumns(fixture()[:3]))
	f.Add(column.EncodeColumns(nil))
	for _, c := range trees() {
		f.Add(column.EncodeColumns([]column.Column{c}))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		cols, n, err := column.DecodeColumns(b)
		if err != nil {
			if !errors.Is(err, column.ErrMalformed) {
				t.Fatal(err)
			}
			return
		}
		for i := range cols {
			for row := range n {
				_ = cols[i].Raw(row)
				column.AppendJSON(nil, &cols[i], row)
				_ = cols[i].IsNull(row)
			}
		}
		again := mustDecode(t, column.EncodeColumns(cols), n)
		for i := range cols {
			if d := columntest.Diff(&cols[i], &again[i]); d != "" {
				t.Fatal(d)
			}
		}
	})
}

func BenchmarkDecodeColumns(b *testing.B) {
	r := columntest.Rand(b)
	types := []column.Type{column.T(column.Int64), column.T(column.Varchar), column.T(column.Double), column.T(column.Bool)}
	p := column.EncodeColumns(columntest.Columns(r, types, 4096))
	b.SetBytes(int64(len(p)))
	b.ReportAllocs()
	for b.Loop() {
		if _, _, err := column.DecodeColumns(p); err != nil {
			b.Fatal(err)
		}
	}
}
