package duck

/*
#include <stdint.h>
#include <stdlib.h>

struct ArrowSchema {
	const char *format, *name, *metadata;
	int64_t flags, n_children;
	struct ArrowSchema **children, *dictionary;
	void (*release)(struct ArrowSchema *);
	void *private_data;
};
struct ArrowArray {
	int64_t length, null_count, offset, n_buffers, n_children;
	const void **buffers;
	struct ArrowArray **children, *dictionary;
	void (*release)(struct ArrowArray *);
	void *private_data;
};

// The Go bindings have these two only under a build tag; without it the library has them all the same.
extern void *duckdb_to_arrow_schema(void *options, void **types, const char **names, uint64_t n, struct ArrowSchema *out);
extern void *duckdb_data_chunk_to_arrow(void *options, void *chunk, struct ArrowArray *out);
*/
import "C"

import (
	"fmt"
	"unsafe"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/cdata"
	m "github.com/duckdb/duckdb-go-bindings"
)

// arrowError takes over and frees one of DuckDB's error objects.
func arrowError(what string, p unsafe.Pointer) error {
	if p == nil {
		return nil
	}
	e := m.ErrorData{Ptr: p}
	defer m.DestroyErrorData(&e)
	if !m.ErrorDataHasError(e) {
		return nil
	}
	return fmt.Errorf("%s: %w", what, parseError(m.ErrorDataMessage(e), ""))
}

// Schema returns the result's Arrow schema. DuckDB's choices: UUID is utf8, HUGEINT is
// decimal128(38, 0), INTERVAL is month_day_nano, TIMESTAMP WITH TIME ZONE has the zone UTC.
func (r *Rows) Schema() (*arrow.Schema, error) {
	if r.schema != nil {
		return r.schema, nil
	}
	if r.closed {
		return nil, ErrClosed
	}
	n := len(r.fields)
	types := (*unsafe.Pointer)(C.calloc(C.size_t(n+1), C.size_t(unsafe.Sizeof(uintptr(0)))))
	names := (**C.char)(C.calloc(C.size_t(n+1), C.size_t(unsafe.Sizeof(uintptr(0)))))
	typeList, nameList := unsafe.Slice(types, n), unsafe.Slice(names, n)
	defer func() {
		for i := range n {
			lt := m.LogicalType{Ptr: typeList[i]}
			m.DestroyLogicalType(&lt)
			C.free(unsafe.Pointer(nameList[i]))
		}
		C.free(unsafe.Pointer(types))
		C.free(unsafe.Pointer(names))
	}()
	for i := range n {
		typeList[i] = m.ColumnLogicalType(&r.res, m.IdxT(i)).Ptr
		nameList[i] = C.CString(r.fields[i].Name)
	}
	opts := m.ResultGetArrowOptions(&r.res)
	defer m.DestroyArrowOptions(&opts)
	out := (*C.struct_ArrowSchema)(C.calloc(1, C.sizeof_struct_ArrowSchema))
	defer C.free(unsafe.Pointer(out))
	if err := arrowError("make arrow schema", C.duckdb_to_arrow_schema(opts.Ptr, types, names, C.uint64_t(n), out)); err != nil {
		return nil, err
	}
	schema, err := cdata.ImportCArrowSchema((*cdata.CArrowSchema)(unsafe.Pointer(out)))
	if err != nil {
		return nil, fmt.Errorf("import arrow schema: %w", err)
	}
	r.schema = schema
	return schema, nil
}

// NextArrow returns the next batch, at most 2,048 rows of any types, or io.EOF. The caller releases
// it. The batch is a copy of its own: it outlives the result.
func (r *Rows) NextArrow() (arrow.RecordBatch, error) {
	if p, ok := r.nextReady(); ok {
		p.rec.Retain()
		return p.rec, nil
	}
	if _, err := r.Schema(); err != nil {
		return nil, err
	}
	chunk, _, err := r.fetch()
	if err != nil {
		return nil, err
	}
	defer m.DestroyDataChunk(&chunk)
	return r.arrowOf(chunk)
}

// arrowOf makes an Arrow batch of a chunk; Schema has been called.
func (r *Rows) arrowOf(chunk m.DataChunk) (arrow.RecordBatch, error) {
	opts := m.ResultGetArrowOptions(&r.res)
	defer m.DestroyArrowOptions(&opts)
	out := (*C.struct_ArrowArray)(C.calloc(1, C.sizeof_struct_ArrowArray))
	defer C.free(unsafe.Pointer(out))
	if err := arrowError("make arrow batch", C.duckdb_data_chunk_to_arrow(opts.Ptr, chunk.Ptr, out)); err != nil {
		return nil, err
	}
	batch, err := cdata.ImportCRecordBatchWithSchema((*cdata.CArrowArray)(unsafe.Pointer(out)), r.schema)
	if err != nil {
		return nil, fmt.Errorf("import arrow batch: %w", err)
	}
	return batch, nil
}
