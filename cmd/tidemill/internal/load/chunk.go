package load

import (
	"bytes"
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"

	"tidemill/cmd/tidemill/internal/client"
	"tidemill/state/column"
)

// chunk is the rows of one append, encoded. It holds no Arrow memory.
type chunk struct {
	body     []byte
	mime     string
	rows     []int64 // the place in the files of each row, from 0
	end      int64   // the place after its last row, rejects included
	rejected []Reject
	share    float64
}

// Reject is a row that was left out.
type Reject struct {
	Row    int64  `json:"row"` // in the files, from 1
	Column string `json:"column,omitempty"`
	Value  string `json:"value,omitempty"`
	Reason string `json:"reason"`
}

// part returns rows i to j as a chunk that ends after them.
func (c *chunk) part(i, j int) (*chunk, error) {
	out := &chunk{mime: c.mime, rows: c.rows[i:j], share: c.share}
	if j == len(c.rows) {
		out.end = c.end
	} else {
		out.end = c.rows[j]
	}
	if c.mime == client.TypeNDJSON {
		lines := bytes.SplitAfter(c.body, []byte{'\n'})
		out.body = bytes.Join(lines[i:j], nil)
		return out, nil
	}
	r, err := ipc.NewReader(bytes.NewReader(c.body))
	if err != nil {
		return nil, fmt.Errorf("cut a batch: %w", err)
	}
	defer r.Release()
	var buf bytes.Buffer
	w := ipc.NewWriter(&buf, ipc.WithSchema(r.Schema()))
	at := 0
	for r.Next() {
		rec := r.RecordBatch()
		n := int(rec.NumRows())
		if from, to := max(i-at, 0), min(j-at, n); from < to {
			piece := rec.NewSlice(int64(from), int64(to))
			err := w.Write(piece)
			piece.Release()
			if err != nil {
				return nil, fmt.Errorf("cut a batch: %w", err)
			}
		}
		at += n
	}
	if err := r.Err(); err != nil {
		return nil, fmt.Errorf("cut a batch: %w", err)
	}
	if err := w.Close(); err != nil {
		return nil, fmt.Errorf("cut a batch: %w", err)
	}
	out.body = buf.Bytes()
	return out, nil
}

// arrowChunk collects pieces of batches for one append.
type arrowChunk struct {
	chunk
	buf    bytes.Buffer
	writer *ipc.Writer
}

// add appends rows from up to to of a batch; the batch is the caller's. fields are the table's types of its columns.
func (a *arrowChunk) add(rec arrow.RecordBatch, from, to int64) error {
	if from >= to {
		return nil
	}
	piece := rec.NewSlice(from, to)
	defer piece.Release()
	if a.writer == nil {
		a.mime = client.TypeArrow
		a.writer = ipc.NewWriter(&a.buf, ipc.WithSchema(rec.Schema()))
	}
	return a.writer.Write(piece)
}

// finish encodes what has been added.
func (a *arrowChunk) finish() (*chunk, error) {
	if a.writer != nil {
		if err := a.writer.Close(); err != nil {
			return nil, err
		}
		a.body = a.buf.Bytes()
	}
	return &a.chunk, nil
}

// withUUIDs returns a batch whose text columns that the table has as UUID are such. The caller releases it; rec
// stays the caller's.
func withUUIDs(rec arrow.RecordBatch, field func(string) (column.Field, bool)) (arrow.RecordBatch, error) {
	var cols []arrow.Array
	var fields []arrow.Field
	for i, f := range rec.Schema().Fields() {
		text, ok := rec.Column(i).(*array.String)
		want, known := field(f.Name)
		if !ok || !known || want.Type.Kind != column.UUID {
			continue
		}
		if cols == nil {
			cols = append(cols, rec.Columns()...)
			fields = append(fields, rec.Schema().Fields()...)
		}
		b := column.NewBuilder(want.Type, text.Len())
		for k := range text.Len() {
			if text.IsNull(k) {
				b.AppendNull()
				continue
			}
			raw, err := column.ParseText(want.Type, text.Value(k))
			if err != nil {
				return nil, fmt.Errorf("column %s: %w", f.Name, err)
			}
			b.AppendRaw(raw)
		}
		c := b.Finish()
		var err error
		if cols[i], err = column.ToArrow(&c); err != nil {
			return nil, err
		}
		fields[i] = column.ArrowField(column.Field{Name: f.Name, Type: want.Type})
	}
	if cols == nil {
		rec.Retain()
		return rec, nil
	}
	return array.NewRecordBatch(arrow.NewSchema(fields, nil), cols, rec.NumRows()), nil
}
