package runtime

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"tidemill/runtime/commitlog"
	"tidemill/runtime/logrec"
	"tidemill/state"
	"tidemill/views"
	"tidemill/views/catalog"
	"tidemill/views/duck"
)

// Options say where an engine lives and what it may use. Dir is required.
type Options struct {
	Dir string
	// FS holds all files; nil is the disk.
	FS vfs.FS
	// Memory is divided between rows and state, requests, Pebble and queries (budget.go), in bytes; 0 is
	// DefaultMemory.
	Memory int64
	// Workers is how many views may be stepped at once; 0 is the number of processors.
	Workers int
	// Replay is how long a restart may take to replay the log: when the commits since the last checkpoint
	// have taken so long, the next begins. 0 is DefaultReplay.
	Replay time.Duration
	// ResultCache bounds the answers of queries that are kept, in bytes; 0 is a sixteenth of Memory, and none are kept
	// below that.
	ResultCache int64
	// SlowQuery logs the statements that take so long or longer; 0 logs none.
	SlowQuery time.Duration
	// Warm opens the read engine beside everything else, so that the first query need not wait for it; else
	// the first query does, and until then it takes no memory.
	Warm bool
	// SegmentBytes is the size of the log's files; 0 is the log's own default.
	SegmentBytes int64
	// Now is the clock, for tests; nil is the system's.
	Now func() time.Time
	// Logger gets what an operator should know; nil discards it.
	Logger *slog.Logger
}

const (
	// DefaultMemory suits a machine that does other things too.
	DefaultMemory = 4 << 30
	// DefaultReplay leaves a restart the rest of a second for everything else.
	DefaultReplay = 600 * time.Millisecond
)

// Engine is an open directory. It is safe for concurrent use.
type Engine struct {
	opts   Options
	budget budget
	logger *slog.Logger
	lock   io.Closer

	log   *commitlog.Log
	db    *state.DB
	graph *views.Graph // the committer's; lookups go through their own handles

	eval    *duck.Evaluator
	planner lazyPlanner
	reader  reader
	// asWritten reads relations that compute rows which may fail, and what statements change.
	asWritten reader
	results   results
	queries   queries
	points    points

	published atomic.Uint64 // the newest commit that readers see
	catalog   atomic.Pointer[catalog.Catalog]
	readable  atomic.Pointer[readable]
	lookups   atomic.Pointer[sync.Map] // relation id to *views.Lookup; replaced when a relation is dropped

	requests chan request
	quit     chan struct{}
	done     chan struct{}
	closing  sync.Once
	altering sync.Mutex // held while an ALTER is planned and made: it changes plans in place
	stopped  atomic.Pointer[FailedError]
	admit    admission

	// The committer's own.
	rhythm    rhythm
	halfway   bool    // a commit that failed could not be undone: images cannot be read
	next      request // taken from the queue, to be done next
	clock     int64
	producers *producers
	defined   *catalog.Catalog // what the running commit makes of the catalog
	saving    *checkpoint      // on its way to disk
	saved     chan error
	full      error     // why the last checkpoint found no room; nil when it did
	retryAt   time.Time // when the next is tried, with full
	attempts  int       // checkpoints that found no room
	since     uncheckpointed
	looked    time.Time // when memory was last added up
	stats     *stats
	changed   []uint32        // tables that the running commit changes
	effect    *catalog.Effect // what the running commit defines
	dropped   []uint32        // relations dropped since the last checkpoint
}

// request is something that the committer does.
type request interface{ isRequest() }

// task is a function that runs on the committer, between commits.
type task struct {
	fn     func() error
	result chan error
}

func (*task) isRequest() {}

// failure returns the error that stopped the engine, or nil.
func (e *Engine) failure() error {
	if f := e.stopped.Load(); f != nil {
		return f
	}
	return nil
}

// fail stops the engine: nothing is acknowledged any more, and what is published stays readable.
func (e *Engine) fail(cause error) error {
	f := &FailedError{Cause: cause}
	if e.stopped.CompareAndSwap(nil, f) {
		e.logger.Error("engine stopped", "cause", cause)
	}
	return e.stopped.Load()
}

// Err returns why the engine has stopped, or nil while it runs.
func (e *Engine) Err() error { return e.failure() }

// Commit returns the newest published commit.
func (e *Engine) Commit() uint64 { return e.published.Load() }

// Catalog returns the relations as of the newest published commit. It is immutable.
func (e *Engine) Catalog() *catalog.Catalog { return e.catalog.Load() }

// do runs fn on the committer, between commits.
func (e *Engine) do(ctx context.Context, fn func() error) error {
	t := &task{fn: fn, result: make(chan error, 1)}
	select {
	case e.requests <- t:
	case <-e.done:
		return ErrClosed
	case <-ctx.Done():
		return ctx.Err()
	}
	select {
	case err := <-t.result:
		return err
	case <-e.done:
		select {
		case err := <-t.result:
			return err
		default:
			return ErrClosed
		}
	}
}

// now is the clock of commits: it never goes back.
func (e *Engine) now() int64 {
	e.clock = max(e.clock, e.opts.Now().UnixMicro())
	return e.clock
}

// Checkpoint saves all state and returns when it is on disk and the log is trimmed.
func (e *Engine) Checkpoint(ctx context.Context) error {
	var wait *checkpoint
	err := e.do(ctx, func() error {
		if e.saving != nil { // what runs began before this call
			e.endCheckpoint(<-e.saved)
		}
		var err error
		wait, err = e.beginCheckpoint()
		return err
	})
	if err != nil || wait == nil {
		return err
	}
	select {
	case <-wait.finished:
		return wait.err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Close takes no more requests, saves all state and releases the directory. Appends that wait are answered
// with ErrClosed.
func (e *Engine) Close() error {
	e.closing.Do(func() { close(e.quit) })
	<-e.done
	e.results.close()
	e.reader.close()
	e.asWritten.close()
	e.planner.close()
	e.eval.Close()
	err := errors.Join(e.log.Close(), e.db.Close(), e.lock.Close())
	if f := e.failure(); f != nil {
		err = errors.Join(err, f)
	}
	return err
}

// shutDown is the committer's last act.
func (e *Engine) shutDown() {
	if e.saving != nil {
		e.endCheckpoint(<-e.saved)
	}
	if e.failure() == nil && !e.since.nothing() {
		if cp, err := e.beginCheckpoint(); err == nil && cp != nil {
			e.endCheckpoint(<-e.saved)
		}
	}
	for {
		select {
		case r := <-e.requests:
			switch r := r.(type) {
			case *appendRequest:
				r.done <- appendDone{err: ErrClosed}
			case *task:
				r.result <- ErrClosed
			}
		default:
			return
		}
	}
}

// replayed is what recovery does with a record: the same as a live commit, without the log.
func (e *Engine) replayed(n uint64, payload []byte) error {
	rec, err := logrec.Decode(payload)
	if err != nil {
		return err
	}
	start := e.opts.Now()
	if err := e.apply(n, rec); err != nil {
		return err
	}
	e.clock = max(e.clock, rec.Micros)
	e.stats.step(e.opts.Now().Sub(start))
	e.publish(n)
	return nil
}
