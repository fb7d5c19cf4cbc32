package logrec

import (
	"bytes"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"tidemill/state/column"
)

func sample(rows int) *Record {
	ids := make([]int64, rows)
	names := make([]string, rows)
	for i := range ids {
		ids[i], names[i] = int64(i), strings.Repeat("x", i%5)
	}
	return &Record{Micros: 17, Entries: []Entry{
		{Kind: Append, Relation: 1, Version: 2, Producer: "p", Seq: 9, Hash: 77, Rows: rows,
			Cols: []column.Column{column.Of(column.T(column.Int64), ids, nil), column.OfStrings(column.T(column.Varchar), names)}},
		{Kind: Append, Relation: 3, Rows: 3, Deleted: []byte{5}, Cols: []column.Column{column.Of(column.T(column.Int64), []int64{1, 2, 3}, nil)}},
		{Kind: Delete, Relation: 1, RowIDs: []uint64{1, 99}},
		{Kind: Define, Relation: 4, Payload: []byte(`{"a":1}`)},
		{Kind: Truncate, Relation: 5, Version: 3},
	}}
}

func TestRoundTrip(t *testing.T) {
	for _, rows := range []int{0, 1, 7, 5000} {
		r := sample(rows)
		got, err := Decode(bytes.Join(r.Parts(), nil))
		if err != nil {
			t.Fatal(err)
		}
		if got.Micros != r.Micros || len(got.Entries) != len(r.Entries) {
			t.Fatalf("got %+v", got)
		}
		for i := range r.Entries {
			a, b := r.Entries[i], got.Entries[i]
			if !bytes.Equal(column.EncodeColumns(a.Cols), column.EncodeColumns(b.Cols)) {
				t.Errorf("entry %d: other columns", i)
			}
			a.Cols, b.Cols = nil, nil
			if !reflect.DeepEqual(a, b) {
				t.Errorf("entry %d: %+v, want %+v", i, b, a)
			}
		}
	}
}

// FuzzDecode: no panic; what decodes encodes again to a record that decodes.
func FuzzDecode(f *testing.F) {
	f.Add(bytes.Join(sample(3).Parts(), nil))
	f.Add(bytes.Join(sample(0).Parts(), nil))
	f.Fuzz(func(t *testing.T, b []byte) {
		r, err := Decode(b)
		if err != nil {
			return
		}
		if _, err := Decode(bytes.Join(r.Parts(), nil)); err != nil {
			t.Fatalf("decoded record does not survive: %v", err)
		}
	})
}

func TestEveryCut(t *testing.T) {
	b := bytes.Join(sample(9).Parts(), nil)
	for i := range b {
		if _, err := Decode(b[:i]); err == nil {
			t.Fatalf("a record cut to %d of %d bytes decodes", i, len(b))
		}
	}
	rng := rand.New(rand.NewPCG(1, 1))
	for range 20_000 {
		c := bytes.Clone(b)
		c[rng.IntN(len(c))] ^= 1 << rng.IntN(8)
		Decode(c) // must not panic
	}
}
