package duck

/*
#include "scan.h"
*/
import "C"

import (
	"fmt"
	"runtime"
	"runtime/cgo"
	"unsafe"

	m "github.com/duckdb/duckdb-go-bindings"

	"tidemill/state/column"
)

// Chunk is a run of rows of a relation: N values in each of Cols.
type Chunk struct {
	Cols []column.Column
	N    int
	// Live has a bit per row, least significant first; rows with a 0 are not seen. Nil means that
	// all are live.
	Live []byte
	// BaseRowID is the rowid of row 0; the others follow, dead ones counted.
	BaseRowID uint64
	// RowIDs are the rows' rowids where they do not follow on BaseRowID; else nil.
	RowIDs []uint64
}

// Chunks are a relation's rows in order. The buffers may be Go's or mapped memory; they must not
// change or be unmapped until the query that reads them is closed.
type Chunks []Chunk

// Snapshots gives a query the rows of the relations that it reads, by the name they were defined
// with. It is asked at most once per relation and query, from any thread.
type Snapshots interface {
	Relation(name string) (Chunks, error)
}

// rowIDColumn is the extra column of tidemill_scan_rowid.
const rowIDColumn = "$rowid"

// morselRows is how many rows a thread takes at once: eight vectors. Twice as many changed nothing
// measurable; much fewer and the threads meet at the counter too often.
const morselRows = 8 * 2048

// binding is one use of the table function in a statement. DuckDB keeps it for as long as the
// statement is prepared; the rows are looked up when an execution starts.
type binding struct {
	in     *instance
	conn   uint64
	name   string
	fields []column.Field
	rowid  bool
}

// scanning is one execution of a binding: it keeps the memory in place that C has pointers into.
type scanning struct {
	pin    runtime.Pinner
	chunks Chunks
}

func handleValue[T any](h uint64) T { return cgo.Handle(h).Value().(T) }

// registerScan adds tidemill_scan and tidemill_scan_rowid to the instance.
func registerScan(in *instance, conn m.Connection) error {
	for _, name := range []string{"tidemill_scan", "tidemill_scan_rowid"} {
		f := m.CreateTableFunction()
		text := m.CreateLogicalType(m.TypeVarchar)
		m.TableFunctionSetName(f, name)
		m.TableFunctionAddParameter(f, text)
		m.DestroyLogicalType(&text)
		h := cgo.NewHandle(&binding{in: in, rowid: name == "tidemill_scan_rowid"})
		m.TableFunctionSetExtraInfo(f, C.td_box(C.uint64_t(h)), C.td_bind_free_fn())
		m.TableFunctionSetBind(f, C.td_bind_fn())
		m.TableFunctionSetInit(f, C.td_init_fn())
		m.TableFunctionSetLocalInit(f, C.td_local_fn())
		m.TableFunctionSetFunction(f, C.td_scan_fn())
		m.TableFunctionSupportsProjectionPushdown(f, true)
		state := m.RegisterTableFunction(conn, f)
		m.DestroyTableFunction(&f)
		if state == m.StateError {
			return fmt.Errorf("register table function %s", name)
		}
	}
	return nil
}

//export tidemillBind
func tidemillBind(p unsafe.Pointer) {
	info := m.BindInfo{Ptr: p}
	defer func() {
		if r := recover(); r != nil {
			m.BindSetError(info, fmt.Sprint("bind scan: ", r))
		}
	}()
	proto := handleValue[*binding](*(*uint64)(m.BindGetExtraInfo(info)))
	b := &binding{in: proto.in, rowid: proto.rowid}
	arg := m.BindGetParameter(info, 0)
	b.name = m.GetVarchar(arg)
	m.DestroyValue(&arg)
	var ctx m.ClientContext
	m.TableFunctionGetClientContext(info, &ctx)
	b.conn = uint64(m.ClientContextGetConnectionId(ctx))
	m.DestroyClientContext(&ctx)
	fields, ok := b.in.relation(b.name)
	if !ok {
		m.BindSetError(info, fmt.Sprintf("relation %s is not defined", b.name))
		return
	}
	b.fields = fields
	for _, f := range fields {
		lt := logicalType(f.Type)
		m.BindAddResultColumn(info, f.Name, lt)
		m.DestroyLogicalType(&lt)
	}
	if b.rowid {
		lt := m.CreateLogicalType(m.TypeUBigInt)
		m.BindAddResultColumn(info, rowIDColumn, lt)
		m.DestroyLogicalType(&lt)
	}
	if q := b.in.current(b.conn); q != nil {
		if chunks, err := q.chunks(b.name); err != nil {
			m.BindSetError(info, err.Error())
			return
		} else {
			rows := 0
			for i := range chunks {
				rows += chunks[i].N
			}
			m.BindSetCardinality(info, m.IdxT(rows), false)
		}
	}
	m.BindSetBindData(info, C.td_box(C.uint64_t(cgo.NewHandle(b))), C.td_bind_free_fn())
}

//export tidemillBindDone
func tidemillBindDone(h C.uint64_t) { cgo.Handle(h).Delete() }

//export tidemillInit
func tidemillInit(p unsafe.Pointer) {
	info := m.InitInfo{Ptr: p}
	defer func() {
		if r := recover(); r != nil {
			m.InitSetError(info, fmt.Sprint("start scan: ", r))
		}
	}()
	b := handleValue[*binding](*(*uint64)(m.InitGetBindData(info)))
	q := b.in.current(b.conn)
	if q == nil {
		m.InitSetError(info, fmt.Sprintf("relation %s is read outside a query", b.name))
		return
	}
	chunks, err := q.chunks(b.name)
	if err == nil {
		err = checkChunks(b.name, b.fields, chunks)
	}
	if err != nil {
		q.fail(err)
		m.InitSetError(info, err.Error())
		return
	}
	cols := make([]int, m.InitGetColumnCount(info))
	for k := range cols {
		cols[k] = int(min(m.InitGetColumnIndex(info, m.IdxT(k)), 1<<30)) // DuckDB's "no column" is huge
	}
	s := newScan(b, cols, chunks)
	m.InitSetMaxThreads(info, max(1, m.IdxT(s.nmorsels)))
	m.InitSetInitData(info, unsafe.Pointer(s), C.td_scan_free_fn())
}

//export tidemillScanDone
func tidemillScanDone(h C.uint64_t) {
	s := handleValue[*scanning](uint64(h))
	cgo.Handle(h).Delete()
	s.pin.Unpin()
}

// newScan describes chunks to C. The description and what it points to live until DuckDB frees its
// global state of the scan, which calls tidemillScanDone.
func newScan(b *binding, cols []int, chunks Chunks) *C.td_scan {
	live := make(Chunks, 0, len(chunks))
	for _, c := range chunks {
		if c.N > 0 {
			live = append(live, c)
		}
	}
	keep := &scanning{chunks: live}
	morsels := cutMorsels(live)
	s := C.td_scan_new(C.uint64_t(len(cols)), C.uint64_t(len(live)), C.uint64_t(len(morsels)), C.uint64_t(cgo.NewHandle(keep)))
	kinds := unsafe.Slice((*uint8)(s.kinds), len(cols))
	for k, c := range cols {
		kinds[k] = scanKind(b, c)
	}
	out := unsafe.Slice(s.chunks, len(live))
	desc := unsafe.Slice(s.cols, len(live)*len(cols))
	for i := range live {
		c := &live[i]
		out[i] = C.td_chunk{n: C.uint64_t(c.N), base: C.uint64_t(c.BaseRowID), live: (*C.uint8_t)(pinned(&keep.pin, c.Live)),
			ids: (*C.uint64_t)(pinned(&keep.pin, c.RowIDs))}
		for k, j := range cols {
			if j < len(c.Cols) {
				keep.describe(&desc[i*len(cols)+k], &c.Cols[j])
			}
		}
	}
	copy(unsafe.Slice(s.morsels, len(morsels)), morsels)
	return s
}

// describe fills in a column, and its kids, for C.
func (s *scanning) describe(d *C.td_col, c *column.Column) {
	*d = C.td_col{
		valid: (*C.uint8_t)(pinned(&s.pin, c.Valid)),
		data:  (*C.uint8_t)(pinned(&s.pin, c.Data)),
		offs:  (*C.int32_t)(pinned(&s.pin, c.Offsets)),
		kind:  C.uint8_t(typeKind(c.Type)),
	}
	if !c.Type.Nested() {
		return
	}
	if c.Type.Kind == column.Array {
		d.length = C.uint32_t(c.Type.Length())
	}
	kids := unsafe.Slice(C.td_kids_new(d, C.uint64_t(len(c.Kids))), len(c.Kids))
	for i := range kids {
		s.describe(&kids[i], &c.Kids[i])
	}
}

// pinned pins the array of s and returns its address; for memory outside Go's heap it only returns
// the address.
func pinned[T any](p *runtime.Pinner, s []T) *T {
	if len(s) == 0 {
		return nil
	}
	a := unsafe.SliceData(s)
	p.Pin(a)
	return a
}

func cutMorsels(chunks Chunks) []C.td_morsel {
	rows := 0
	for i := range chunks {
		rows += chunks[i].N
	}
	out := make([]C.td_morsel, 0, rows/morselRows+1)
	chunk, row := 0, 0
	for rows > 0 {
		for row >= chunks[chunk].N {
			row -= chunks[chunk].N
			chunk++
		}
		n := min(rows, morselRows)
		out = append(out, C.td_morsel{chunk: C.uint64_t(chunk), row: C.uint64_t(row), count: C.uint64_t(n)})
		rows -= n
		row += n
	}
	return out
}

// scanKind tells how column c of a relation becomes DuckDB's.
func scanKind(b *binding, c int) uint8 {
	if c >= len(b.fields) {
		if c == len(b.fields) && b.rowid {
			return C.TD_ROWID
		}
		return C.TD_EMPTY
	}
	return typeKind(b.fields[c].Type)
}

// typeKind tells how values of a type become DuckDB's.
func typeKind(t column.Type) uint8 {
	switch {
	case t.Kind == column.List || t.Kind == column.Map:
		return C.TD_LIST
	case t.Kind == column.Array:
		return C.TD_ARRAY
	case t.Nested():
		return C.TD_STRUCT
	case t.Varlen():
		return C.TD_TEXT
	case t.Kind == column.UUID:
		return C.TD_UUID
	case t.Kind == column.Decimal && t.Width <= 4:
		return C.TD_DEC2
	case t.Kind == column.Decimal && t.Width <= 9:
		return C.TD_DEC4
	case t.Kind == column.Decimal && t.Width <= 18:
		return C.TD_DEC8
	}
	return uint8(t.Size())
}

// checkChunks refuses chunks whose shape is not the relation's: C would read past a buffer.
func checkChunks(name string, fields []column.Field, chunks Chunks) error {
	for i := range chunks {
		c := &chunks[i]
		if len(c.Cols) != len(fields) {
			return fmt.Errorf("relation %s: chunk %d has %d columns and not %d", name, i, len(c.Cols), len(fields))
		}
		if c.Live != nil && len(c.Live) < (c.N+7)/8 {
			return fmt.Errorf("relation %s: chunk %d has a live bitmap of %d bytes for %d rows", name, i, len(c.Live), c.N)
		}
		for j := range c.Cols {
			col := &c.Cols[j]
			if col.Type != fields[j].Type || col.N != c.N {
				return fmt.Errorf("relation %s: chunk %d has %d rows of %s in column %s, not %d of %s",
					name, i, col.N, col.Type, fields[j].Name, c.N, fields[j].Type)
			}
			if !whole(col) {
				return fmt.Errorf("relation %s: chunk %d has short buffers in column %s", name, i, fields[j].Name)
			}
		}
	}
	return nil
}

// whole reports whether a column's buffers have all of its values.
func whole(c *column.Column) bool {
	if c.Valid != nil && len(c.Valid) < (c.N+7)/8 {
		return false
	}
	list := c.Type.Kind == column.List || c.Type.Kind == column.Map
	if (list || c.Type.Varlen()) && len(c.Offsets) < c.N+1 {
		return false
	}
	if c.Type.Varlen() {
		return int(c.Offsets[c.N]) <= len(c.Data)
	}
	if !c.Type.Nested() {
		return len(c.Data) >= c.N*c.Type.Size()
	}
	if len(c.Kids) != len(c.Type.Kids()) {
		return false
	}
	rows := c.N
	switch {
	case list:
		rows = int(c.Offsets[c.N])
	case c.Type.Kind == column.Array:
		rows *= c.Type.Length()
	}
	for i := range c.Kids {
		k := &c.Kids[i]
		if k.Type != c.Type.Kids()[i] || k.N < rows || !whole(k) {
			return false
		}
	}
	return true
}
