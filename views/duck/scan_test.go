package duck

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"tidemill/state/column"
)

// Every type goes through the scan and comes back bit for bit: NULLs, extremes, short and long
// texts, dead rows, chunks of odd sizes, empty ones, and rows in order.
func TestScanRoundTrip(t *testing.T) {
	x := openTestExec(t)
	const seed = 7
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 1))
	fields := allTypes()
	define(t, x, "all types", fields...)
	for _, sizes := range [][]int{{}, {1}, {0, 5, 0}, {2048}, {2047, 2049, 1, 1, 4097}, {3, 60, 61, 20000, 17, 16384, 5}} {
		chunks := randomChunks(rng, fields, sizes)
		cols, n := read(t, x, `SELECT * FROM "all types"`, tables{"all types": chunks})
		at := 0
		liveRows(chunks, func(c *Chunk, row int) {
			for k := range fields {
				want, got := &c.Cols[k], &cols[k]
				if got.Type != fields[k].Type {
					t.Fatalf("column %s came back as %s", fields[k].Name, got.Type)
				}
				if want.IsNull(row) != got.IsNull(at) || !bytes.Equal(want.Raw(row), got.Raw(at)) {
					t.Fatalf("sizes %v row %d column %s %s: got %x, want %x", sizes, at, fields[k].Name, fields[k].Type, got.Raw(at), want.Raw(row))
				}
			}
			at++
		})
		if at != n {
			t.Fatalf("sizes %v: %d rows, want %d", sizes, n, at)
		}
		if c := int64At(t, x, `SELECT count(*) FROM "all types"`, tables{"all types": chunks}); c != int64(n) {
			t.Fatalf("count(*) is %d, want %d", c, n)
		}
	}
}

// DuckDB prints what we meant: the layouts are not merely the same both ways.
func TestScanValues(t *testing.T) {
	x := openTestExec(t)
	one := func(typ column.Type, v any) Chunks {
		b := column.NewBuilder(typ, 1)
		switch v := v.(type) {
		case string:
			b.AppendString(v)
		case column.Int128:
			column.Append(b, v)
		case column.IntervalValue:
			column.Append(b, v)
		case int64:
			column.Append(b, v)
		case int32:
			column.Append(b, v)
		}
		return Chunks{{Cols: []column.Column{b.Finish()}, N: 1}}
	}
	neg := column.Int128{Lo: ^uint64(0) - 1233, Hi: -1} // -1234
	for _, c := range []struct {
		typ  column.Type
		v    any
		want string
	}{
		{column.DecimalOf(4, 2), neg, "-12.34"}, {column.DecimalOf(9, 3), neg, "-1.234"},
		{column.DecimalOf(18, 0), neg, "-1234"}, {column.DecimalOf(38, 2), neg, "-12.34"},
		{column.T(column.HugeInt), neg, "-1234"},
		{column.T(column.UUID), "\x00\x11\x22\x33\x44\x55\x66\x77\x88\x99\xaa\xbb\xcc\xdd\xee\xff", "00112233-4455-6677-8899-aabbccddeeff"},
		{column.T(column.Interval), column.IntervalValue{Months: 14, Days: 3, Micros: 1_000_000}, "1 year 2 months 3 days 00:00:01"},
		{column.T(column.Date), int32(-1), "1969-12-31"},
		{column.T(column.TimestampTZ), int64(0), "1970-01-01 00:00:00+00"},
		{column.T(column.TimestampNS), int64(1), "1970-01-01 00:00:00.000000001"},
		{column.T(column.TimestampS), int64(60), "1970-01-01 00:01:00"},
		{column.T(column.Time), int64(1), "00:00:00.000001"},
		{column.T(column.Blob), "\x00z", `\x00z`},
	} {
		define(t, x, "v", column.Field{Name: "a", Type: c.typ})
		cols, _ := read(t, x, "SELECT a::VARCHAR, typeof(a) FROM v", tables{"v": one(c.typ, c.v)})
		if got := cols[0].Str(0); got != c.want {
			t.Errorf("%s prints %s, want %s", c.typ, got, c.want)
		}
		if got := cols[1].Str(0); got != c.typ.String() {
			t.Errorf("%s is %s in DuckDB", c.typ, got)
		}
	}
}

func TestScanRowIDs(t *testing.T) {
	x := openTestExec(t)
	define(t, x, "r", field("a", column.Int64), field("s", column.Varchar))
	rng := rand.New(rand.NewPCG(3, 3))
	fields := []column.Field{field("a", column.Int64), field("s", column.Varchar)}
	chunks := randomChunks(rng, fields, []int{1, 3000, 5, 2050})
	cols, n := read(t, x, `SELECT "$rowid", s FROM tidemill_scan_rowid('r')`, tables{"r": chunks})
	ids, at := column.Values[uint64](&cols[0]), 0
	liveRows(chunks, func(c *Chunk, row int) {
		if ids[at] != c.BaseRowID+uint64(row) || cols[1].Str(at) != c.Cols[1].Str(row) {
			t.Fatalf("row %d has rowid %d", at, ids[at])
		}
		at++
	})
	if at != n {
		t.Fatalf("%d rows, want %d", n, at)
	}
}

// Filters, joins of two relations, self joins, common table expressions used twice, views and
// aggregates over several threads see the same rows.
func TestScanQueries(t *testing.T) {
	x := openTestExec(t)
	define(t, x, "a", field("k", column.Int64), field("v", column.Int64))
	define(t, x, "b", field("k", column.Int64), field("name", column.Varchar))
	if err := x.DefineView("va", "SELECT k, sum(v) AS s FROM a GROUP BY k -- per key"); err != nil {
		t.Fatal(err)
	}
	if err := x.DefineView("vva", "SELECT count(*) AS n, sum(s) AS s FROM va;"); err != nil {
		t.Fatal(err)
	}
	var a Chunks
	total := int64(0)
	for c := range 7 {
		ks, vs := make([]int64, 9999), make([]int64, 9999)
		for i := range ks {
			ks[i], vs[i] = int64(i%100), int64(c*i)
			total += vs[i]
		}
		a = append(a, Chunk{Cols: []column.Column{ints(ks...), ints(vs...)}, N: len(ks)})
	}
	b := Chunks{{Cols: []column.Column{ints(1, 2, 3), column.OfStrings(column.T(column.Varchar), []string{"one", "two", "a name longer than twelve"})}, N: 3}}
	snap := tables{"a": a, "b": b}
	perKey, squares := map[int64]int64{}, int64(0)
	for i := range int64(9999) {
		perKey[i%100] += 7
	}
	for _, n := range perKey {
		squares += n * n
	}
	for sql, want := range map[string]int64{
		"SELECT sum(v) FROM a":               total,
		"SELECT sum(s) FROM vva":             total,
		"SELECT n FROM vva":                  100,
		"SELECT count(*) FROM a WHERE k = 3": perKey[3],
		"SELECT count(*) FROM a JOIN b USING (k) WHERE name LIKE 'a name%'":                                     perKey[3],
		"SELECT count(*) FROM b x JOIN b y ON x.k <= y.k":                                                       6,
		"WITH c AS (SELECT k, count(*) n FROM a GROUP BY k) SELECT sum(p.n * q.n) FROM c p JOIN c q USING (k)":  squares,
		"SELECT count(*) FROM (SELECT k FROM a UNION ALL SELECT k FROM b)":                                      7*9999 + 3,
		"SELECT length(name) FROM b ORDER BY name LIMIT 1":                                                      25,
		"SELECT count(*) FROM (SELECT *, row_number() OVER (PARTITION BY k ORDER BY v) rn FROM a) WHERE rn = 1": 100,
		"SELECT sum(k) FROM a WHERE k IN (SELECT k FROM b WHERE k > 1)":                                         perKey[2]*2 + perKey[3]*3,
	} {
		if got := int64At(t, x, sql, snap); got != want {
			t.Errorf("%s: %d, want %d", sql, got, want)
		}
	}
	if got := int64At(t, x, "SELECT count(*) FROM a JOIN b USING (k) WHERE name LIKE ?", snap, "a name%"); got != perKey[3] {
		t.Errorf("join with a parameter: %d", got)
	}
}

// Queries that run at once each see their own snapshot.
func TestConcurrentSnapshots(t *testing.T) {
	x := openTestExec(t)
	define(t, x, "r", field("a", column.Int64), field("s", column.Varchar))
	var wg sync.WaitGroup
	for g := range int64(8) {
		wg.Go(func() {
			for i := range int64(20) {
				n := int(g*1000 + i + 1)
				vals, ss := make([]int64, n), make([]string, n)
				for k := range vals {
					vals[k], ss[k] = g, "a string of goroutine "+string(rune('a'+g))
				}
				snap := tables{"r": {{Cols: []column.Column{ints(vals...), column.OfStrings(column.T(column.Varchar), ss)}, N: n}}}
				r, err := x.Query(context.Background(), "SELECT sum(a)::BIGINT, count(*), min(s), max(s) FROM r", nil, snap)
				if err != nil {
					t.Error(err)
					return
				}
				cols, _, err := r.ReadAll()
				r.Close()
				if err != nil {
					t.Error(err)
					return
				}
				if column.Values[int64](&cols[0])[0] != g*int64(n) || column.Values[int64](&cols[1])[0] != int64(n) || cols[2].Str(0) != ss[0] || cols[3].Str(0) != ss[0] {
					t.Errorf("goroutine %d saw another's rows", g)
					return
				}
			}
		})
	}
	wg.Go(func() { // definitions change meanwhile
		for range 50 {
			if err := x.DefineRelation("other", []column.Field{field("z", column.Date)}); err != nil {
				t.Error(err)
			}
			if err := x.Drop("other"); err != nil {
				t.Error(err)
			}
		}
	})
	wg.Wait()
}

// A snapshot of another shape than was defined is an error and not a wild read.
func TestScanRefusesWrongChunks(t *testing.T) {
	x := openTestExec(t)
	define(t, x, "r", field("a", column.Int64), field("s", column.Varchar))
	s := column.OfStrings(column.T(column.Varchar), []string{"x"})
	short := s
	short.Data = nil
	for name, chunks := range map[string]Chunks{
		"one column":   {{Cols: []column.Column{ints(1)}, N: 1}},
		"another type": {{Cols: []column.Column{s, s}, N: 1}},
		"fewer rows":   {{Cols: []column.Column{ints(1), s}, N: 2}},
		"short text":   {{Cols: []column.Column{ints(1), short}, N: 1}},
		"short bitmap": {{Cols: []column.Column{ints(1), s}, N: 1, Live: []byte{}}},
	} {
		if _, err := x.Query(context.Background(), "SELECT * FROM r", nil, tables{"r": chunks}); err == nil || !strings.Contains(err.Error(), "relation r") {
			t.Errorf("%s: %v", name, err)
		}
	}
	gone := errors.New("the snapshot is gone")
	_, err := x.Query(context.Background(), "SELECT * FROM r", nil, failing{gone})
	if !errors.Is(err, gone) {
		t.Errorf("a snapshot's own error came back as %v", err)
	}
	if _, err = x.Query(context.Background(), "SELECT * FROM r", nil, nil); err == nil {
		t.Error("a relation was read without a snapshot")
	}
}

type failing struct{ err error }

func (f failing) Relation(string) (Chunks, error) { return nil, f.err }

// A result that is closed halfway, and one that is read to the end, leave the connection usable.
func TestRowsClosedEarly(t *testing.T) {
	x := openTestExec(t)
	define(t, x, "r", field("a", column.Int64))
	vals := make([]int64, 2_000_000)
	snap := tables{"r": {{Cols: []column.Column{ints(vals...)}, N: len(vals)}}}
	for range 10 {
		r, err := x.Query(context.Background(), "SELECT a + 1 FROM r", nil, snap)
		if err != nil {
			t.Fatal(err)
		}
		if _, n, err := r.NextColumns(); err != nil || n == 0 {
			t.Fatal(n, err)
		}
		r.Close()
		r.Close()
		if _, _, err := r.NextColumns(); err != io.EOF {
			t.Fatalf("a closed result gives %v", err)
		}
	}
	if len(x.idle) != 1 {
		t.Fatalf("%d idle connections, want 1", len(x.idle))
	}
}
