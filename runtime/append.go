package runtime

import (
	"context"
	"fmt"
	"sync"

	"tidemill/runtime/decode"
	"tidemill/runtime/logrec"
	"tidemill/state/column"
)

// AppendRequest is rows for one table. The columns are the engine's from the call on.
type AppendRequest struct {
	Relation uint32 // the table's id and version, as the rows were read for
	Version  uint32
	Cols     []column.Column // one per field of the table, defaults filled in
	N        int
	// Deleted marks rows that delete their key, in a keyed table; nil for none.
	Deleted []byte
	// Producer and Seq make the append one that can be repeated: Producer "" is without. Prev, when set,
	// must be the producer's last seq.
	Producer string
	Seq      uint64
	Prev     *uint64
	Hash     uint64 // of the body
	// KeepBad says that bad rows go to the table's rejects, Bad the rows that do (decode.Rows.Bad).
	KeepBad bool
	Bad     []decode.BadRow
	// More is rows for other tables, in the same commit.
	More []TableRows
}

// TableRows is rows for one table of several in an AppendRequest, under the same terms.
type TableRows struct {
	Relation uint32
	Version  uint32
	Cols     []column.Column
	N        int
	Deleted  []byte
	Bad      []decode.BadRow
}

// AppendResult is an acknowledgement.
type AppendResult struct {
	Commit    uint64 // 0 for a repeat so old that its commit is forgotten
	Accepted  int    // rows, of all tables
	Rejected  int    // rows that went to rejects
	Duplicate bool
}

// appendRequest is an append as the committer takes it: the rows of each table, then those of their rejects.
type appendRequest struct {
	AppendRequest
	parts              []TableRows
	accepted, rejected int
	bytes              int
	done               chan appendDone
}

func (*appendRequest) isRequest() {}

type appendDone struct {
	AppendResult
	err error
}

// Append makes the rows part of a commit and returns when that is durable and visible in every view. When
// ctx ends first the outcome is not known; a producer repeats with the same seq. Errors: *SeqError,
// ErrSeqReused, ErrSchemaChanged, ErrDiskFull, ErrClosed, *FailedError.
func (e *Engine) Append(ctx context.Context, req AppendRequest) (AppendResult, error) {
	if err := e.failure(); err != nil {
		return AppendResult{}, err
	}
	r, err := e.newAppend(ctx, req)
	if err != nil {
		return AppendResult{}, err
	}
	select {
	case e.requests <- r:
	case <-e.done:
		return AppendResult{}, ErrClosed
	case <-ctx.Done():
		return AppendResult{}, ctx.Err()
	}
	select {
	case d := <-r.done:
		return d.AppendResult, d.err
	case <-ctx.Done():
		return AppendResult{}, ctx.Err()
	case <-e.done:
	}
	select { // answered while the committer ended
	case d := <-r.done:
		return d.AppendResult, d.err
	default:
		return AppendResult{}, ErrClosed
	}
}

// newAppend lays an append out in parts.
func (e *Engine) newAppend(ctx context.Context, req AppendRequest) (*appendRequest, error) {
	r := &appendRequest{AppendRequest: req, done: make(chan appendDone, 1)}
	r.parts = append(append(make([]TableRows, 0, 1+len(req.More)),
		TableRows{Relation: req.Relation, Version: req.Version, Cols: req.Cols, N: req.N, Deleted: req.Deleted, Bad: req.Bad}), req.More...)
	for _, p := range r.parts[:len(r.parts):len(r.parts)] {
		r.accepted, r.rejected = r.accepted+p.N, r.rejected+len(p.Bad)
		if len(p.Bad) > 0 || req.KeepBad {
			bad, err := e.rejected(ctx, &req, &p)
			if err != nil {
				return nil, err
			}
			r.parts = append(r.parts, bad...)
		}
	}
	for _, p := range r.parts {
		for i := range p.Cols {
			r.bytes += p.Cols[i].Size()
		}
	}
	return r, nil
}

// entries returns what a log record holds of the append.
func (r *appendRequest) entries(to []logrec.Entry) []logrec.Entry {
	first := len(to)
	for _, p := range r.parts {
		to = append(to, logrec.Entry{Kind: logrec.Append, Relation: p.Relation, Version: p.Version, Rows: p.N, Cols: p.Cols, Deleted: p.Deleted})
	}
	en := &to[first]
	en.Producer, en.Seq, en.Hash = r.Producer, r.Seq, r.Hash
	if len(r.parts) > 1 {
		en.Accepted, en.Rejected = uint32(r.accepted), uint32(r.rejected)
	}
	return to
}

// Admit reserves memory for a request's body before it is read and waits while too much is in flight. The
// caller releases it when the request is done. When ctx ends first the error is ErrBusy.
func (e *Engine) Admit(ctx context.Context, bytes int64) (release func(), err error) {
	return e.admit.take(ctx, bytes)
}

// admission bounds the bytes of requests in flight. Whoever came first goes first.
type admission struct {
	mu    sync.Mutex
	limit int64
	used  int64
	queue []*waiting
}

type waiting struct {
	bytes int64
	ready chan struct{}
}

func (a *admission) init(limit int64) { a.limit = limit }

func (a *admission) take(ctx context.Context, bytes int64) (func(), error) {
	bytes = min(max(bytes, 1), a.limit) // one larger request goes alone
	release := func() { a.release(bytes) }
	a.mu.Lock()
	if len(a.queue) == 0 && a.used+bytes <= a.limit {
		a.used += bytes
		a.mu.Unlock()
		return release, nil
	}
	w := &waiting{bytes, make(chan struct{})}
	a.queue = append(a.queue, w)
	a.mu.Unlock()
	select {
	case <-w.ready:
		return release, nil
	case <-ctx.Done():
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	for i, q := range a.queue {
		if q == w {
			a.queue = append(a.queue[:i], a.queue[i+1:]...)
			return nil, fmt.Errorf("%w: %d bytes of %d are taken", ErrBusy, a.used, a.limit)
		}
	}
	a.used -= bytes // it became ready at the same moment
	a.wake()
	return nil, ErrBusy
}

func (a *admission) release(bytes int64) {
	a.mu.Lock()
	a.used -= bytes
	a.wake()
	a.mu.Unlock()
}

func (a *admission) wake() {
	for len(a.queue) > 0 && a.used+a.queue[0].bytes <= a.limit {
		a.used += a.queue[0].bytes
		close(a.queue[0].ready)
		a.queue = a.queue[1:]
	}
}
