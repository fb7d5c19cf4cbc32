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

// arrowSource is an answer's rows as Arrow batches, which the caller releases; the error is io.EOF after the last.
type arrowSource interface {
	Schema() (*arrow.Schema, error)
	NextArrow() (arrow.RecordBatch, error)
}

// tableArrow gives a table that is all there, once.
type tableArrow struct {
	schema *arrow.Schema
	rec    arrow.RecordBatch // nil when it has been given
}

// Schema implements arrowSource.
func (t *tableArrow) Schema() (*arrow.Schema, error) { return t.schema, nil }

// NextArrow implements arrowSource.
func (t *tableArrow) NextArrow() (arrow.RecordBatch, error) {
	rec := t.rec
	if t.rec = nil; rec == nil {
		return nil, io.EOF
	}
	return rec, nil
}

// arrowSourceOf returns the answer's rows as Arrow batches.
func arrowSourceOf(a *runtime.Answer) (arrowSource, error) {
	if a.Rows != nil {
		for _, f := range a.Rows.Fields() {
			if !exactType(f.SQLType) {
				return newColumnArrow(a.Rows), nil
			}
		}
		return a.Rows, nil
	}
	rec, err := recordOf(a.Fields, a.Cols, a.N)
	if err != nil {
		return nil, err
	}
	t := &tableArrow{schema: rec.Schema(), rec: rec}
	if a.N == 0 {
		t.rec = nil
	}
	return t, nil
}

// columnArrow makes Arrow batches of columns, for types of which DuckDB's own Arrow loses something.
type columnArrow struct {
	rows   *runtime.Rows
	fields []column.Field
	schema *arrow.Schema
}

func newColumnArrow(rows *runtime.Rows) *columnArrow {
	c := &columnArrow{rows: rows}
	var fs []arrow.Field
	for _, f := range rows.Fields() {
		c.fields = append(c.fields, column.Field{Name: f.Name, Type: f.Type})
		fs = append(fs, column.ArrowField(c.fields[len(fs)]))
	}
	c.schema = arrow.NewSchema(fs, nil)
	return c
}

// Schema implements arrowSource.
func (c *columnArrow) Schema() (*arrow.Schema, error) { return c.schema, nil }

// NextArrow implements arrowSource.
func (c *columnArrow) NextArrow() (arrow.RecordBatch, error) {
	cols, n, err := c.rows.NextColumns()
	if err != nil {
		return nil, err
	}
	return recordOf(c.fields, cols, n)
}

// recordOf makes a record batch of columns; it shares their memory, which is the collector's, so that it need not
// be released.
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

// arrowRows writes rows as an Arrow IPC stream: the schema comes with the first batch, or with the end.
type arrowRows struct {
	rows   arrowSource
	writer *ipc.Writer
	out    appender
}

// appender collects what a writer makes.
type appender struct{ b []byte }

func (a *appender) Write(p []byte) (int, error) {
	a.b = append(a.b, p...)
	return len(p), nil
}

func newArrowRows(rows arrowSource) (*arrowRows, error) {
	schema, err := rows.Schema()
	if err != nil {
		return nil, err
	}
	r := &arrowRows{rows: rows}
	r.writer = ipc.NewWriter(&r.out, ipc.WithSchema(schema))
	return r, nil
}

func (r *arrowRows) next(dst []byte) ([]byte, error) {
	rec, err := r.rows.NextArrow()
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

func (r *arrowRows) close() {}

func (r *arrowRows) end(dst []byte) ([]byte, error) {
	r.out.b = dst
	err := r.writer.Close()
	return r.out.b, err
}
