package runtime

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"tidemill/runtime/logrec"
)

// stats counts what the committer does. The committer writes, anybody reads.
type stats struct {
	commits, rows, bytes   atomic.Int64
	rejected               atomic.Int64
	checkpoints, evictions atomic.Int64
	stepNanos, syncNanos   atomic.Int64
	checkpoint             atomic.Uint64 // position of the last
	queries, lookups       atomic.Int64

	mu                   sync.Mutex // guards what follows: the committer's share of it since it was last taken
	newSteps             time.Duration
	newCommits, newBytes int64
}

func newStats() *stats { return &stats{} }

func (s *stats) step(d time.Duration) {
	s.stepNanos.Add(int64(d))
	s.mu.Lock()
	s.newSteps += d
	s.mu.Unlock()
}

func (s *stats) sync(d time.Duration) { s.syncNanos.Add(int64(d)) }

func (s *stats) evicted(n int) { s.evictions.Add(int64(n)) }

func (s *stats) checkpointed(position uint64) {
	s.checkpoints.Add(1)
	s.checkpoint.Store(position)
}

func (s *stats) applied(rec *logrec.Record) {
	var rows, bytes, rejected int64
	for i := range rec.Entries {
		rows += int64(rec.Entries[i].Rows) - int64(rec.Entries[i].Rejected) // those are rows of an entry behind
		rejected += int64(rec.Entries[i].Rejected)
		for k := range rec.Entries[i].Cols {
			bytes += int64(rec.Entries[i].Cols[k].Size())
		}
	}
	s.commits.Add(1)
	s.rows.Add(rows)
	s.rejected.Add(rejected)
	s.bytes.Add(bytes)
	s.mu.Lock()
	s.newCommits++
	s.newBytes += bytes
	s.mu.Unlock()
}

// take adds to u what was counted since it last did.
func (u *uncheckpointed) take(s *stats) {
	s.mu.Lock()
	u.replay += s.newSteps
	u.commits += int(s.newCommits)
	u.bytes += s.newBytes
	s.newSteps, s.newCommits, s.newBytes = 0, 0, 0
	s.mu.Unlock()
}

// Stats is a picture of an engine.
type Stats struct {
	Commit          uint64           `json:"commit"`
	Checkpoint      uint64           `json:"checkpoint"`
	Commits         int64            `json:"commits"`
	Rows            int64            `json:"rows_appended"`
	Rejected        int64            `json:"rows_rejected"`
	Bytes           int64            `json:"bytes_appended"`
	StepSeconds     float64          `json:"step_seconds"`
	SyncSeconds     float64          `json:"sync_seconds"`
	Checkpoints     int64            `json:"checkpoints"`
	Evicted         int64            `json:"entries_evicted"`
	Queries         int64            `json:"queries"`
	Lookups         int64            `json:"lookups"`
	ResultCache     ResultStats      `json:"result_cache"`
	LogBytes        int64            `json:"log_bytes"`
	StateDiskBytes  int64            `json:"state_disk_bytes"`
	MemoryLimit     int64            `json:"memory_limit_bytes"`
	MemoryShares    map[string]int64 `json:"memory_share_bytes"` // by account: budget.go
	Memory          map[string]int64 `json:"memory_bytes"`       // in use, by account; relations by its parts
	SpilledBytes    int64            `json:"spilled_bytes"`      // by queries that are running
	Relations       []RelationStats  `json:"relations"`
	Checkpointing   bool             `json:"checkpointing"`
	Failed          string           `json:"failed,omitempty"`
	RequestsInQueue int              `json:"requests_in_queue"`
}

// ResultStats counts what the result cache does.
type ResultStats struct {
	Hits    int64 `json:"hits"`   // answers that were right
	Stale   int64 `json:"stale"`  // old answers for those who accept them
	Misses  int64 `json:"misses"` // computed and kept
	Evicted int64 `json:"evicted"`
	Entries int   `json:"entries"`
}

// RelationStats is a table or view in Stats.
type RelationStats struct {
	ID      uint32 `json:"id"` // never used again for another relation
	Name    string `json:"name"`
	Kind    string `json:"kind"`
	Rows    int64  `json:"rows,omitempty"`    // of a table
	Groups  int64  `json:"groups,omitempty"`  // that a view keeps
	Rejects int64  `json:"rejects,omitempty"` // rows that a view could not use
	Bytes   int64  `json:"bytes,omitempty"`   // in memory
}

// Stats returns a picture of the engine as of one commit. It waits for the running one.
func (e *Engine) Stats() Stats {
	s := Stats{
		Commits: e.stats.commits.Load(), Rows: e.stats.rows.Load(), Rejected: e.stats.rejected.Load(), Bytes: e.stats.bytes.Load(),
		StepSeconds: float64(e.stats.stepNanos.Load()) / 1e9, SyncSeconds: float64(e.stats.syncNanos.Load()) / 1e9,
		Checkpoints: e.stats.checkpoints.Load(), Evicted: e.stats.evictions.Load(),
		Queries: e.stats.queries.Load(), Lookups: e.stats.lookups.Load(),
		LogBytes: e.log.Bytes(0), StateDiskBytes: e.db.DiskBytes(), MemoryLimit: e.opts.Memory,
		Checkpoint: e.db.Applied(), Commit: e.Commit(), RequestsInQueue: len(e.requests),
		MemoryShares: e.budget.shares(),
		Memory:       map[string]int64{StateAccount: e.db.CacheBytes(), RequestsAccount: e.admit.inFlight()},
	}
	for _, r := range []*reader{&e.reader, &e.asWritten} {
		memory, spilled := r.usage()
		s.Memory[QueriesAccount] += memory
		s.SpilledBytes += spilled
	}
	s.ResultCache = ResultStats{Hits: e.results.hits.Load(), Stale: e.results.stale.Load(), Misses: e.results.misses.Load(), Evicted: e.results.evicted.Load()}
	s.Memory[ResultsAccount], s.ResultCache.Entries = e.results.memory()
	if err := e.failure(); err != nil {
		s.Failed = err.Error()
	}
	// After Close there is nobody to ask, and the numbers above stand alone.
	_ = e.do(context.Background(), func() error {
		s.Checkpointing = e.saving != nil
		s.Commit = e.Commit()
		h := e.holding()
		s.Memory[TablesPart], s.Memory[ViewsPart], s.Memory[ImagesPart], s.Memory[CheckpointPart] = h.tables, h.views, h.images, h.checkpoint
		for _, rel := range e.catalog.Load().Relations() {
			r := RelationStats{ID: rel.ID, Name: rel.Name, Kind: string(rel.Kind)}
			if t := e.graph.Table(rel.ID); t != nil {
				r.Rows, r.Bytes = t.Rows.Live(), t.Rows.Memory()
				for _, c := range t.Caches() {
					r.Bytes += c.Bytes()
				}
			}
			if v := e.graph.View(rel.ID); v != nil {
				r.Groups, r.Rejects, r.Bytes = v.Sizes()
				r.Bytes += v.ImageBytes()
			}
			s.Relations = append(s.Relations, r)
		}
		return nil
	})
	return s
}

func (a *admission) inFlight() int64 {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.used
}
