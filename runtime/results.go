package runtime

import (
	"container/list"
	"context"
	"fmt"
	"maps"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"tidemill/views/duck"
)

// results keeps the answers of queries for as long as they are right.
//
// An answer is of one commit and reads some base tables, at any depth of views. It is right until a commit
// changes one of these: publish says so before the commit is visible, so that whoever knows of the commit finds
// the answer stale. What is stale is kept for those who accept it, with the first commit that made it so and when.
//
// One query is computed once at a time. A request joins a computation whose snapshot has not been taken yet or is
// still right, since it may then have been taken at any time after the request came; otherwise it waits for the
// next. A computation belongs to nobody and ends when the last who waits for it has gone.
type results struct {
	e     *Engine
	limit int64 // bytes; below 1 nothing is kept

	mu      sync.Mutex // guards what follows; nothing is locked or waited for while it is held
	entries map[string]*result
	recent  list.List // of *result, the last used first
	bytes   int64
	// right are the validities that a change of a table ends.
	right map[uint32]map[*validity]struct{}

	life    context.Context // of computations; ended by close
	end     context.CancelFunc
	running sync.WaitGroup

	hits, stale, misses, evicted atomic.Int64
}

// result is what is known of one query. All of it is guarded by results.mu.
type result struct {
	key       string
	kept      *duck.Kept // nil before the first answer, and when it is too large
	valid     *validity
	computing *computation
	reading   *duck.Reading // what the text reads; nil before it has been looked at
	volatile  bool          // it is only for those who take an old answer
	tooLarge  time.Time     // until when nobody tries to keep it
	place     *list.Element
	bytes     int64
}

// validity says since when an answer is stale. It is guarded by results.mu.
type validity struct {
	tables []uint32
	stale  bool
	since  time.Time // when it became stale
	last   uint64    // the last commit that it is right for, when it is stale
}

// computation is a query that runs for all who wait for it.
type computation struct {
	cancel context.CancelFunc
	done   chan struct{}
	// Guarded by results.mu.
	valid    *validity     // nil before the snapshot is taken
	reading  *duck.Reading // nil before the text has been looked at
	volatile bool
	waiting  int  // requests
	left     bool // nobody waits any more: it is cancelled
	// Written before done is closed.
	kept *duck.Kept
	rest *Rows // instead of kept when that would be too large: for one of those who wait
	err  error
}

const (
	// largest is the part of the cache that one answer may take, and maxKept its bound in bytes: so much is read
	// before the first row is given.
	largest = 4
	maxKept = 4 << 20
	// retryLarge is how long an answer that was too large is not tried to be kept.
	retryLarge = 10 * time.Second
	// refreshTime bounds a computation that nobody waits for.
	refreshTime = time.Minute
	// entryOverhead is what an entry takes besides its text and its answer.
	entryOverhead = 500
)

func (r *results) init(e *Engine, limit int64) {
	r.e, r.limit = e, limit
	r.entries, r.right = map[string]*result{}, map[uint32]map[*validity]struct{}{}
	r.life, r.end = context.WithCancel(context.Background())
}

func (r *results) maxBytes() int64 { return min(r.limit/largest, maxKept) }

// changed ends what was right before commit n changed the tables. The committer calls it before n is visible.
func (r *results) changed(n uint64, tables []uint32) {
	r.mu.Lock()
	defer r.mu.Unlock()
	var now time.Time
	for _, t := range tables {
		for v := range r.right[t] {
			if now.IsZero() {
				now = r.e.opts.Now()
			}
			v.stale, v.since, v.last = true, now, n-1
			for _, other := range v.tables {
				if other != t {
					delete(r.right[other], v)
				}
			}
		}
		delete(r.right, t)
	}
}

// forget drops everything: names mean something else from now on. The committer calls it before that is visible.
func (r *results) forget() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, en := range r.entries {
		r.letGoLocked(en.valid)
	}
	clear(r.entries)
	r.recent.Init()
	r.bytes = 0
}

// begin notes the snapshot of a computation at the moment when it is taken, between two commits.
func (r *results) begin(c *computation, commit uint64, tables []uint32, volatile bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.letGoLocked(c.valid) // of a snapshot that came to nothing
	c.valid = &validity{tables: tables}
	if c.volatile = volatile; volatile {
		c.valid.stale, c.valid.since, c.valid.last = true, r.e.opts.Now(), commit
		return
	}
	for _, t := range tables {
		if r.right[t] == nil {
			r.right[t] = map[*validity]struct{}{}
		}
		r.right[t][c.valid] = struct{}{}
	}
}

// letGoLocked takes a validity out that nobody asks for any more.
func (r *results) letGoLocked(v *validity) {
	if v == nil || v.stale {
		return
	}
	for _, t := range v.tables {
		delete(r.right[t], v)
		if len(r.right[t]) == 0 {
			delete(r.right, t)
		}
	}
}

// answer gives a query's answer from the cache, from a computation that runs, or from one of its own. An answer that
// became stale less than maxAge ago is good enough.
func (r *results) answer(ctx context.Context, q *cacheable, maxAge time.Duration) (*Answer, error) {
	for {
		r.mu.Lock()
		if r.life.Err() != nil {
			r.mu.Unlock()
			return nil, ErrClosed
		}
		if a := r.findLocked(q, maxAge); a != nil {
			r.mu.Unlock()
			return a, nil
		}
		en := r.entries[q.key]
		if en == nil {
			en = &result{key: q.key}
			r.entries[q.key] = en
			en.place = r.recent.PushFront(en)
		}
		if en.volatile && maxAge <= 0 || !en.tooLarge.IsZero() && r.e.opts.Now().Before(en.tooLarge) {
			r.mu.Unlock()
			return r.e.uncached(ctx, q)
		}
		c := en.computing
		first := c == nil
		if first {
			c = r.startLocked(en, q)
		}
		if c.left || c.valid != nil && c.valid.stale {
			r.mu.Unlock()
			select {
			case <-c.done:
				continue
			case <-ctx.Done():
				return nil, gaveUp(ctx)
			}
		}
		c.waiting++
		r.mu.Unlock()
		return r.wait(ctx, c, q, first)
	}
}

// find gives an answer that is in the cache, or nil.
func (r *results) find(q *cacheable, maxAge time.Duration) *Answer {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.life.Err() != nil {
		return nil
	}
	return r.findLocked(q, maxAge)
}

// findLocked starts the refresh of an answer that it gives though it is stale.
func (r *results) findLocked(q *cacheable, maxAge time.Duration) *Answer {
	en := r.entries[q.key]
	if en == nil || en.kept == nil {
		return nil
	}
	if !en.valid.stale {
		r.recent.MoveToFront(en.place)
		r.hits.Add(1)
		return r.answerLocked(en.kept, en.valid, FromCache)
	}
	if maxAge <= 0 {
		return nil
	}
	age := r.e.opts.Now().Sub(en.valid.since)
	if age > maxAge {
		return nil
	}
	// Refreshed from the half of the age on: who asks with a second's patience does not need it computed at
	// every commit, and has a new one before the old is too old.
	if en.computing == nil && age > maxAge/2 {
		r.startLocked(en, q)
	}
	r.recent.MoveToFront(en.place)
	r.stale.Add(1)
	a := r.answerLocked(en.kept, en.valid, FromStale)
	a.Age = age
	return a
}

// answerLocked makes an answer. One that is right is of the newest commit.
func (r *results) answerLocked(kept *duck.Kept, v *validity, from Origin) *Answer {
	a := &Answer{From: from, Commit: v.last}
	if !v.stale {
		a.Commit = r.e.published.Load()
	}
	a.Rows = &Rows{Rows: kept.Rows(), Commit: a.Commit}
	return a
}

// wait waits for a computation that the request has joined, and gives its answer.
func (r *results) wait(ctx context.Context, c *computation, q *cacheable, first bool) (*Answer, error) {
	select {
	case <-c.done:
	case <-ctx.Done():
		r.leave(c)
		return nil, gaveUp(ctx)
	}
	if a, err := r.share(ctx, c, first); a != nil || err != nil {
		return a, err
	}
	return r.e.uncached(ctx, q)
}

// share gives a request the answer of a computation that is done; nil when it was too large to be shared.
func (r *results) share(ctx context.Context, c *computation, first bool) (*Answer, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	c.waiting--
	if c.err != nil {
		return nil, c.err
	}
	if c.kept != nil {
		if first {
			r.misses.Add(1)
			return r.answerLocked(c.kept, c.valid, Computed), nil
		}
		r.hits.Add(1)
		return r.answerLocked(c.kept, c.valid, FromCache), nil
	}
	rest := c.rest
	if c.rest = nil; rest == nil {
		return nil, nil
	}
	r.misses.Add(1)
	stop := context.AfterFunc(ctx, c.cancel)
	rest.after(func() {
		stop()
		c.cancel()
	})
	return &Answer{Rows: rest, Commit: rest.Commit, From: Computed}, nil
}

// gaveUp is the error of a request whose context ended.
func gaveUp(ctx context.Context) error {
	return fmt.Errorf("wait for the query's answer: %w", context.Cause(ctx))
}

// leave takes a request away from a computation, which ends with the last.
func (r *results) leave(c *computation) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if c.waiting--; c.waiting > 0 {
		return
	}
	c.left = true
	c.cancel()
	if c.rest != nil { // it was done at this moment
		r.closeRows(c.rest)
		c.rest = nil
	}
}

// closeRows closes rows that nobody reads, which may take a while.
func (r *results) closeRows(rows *Rows) {
	r.running.Go(rows.Close)
}

// startLocked starts the computation of an entry, for those who will wait for it, or for nobody when it refreshes a
// stale answer.
func (r *results) startLocked(en *result, q *cacheable) *computation {
	ctx, cancel := context.WithCancel(r.life)
	if en.kept != nil {
		ctx, cancel = context.WithTimeout(r.life, refreshTime)
	}
	c := &computation{cancel: cancel, done: make(chan struct{}), reading: en.reading}
	en.computing = c
	q.volatile = q.volatile || en.volatile
	r.running.Go(func() { r.compute(ctx, en, c, q) })
	return c
}

func (r *results) compute(ctx context.Context, en *result, c *computation, q *cacheable) {
	rows, err := r.e.compute(ctx, q, c)
	var kept *duck.Kept
	if err == nil {
		if kept, err = rows.Keep(r.maxBytes()); kept != nil || err != nil {
			rows.Close()
			rows = nil
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	defer close(c.done)
	c.kept, c.err = kept, err
	en.computing = nil
	r.keepLocked(en, c, rows != nil)
	switch {
	case rows == nil:
		c.cancel()
	case c.waiting == 0:
		c.cancel()
		r.closeRows(rows)
	default:
		c.rest = rows
	}
}

// keepLocked puts what was computed into the cache, if the entry is still part of it.
func (r *results) keepLocked(en *result, c *computation, tooLarge bool) {
	if r.entries[en.key] != en {
		r.letGoLocked(c.valid)
		return
	}
	en.reading, en.volatile = c.reading, c.volatile
	if c.kept == nil {
		r.letGoLocked(c.valid)
		switch {
		case tooLarge:
			en.tooLarge = r.e.opts.Now().Add(retryLarge)
		case en.kept == nil:
			r.dropLocked(en)
		}
		return
	}
	r.letGoLocked(en.valid)
	r.bytes -= en.bytes
	en.kept, en.valid, en.tooLarge = c.kept, c.valid, time.Time{}
	en.bytes = c.kept.Bytes() + int64(len(en.key)) + entryOverhead
	r.bytes += en.bytes
	for r.bytes > r.limit || r.recent.Len() > maxEntries {
		r.evicted.Add(1)
		r.dropLocked(r.recent.Back().Value.(*result))
	}
}

// maxEntries bounds texts that have been seen, whatever their size.
const maxEntries = 1 << 16

func (r *results) dropLocked(en *result) {
	r.letGoLocked(en.valid)
	r.recent.Remove(en.place)
	delete(r.entries, en.key)
	r.bytes -= en.bytes
	en.valid, en.bytes = nil, 0
}

// close ends the computations that run.
func (r *results) close() {
	r.mu.Lock()
	r.end()
	r.mu.Unlock()
	r.running.Wait()
}

func (r *results) memory() (bytes int64, entries int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.bytes, len(r.entries)
}

// tablesOf returns the base tables below the relations of the names; false when a name is none of ours.
func (rd *readable) tablesOf(names []string) ([]uint32, bool) {
	found := map[uint32]bool{}
	for _, n := range names {
		rel := rd.byName[strings.ToLower(n)]
		if rel == nil {
			return nil, false
		}
		for _, t := range rel.tables {
			found[t] = true
		}
	}
	out := make([]uint32, 0, len(found))
	for t := range maps.Keys(found) {
		out = append(out, t)
	}
	return out, true
}
