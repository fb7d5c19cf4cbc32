package duck

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync/atomic"

	"github.com/apache/arrow-go/v18/arrow"
	m "github.com/duckdb/duckdb-go-bindings"

	"tidemill/state/column"
)

// ResultField is a column of a result. Type is invalid when columns cannot hold it (a BIGNUM, say). SQLType is
// DuckDB's name of the type in any case.
type ResultField struct {
	Name    string
	Type    column.Type
	SQLType string
}

// Rows is a streaming result: batches come as DuckDB makes them and memory stays flat. It is not
// safe for concurrent use. It must be closed, and holds a connection and the snapshot's memory until
// then.
type Rows struct {
	ctx     context.Context
	conn    *conn
	q       *query
	text    string
	stmt    m.PreparedStatement
	cached  bool // stmt belongs to somebody else
	pending m.PendingResult
	res     m.Result
	started bool // res is there
	ended   bool // DuckDB has given the last chunk
	closed  bool
	kept    bool   // the rows are those of a Kept: there is no query
	ready   []part // read before, given first
	fetched atomic.Int64
	fields  []ResultField
	stop    func() bool // of the cancellation
	stopped chan struct{}
	release func(*conn)
	schema  *arrow.Schema
}

// execution is a statement on its way to a connection.
type execution struct {
	sql    string
	stmt   m.PreparedStatement // prepared already, and kept by the caller; or none
	params []any
	q      *query
	// allowed looks at the statement's type before it runs.
	allowed func(m.StatementType) error
	// release gets the connection back when the rows are closed, or at once on an error.
	release func(*conn)
}

// run starts one statement on c.
func (c *conn) run(ctx context.Context, x execution) (*Rows, error) {
	r := &Rows{ctx: ctx, conn: c, q: x.q, text: x.sql, stmt: x.stmt, cached: x.stmt.Ptr != nil,
		release: x.release, stopped: make(chan struct{})}
	c.begin(x.q)
	r.stop = context.AfterFunc(ctx, func() {
		m.Interrupt(c.c)
		close(r.stopped)
	})
	if err := r.start(x.params, x.allowed); err != nil {
		r.Close()
		return nil, err
	}
	return r, nil
}

// start takes the steps from text to a running pipeline. A cancellation can come at any of them: an
// interrupt before PendingPreparedStreaming is forgotten by DuckDB, so the context is looked at
// after it; one that comes later than that is seen by DuckDB itself.
func (r *Rows) start(params []any, allowed func(m.StatementType) error) error {
	if err := r.ctx.Err(); err != nil {
		return r.cancelled()
	}
	if r.stmt.Ptr == nil {
		var err error
		if r.stmt, err = r.conn.prepare(r.text); err != nil {
			return r.cause(err)
		}
	}
	if err := allowed(m.PreparedStatementType(r.stmt)); err != nil {
		return err
	}
	if err := bindParams(r.stmt, r.text, params); err != nil {
		return err
	}
	if m.PendingPreparedStreaming(r.stmt, &r.pending) == m.StateError {
		return r.cause(parseError(m.PendingError(r.pending), r.text))
	}
	if r.ctx.Err() != nil {
		return r.cancelled()
	}
	state := m.ExecutePending(r.pending, &r.res)
	r.started = true
	if state == m.StateError {
		return r.cause(parseError(m.ResultError(&r.res), r.text))
	}
	for i := range m.ColumnCount(&r.res) {
		lt := m.ColumnLogicalType(&r.res, i)
		t, ok := columnType(lt)
		if !ok {
			t = column.Type{}
		}
		r.fields = append(r.fields, ResultField{Name: m.ColumnName(&r.res, i), Type: t, SQLType: typeName(lt)})
		m.DestroyLogicalType(&lt)
	}
	return nil
}

// cause prefers the reason that DuckDB was not told in full: the snapshot's own error, or the
// context's.
func (r *Rows) cause(err error) error {
	if own := r.q.failure(); own != nil {
		return own
	}
	var e *SQLError
	if errors.As(err, &e) && e.Kind == "Interrupt" && r.ctx.Err() != nil {
		return r.cancelled()
	}
	return err
}

// cancelled is the error of a query whose context has ended: an *SQLError that wraps the context's.
func (r *Rows) cancelled() error {
	e := refuse("Interrupt", "57014", "", -1, "", "the query was cancelled")
	return fmt.Errorf("%w: %w", e, context.Cause(r.ctx))
}

// Fields describes the columns.
func (r *Rows) Fields() []ResultField { return r.fields }

// Columns describes the columns as relation fields, or refuses the first that columns cannot hold.
func (r *Rows) Columns() ([]column.Field, error) {
	out := make([]column.Field, len(r.fields))
	for i, f := range r.fields {
		if !f.Type.Valid() {
			return nil, unsupportedType(f.Name, f.SQLType)
		}
		out[i] = column.Field{Name: f.Name, Type: f.Type}
	}
	return out, nil
}

func unsupportedType(name, typ string) *SQLError {
	return refuse("Not Implemented", "0A000", "", -1, "cast it to VARCHAR or to another supported type",
		"column %s has type %s, which is not supported", name, typ)
}

// Fetched is how many rows have come so far. It is safe for concurrent use.
func (r *Rows) Fetched() int64 { return r.fetched.Load() }

// fetch returns the next chunk, which the caller destroys, or io.EOF.
func (r *Rows) fetch() (m.DataChunk, int, error) {
	for !r.ended && !r.closed {
		if r.ctx.Err() != nil {
			return m.DataChunk{}, 0, r.cancelled()
		}
		chunk := m.FetchChunk(r.res)
		if chunk.Ptr == nil {
			r.ended = true
			if msg := m.ResultError(&r.res); msg != "" {
				return m.DataChunk{}, 0, r.cause(parseError(msg, r.text))
			}
			if r.ctx.Err() != nil { // an interrupted stream may just stop
				return m.DataChunk{}, 0, r.cancelled()
			}
			break
		}
		if n := int(m.DataChunkGetSize(chunk)); n > 0 {
			r.fetched.Add(int64(n))
			return chunk, n, nil
		}
		m.DestroyDataChunk(&chunk)
	}
	return m.DataChunk{}, 0, io.EOF
}

// NextColumns returns the next batch of rows, at most 2,048, or io.EOF. The columns are copies.
func (r *Rows) NextColumns() ([]column.Column, int, error) { return r.collect(1) }

// ReadAll returns all rows that are left. Text of more than 2 GiB in one column is an error.
func (r *Rows) ReadAll() ([]column.Column, int, error) {
	cols, n, err := r.collect(0)
	if errors.Is(err, io.EOF) {
		return r.empty(), 0, nil
	}
	return cols, n, err
}

// Drain runs the query to its end and drops the rows.
func (r *Rows) Drain() error {
	for {
		chunk, _, err := r.fetch()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		m.DestroyDataChunk(&chunk)
	}
}

func (r *Rows) empty() []column.Column {
	cols := make([]column.Column, len(r.fields))
	for i, f := range r.fields {
		if f.Type.Valid() {
			cols[i] = newCollector(f.Type).finish()
		}
	}
	return cols
}

// collect gathers up to limit chunks, all of them with 0.
func (r *Rows) collect(limit int) ([]column.Column, int, error) {
	if _, err := r.Columns(); err != nil {
		return nil, 0, err
	}
	cols := make([]*collector, len(r.fields))
	for i, f := range r.fields {
		cols[i] = newCollector(f.Type)
	}
	total := 0
	if p, ok := r.nextReady(); ok {
		if limit == 1 {
			return p.cols, p.n, nil
		}
		total = p.n
		parts := [][]column.Column{p.cols}
		for p, ok = r.nextReady(); ok; p, ok = r.nextReady() {
			parts, total = append(parts, p.cols), total+p.n
		}
		return r.readRest(parts, total)
	}
	for k := 0; limit == 0 || k < limit; k++ {
		chunk, n, err := r.fetch()
		if err == io.EOF && total > 0 {
			break
		}
		if err != nil {
			return nil, 0, err
		}
		for i, c := range cols {
			if err = c.add(m.DataChunkGetVector(chunk, m.IdxT(i)), n); err != nil {
				break
			}
		}
		m.DestroyDataChunk(&chunk)
		if err != nil {
			return nil, 0, err
		}
		total += n
	}
	out := make([]column.Column, len(cols))
	for i, c := range cols {
		out[i] = c.finish()
	}
	return out, total, nil
}

// readRest joins batches that have been read with the rows that are left.
func (r *Rows) readRest(parts [][]column.Column, total int) ([]column.Column, int, error) {
	if !r.ended {
		cols, n, err := r.collect(0)
		if err == nil {
			parts, total = append(parts, cols), total+n
		} else if !errors.Is(err, io.EOF) {
			return nil, 0, err
		}
	}
	out := make([]column.Column, len(r.fields))
	for i, f := range r.fields {
		cols := make([]*column.Column, len(parts))
		for k := range parts {
			cols[k] = &parts[k][i]
		}
		out[i] = column.Concat(f.Type, cols...)
	}
	return out, total, nil
}

// Close ends the query and lets go of the snapshot's memory. It may be called more than once.
func (r *Rows) Close() {
	if r.closed {
		return
	}
	r.closed = true
	if r.kept {
		return
	}
	if !r.stop() { // the interrupt is on its way: it must not reach the connection's next query
		<-r.stopped
	}
	early := r.started && !r.ended
	if r.started {
		m.DestroyResult(&r.res)
	}
	if r.pending.Ptr != nil {
		m.DestroyPending(&r.pending)
	}
	if r.stmt.Ptr != nil && !r.cached {
		m.DestroyPrepare(&r.stmt)
	}
	if early {
		// DuckDB stops the threads of an abandoned stream when the next statement starts; until it
		// has, they read the columns.
		_ = r.conn.exec("SELECT 1")
	}
	r.conn.begin(nil)
	r.release(r.conn)
}
