package duck

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"tidemill/state/column"
)

// tables are Snapshots of a test, by name.
type tables map[string]Chunks

func (t tables) Relation(name string) (Chunks, error) {
	c, ok := t[name]
	if !ok {
		return nil, fmt.Errorf("no relation %s in the snapshot", name)
	}
	return c, nil
}

func openTestExec(t testing.TB) *Exec {
	t.Helper()
	x, err := OpenExec(Options{Threads: 2})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(x.Close)
	return x
}

func define(t testing.TB, x *Exec, name string, fields ...column.Field) {
	t.Helper()
	if err := x.DefineRelation(name, fields); err != nil {
		t.Fatal(err)
	}
}

func field(name string, k column.Kind) column.Field {
	return column.Field{Name: name, Type: column.T(k)}
}

// read runs a query and returns all of its rows.
func read(t testing.TB, x *Exec, sql string, snap Snapshots, params ...any) ([]column.Column, int) {
	t.Helper()
	r, err := x.Query(context.Background(), sql, params, snap)
	if err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	defer r.Close()
	cols, n, err := r.ReadAll()
	if err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	return cols, n
}

// int64At runs a query whose answer is one BIGINT.
func int64At(t testing.TB, x *Exec, sql string, snap Snapshots, params ...any) int64 {
	t.Helper()
	cols, n := read(t, x, "SELECT ("+sql+")::BIGINT", snap, params...)
	if n != 1 || cols[0].IsNull(0) {
		t.Fatalf("%s: %d rows, or NULL", sql, n)
	}
	return column.Values[int64](&cols[0])[0]
}

func ints(vals ...int64) column.Column { return column.Of(column.T(column.Int64), vals, nil) }

// wantSQLError fails unless err is an *SQLError of that state.
func wantSQLError(t testing.TB, err error, state string) *SQLError {
	t.Helper()
	var e *SQLError
	if !errors.As(err, &e) {
		t.Fatalf("got %v, want an *SQLError %s", err, state)
	}
	if e.SQLState != state {
		t.Fatalf("got %s (%v), want %s", e.SQLState, e, state)
	}
	return e
}

// allTypes are one field of every type, and DECIMALs of each of DuckDB's widths.
func allTypes() []column.Field {
	var out []column.Field
	for k := column.Bool; k <= column.UUID; k++ {
		if k != column.Decimal {
			out = append(out, column.Field{Name: fmt.Sprintf("k%d", k), Type: column.T(k)})
		}
	}
	for _, d := range [][2]int{{3, 1}, {4, 4}, {5, 0}, {9, 2}, {10, 2}, {18, 3}, {19, 0}, {38, 10}} {
		out = append(out, column.Field{Name: fmt.Sprintf("d%d", d[0]), Type: column.DecimalOf(d[0], d[1])})
	}
	return out
}

// randomColumn makes n values of t with NULLs and extremes among them.
func randomColumn(rng *rand.Rand, t column.Type, n int, nulls bool) column.Column {
	b := column.NewBuilder(t, n)
	for i := range n {
		if nulls && rng.IntN(5) == 0 {
			b.AppendNull()
			continue
		}
		extreme := rng.IntN(8)
		switch t.Kind {
		case column.Bool:
			column.Append(b, uint8(rng.IntN(2)))
		case column.Decimal:
			column.Append(b, randomDecimal(rng, int(t.Width), extreme))
		case column.HugeInt:
			column.Append(b, []column.Int128{{Lo: 0, Hi: math.MinInt64}, {Lo: math.MaxUint64, Hi: math.MaxInt64}, {Lo: rng.Uint64(), Hi: int64(rng.Uint64())}}[min(extreme, 2)])
		case column.Varchar:
			b.AppendString(randomText(rng))
		case column.Blob:
			raw := make([]byte, rng.IntN(30))
			for j := range raw {
				raw[j] = byte(rng.Uint32())
			}
			b.AppendRaw(raw)
		case column.Float:
			column.Append(b, []float32{float32(math.Inf(1)), float32(math.NaN()), float32(math.Copysign(0, -1)), math.MaxFloat32, rng.Float32()}[min(extreme, 4)])
		case column.Double:
			column.Append(b, []float64{math.Inf(-1), math.NaN(), math.Copysign(0, -1), math.SmallestNonzeroFloat64, rng.NormFloat64()}[min(extreme, 4)])
		case column.Date:
			column.Append(b, int32(rng.IntN(5_000_000)-2_500_000)+int32(i%3))
		case column.Time:
			column.Append(b, rng.Int64N(86_400_000_000))
		case column.TimestampS:
			column.Append(b, rng.Int64N(1<<36)-1<<35)
		case column.TimestampMS:
			column.Append(b, rng.Int64N(1<<46)-1<<45)
		case column.Timestamp, column.TimestampTZ:
			column.Append(b, rng.Int64N(1<<56)-1<<55)
		case column.TimestampNS:
			column.Append(b, rng.Int64N(1<<60))
		case column.Interval:
			column.Append(b, column.IntervalValue{Months: int32(rng.Uint32()), Days: int32(rng.Uint32()), Micros: int64(rng.Uint64())})
		case column.UUID:
			raw := make([]byte, 16)
			for j := range raw {
				raw[j] = byte(rng.Uint32())
			}
			b.AppendRaw(raw)
		default:
			raw := make([]byte, t.Size())
			for j := range raw {
				raw[j] = []byte{0, 0xff, 0x80, byte(rng.Uint32())}[min(extreme, 3)]
			}
			b.AppendRaw(raw)
		}
	}
	return b.Finish()
}

// randomDecimal is within the width's range; extreme 0 and 1 are its ends.
func randomDecimal(rng *rand.Rand, width, extreme int) column.Int128 {
	nines := strings.Repeat("9", min(width, 18))
	var most int64
	fmt.Sscan(nines, &most)
	v := most
	if extreme > 1 {
		v = rng.Int64N(most + 1)
	}
	if extreme == 0 || rng.IntN(2) == 0 {
		v = -v
	}
	d := column.Int128{Lo: uint64(v), Hi: v >> 63}
	if width == 38 && extreme > 1 { // beyond 64 bits, still below 10^38
		d.Hi = rng.Int64N(1<<62) - 1<<61
		d.Lo = rng.Uint64()
	}
	return d
}

var texts = []string{"", "a", "twelve bytes", "thirteen byte", "ünïcödé", "a text that is much longer than twelve bytes", "\x00", "日本語日本語日本語"}

func randomText(rng *rand.Rand) string {
	s := texts[rng.IntN(len(texts))]
	if rng.IntN(3) == 0 {
		s += strings.Repeat("x", rng.IntN(40))
	}
	return s
}

// randomChunks cuts random rows into chunks of odd sizes, some with dead rows.
func randomChunks(rng *rand.Rand, fields []column.Field, sizes []int) Chunks {
	var out Chunks
	base := uint64(1)
	for i, n := range sizes {
		c := Chunk{N: n, BaseRowID: base}
		for _, f := range fields {
			c.Cols = append(c.Cols, randomColumn(rng, f.Type, n, i%3 != 2))
		}
		if i%2 == 1 {
			c.Live = column.NewBitmap(n, true)
			for r := range n {
				if rng.IntN(4) == 0 {
					column.ClearBit(c.Live, r)
				}
			}
		}
		base += uint64(n)
		out = append(out, c)
	}
	return out
}

// liveRow visits the live rows in order.
func liveRows(chunks Chunks, visit func(c *Chunk, row int)) {
	for i := range chunks {
		for r := range chunks[i].N {
			if chunks[i].Live == nil || column.Bit(chunks[i].Live, r) {
				visit(&chunks[i], r)
			}
		}
	}
}
