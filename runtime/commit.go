package runtime

import (
	"errors"
	"fmt"
	"slices"
	"syscall"
	"time"

	"tidemill/operators/zset"
	"tidemill/runtime/commitlog"
	"tidemill/runtime/logrec"
	"tidemill/state/column"
	"tidemill/views"
)

const (
	// maxCommitRows and maxCommitBytes bound what one commit gathers: an append in the queue waits for at
	// most so much of others'. One larger append stands alone.
	maxCommitRows  = 1 << 20
	maxCommitBytes = 64 << 20
	// smallRows is below how many rows an append is joined with its neighbours before the operators see
	// it: a batch costs them a few microseconds whatever its size, a row of the copy some 50 ns.
	smallRows = 256
)

// run is the committer. What it does, in order, with whatever is in the queue:
//
//  1. gather: the appends that wait become one commit, less those that are repeats or do not follow
//     their producer's last;
//  2. write the commit's record to the log (a full disk ends it here, with nothing changed);
//  3. start the fsync;
//  4. meanwhile bring tables and operators to the commit;
//  5. wait for the fsync;
//  6. publish: lookups and snapshots see the commit;
//  7. acknowledge.
//
// So log order, visible order and acknowledged order are one. Two things look better and are not.
// Acknowledging after the fsync and publishing later would let a reader miss what its writer knows to
// be in. Stepping commit N+1 while N is being synced would need a third version of every value: N may
// not be published before its sync, and lookups read the version before it.
func (e *Engine) run() {
	defer close(e.done)
	for {
		var r request
		if r = e.next; r == nil {
			select {
			case r = <-e.requests:
			case err := <-e.saved:
				e.endCheckpoint(err)
				continue
			case <-e.quit:
				e.shutDown()
				return
			}
		}
		e.next = nil
		switch r := r.(type) {
		case *appendRequest:
			e.commitAppends(r)
		case *task:
			r.result <- r.fn()
		}
		e.maintain()
	}
}

// commitAppends makes one commit of first and the appends that wait behind it.
func (e *Engine) commitAppends(first *appendRequest) {
	if err := e.failure(); err != nil { // it was sent before that; its first may be what failed
		first.done <- appendDone{err: err}
		return
	}
	micros := e.now()
	e.rhythm.begin()
	taken, repeats := e.gather(first, micros)
	start := e.opts.Now()
	commit, err := e.published.Load(), error(nil)
	if len(taken) > 0 {
		rec := &logrec.Record{Micros: micros}
		for _, r := range taken {
			rec.Entries = r.entries(rec.Entries)
		}
		commit, err = e.commit(rec)
	}
	e.rhythm.end(len(taken), len(e.requests), e.opts.Now().Sub(start))
	for _, r := range taken {
		r.done <- appendDone{AppendResult{Commit: commit, Accepted: r.accepted, Rejected: r.rejected}, err}
	}
	for _, d := range repeats {
		res := AppendResult{Commit: d.seen.Commit, Accepted: d.seen.Rows, Rejected: d.seen.Rejected, Duplicate: true}
		if d.seen.Seq != 0 && res.Commit == 0 { // its first is in this commit
			res.Commit = commit
			d.request.done <- appendDone{res, err}
			continue
		}
		d.request.done <- appendDone{res, nil}
	}
}

type repeat struct {
	request *appendRequest
	seen    seen
}

// gather takes appends from the queue, and answers those that cannot be taken.
func (e *Engine) gather(first *appendRequest, micros int64) (taken []*appendRequest, repeats []repeat) {
	rows, bytes := 0, 0
	pending := map[string][]*appendRequest{}
	for r := first; ; {
		v := e.admissible(r)
		if v.err == nil {
			v = e.producers.check(r, micros, pending)
		}
		switch {
		case v.err != nil:
			r.done <- appendDone{err: v.err}
		case v.duplicate:
			repeats = append(repeats, repeat{r, v.seen})
		default:
			taken = append(taken, r)
			if r.Producer != "" {
				pending[r.Producer] = append(pending[r.Producer], r)
			}
			rows, bytes = rows+r.accepted+r.rejected, bytes+r.bytes
		}
		q := e.rhythm.next(e.requests, len(taken))
		next, ok := q.(*appendRequest)
		if !ok || len(taken) > 0 && (rows+next.accepted+next.rejected > maxCommitRows || bytes+next.bytes > maxCommitBytes) {
			e.next = q // nil when nothing came
			return taken, repeats
		}
		r = next
	}
}

// admissible says whether the append's tables are still those that its rows were read for.
func (e *Engine) admissible(r *appendRequest) verdict {
	cat := e.catalog.Load()
	for i := range r.parts {
		rel := cat.ByID(r.parts[i].Relation)
		if rel == nil || rel.Version != r.parts[i].Version {
			return verdict{err: ErrSchemaChanged}
		}
	}
	return verdict{}
}

// commit makes rec the next commit: steps 2 to 6 of run.
func (e *Engine) commit(rec *logrec.Record) (uint64, error) {
	if err := e.failure(); err != nil {
		return 0, err
	}
	n := e.published.Load() + 1
	if e.full != nil {
		return 0, fmt.Errorf("commit %d: %w: %w", n, ErrDiskFull, e.full)
	}
	if err := e.log.Append(n, rec.Parts()...); err != nil {
		if errors.Is(err, commitlog.ErrNoSegment) && errors.Is(err, syscall.ENOSPC) {
			return 0, fmt.Errorf("commit %d: %w: %w", n, ErrDiskFull, err)
		}
		if errors.Is(err, commitlog.ErrTooLarge) {
			return 0, fmt.Errorf("commit %d: %w", n, err)
		}
		return 0, e.fail(err)
	}
	synced := e.sync()
	start := e.opts.Now()
	err := e.apply(n, rec)
	step := e.opts.Now().Sub(start)
	sync := <-synced
	e.stats.step(step)
	e.stats.sync(sync.took)
	e.rhythm.spent(step, sync.took)
	if sync.err != nil {
		err = sync.err
	}
	if err != nil {
		err = e.fail(err)
		e.void()
		return 0, err
	}
	e.publish(n)
	return n, nil
}

// void undoes what apply has done of a commit that is not to be: what is published stays readable. The
// engine has failed, and with it what producers seem to have sent.
func (e *Engine) void() {
	if e.effect != nil {
		for _, rel := range e.effect.Created {
			e.graph.Withdraw(rel)
		}
	}
	e.defined, e.effect = nil, nil
	if err := e.graph.Void(); err != nil {
		e.halfway = true
		e.logger.Error("cannot undo the failed commit; queries are refused", "error", err)
	}
}

type synced struct {
	took time.Duration
	err  error
}

// sync starts the log's fsync.
func (e *Engine) sync() <-chan synced {
	done := make(chan synced, 1)
	go func() {
		start := e.opts.Now()
		err := e.log.Sync()
		done <- synced{e.opts.Now().Sub(start), err}
	}()
	return done
}

// apply brings tables and operators to commit n. Replay runs it too: it reads rec and the state, nothing
// else.
func (e *Engine) apply(n uint64, rec *logrec.Record) error {
	e.changed = e.changed[:0]
	deltas := map[uint32]views.Delta{}
	var born []*views.View
	for i := 0; i < len(rec.Entries); {
		en := &rec.Entries[i]
		var d views.Delta
		var err error
		switch en.Kind {
		case logrec.Append:
			run := appendRun(rec.Entries[i:])
			d, err = e.appendRows(n, rec.Entries[i:i+run])
			for k := range run {
				e.producers.note(&rec.Entries[i+k], n, rec.Micros)
			}
			i += run - 1
		case logrec.Delete:
			d, err = e.graph.Delete(n, en.Relation, en.RowIDs)
		case logrec.Truncate:
			d, err = e.graph.Truncate(n, en.Relation)
		case logrec.Define:
			born, err = e.define(n, en.Payload)
		}
		if err != nil {
			return fmt.Errorf("commit %d: %w", n, err)
		}
		if en.Kind != logrec.Define && !slices.Contains(e.changed, en.Relation) {
			e.changed = append(e.changed, en.Relation)
		}
		deltas[en.Relation] = append(deltas[en.Relation], d...)
		i++
	}
	if err := e.graph.Step(n, deltas, born...); err != nil {
		return fmt.Errorf("commit %d: %w", n, err)
	}
	e.stats.applied(rec)
	return nil
}

// appendRun returns how many entries from the first on are small appends to the same table, to be taken
// as one batch; at least 1.
func appendRun(entries []logrec.Entry) int {
	n := 1
	for rows := entries[0].Rows; n < len(entries) && rows < smallRows; n++ {
		e := &entries[n]
		if e.Kind != logrec.Append || e.Relation != entries[0].Relation || e.Rows >= smallRows {
			break
		}
		rows += e.Rows
	}
	return n
}

// appendRows applies appends to one table.
func (e *Engine) appendRows(n uint64, entries []logrec.Entry) (views.Delta, error) {
	first := &entries[0]
	if len(entries) == 1 {
		return e.graph.Append(n, first.Relation, first.Cols, first.Rows, first.Deleted)
	}
	batches := make([]*zset.Batch, len(entries))
	rows, deletes := 0, false
	for i := range entries {
		batches[i] = &zset.Batch{Cols: entries[i].Cols, N: entries[i].Rows}
		rows += entries[i].Rows
		deletes = deletes || entries[i].Deleted != nil
	}
	all := zset.Concat(batches...)
	if all == nil {
		return nil, nil
	}
	var deleted []byte
	if deletes {
		deleted = column.NewBitmap(rows, false)
		at := 0
		for i := range entries {
			for k := range entries[i].Rows {
				if entries[i].Deleted != nil && column.Bit(entries[i].Deleted, k) {
					column.SetBit(deleted, at+k)
				}
			}
			at += entries[i].Rows
		}
	}
	return e.graph.Append(n, first.Relation, all.Cols, all.N, deleted)
}

// publish makes commit n what readers see.
func (e *Engine) publish(n uint64) {
	e.graph.Publish()
	if e.defined != nil {
		e.settle()
		e.catalog.Store(e.defined)
		e.readable.Store(e.describe(e.defined))
		e.defined = nil
		e.results.forget()
	}
	e.results.changed(n, e.changed)
	e.published.Store(n)
}
