package duck

import (
	"errors"
	"io"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	m "github.com/duckdb/duckdb-go-bindings"

	"tidemill/state/column"
)

// Kept is a whole result in memory of its own, in the batches in which it came. It is immutable and safe for
// concurrent use; the collector frees it.
type Kept struct {
	fields []ResultField
	schema *arrow.Schema
	parts  []part
	rows   int
	bytes  int64
}

// part is one batch in both forms: every reader gets what DuckDB gave.
type part struct {
	n    int
	rec  arrow.RecordBatch
	cols []column.Column // nil when a column has a type that columns cannot hold
}

// Bytes is about how much memory the result takes.
func (k *Kept) Bytes() int64 { return k.bytes }

// NumRows is how many rows the result has.
func (k *Kept) NumRows() int { return k.rows }

// Rows reads the result from its beginning. Many may do so at once.
func (k *Kept) Rows() *Rows {
	return &Rows{fields: k.fields, schema: k.schema, ready: k.parts, ended: true, kept: true}
}

// Keep reads the rows to their end. A result of more than limit bytes is not kept: it returns nil, and the rows give
// what was read and then the rest. The rows are still to be closed.
func (r *Rows) Keep(limit int64) (*Kept, error) {
	schema, err := r.Schema()
	if err != nil {
		return nil, err
	}
	k := &Kept{fields: r.fields, schema: schema, bytes: keptOverhead}
	for k.bytes <= limit {
		p, size, err := r.nextPart()
		if errors.Is(err, io.EOF) {
			return k, nil
		}
		if err != nil {
			return nil, err
		}
		k.parts, k.rows, k.bytes = append(k.parts, p), k.rows+p.n, k.bytes+size
	}
	r.ready = k.parts
	return nil, nil
}

// keptOverhead is about what a result costs besides its values, and partOverhead what a column of a batch does.
const (
	keptOverhead = 1 << 10
	partOverhead = 400
)

func (r *Rows) nextPart() (part, int64, error) {
	chunk, n, err := r.fetch()
	if err != nil {
		return part{}, 0, err
	}
	defer m.DestroyDataChunk(&chunk)
	rec, err := r.arrowOf(chunk)
	if err != nil {
		return part{}, 0, err
	}
	p := part{n: n, rec: copyRecord(rec)}
	rec.Release()
	size := int64(partOverhead * len(r.fields))
	for i := range int(p.rec.NumCols()) {
		size += dataSize(p.rec.Column(i).Data())
	}
	if _, err := r.Columns(); err != nil {
		return p, size, nil // read as Arrow only
	}
	p.cols = make([]column.Column, len(r.fields))
	for i, f := range r.fields {
		c := newCollector(f.Type)
		if err := c.add(m.DataChunkGetVector(chunk, m.IdxT(i)), n); err != nil {
			return part{}, 0, err
		}
		p.cols[i] = c.finish()
		size += int64(p.cols[i].Size())
	}
	return p, size, nil
}

// nextReady gives the next batch of those that have been read before; false when there is none.
func (r *Rows) nextReady() (part, bool) {
	if len(r.ready) == 0 || r.closed {
		return part{}, false
	}
	p := r.ready[0]
	r.ready = r.ready[1:]
	return p, true
}

// copyRecord copies a batch of DuckDB's memory into the collector's, where nobody has to release it.
func copyRecord(rec arrow.RecordBatch) arrow.RecordBatch {
	cols := make([]arrow.Array, rec.NumCols())
	for i := range cols {
		cols[i] = array.MakeFromData(copyData(rec.Column(i).Data()))
	}
	return array.NewRecordBatch(rec.Schema(), cols, rec.NumRows())
}

func copyData(d arrow.ArrayData) arrow.ArrayData {
	buffers := make([]*memory.Buffer, len(d.Buffers()))
	for i, b := range d.Buffers() {
		if b != nil {
			buffers[i] = memory.NewBufferBytes(append(make([]byte, 0, b.Len()), b.Bytes()...))
		}
	}
	children := make([]arrow.ArrayData, len(d.Children()))
	for i, c := range d.Children() {
		children[i] = copyData(c)
	}
	if dict, ok := d.(*array.Data); ok && d.DataType().ID() == arrow.DICTIONARY {
		return array.NewDataWithDictionary(d.DataType(), d.Len(), buffers, d.NullN(), d.Offset(), copyData(dict.Dictionary()).(*array.Data))
	}
	return array.NewData(d.DataType(), d.Len(), buffers, children, d.NullN(), d.Offset())
}

func dataSize(d arrow.ArrayData) int64 {
	n := int64(0)
	for _, b := range d.Buffers() {
		if b != nil {
			n += int64(b.Len())
		}
	}
	for _, c := range d.Children() {
		n += dataSize(c)
	}
	if dict := d.Dictionary(); dict != nil && d.DataType().ID() == arrow.DICTIONARY {
		n += dataSize(dict)
	}
	return n
}
