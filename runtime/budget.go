package runtime

import (
	"tidemill/operators"
	"tidemill/views"
)

// The accounts of Options.Memory, as Stats names them. Each has a share of its own (budget), and all shares
// together are at most the whole. Of more than 1 GiB Pebble does not take its sixteenth, which leaves room for the running
// commit.
const (
	// RequestsAccount is bodies in flight and what they are decoded to. Above its share requests wait (Admit).
	RequestsAccount = "requests"
	// RelationsAccount is what the committer keeps: rows that no checkpoint has saved, indexes, operators' state,
	// images of their outputs, and the entries that a running checkpoint has copied. Above its share images are
	// dropped and clean entries evicted; what is dirty is bounded by marks within the share.
	RelationsAccount = "relations"
	// StateAccount is Pebble's block cache and memtables.
	StateAccount = "state_database"
	// ResultsAccount is answers of queries that are kept. Above its share the cache forgets some.
	ResultsAccount = "results"
	// QueriesAccount is the two read engines; the one that evaluates as written has a quarter of it. Above their
	// shares queries spill (spill.go).
	QueriesAccount = "queries"
)

// The parts of RelationsAccount.
const (
	TablesPart     = "tables"
	ViewsPart      = "views"
	ImagesPart     = "images"
	CheckpointPart = "checkpoint"
)

const (
	// minRequestBytes lets a few bodies of the usual bound in at once however little memory there is.
	minRequestBytes = 64 << 20
	// minQueryBytes is the least that a read engine may use: below a few dozen blocks of 256 KiB DuckDB refuses
	// even small queries.
	minQueryBytes = 64 << 20
	// minStateBytes is a small memtable twice, one filled and one on its way to disk, and a cache.
	minStateBytes = 2 << 20
	// maxStateBytes bounds Pebble's share: its cache holds what the caches before it have missed, and the operating system
	// keeps the files as well.
	maxStateBytes = 64 << 20
)

// budget is how Options.Memory is divided, in bytes. There is no pool that accounts borrow from: a query that
// took what requests leave would make appends wait for a query. It never changes.
type budget struct {
	requests, relations, state, results int64
	plain, asWritten                    int64 // queries, by read engine

	// Marks within the share of relations.
	dirty int64 // a checkpoint begins when more is dirty, or was appended since the last
	wait  int64 // appends wait for the checkpoint
	look  int64 // appended since the last checkpoint: accounts are added up at every commit
	warm  int64 // state of one operator that is loaded at once instead of entry by entry
}

func divide(memory int64) budget {
	return budget{
		requests: max(memory/8, minRequestBytes), relations: memory / 2, state: stateBytes(memory), results: memory / 16,
		plain: max(memory/16*3, minQueryBytes), asWritten: max(memory/16, minQueryBytes),
		dirty: memory / 8, wait: memory / 4, look: memory / 16, warm: memory / 4,
	}
}

// HeapBytes returns how much of memory (Options.Memory) may be on Go's heap: all but what lives outside of it.
func HeapBytes(memory int64) int64 { return memory - memory/4 - stateBytes(memory) }

func stateBytes(memory int64) int64 { return max(min(memory/16, maxStateBytes), minStateBytes) }

// memTable is the part of state that one memtable may take; there are at most two, and the cache has the rest.
func (b *budget) memTable() int64 { return b.state / 8 }

// shares returns the share of each account.
func (b *budget) shares() map[string]int64 {
	return map[string]int64{RequestsAccount: b.requests, RelationsAccount: b.relations, StateAccount: b.state,
		ResultsAccount: b.results, QueriesAccount: b.plain + b.asWritten}
}

// holding is what the parts of RelationsAccount hold, in bytes, and how much of it no eviction can free yet.
type holding struct{ tables, views, images, checkpoint, dirty int64 }

func (h *holding) total() int64 { return h.tables + h.views + h.images + h.checkpoint }

// holding adds up. It is the committer's.
func (e *Engine) holding() (h holding) {
	sum := func(caches []operators.Cache) (bytes int64) {
		for _, c := range caches {
			bytes += c.Bytes()
			_, d := c.Dirty()
			h.dirty += d
		}
		return bytes
	}
	e.graph.Tables(func(t *views.Table) { h.tables += t.Rows.Memory() + sum(t.Caches()) })
	e.graph.Views(func(v *views.View) {
		h.views += sum(v.Caches())
		h.images += v.ImageBytes()
	})
	if e.saving != nil {
		h.checkpoint = e.saving.copied
	}
	return h
}

// free brings the account of relations back by over bytes, or as far as clean entries allow: first images, which
// the next read makes again from what is in memory, then entries, from each cache its share.
func (e *Engine) free(over int64, h *holding) {
	if h.images > 0 {
		e.graph.Views(func(v *views.View) { v.DropImages() })
		over -= h.images
	}
	if over <= 0 {
		return
	}
	caches := e.graph.Caches()
	var total int64
	for _, c := range caches {
		total += c.Bytes()
	}
	for _, c := range caches {
		if b := c.Bytes(); b > 0 {
			e.stats.evicted(c.Evict(b - int64(float64(over)*float64(b)/float64(total)) - 1))
		}
	}
}
