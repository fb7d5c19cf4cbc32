package image_test

import (
	"fmt"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"tidemill/state/column"
	"tidemill/state/image"
)

// TestAlter: rows of every generation, in memory, in a file and after a reopening, have the columns of now.
func TestAlter(t *testing.T) {
	big, text := column.T(column.Int64), column.T(column.Varchar)
	ints := func(vals ...int64) column.Column { return column.Of(big, vals, nil) }
	fs := vfs.NewMem()
	if err := fs.MkdirAll("d", 0o755); err != nil {
		t.Fatal(err)
	}
	rows := image.NewRows([]column.Type{big, text})
	keys := map[string][]byte{}
	var changes []image.Change
	types := []column.Type{big, text}
	saves := 0
	save := func() {
		s := rows.Plan()
		if s == nil {
			return
		}
		saves++
		entries, err := s.Write(fs, "d", fmt.Sprint("f", saves))
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			if e.Value == nil {
				delete(keys, string(e.Key))
			} else {
				keys[string(e.Key)] = append([]byte(nil), e.Value...)
			}
		}
		rows.Installed(s)
	}
	reopen := func() {
		var entries []image.Entry
		for k, v := range keys {
			entries = append(entries, image.Entry{Key: []byte(k), Value: v})
		}
		var err error
		if rows, err = image.OpenRows(fs, "d", types, entries, changes...); err != nil {
			t.Fatal(err)
		}
	}
	alter := func(c image.Change) {
		rows.Alter(c)
		changes = append(changes, c)
		if c.Drop {
			types = append(append([]column.Type{}, types[:c.At]...), types[c.At+1:]...)
		} else {
			types = append(append([]column.Type{}, types...), c.Type)
		}
	}
	check := func(want string) {
		t.Helper()
		got := ""
		for _, c := range rows.Snapshot().Chunks {
			cols, err := c.Columns()
			if err != nil {
				t.Fatal(err)
			}
			for i := range c.N {
				if c.Live != nil && !column.Bit(c.Live, i) {
					continue
				}
				for k := range cols {
					got += string(column.AppendJSON(nil, &cols[k], i)) + " "
				}
				got += "| "
			}
		}
		if got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
	rows.Append([]column.Column{ints(1, 2), column.OfStrings(text, []string{"a", "b"})}, 2)
	save()
	rows.Append([]column.Column{ints(3), column.OfStrings(text, []string{"c"})}, 1)
	seven := ints(7)
	alter(image.Change{At: 2, Type: big, Raw: seven.Raw(0)})
	check(`1 "a" 7 | 2 "b" 7 | 3 "c" 7 | `)
	reopen()
	check(`1 "a" 7 | 2 "b" 7 | `)
	rows.Append([]column.Column{ints(3), column.OfStrings(text, []string{"c"}), ints(8)}, 1)
	alter(image.Change{Drop: true, At: 0, Type: big})
	alter(image.Change{At: 2, Type: text, Null: true})
	want := `"a" 7 null | "b" 7 null | "c" 8 null | `
	check(want)
	save()
	check(want)
	reopen()
	check(want)
	if _, err := rows.Kill(1); err != nil {
		t.Fatal(err)
	}
	alter(image.Change{Drop: true, At: 1, Type: big})
	save()
	reopen()
	check(`"b" null | "c" null | `)
	if got, err := rows.Gather([]uint64{2, 3}); err != nil || len(got) != 2 || got[0].Str(1) != "c" {
		t.Errorf("gathered %v %v", got, err)
	}
}
