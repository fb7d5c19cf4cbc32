package bench

import (
	"bytes"
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// column is one column of an Arrow body.
type column struct {
	name   string
	values arrow.Array
}

// arrowBody encodes columns of equal length as an Arrow IPC stream of one batch.
func arrowBody(columns ...column) ([]byte, error) {
	fields, values := make([]arrow.Field, len(columns)), make([]arrow.Array, len(columns))
	for i, c := range columns {
		fields[i], values[i] = arrow.Field{Name: c.name, Type: c.values.DataType(), Nullable: true}, c.values
	}
	schema := arrow.NewSchema(fields, nil)
	rec := array.NewRecordBatch(schema, values, int64(values[0].Len()))
	defer rec.Release()
	var buf bytes.Buffer
	w := ipc.NewWriter(&buf, ipc.WithSchema(schema))
	if err := w.Write(rec); err != nil {
		return nil, fmt.Errorf("encode body: %w", err)
	}
	if err := w.Close(); err != nil {
		return nil, fmt.Errorf("encode body: %w", err)
	}
	return buf.Bytes(), nil
}

func integers(name string, n int, value func(int) int64) column {
	b := array.NewInt64Builder(memory.DefaultAllocator)
	b.Reserve(n)
	for i := range n {
		b.UnsafeAppend(value(i))
	}
	return column{name, b.NewArray()}
}

func texts(name string, n int, value func(int) string) column {
	b := array.NewStringBuilder(memory.DefaultAllocator)
	for i := range n {
		b.Append(value(i))
	}
	return column{name, b.NewArray()}
}

// idBodies encodes the ids from 0 to rows as bodies of one column, dealt to the producers in turn.
func (r *runner) idBodies() ([][][]byte, error) {
	bodies := make([][][]byte, r.Producers)
	for lo, k := 0, 0; lo < r.Rows; lo, k = lo+r.Batch, k+1 {
		body, err := arrowBody(integers("id", min(r.Batch, r.Rows-lo), func(i int) int64 { return int64(lo + i) }))
		if err != nil {
			return nil, err
		}
		bodies[k%r.Producers] = append(bodies[k%r.Producers], body)
	}
	return bodies, nil
}
