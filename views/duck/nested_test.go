package duck

import (
	"testing"

	"tidemill/state/column"
	"tidemill/state/column/columntest"
)

// TestScanEveryType: what the table function gives DuckDB comes back as it was, bit for bit, for every type,
// with dead rows and over chunks.
func TestScanEveryType(t *testing.T) {
	r := columntest.Rand(t)
	types := columntest.Types()
	for range 25 {
		types = append(types, columntest.RandomType(r, 3))
	}
	x, err := OpenExec(Options{Threads: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	for _, typ := range types {
		if err := x.DefineRelation("r", []column.Field{{Name: "v", Type: typ}}); err != nil {
			t.Fatal(err)
		}
		var chunks Chunks
		want := column.NewBuilder(typ, 0)
		for range 2 {
			n := 1 + r.IntN(3000)
			c := columntest.Random(r, typ, n)
			ch := Chunk{Cols: []column.Column{c}, N: n}
			if r.IntN(2) == 0 {
				ch.Live = column.NewBitmap(n, true)
			}
			for i := range n {
				if ch.Live != nil && r.IntN(3) == 0 {
					column.ClearBit(ch.Live, i)
				} else {
					want.AppendFrom(&c, i)
				}
			}
			chunks = append(chunks, ch)
		}
		expect := want.Finish()
		cols, _ := read(t, x, "SELECT v FROM r", tables{"r": chunks})
		if d := columntest.Diff(&cols[0], &expect); d != "" {
			t.Fatalf("%v: %s", typ, d)
		}
		cols, n := read(t, x, "SELECT v FROM r WHERE v IS NOT NULL AND v IS NULL", tables{"r": chunks})
		if n != 0 || cols[0].Type != typ {
			t.Fatalf("%v comes back as %d of %v", typ, n, cols[0].Type)
		}
	}
}
