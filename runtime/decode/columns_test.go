package decode

import (
	"errors"
	"math/rand/v2"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"

	"tidemill/state/column"
	"tidemill/state/column/columntest"
)

// manyTypes is every type and some random ones.
func manyTypes(r *rand.Rand) []column.Type {
	types := columntest.Types()
	for range 20 {
		types = append(types, columntest.RandomType(r, 3))
	}
	return types
}

// TestArrowOfColumns: what column.ToArrow writes comes back as it was, for every type.
func TestArrowOfColumns(t *testing.T) {
	r := columntest.Rand(t)
	for _, typ := range manyTypes(r) {
		table := []column.Field{{Name: "v", Type: typ}}
		d := NewArrow(table, Options{})
		for _, n := range []int{0, 1, 8, 50} {
			c := columntest.Random(r, typ, n)
			a, err := column.ToArrow(&c)
			if errors.Is(err, column.ErrNotLossless) {
				continue // Arrow has no such value
			} else if err != nil {
				t.Fatal(err)
			}
			rows, err := d.Decode(writeStream(t, []arrow.Field{column.ArrowField(table[0])}, [][]arrow.Array{{a}}))
			if err != nil {
				t.Fatalf("%s, %d rows: %v", typ, n, err)
			}
			checkRows(t, rows)
			if diff := columntest.Diff(&c, &rows.Cols[0]); diff != "" {
				t.Fatalf("%s, %d rows: %s", typ, n, diff)
			}
		}
	}
}

// TestNDJSONOfColumns: what column.AppendJSON writes comes back as it was, for every type.
func TestNDJSONOfColumns(t *testing.T) {
	r := columntest.Rand(t)
	for _, typ := range manyTypes(r) {
		d := NewNDJSON([]column.Field{{Name: "v", Type: typ}}, Options{})
		for _, n := range []int{1, 8, 50} {
			c := columntest.Random(r, typ, n)
			var body []byte
			for i := range n {
				body = append(column.AppendJSON(append(body, `{"v":`...), &c, i), "}\n"...)
			}
			rows, err := d.Decode(body)
			if err != nil {
				t.Fatalf("%s: %v", typ, err)
			}
			checkRows(t, rows)
			for i := range n {
				a, b := oneNaN(show(&c, i)), show(&rows.Cols[0], i)
				if a != b { // JSON has one NaN
					t.Fatalf("%s, row %d: %s became %s", typ, i, a, b)
				}
			}
		}
	}
}
