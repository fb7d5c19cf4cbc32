package httpd

import (
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/compress"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"
)

// A row group is what is held in memory of a Parquet answer: its columns go out one after the other when it is
// full. The rows are those that DuckDB's own writer takes; the bytes bound it when rows are wide.
const (
	groupRows  = 122_880
	groupBytes = 8 << 20
)

// parquetRows writes rows as a Parquet file, compressed with zstd.
type parquetRows struct {
	rows   arrowSource
	writer *pqarrow.FileWriter
	out    appender
	open   bool // a row group is
	n      int  // rows in it
}

func newParquetRows(rows arrowSource) (*parquetRows, error) {
	schema, err := rows.Schema()
	if err != nil {
		return nil, err
	}
	r := &parquetRows{rows: rows}
	props := parquet.NewWriterProperties(parquet.WithCompression(compress.Codecs.Zstd), parquet.WithCreatedBy("Tidemill"))
	for _, f := range schema.Fields() {
		if _, err := pqarrow.ToParquet(arrow.NewSchema([]arrow.Field{f}, nil), props, pqarrow.DefaultWriterProps()); err != nil {
			return nil, &Problem{Status: http.StatusBadRequest, Slug: "unsupported-type", SQLState: "0A000", Column: f.Name,
				Detail: fmt.Sprintf("column %s has no form in Parquet: %v", f.Name, err), Hint: "cast it to VARCHAR, or ask for another format"}
		}
	}
	if r.writer, err = pqarrow.NewFileWriter(schema, &r.out, props, pqarrow.DefaultWriterProps()); err != nil {
		return nil, fmt.Errorf("write parquet: %w", err)
	}
	return r, nil
}

// next collects a row group. The first rows are read before anything is given, so that their error can be told.
func (r *parquetRows) next(dst []byte) ([]byte, error) {
	for {
		rec, err := r.rows.NextArrow()
		if errors.Is(err, io.EOF) {
			return dst, err
		}
		if err == nil {
			err = r.add(rec)
			rec.Release()
		}
		if err != nil {
			return dst, err
		}
		if r.n < groupRows && r.writer.RowGroupTotalBytesWritten() < groupBytes {
			continue
		}
		// The group is written out when the next begins.
		if err := r.writer.NewBufferedRowGroupChecked(); err != nil {
			return dst, fmt.Errorf("write parquet: %w", err)
		}
		r.n = 0
		dst = append(dst, r.out.b...)
		r.out.b = r.out.b[:0]
		return dst, nil
	}
}

func (r *parquetRows) add(rec arrow.RecordBatch) error {
	if !r.open {
		if err := r.writer.NewBufferedRowGroupChecked(); err != nil {
			return fmt.Errorf("write parquet: %w", err)
		}
		r.open = true
	}
	if err := r.writer.WriteBuffered(rec); err != nil {
		return fmt.Errorf("write parquet: %w", err)
	}
	r.n += int(rec.NumRows())
	return nil
}

func (r *parquetRows) close() {}

func (r *parquetRows) end(dst []byte) ([]byte, error) {
	err := r.writer.Close()
	return append(dst, r.out.b...), err
}
