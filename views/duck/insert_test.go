package duck

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"tidemill/state/column"
)

var target = InsertTarget{
	Name: "orders",
	Fields: []column.Field{{Name: "id", Type: column.T(column.Int64), NotNull: true}, field("note", column.Varchar),
		{Name: "price", Type: column.DecimalOf(9, 2)}},
	Defaults: []string{"", "'none'", "1 + 1"},
}

func TestInsertRows(t *testing.T) {
	x := openTestExec(t)
	define(t, x, target.Name, target.Fields...)
	define(t, x, "src", field("a", column.Int64))
	have := Chunks{{Cols: []column.Column{ints(7), column.OfStrings(column.T(column.Varchar), []string{"seven"}), column.Nulls(column.DecimalOf(9, 2), 1)}, N: 1}}
	snap := tables{"orders": have, "src": {{Cols: []column.Column{ints(1, 2, 3)}, N: 3}}}
	for _, c := range []struct {
		tail   string
		params []any
		want   string
	}{
		{"VALUES (1, 'a', 2.5), (2, NULL, NULL)", nil, "1|a|250 2|NULL|NULL "},
		{"(price, id) VALUES ('1.5', 3);", nil, "3|none|150 "},
		{"(id) SELECT a * 10 FROM src WHERE a > 1 ORDER BY a -- the end", nil, "20|none|200 30|none|200 "},
		{"SELECT id + 1, note, 1 FROM orders", nil, "8|seven|100 "},
		{"BY NAME SELECT 5 AS id, 'x' AS note", nil, "5|x|200 "},
		{"VALUES (?, ?, DEFAULT)", []any{int64(9), "nine"}, "9|nine|200 "},
		{"SELECT * FROM orders WHERE false", nil, ""},
	} {
		cols, n, err := x.InsertRows(context.Background(), target, c.tail, c.params, snap)
		if err != nil {
			t.Errorf("%s: %v", c.tail, err)
			continue
		}
		var got strings.Builder
		for i := range n {
			fmt.Fprintf(&got, "%d|", column.Values[int64](&cols[0])[i])
			if note := &cols[1]; note.IsNull(i) {
				got.WriteString("NULL|")
			} else {
				got.WriteString(note.Str(i) + "|")
			}
			if price := &cols[2]; price.IsNull(i) {
				got.WriteString("NULL ")
			} else {
				fmt.Fprintf(&got, "%d ", column.Values[column.Int128](price)[i].Lo)
			}
		}
		if got.String() != c.want {
			t.Errorf("%s: %s, want %s", c.tail, got.String(), c.want)
		}
	}
}

func TestInsertRowsErrors(t *testing.T) {
	x := openTestExec(t)
	for _, c := range []struct{ tail, state, at string }{
		{"VALUES (NULL, 'a', 1)", "23502", ""},
		{"(note) VALUES ('a')", "23502", ""},
		{"VALUES (1, 'a', 99999999999)", "22003", ""},
		{"VALUES (1)", "42601", ""},
		{"VALUES ('x', 'a', 1)", "22P02", "'x'"},
		{"(nope) VALUES (1)", "42703", ""},
		{"SELECT * FROM nope", "42P01", "nope"},
		{"SELEC 1", "42601", "SELEC"},
		{"VALUES (1, 'a', 1); DROP TABLE x", "42601", ""},
		{"VALUES (1, 'a', 1) RETURNING id", "0A000", "RETURNING"},
		{"SELECT 1, 'a', count(*) FROM checkpoint()", "42501", "checkpoint"},
	} {
		_, _, err := x.InsertRows(context.Background(), target, c.tail, nil, tables{})
		e := wantSQLError(t, err, c.state)
		if c.at != "" && (e.Position < 0 || !strings.HasPrefix(c.tail[e.Position:], c.at)) {
			t.Errorf("%s: position %d of %v", c.tail, e.Position, e)
		}
	}
	if _, _, err := x.InsertRows(context.Background(), target, "VALUES (1, 'a', 1)", nil, nil); err != nil {
		t.Error("after errors:", err)
	}
}

// Inserts at once, into tables whose shapes change, do not see each other.
func TestInsertRowsConcurrently(t *testing.T) {
	x := openTestExec(t)
	var wg sync.WaitGroup
	for g := range 4 {
		wg.Go(func() {
			to := InsertTarget{Name: fmt.Sprintf("t%d", g%3), Fields: target.Fields}
			for i := range 20 {
				cols, n, err := x.InsertRows(context.Background(), to, fmt.Sprintf("SELECT range, 'x', %d FROM range(%d)", g, i+1), nil, nil)
				if err != nil || n != i+1 || column.Values[column.Int128](&cols[2])[0].Lo != uint64(g*100) {
					t.Errorf("goroutine %d: %d rows, %v", g, n, err)
					return
				}
			}
		})
	}
	wg.Wait()
}

// Arrow batches carry the same values as columns, and types that columns have not.
func TestNextArrow(t *testing.T) {
	x := openTestExec(t)
	rng := rand.New(rand.NewPCG(5, 5))
	fields := allTypes()
	define(t, x, "r", fields...)
	snap := tables{"r": randomChunks(rng, fields, []int{3000})}
	r, err := x.Query(context.Background(), "SELECT * FROM r", nil, snap)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	schema, err := r.Schema()
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range map[int]string{0: "bool", 9: "decimal", 20: "timestamp[us, tz=UTC]", 21: "month_day_nano_interval", 22: "utf8"} {
		if got := schema.Field(i).Type.String(); !strings.HasPrefix(got, want) {
			t.Errorf("%s is %s in Arrow, want %s", fields[i].Type, got, want)
		}
	}
	at := 0
	for {
		b, err := r.NextArrow()
		if err != nil {
			break
		}
		for i := range int(b.NumRows()) {
			for k := range fields {
				checkArrowValue(t, &snap["r"][0].Cols[k], at+i, b.Column(k), i)
			}
		}
		at += int(b.NumRows())
		b.Release()
	}
	if at != 3000 {
		t.Fatalf("%d rows", at)
	}
	nested, err := x.Query(context.Background(), "SELECT [1, 2] AS l, {'a': 1} AS s, MAP {1: 'x'} AS m", nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer nested.Close()
	if f := nested.Fields(); f[0].SQLType != "INTEGER[]" || f[1].SQLType != "STRUCT(a INTEGER)" || f[2].SQLType != "MAP(INTEGER, VARCHAR)" || !f[0].Type.Valid() {
		t.Errorf("%+v", f)
	}
	b, err := nested.NextArrow()
	if err != nil {
		t.Fatal(err)
	}
	defer b.Release()
	if got := b.Column(0).ValueStr(0); got != "[1,2]" {
		t.Error(got)
	}
}

func checkArrowValue(t *testing.T, want *column.Column, row int, got arrow.Array, i int) {
	t.Helper()
	if want.IsNull(row) != got.IsNull(i) {
		t.Fatalf("%s row %d: NULL is %v in Arrow", want.Type, row, got.IsNull(i))
	}
	if want.IsNull(row) {
		return
	}
	ok := true
	switch a := got.(type) {
	case *array.Int64:
		ok = a.Value(i) == column.Values[int64](want)[row]
	case *array.String:
		if want.Type.Kind == column.Varchar {
			ok = a.Value(i) == want.Str(row)
		} else {
			raw := want.Raw(row)
			ok = a.Value(i) == fmt.Sprintf("%x-%x-%x-%x-%x", raw[:4], raw[4:6], raw[6:8], raw[8:10], raw[10:])
		}
	case *array.Decimal128:
		v := column.Values[column.Int128](want)[row]
		ok = a.Value(i).HighBits() == v.Hi && a.Value(i).LowBits() == v.Lo
	case *array.Timestamp:
		ok = int64(a.Value(i)) == column.Values[int64](want)[row]
	case *array.Boolean:
		ok = a.Value(i) == (want.Data[row] != 0)
	case *array.MonthDayNanoInterval:
		v := column.Values[column.IntervalValue](want)[row]
		ok = a.Value(i).Months == v.Months && a.Value(i).Days == v.Days && a.Value(i).Nanoseconds == v.Micros*1000
	}
	if !ok {
		t.Fatalf("%s row %d is %s in Arrow", want.Type, row, got.ValueStr(i))
	}
}
