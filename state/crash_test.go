package state

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
)

// history makes random checkpoints and remembers what the database must hold after each.
type history struct {
	r     *rand.Rand
	model map[string]string // full key to value; meta keys too

	mu    sync.Mutex
	saved map[uint64]map[string]string // by position
	acked uint64                       // the last position whose Commit returned nil
}

func newHistory(r *rand.Rand) *history {
	return &history{r: r, model: map[string]string{}, saved: map[uint64]map[string]string{0: {}}}
}

// next fills a checkpoint at position and saves what it must lead to. The generation keyspace
// 100+position is filled beside it, in batches of its own, and named by the meta key "live".
func (h *history) next(db *DB, position uint64) *Checkpoint {
	r, cp := h.r, db.NewCheckpoint(position)
	big := r.IntN(6) == 0 // larger than half a memtable
	if r.IntN(4) == 0 {
		id, lo := 1+r.Uint32N(3), binary.BigEndian.AppendUint32(nil, r.Uint32N(200))
		cp.DeleteRange(id, lo, nil)
		from, to := string(appendKey(nil, id, lo)), string(appendKey(nil, id+1, ""))
		maps.DeleteFunc(h.model, func(k, _ string) bool { return k >= from && k < to })
	}
	for range r.IntN(60) {
		id, key := 1+r.Uint32N(3), binary.BigEndian.AppendUint32(nil, r.Uint32N(200))
		full := string(appendKey(nil, id, key))
		if r.IntN(4) == 0 {
			cp.Delete(id, key)
			delete(h.model, full)
			continue
		}
		val := fmt.Appendf(nil, "%d-%d", position, r.Uint64())
		if big {
			val = append(val, make([]byte, r.IntN(8000))...)
		}
		cp.Put(id, key, val)
		h.model[full] = string(val)
	}
	name := fmt.Sprintf("m%d", r.IntN(3))
	cp.SetMeta(name, fmt.Append(nil, position))
	h.model[string(appendKey(nil, metaKeyspace, name))] = fmt.Sprint(position)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.saved[position] = maps.Clone(h.model)
	return cp
}

// check compares the database with what it must hold at its own position.
func (h *history) check(db *DB) error {
	h.mu.Lock()
	want, ok := h.saved[db.Applied()]
	h.mu.Unlock()
	if !ok {
		return fmt.Errorf("applied position %d was never checkpointed", db.Applied())
	}
	got := map[string]string{}
	it, err := db.p.NewIter(nil)
	if err != nil {
		return err
	}
	for ok := it.First(); ok; ok = it.Next() {
		if k := it.Key(); len(k) > 4 && k[4] == 0 && string(k[:4]) == "\x00\x00\x00\x00" {
			continue // our own
		}
		got[string(it.Key())] = string(it.Value())
	}
	if err := it.Close(); err != nil {
		return err
	}
	if !maps.Equal(got, want) {
		return fmt.Errorf("at %d: %d entries, want %d, or other values", db.Applied(), len(got), len(want))
	}
	return nil
}

// checkReads compares a database that has failed with the last checkpoints: reads show all of one that was given to
// Pebble, durable or not.
func (h *history) checkReads(db *DB) error {
	if db.CacheBytes() <= 0 || db.DiskBytes() <= 0 {
		return fmt.Errorf("cache of %d bytes, disk of %d", db.CacheBytes(), db.DiskBytes())
	}
	it, err := db.p.NewIter(nil)
	if err != nil {
		return err
	}
	got, own := map[string]string{}, map[string][]byte{}
	for ok := it.First(); ok; ok = it.Next() {
		if k := string(it.Key()); strings.HasPrefix(k, "\x00\x00\x00\x00\x00") {
			own[k[4:]] = slices.Clone(it.Value())
		} else {
			got[k] = string(it.Value())
		}
	}
	position := binary.BigEndian.Uint64(own[keyApplied])
	if err := it.Close(); err != nil {
		return err
	}
	if want := h.saved[position]; !maps.Equal(got, want) {
		return fmt.Errorf("%d entries can be read at %d, want %d, or other values", len(got), position, len(want))
	}
	return nil
}

func TestCrash(t *testing.T) {
	r := newRand(t)
	perDB := 25
	clones := 100 * *roundsFlag
	later := 0
	for done := 0; done < clones; {
		fs := vfs.NewCrashableMem()
		db := openTest(t, fs)
		h := newHistory(rand.New(rand.NewPCG(r.Uint64(), 1)))
		stop, stopped := make(chan struct{}), make(chan error, 1)
		go func() {
			for position := uint64(1); ; position++ {
				select {
				case <-stop:
					stopped <- nil
					return
				default:
				}
				if err := h.next(db, position).Commit(context.Background()); err != nil {
					stopped <- err
					return
				}
				h.mu.Lock()
				h.acked = position
				h.mu.Unlock()
			}
		}()
		for range perDB {
			h.mu.Lock()
			acked := h.acked
			h.mu.Unlock()
			clone := crashClone(fs, r)
			re := openTest(t, clone)
			if re.Applied() < acked {
				t.Fatalf("applied %d, but %d was acknowledged", re.Applied(), acked)
			}
			if re.Applied() > acked {
				later++
			}
			must(t, h.check(re))
			// The clone goes on from where it is.
			again := newHistory(r)
			h.mu.Lock()
			again.saved[re.Applied()] = h.saved[0]
			again.model = maps.Clone(h.saved[re.Applied()])
			h.mu.Unlock()
			must(t, again.next(re, re.Applied()+1).Commit(context.Background()))
			must(t, again.check(re))
			must(t, re.Close())
			done++
		}
		close(stop)
		must(t, <-stopped)
		must(t, h.check(db))
		must(t, db.Close())
	}
	t.Logf("%d clones, %d with a checkpoint that was under way", clones, later)
}

// TestCrashAtOpen clones while a new directory is made: it must open as new, or as ours.
func TestCrashAtOpen(t *testing.T) {
	r := newRand(t)
	for k := int32(0); ; k++ {
		fs := vfs.NewCrashableMem()
		in := errorfs.OnIndex(k)
		var clone *vfs.MemFS
		db, err := Open(Options{Dir: "state", FS: errorfs.Wrap(fs, errorfs.InjectorFunc(func(op errorfs.Op) error {
			if op.Kind.ReadOrWrite() == errorfs.OpIsWrite && in.MaybeError(op) != nil {
				clone = crashClone(fs, r)
			}
			return nil
		}))})
		must(t, err)
		must(t, db.Close())
		if clone == nil {
			if k < 10 {
				t.Fatalf("only %d operations", k)
			}
			return
		}
		re := openTest(t, clone)
		must(t, re.NewCheckpoint(5).Commit(context.Background()))
		must(t, re.Close())
		re = openTest(t, clone)
		if re.Applied() != 5 {
			t.Fatalf("operation %d: applied %d", k, re.Applied())
		}
		must(t, re.Close())
	}
}

// TestFaults fails the k-th write of any kind, for every k, once or for good: no call hangs or
// exits, what was acknowledged is there at the next open, and a failed database stays failed and can be read.
// Under the race detector Pebble checks its own invariants as well.
func TestFaults(t *testing.T) {
	r := newRand(t)
	failures := 0
	for k := int32(0); ; k++ {
		fs := vfs.NewMem()
		must(t, openTest(t, fs).Close())
		seed, forGood := r.Uint64(), r.IntN(2) == 0
		in := errorfs.OnIndex(k)
		var hit, armed bool
		var mu sync.Mutex
		faulty := errorfs.Wrap(fs, errorfs.InjectorFunc(func(op errorfs.Op) error {
			mu.Lock()
			defer mu.Unlock()
			if !armed || op.Kind.ReadOrWrite() != errorfs.OpIsWrite {
				return nil
			}
			err := in.MaybeError(op)
			hit = hit || err != nil
			if hit && forGood {
				return errorfs.ErrInjected
			}
			return err
		}))
		db := openTest(t, faulty)
		h := newHistory(rand.New(rand.NewPCG(seed, 1)))
		mu.Lock()
		armed = true
		mu.Unlock()
		var failed error
		for position := uint64(1); position <= 12; position++ {
			err := h.next(db, position).Commit(context.Background())
			if err == nil {
				if failed != nil {
					t.Fatalf("fault %d: a checkpoint succeeded after %v", k, failed)
				}
				h.acked = position
				continue
			}
			if !errors.Is(err, ErrFailed) || !errors.Is(db.Err(), ErrFailed) {
				t.Fatalf("fault %d: %v, sticky %v", k, err, db.Err())
			}
			failed = err
			if position > h.acked+2 {
				break
			}
		}
		if failed != nil {
			must(t, h.checkReads(db))
		}
		_ = db.Close() // may report the fault
		mu.Lock()
		armed = false
		was := hit
		mu.Unlock()
		if failed != nil {
			failures++
		}
		re := openTest(t, fs)
		if re.Applied() < h.acked {
			t.Fatalf("fault %d: applied %d, but %d was acknowledged", k, re.Applied(), h.acked)
		}
		if err := h.check(re); err != nil {
			t.Fatalf("fault %d: %v", k, err)
		}
		must(t, re.Close())
		if !was {
			t.Logf("%d faults, %d made the database fail", k, failures)
			return
		}
	}
}
