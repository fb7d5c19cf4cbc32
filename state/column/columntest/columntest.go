// Package columntest makes columns for tests: every type, random values that prefer the edges, and
// comparison. It is for tests only.
package columntest

import (
	"bytes"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"tidemill/state/column"
)

// Types returns every type without parts and Nested's.
func Types() []column.Type { return append(Plain(), Nested()...) }

// Plain returns every type without parts, DECIMAL in three shapes.
func Plain() []column.Type {
	var ts []column.Type
	for k := column.Bool; column.T(k).Valid(); k++ {
		if k == column.Decimal {
			ts = append(ts, column.DecimalOf(4, 1), column.DecimalOf(18, 3), column.DecimalOf(38, 10))
			continue
		}
		ts = append(ts, column.T(k))
	}
	return ts
}

var seedFlag = flag.Uint64("columntest.seed", 1, "seed of random columns; 0 takes a new one")

// Rand returns a generator with the seed of -columntest.seed, and logs it.
func Rand(t testing.TB) *rand.Rand {
	t.Helper()
	seed := *seedFlag
	if seed == 0 {
		seed = rand.Uint64()
	}
	t.Logf("-columntest.seed %d", seed)
	return rand.New(rand.NewPCG(seed, 0))
}

// Random returns n random values of type t. Few distinct values are frequent, a quarter of columns
// has no NULL, and the edges of each type occur.
func Random(r *rand.Rand, t column.Type, n int) column.Column {
	b := column.NewBuilder(t, n)
	nulls := r.IntN(4) > 0
	for range n {
		if nulls && r.IntN(5) == 0 {
			b.AppendNull()
		} else {
			appendValue(r, b)
		}
	}
	return b.Finish()
}

// Columns returns a column of n rows for each type.
func Columns(r *rand.Rand, types []column.Type, n int) []column.Column {
	cols := make([]column.Column, len(types))
	for i, t := range types {
		cols[i] = Random(r, t, n)
	}
	return cols
}

var texts = []string{
	"", "a", "b", "ab", "a\x00", "a\x00b", "\x00", "\x00\x00", "\x01", "\u00e9", "z\u00fcrich", "\u65e5\u672c", "\U0001f30a",
	"\"quoted\"\\", "line\nbreak\ttab", "exactly8", "nine char", "a longer text that passes sixteen bytes",
}

var jsons = []string{`{}`, `{"a": 1}`, `{"a":1}`, `[1, "x", null]`, `"text"`, `1.50`, `null`, `true`}

var floats = []float64{
	0, math.Copysign(0, -1), 1, -1, 0.1, 1.5, 1e16, 1e-7, math.MaxFloat64, math.SmallestNonzeroFloat64,
	math.Inf(1), math.Inf(-1), math.NaN(), math.Float64frombits(0xfff8000000000001), 123456.789,
}

// Value returns the bytes of a random value of type t, valid for the type.
func Value(r *rand.Rand, t column.Type) []byte {
	one := column.NewBuilder(t, 1)
	appendValue(r, one)
	c := one.Finish()
	return c.Raw(0)
}

func appendValue(r *rand.Rand, one *column.Builder) {
	t := one.Type()
	switch t.Kind {
	case column.BitString:
		bits := make([]byte, 1+r.IntN(20))
		for i := range bits {
			bits[i] = '0' + byte(r.IntN(2))
		}
		raw, err := column.ParseText(t, string(bits))
		if err != nil {
			panic(err)
		}
		one.AppendRaw(raw)
	case column.JSON:
		one.AppendString(jsons[r.IntN(len(jsons))])
	case column.Enum:
		p := r.IntN(len(t.Labels()))
		one.AppendRaw([]byte{byte(p), byte(p >> 8), byte(p >> 16), 0}[:t.Size()])
	case column.TimeTZ:
		column.Append(one, column.TimeTZOf(r.Int64N(86400)*1e6, int64(r.IntN(9)-4)*1800))
	case column.TimeNS:
		column.Append(one, r.Int64N(86400e9))
	case column.List, column.Map, column.Array, column.Struct, column.Union:
		appendNested(r, one)
	case column.Varchar:
		one.AppendString(texts[r.IntN(len(texts))])
	case column.Blob:
		v := []byte(texts[r.IntN(len(texts))])
		for range r.IntN(3) {
			v = append(v, byte(r.IntN(3)-1))
		}
		one.AppendRaw(v)
	case column.Bool:
		column.Append(one, uint8(r.IntN(2)))
	case column.Float:
		column.Append(one, float32(floats[r.IntN(len(floats))]))
	case column.Double:
		column.Append(one, floats[r.IntN(len(floats))])
	case column.Decimal:
		column.Append(one, randomDecimal(r, int(t.Width)))
	case column.Interval:
		column.Append(one, column.IntervalValue{
			Months: int32(r.IntN(5) - 2), Days: int32(r.IntN(91) - 45), Micros: int64(r.IntN(5)-2) * 43200_000_000,
		})
	case column.Date:
		column.Append(one, int32(r.IntN(60000)-30000))
	case column.Time:
		column.Append(one, r.Int64N(86400_000_000))
	case column.TimestampS:
		column.Append(one, r.Int64N(1<<36)-1<<35)
	case column.TimestampMS:
		column.Append(one, r.Int64N(1<<46)-1<<45)
	case column.Timestamp, column.TimestampNS, column.TimestampTZ:
		column.Append(one, r.Int64N(1<<51)-1<<50)
	default:
		one.AppendRaw(randomInt(r, t.Size()))
	}
}

func randomDecimal(r *rand.Rand, width int) column.Int128 {
	lo := uint64(r.IntN(100))
	if width >= 18 && r.IntN(2) == 0 {
		lo = r.Uint64N(1e17)
	}
	v := column.Int128{Lo: lo}
	if width >= 38 && r.IntN(3) == 0 {
		v.Hi = r.Int64N(1 << 60)
	}
	if r.IntN(2) == 0 { // two's complement
		v = column.Int128{Lo: -v.Lo, Hi: ^v.Hi}
		if v.Lo == 0 {
			v.Hi++
		}
	}
	return v
}

func randomInt(r *rand.Rand, size int) []byte {
	v := make([]byte, size)
	switch r.IntN(4) {
	case 0: // small
		v[0] = byte(r.IntN(4))
	case 1: // -1, or the unsigned maximum
		for i := range v {
			v[i] = 0xff
		}
	case 2: // the signed edges
		v[size-1] = 0x80
		if r.IntN(2) == 0 {
			for i := range v {
				v[i] ^= 0xff
			}
		}
	default:
		for i := range v {
			v[i] = byte(r.Uint32())
		}
	}
	return v
}

// Diff returns "" when a and b have the same type and bit for bit the same values and NULLs, and
// the first difference otherwise.
func Diff(a, b *column.Column) string {
	if a.Type != b.Type || a.N != b.N {
		return fmt.Sprintf("%d of %v against %d of %v", a.N, a.Type, b.N, b.Type)
	}
	for i := range a.N {
		if a.IsNull(i) != b.IsNull(i) {
			return fmt.Sprintf("%v row %d: null %v against %v", a.Type, i, a.IsNull(i), b.IsNull(i))
		}
		if !a.IsNull(i) && !bytes.Equal(a.Raw(i), b.Raw(i)) {
			return fmt.Sprintf("%v row %d: %x against %x", a.Type, i, a.Raw(i), b.Raw(i))
		}
	}
	return ""
}
