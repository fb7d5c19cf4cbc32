package runtime

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"sort"
	"strings"
	"syscall"
	"time"

	"tidemill/operators"
	"tidemill/state"
	"tidemill/state/image"
	"tidemill/views"
)

// checkpoint is all state as of one commit on its way to disk:
//
//  1. on the committer: dirty entries of all caches are copied, the rows to write are pinned;
//  2. on a goroutine: chunk files are written and synced, then one batch goes to the state database and is
//     flushed;
//  3. on the committer: entries are clean, chunks are mapped from their files, replaced files are
//     removed, the log is trimmed.
//
// The batch refers to files that are already durable, and files and log records go only when the batch is
// durable that replaces them.
type checkpoint struct {
	position uint64
	batch    *state.Checkpoint
	caches   []operators.Cache
	saves    []tableSave
	names    []string // of producers in the batch
	dropped  []uint32
	copied   int64 // bytes of the entries that were copied
	attempt  int   // counts those that found no room
	err      error // set before finished is closed
	finished chan struct{}
}

type tableSave struct {
	table *views.Table
	save  *image.Save
}

// uncheckpointed is what has happened since the last checkpoint began.
type uncheckpointed struct {
	commits int
	replay  time.Duration // what the commits took, and a replay would take about
	bytes   int64         // of rows appended
}

// lookEvery is how often the memory of all caches is added up: small commits come every 0.1 ms, and it
// takes microseconds.
const lookEvery = 5 * time.Millisecond

func (u *uncheckpointed) nothing() bool { return u.commits == 0 }

// maintain runs after each commit: it begins a checkpoint when one is due, and keeps caches within the
// memory given.
func (e *Engine) maintain() {
	if e.failure() != nil {
		return
	}
	select {
	case err := <-e.saved:
		e.endCheckpoint(err)
	default:
	}
	e.since.take(e.stats)
	if now := e.opts.Now(); now.Sub(e.looked) < lookEvery && e.since.bytes < e.budget.look {
		return
	} else {
		e.looked = now
	}
	h := e.holding()
	due := e.since.replay > e.opts.Replay || h.dirty > e.budget.dirty || e.since.bytes > e.budget.dirty
	if e.full != nil {
		due = !e.looked.Before(e.retryAt)
	}
	if due && e.saving == nil {
		if _, err := e.beginCheckpoint(); err != nil {
			e.fail(err)
			return
		}
	}
	// At twice the bound appends wait for the disk.
	if e.saving != nil && (h.dirty > e.budget.wait || e.since.bytes > e.budget.wait) {
		e.endCheckpoint(<-e.saved)
	}
	if over := h.total() - e.budget.relations; over > 0 {
		e.free(over, &h)
	}
}

// beginCheckpoint is step 1. It returns a checkpoint that is finished after step 3, or nil when there is
// nothing to save.
func (e *Engine) beginCheckpoint() (*checkpoint, error) {
	if err := e.failure(); err != nil {
		return nil, err // what is in memory is not to be trusted with the next start
	}
	if e.saving != nil {
		return e.saving, nil
	}
	n := e.published.Load()
	if n == e.db.Applied() {
		e.full = nil
		return nil, nil
	}
	cp := &checkpoint{position: n, batch: e.db.NewCheckpoint(n), caches: e.graph.Caches(), dropped: e.dropped,
		attempt: e.attempts, finished: make(chan struct{})}
	for _, c := range cp.caches {
		c.Collect(cp.batch)
	}
	e.graph.Tables(func(t *views.Table) {
		if s := t.Rows.Plan(); s != nil {
			cp.saves = append(cp.saves, tableSave{t, s})
		}
	})
	for name := range e.producers.dirty {
		cp.batch.SetMeta(producerMeta+name, e.producers.byName[name].encode())
		cp.names = append(cp.names, name)
	}
	e.producers.dirty = map[string]bool{}
	text, err := json.Marshal(e.catalog.Load())
	if err != nil {
		return nil, fmt.Errorf("encode catalog: %w", err)
	}
	cp.batch.SetMeta(metaTables, text)
	for _, id := range cp.dropped {
		cp.batch.DeleteKeyspaces(views.RelationKeyspaces(id))
	}
	cp.copied = cp.batch.Bytes()
	e.dropped = nil
	e.since = uncheckpointed{}
	e.saving = cp
	go func() { e.saved <- e.write(cp) }()
	return cp, nil
}

// write is step 2.
func (e *Engine) write(cp *checkpoint) error {
	for _, s := range cp.saves {
		id := s.table.Rel.ID
		prefix := fmt.Sprintf("%d-%d", id, cp.position)
		if cp.attempt > 0 { // files of the one before may still be there
			prefix += fmt.Sprintf("-%d", cp.attempt)
		}
		entries, err := s.save.Write(e.opts.FS, e.path(chunkDir), prefix)
		if err != nil {
			return fmt.Errorf("save table %s: %w", s.table.Rel.Name, err)
		}
		for _, en := range entries {
			if en.Value == nil {
				cp.batch.Delete(views.RowsKeyspace(id), en.Key)
			} else {
				cp.batch.Put(views.RowsKeyspace(id), en.Key, en.Value)
			}
		}
	}
	return cp.batch.Commit(context.Background())
}

// endCheckpoint is step 3.
func (e *Engine) endCheckpoint(err error) {
	cp := e.saving
	e.saving = nil
	defer close(cp.finished)
	if err != nil {
		for _, c := range cp.caches {
			c.Abandoned(cp.batch)
		}
		for _, s := range cp.saves {
			s.table.Rows.Failed(s.save)
		}
		cp.err = fmt.Errorf("checkpoint: %w", err)
		if errors.Is(err, syscall.ENOSPC) && e.db.Err() == nil {
			e.postpone(cp)
		} else {
			cp.err = e.fail(cp.err)
		}
		return
	}
	e.full = nil
	for _, c := range cp.caches {
		c.Cleaned(cp.batch)
	}
	var obsolete []string
	for _, s := range cp.saves {
		obsolete = append(obsolete, s.table.Rows.Installed(s.save)...)
		s.table.Rows.Publish()
	}
	obsolete = append(obsolete, e.filesOf(cp.dropped)...)
	for _, path := range obsolete {
		if err := e.opts.FS.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			e.logger.Warn("cannot remove a replaced chunk file", "file", path, "error", err)
		}
	}
	if err := e.log.Trim(cp.position); err != nil {
		cp.err = e.fail(fmt.Errorf("trim log to commit %d: %w", cp.position, err))
	}
	e.stats.checkpointed(cp.position)
}

// fullPause is how long after a full disk the next checkpoint is tried: it writes until there is no room.
const fullPause = time.Second

// postpone is for a checkpoint that found no room for its chunk files; the state database has seen none of it.
// Until one has succeeded commits are refused: what they add could not leave memory.
func (e *Engine) postpone(cp *checkpoint) {
	for _, name := range cp.names {
		e.producers.dirty[name] = true
	}
	e.dropped = append(cp.dropped, e.dropped...)
	e.attempts++
	e.full, e.retryAt = cp.err, e.opts.Now().Add(fullPause)
	e.logger.Warn("no room for a checkpoint; changes are refused until there is", "error", cp.err)
}

// filesOf returns the chunk files of dropped tables.
func (e *Engine) filesOf(ids []uint32) (paths []string) {
	if len(ids) == 0 {
		return nil
	}
	names, err := e.opts.FS.List(e.path(chunkDir))
	if err != nil {
		e.logger.Warn("cannot list chunk files", "error", err)
		return nil
	}
	sort.Strings(names)
	for _, id := range ids {
		for _, n := range names {
			if strings.HasPrefix(n, fmt.Sprintf("%d-", id)) {
				paths = append(paths, e.opts.FS.PathJoin(e.path(chunkDir), n))
			}
		}
	}
	return paths
}

// loadProducers reads them as of the last checkpoint.
func (e *Engine) loadProducers() error {
	return e.db.Metas(producerMeta, func(name string, val []byte) error {
		pr, err := decodeProducer(val)
		if err != nil {
			return fmt.Errorf("producer %s: %w", strings.TrimPrefix(name, producerMeta), err)
		}
		e.producers.byName[strings.TrimPrefix(name, producerMeta)] = pr
		return nil
	})
}
