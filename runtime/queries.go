package runtime

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"
)

// QueryInfo is a statement that runs: a query until its rows are read and closed.
type QueryInfo struct {
	ID      uint64    `json:"id"`
	SQL     string    `json:"sql"` // its first kilobyte
	Since   time.Time `json:"since"`
	Seconds float64   `json:"seconds"`
	Rows    int64     `json:"rows"` // that have been read of its answer
}

// ErrNoQuery is returned by CancelQuery when no statement of that id runs.
var ErrNoQuery = errors.New("no such query runs")

// ErrCancelled is the cause of a statement's end by CancelQuery.
var ErrCancelled = errors.New("it was cancelled by CANCEL QUERY")

// queries are the statements that run.
type queries struct {
	e *Engine

	mu      sync.Mutex // guards what follows
	last    uint64
	running map[uint64]*runningQuery
}

type runningQuery struct {
	of     *queries
	id     uint64
	sql    string
	since  time.Time
	cancel context.CancelCauseFunc
	rows   *Rows // once it has begun to answer; guarded by queries.mu
}

// shownSQL bounds the text that is kept of a statement.
const shownSQL = 1 << 10

func (q *queries) init(e *Engine) { q.e, q.running = e, map[uint64]*runningQuery{} }

// begin notes a statement. Its context ends with ctx or by CancelQuery; end is to be called.
func (q *queries) begin(ctx context.Context, sql string) (context.Context, *runningQuery) {
	ctx, cancel := context.WithCancelCause(ctx)
	r := &runningQuery{of: q, sql: sql[:min(len(sql), shownSQL)], since: q.e.opts.Now(), cancel: cancel}
	q.mu.Lock()
	defer q.mu.Unlock()
	q.last++
	r.id = q.last
	q.running[r.id] = r
	return ctx, r
}

// answers says that the statement has begun to answer: it ends when the rows are closed.
func (r *runningQuery) answers(rows *Rows) {
	r.of.mu.Lock()
	r.rows = rows
	r.of.mu.Unlock()
	rows.after(func() { r.end(nil) })
}

// end takes the statement out, and logs one that took long.
func (r *runningQuery) end(err error) {
	r.of.mu.Lock()
	delete(r.of.running, r.id)
	rows := r.rows
	r.of.mu.Unlock()
	r.cancel(nil)
	e := r.of.e
	if took := e.opts.Now().Sub(r.since); e.opts.SlowQuery > 0 && took >= e.opts.SlowQuery {
		n := int64(0)
		if rows != nil {
			n = rows.Fetched()
		}
		e.logger.Warn("slow query", "id", r.id, "took", took, "rows", n, "sql", r.sql, "error", err)
	}
}

// Queries returns the statements that run, the oldest first. Answers from the result cache and lookups are not among
// them.
func (e *Engine) Queries() []QueryInfo {
	now := e.opts.Now()
	e.queries.mu.Lock()
	defer e.queries.mu.Unlock()
	out := make([]QueryInfo, 0, len(e.queries.running))
	for _, r := range e.queries.running {
		info := QueryInfo{ID: r.id, SQL: r.sql, Since: r.since, Seconds: now.Sub(r.since).Seconds()}
		if r.rows != nil {
			info.Rows = r.rows.Fetched()
		}
		out = append(out, info)
	}
	slices.SortFunc(out, func(a, b QueryInfo) int { return int(a.ID) - int(b.ID) })
	return out
}

// CancelQuery ends a statement that runs: whoever waits for it gets an error with SQLSTATE 57014. It does not wait
// for the end. The error is ErrNoQuery.
func (e *Engine) CancelQuery(id uint64) error {
	e.queries.mu.Lock()
	defer e.queries.mu.Unlock()
	r := e.queries.running[id]
	if r == nil {
		return fmt.Errorf("query %d: %w", id, ErrNoQuery)
	}
	r.cancel(ErrCancelled)
	return nil
}
