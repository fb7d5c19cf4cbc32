package state

import (
	"context"
	"encoding/binary"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// TestConcurrentReaders looks keys up while commits, voided commits, checkpoints and evictions go
// on. A key's value is the number of the last published commit that wrote it, 0 for deleted; what a
// reader sees must be a value that was published, no older than what was published before it asked
// and no newer than what was when it had its answer.
func TestConcurrentReaders(t *testing.T) {
	r := newRand(t)
	for _, mode := range []Mode{FixedKeys, ByteKeys} {
		db := openTest(t, vfs.NewMem())
		c := &sumCells{}
		tab, err := NewTable(db, TableOptions{Keyspace: 1, Mode: mode}, c)
		must(t, err)
		const nKeys = 500
		w := &writer{t: t, db: db, tab: tab, c: c, r: rand.New(rand.NewPCG(r.Uint64(), 1))}
		w.history = make([]keyHistory, nKeys)
		stop := make(chan struct{})
		var wg sync.WaitGroup
		var reads, misses atomic.Int64
		for range 3 {
			rr := rand.New(rand.NewPCG(r.Uint64(), 1))
			wg.Go(func() {
				for {
					select {
					case <-stop:
						return
					default:
					}
					onDisk, ok := w.read(rr.IntN(nKeys))
					if !ok {
						return
					}
					reads.Add(1)
					if onDisk {
						misses.Add(1)
					}
				}
			})
		}
		for range 120 {
			w.step()
		}
		close(stop)
		wg.Wait()
		must(t, db.Close())
		t.Logf("mode %d: %d reads, %d from disk", mode, reads.Load(), misses.Load())
	}
}

type writer struct {
	t         *testing.T
	db        *DB
	tab       *Table
	c         *sumCells
	r         *rand.Rand
	published atomic.Uint64
	history   []keyHistory
	flying    *Checkpoint
	done      chan error
}

// keyHistory is what a key was, by commit.
type keyHistory struct {
	mu      sync.Mutex
	commits []uint64
	values  []int64
}

// at returns the value as of a commit.
func (h *keyHistory) at(commit uint64) int64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	for i := len(h.commits) - 1; i >= 0; i-- {
		if h.commits[i] <= commit {
			return h.values[i]
		}
	}
	return 0
}

func (w *writer) step() {
	n := w.published.Load() + 1
	w.tab.Begin(n)
	var keys []int
	for range w.r.IntN(100) {
		keys = append(keys, w.r.IntN(len(w.history)))
	}
	out := make([]int32, len(keys))
	if w.tab.opts.Mode == FixedKeys {
		fixed := make([]uint64, len(keys))
		for i, k := range keys {
			fixed[i] = uint64(k)
		}
		must(w.t, w.tab.FindFixed(fixed, nil, out))
	} else {
		var arena []byte
		offs := []int32{0}
		for _, k := range keys {
			arena = append(arena, byteKeyOf(k)...)
			offs = append(offs, int32(len(arena)))
		}
		must(w.t, w.tab.FindBytes(arena, offs, out))
	}
	w.tab.Touch(out)
	for _, s := range out {
		w.c.cur[s] = -1 // never to be seen
	}
	if w.r.IntN(4) == 0 {
		w.tab.Void()
		return
	}
	for i, s := range out {
		v := int64(n)
		if keys[i]%3 == int(n)%3 {
			v = 0
		}
		w.c.cur[s] = v
		h := &w.history[keys[i]]
		h.mu.Lock()
		h.commits, h.values = append(h.commits, n), append(h.values, v)
		h.mu.Unlock()
	}
	w.tab.Publish(n)
	w.published.Store(n)
	w.between(n)
}

// between commits: checkpoints in the background, and eviction.
func (w *writer) between(n uint64) {
	if w.flying == nil && w.r.IntN(3) == 0 {
		cp := w.db.NewCheckpoint(n)
		w.tab.Collect(cp)
		w.flying, w.done = cp, make(chan error, 1)
		done := w.done
		go func() { done <- cp.Commit(context.Background()) }()
	} else if w.flying != nil && w.r.IntN(2) == 0 {
		must(w.t, <-w.done)
		w.tab.Cleaned(w.flying)
		w.flying = nil
		w.tab.Evict(int64(w.r.IntN(8000)))
	}
}

func byteKeyOf(k int) []byte {
	b := binary.BigEndian.AppendUint64([]byte{1}, uint64(k))
	if k%2 == 0 {
		b = append(b, "a long tail of the key"...)
	}
	return b
}

// read checks one lookup.
func (w *writer) read(k int) (onDisk, ok bool) {
	var got int64
	f := func(s int32, previous bool) {
		if previous {
			got = w.c.prev[s] // the current one is being changed
		} else {
			got = w.c.cur[s]
		}
	}
	before := w.published.Load()
	var found bool
	var raw []byte
	var err error
	if w.tab.opts.Mode == FixedKeys {
		found, raw, err = w.tab.ReadFixed(uint64(k), false, &w.published, f)
	} else {
		found, raw, err = w.tab.ReadBytes(byteKeyOf(k), &w.published, f)
	}
	after := w.published.Load()
	if err != nil {
		w.t.Error(err)
		return false, false
	}
	if raw != nil {
		got, _ = binary.Varint(raw)
	}
	h := &w.history[k]
	for n := before; n <= after; n++ {
		if got == h.at(n) && found == (got != 0) {
			return raw != nil, true
		}
	}
	w.t.Errorf("key %d: read %v %d between commits %d and %d, want %d to %d", k, found, got, before, after, h.at(before), h.at(after))
	return false, false
}
