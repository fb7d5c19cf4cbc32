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
