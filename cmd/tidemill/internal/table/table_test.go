package table

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// people is a batch with everything that makes a table crooked.
func people(t *testing.T) arrow.RecordBatch {
	t.Helper()
	schema := arrow.NewSchema([]arrow.Field{
		{Name: "name", Type: arrow.BinaryTypes.String, Nullable: true},
		{Name: "n", Type: arrow.PrimitiveTypes.Int64, Nullable: true},
		{Name: "note", Type: arrow.BinaryTypes.String, Nullable: true},
	}, nil)
	mem := memory.NewCheckedAllocator(memory.DefaultAllocator)
	b := array.NewRecordBuilder(mem, schema)
	b.Field(0).(*array.StringBuilder).AppendValues([]string{"ann", "東京", "👩‍👩‍👧 né", ""}, nil)
	b.Field(1).(*array.Int64Builder).AppendValues([]int64{1, 22222, -3, 0}, []bool{true, true, true, false})
	b.Field(2).(*array.StringBuilder).AppendValues([]string{"two\nlines", "\x1b[31mred", strings.Repeat("long ", 20), "x"}, []bool{true, true, true, false})
	rec := b.NewRecordBatch()
	b.Release()
	t.Cleanup(func() {
		rec.Release()
		mem.AssertSize(t, 0)
	})
	return rec
}

func show(t *testing.T, rec arrow.RecordBatch, o Options) string {
	t.Helper()
	o.Null = "NULL"
	var b strings.Builder
	p := New(&b, rec.Schema(), o)
	if err := p.Add(rec); err != nil {
		t.Fatal(err)
	}
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestTable(t *testing.T) {
	for _, c := range []struct {
		name string
		o    Options
		want string
	}{
		{"box", Options{Width: 40, Unicode: true}, `
┌───────┬───────┬──────────────────────┐
│ name  │     n │ note                 │
├───────┼───────┼──────────────────────┤
│ ann   │     1 │ two\nlines           │
│ 東京  │ 22222 │ \x1b[31mred          │
│ 👩‍👩‍👧 né │    -3 │ long long long long… │
│       │  NULL │ NULL                 │
└───────┴───────┴──────────────────────┘
4 rows
`},
		{"cut", Options{Width: 22, Unicode: true, MaxRows: 2}, `
┌──────┬───┬─────────┐
│ name │ … │ note    │
├──────┼───┼─────────┤
│ ann  │ … │ two\nl… │
│ 東京 │ … │ \x1b[3… │
└──────┴───┴─────────┘
4 rows (2 shown, 2 of 3 columns shown)
`},
		{"plain", Options{MaxRows: 2}, `
 name |     n | note
------+-------+-------------
 ann  |     1 | two\nlines
 東京 | 22222 | \x1b[31mred
4 rows (2 shown)
`},
		{"records", Options{Width: 30, Unicode: true, Expanded: true, MaxRows: 3}, `
─[ record 1 ]───────────
name │ ann
n    │ 1
note │ two\nlines
─[ record 2 ]───────────
name │ 東京
n    │ 22222
note │ \x1b[31mred
─[ record 3 ]───────────
name │ 👩‍👩‍👧 né
n    │ -3
note │ long long long long lo…
4 rows (3 shown)
`},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := "\n" + show(t, people(t), c.o); got != c.want {
				t.Errorf("got:%s\nwant:%s", got, c.want)
			}
		})
	}
}

// TestWidths: whatever the columns and the terminal, every line has the same width and fits.
func TestWidths(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 0))
	letters := []string{"a", "é", "京", "👍", "x", "\t"}
	for range 300 {
		cols := 1 + r.IntN(12)
		names, numeric := make([]string, cols), make([]bool, cols)
		text := func() string {
			var b strings.Builder
			for range r.IntN(30) {
				b.WriteString(letters[r.IntN(len(letters))])
			}
			return b.String()
		}
		for i := range cols {
			names[i], numeric[i] = Clean(text()), r.IntN(2) == 0
		}
		rows := make([][]string, r.IntN(5))
		for i := range rows {
			for range cols {
				rows[i] = append(rows[i], text())
			}
		}
		width := 20 + r.IntN(100)
		var b strings.Builder
		if err := Strings(&b, names, numeric, rows, Options{Width: width, Unicode: true}); err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(strings.TrimSuffix(b.String(), "\n"), "\n")
		for _, line := range lines[:len(lines)-1] {
			if w := Width(line); w > width || w != Width(lines[0]) {
				t.Fatalf("a line is %d wide, the first %d, the terminal %d:\n%s", w, Width(lines[0]), width, b.String())
			}
		}
	}
}

// TestLeftOut: columns in the middle go when the terminal has no room for all.
func TestLeftOut(t *testing.T) {
	var names, row []string
	for i := range 10 {
		names, row = append(names, fmt.Sprintf("column%d", i)), append(row, "value")
	}
	var b strings.Builder
	if err := Strings(&b, names, make([]bool, 10), [][]string{row}, Options{Width: 40, Unicode: true}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"│ column1 │", "│ … │", "1 row (3 of 10 columns shown)"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("%q is not in\n%s", want, b.String())
		}
	}
}

// TestStreaming: rows after the sample come as they are, in the columns that the sample made.
func TestStreaming(t *testing.T) {
	schema := arrow.NewSchema([]arrow.Field{{Name: "i", Type: arrow.PrimitiveTypes.Int64}}, nil)
	b := array.NewRecordBuilder(memory.DefaultAllocator, schema)
	defer b.Release()
	for i := range 3 * sample {
		b.Field(0).(*array.Int64Builder).Append(int64(i))
	}
	rec := b.NewRecordBatch()
	defer rec.Release()
	got := show(t, rec, Options{Width: 80})
	if n := strings.Count(got, "\n"); n != 3*sample+3 || !strings.HasSuffix(got, " 2999\n3,000 rows\n") {
		t.Errorf("%d lines, ending %q", n, got[len(got)-40:])
	}
}

func TestNested(t *testing.T) {
	list := array.NewListBuilder(memory.DefaultAllocator, arrow.BinaryTypes.String)
	defer list.Release()
	list.Append(true)
	for _, s := range []string{"a", "b, c", "", "null"} {
		list.ValueBuilder().(*array.StringBuilder).Append(s)
	}
	list.ValueBuilder().AppendNull()
	a := list.NewArray()
	defer a.Release()
	if got := string(ValueOf(a, arrow.Metadata{})(nil, 0)); got != `[a, 'b, c', '', 'null', NULL]` {
		t.Errorf("list is %s", got)
	}
	st := array.NewStructBuilder(memory.DefaultAllocator, arrow.StructOf(arrow.Field{Name: "x", Type: arrow.PrimitiveTypes.Int32}))
	defer st.Release()
	st.Append(true)
	st.FieldBuilder(0).(*array.Int32Builder).Append(7)
	s := st.NewArray()
	defer s.Release()
	if got := string(ValueOf(s, arrow.Metadata{})(nil, 0)); got != `{'x': 7}` {
		t.Errorf("struct is %s", got)
	}
}

func TestNumbers(t *testing.T) {
	for _, c := range [][2]string{
		{Group(0), "0"}, {Group(999), "999"}, {Group(-1234567), "-1,234,567"}, {Group(-100), "-100"}, {Bytes(0), ""}, {Bytes(1536), "1.5 KiB"},
		{Bytes(3 << 30), "3.00 GiB"}, {Rate(3.25), "3.2"}, {Rate(812_345), "812k"}, {Rate(1_520_000), "1.52M"},
		{Cut("東京都", 4), "東…"}, {Cut("abc", 3), "abc"}, {Cut("abc", 0), ""}, {Clean("a\u202eb"), `a\u202eb`},
	} {
		if c[0] != c[1] {
			t.Errorf("got %q instead of %q", c[0], c[1])
		}
	}
}
