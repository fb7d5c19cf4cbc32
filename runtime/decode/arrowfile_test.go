package decode

import (
	"bytes"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"

	"tidemill/state/column"
)

// TestArrowFile: a file gives the rows of the stream in it, and one that is cut or bent is refused.
func TestArrowFile(t *testing.T) {
	i64, str := arrow.PrimitiveTypes.Int64, arrow.BinaryTypes.String
	word := dictOf(arrow.PrimitiveTypes.Int8, str)
	words := arr(t, word, "a", "b")
	schema := arrow.NewSchema([]arrow.Field{field("id", i64), field("w", word)}, nil)
	file, err := writeFile(schema, [][]arrow.Array{{arr(t, i64, "1", "2"), words}, {arr(t, i64, "3"), array.NewSlice(words, 0, 1)}})
	if err != nil {
		t.Fatal(err)
	}
	table := []column.Field{{Name: "id", Type: column.T(column.Int64)}, {Name: "w", Type: column.T(column.Varchar)}}
	r, err := DecodeArrowStream(file, table, Options{})
	if err != nil || rowsOf(r) != "1|a;2|b;3|a" {
		t.Fatalf("%v %v", err, r)
	}
	checkRows(t, r)
	for n := range len(file) {
		if _, err := DecodeArrowStream(bytes.Clone(file[:n]), table, Options{}); err == nil {
			t.Fatalf("a file of %d bytes cut to %d was taken", len(file), n)
		} else if n >= 6 && !strings.Contains(err.Error(), "file") && !strings.Contains(err.Error(), "footer") {
			t.Fatalf("cut to %d: %v", n, err)
		}
		bent := bytes.Clone(file)
		bent[n] ^= 0x80
		if r, err := DecodeArrowStream(bent, table, Options{}); err == nil {
			checkRows(t, r)
		}
	}
}

func writeFile(schema *arrow.Schema, batches [][]arrow.Array) ([]byte, error) {
	var w bytes.Buffer
	f, err := ipc.NewFileWriter(&w, ipc.WithSchema(schema), ipc.WithDictionaryDeltas(true))
	if err != nil {
		return nil, err
	}
	for _, cols := range batches {
		if err := f.Write(array.NewRecordBatch(schema, cols, int64(cols[0].Len()))); err != nil {
			return nil, err
		}
	}
	err = f.Close()
	return w.Bytes(), err
}

// TestArrowBadRows: bad values of every kind take their rows out, and no others.
func TestArrowBadRows(t *testing.T) {
	i64, str := arrow.PrimitiveTypes.Int64, arrow.BinaryTypes.String
	table := []column.Field{{Name: "id", Type: column.T(column.Int64), NotNull: true}, {Name: "s", Type: column.T(column.Varchar)},
		{Name: "d", Type: column.DecimalOf(4, 2)}, {Name: "w", Type: column.T(column.Varchar), NotNull: true}}
	word := dictOf(arrow.PrimitiveTypes.Int8, str)
	fields := []arrow.Field{field("id", i64), field("s", str), field("d", i64), field("w", word)}
	batch := func() []arrow.Array {
		return []arrow.Array{arr(t, i64, "1", "2", "NULL", "4", "5", "6"), arr(t, str, "a", "\xff", "c", "d", "\xfe", "f"),
			arr(t, i64, "1", "2", "3", "100", "100", "6"), arr(t, word, "x", "y", "x", "y", "x", "NULL")}
	}
	d := NewArrow(table, Options{})
	d.Reading.OnError = OnErrorRow
	r, err := d.Decode(writeStream(t, fields, [][]arrow.Array{batch(), batch()}))
	if err != nil {
		t.Fatal(err)
	}
	checkRows(t, r)
	if rowsOf(r) != "1|a|1.00|x;1|a|1.00|x" || len(r.Bad) != 10 {
		t.Fatalf("%s, bad: %v", rowsOf(r), r.Bad)
	}
	for i, want := range []string{"2 s \\xff UTF-8 {\"id\":2,\"s\":null,\"d\":2.00,\"w\":\"y\"}", "3 id null NOT NULL", "4 d 100 no exact DECIMAL", "5 s \\xfe UTF-8", "6 w null NOT NULL"} {
		for k, bad := range []BadRow{r.Bad[i], r.Bad[i+5]} {
			words := strings.SplitN(want, " ", 4)
			if bad.Row != int(words[0][0]-'0')+6*k || bad.Column != words[1] || bad.Offset != -1 {
				t.Errorf("bad row %d: %+v, want %s", i, bad, want)
			}
			if i == 0 && string(bad.Raw) != "{\"id\":2,\"s\":null,\"d\":2.00,\"w\":\"y\"}" {
				t.Errorf("raw: %s", bad.Raw)
			}
		}
	}
}
