package httpd

import (
	"fmt"
	"io"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"

	"tidemill/runtime"
	"tidemill/state/column"
)

// arrowRows writes rows as an Arrow IPC stream: the schema comes with the first batch, or with the end.
type arrowRows struct {
	rows   arrowSource       // or
	table  arrow.RecordBatch // a table that is all there, given once and released by next
	writer *ipc.Writer
	out    appender
}

// appender collects what the IPC writer makes.
type appender struct{ b []byte }

func (a *appender) Write(p []byte) (int, error) {
	a.b = append(a.b, p...)
	return len(p), nil
}

func newArrowRows(a *runtime.Answer) (*arrowRows, error) {
	r := &arrowRows{}
	var schema *arrow.Schema
	var err error
	if a.Rows != nil {
		r.rows = a.Rows
		schema, err = r.rows.Schema()
	} else if r.table, err = recordOf(a.Fields, a.Cols, a.N); err == nil {
		schema = r.table.Schema()
	}
	if err != nil {
		return nil, err
	}
	r.writer = ipc.NewWriter(&r.out, ipc.WithSchema(schema))
	return r, nil
}

// recordOf makes a record batch of columns; it shares their memory.
func recordOf(fields []column.Field, cols []column.Column, n int) (arrow.RecordBatch, error) {
	fs, arrays := make([]arrow.Field, len(fields)), make([]arrow.Array, len(fields))
	for i, f := range fields {
		var err error
		if arrays[i], err = column.ToArrow(&cols[i]); err != nil {
			return nil, fmt.Errorf("column %s: %w", f.Name, err)
		}
		fs[i] = column.ArrowField(f)
	}
	return array.NewRecordBatch(arrow.NewSchema(fs, nil), arrays, int64(n)), nil
}

func (r *arrowRows) next(dst []byte) ([]byte, error) {
	var rec arrow.RecordBatch
	var err error
	if r.rows != nil {
		rec, err = r.rows.NextArrow()
	} else if rec, r.table = r.table, nil; rec == nil {
		err = io.EOF
	}
	if err != nil {
		return dst, err
	}
	defer rec.Release()
	r.out.b = dst
	if err := r.writer.Write(rec); err != nil {
		return r.out.b, fmt.Errorf("write arrow batch: %w", err)
	}
	return r.out.b, nil
}

func (r *arrowRows) close() {
	if r.table != nil {
		r.table.Release()
	}
}

func (r *arrowRows) end(dst []byte) ([]byte, error) {
	r.out.b = dst
	err := r.writer.Close()
	return r.out.b, err
}
