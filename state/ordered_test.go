package state

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// sortedKeys returns the model's keys from lo to hi in order.
func sortedKeys(m map[string]int64, lo, hi []byte) []string {
	var keys []string
	for k := range m {
		if k >= string(lo) && (hi == nil || k < string(hi)) {
			keys = append(keys, k)
		}
	}
	slices.Sort(keys)
	return keys
}

func randomKeys(r *rand.Rand, n int) [][]byte {
	keys := make([][]byte, n)
	shape := r.IntN(3)
	for i := range keys {
		switch shape {
		case 0: // group and integer, as rowkey writes them
			k := binary.BigEndian.AppendUint64([]byte{1}, uint64(r.IntN(1+n/10)))
			keys[i] = binary.BigEndian.AppendUint64(append(k, 1), uint64(r.IntN(n)))
		case 1: // long common parts
			keys[i] = []byte(strings.Repeat("p", 20*r.IntN(3)) + fmt.Sprint(r.IntN(n)))
		default: // short, with the bytes at the ends
			for range r.IntN(5) {
				keys[i] = append(keys[i], []byte{0, 1, 0xfe, 0xff}[r.IntN(4)])
			}
		}
	}
	return keys
}

// orderedTest runs an Ordered beside its twin, a map that is sorted when it is read.
type orderedTest struct {
	t      *testing.T
	r      *rand.Rand
	db     *DB
	o      *Ordered
	keys   [][]byte
	model  map[string]int64
	saved  map[uint64]map[string]int64
	commit uint64
	flying *Checkpoint
}

func (ot *orderedTest) open(fs vfs.FS) {
	ot.db = openTest(ot.t, fs)
	var err error
	ot.o, err = NewOrdered(ot.db, OrderedOptions{Keyspace: 9, WarmBytes: []int64{0, 1 << 30}[ot.r.IntN(2)]})
	must(ot.t, err)
	ot.o.warmAfter = 1 + ot.r.IntN(200)
	ot.commit, ot.flying = ot.db.Applied(), nil
	ot.model = maps.Clone(ot.saved[ot.commit])
}

func (ot *orderedTest) oneCommit() {
	ot.commit++
	ot.o.Begin(ot.commit)
	before := maps.Clone(ot.model)
	for range ot.r.IntN(80) {
		k := ot.keys[ot.r.IntN(len(ot.keys))]
		w := int64(ot.r.IntN(5)) - 2
		if ot.r.IntN(3) == 0 {
			w = -ot.model[string(k)]
		}
		b, a, err := ot.o.Add(k, w)
		must(ot.t, err)
		if b != ot.model[string(k)] || a != b+w {
			ot.t.Fatalf("key %x: weight %d to %d, want %d and %d more", k, b, a, ot.model[string(k)], w)
		}
		if ot.model[string(k)] = a; a == 0 {
			delete(ot.model, string(k))
		}
		if ot.r.IntN(20) == 0 {
			ot.checkReads()
		}
	}
	if ot.r.IntN(4) == 0 {
		ot.o.Void()
		ot.commit--
		ot.model = before
		return
	}
	ot.o.Publish(ot.commit)
}

func (ot *orderedTest) checkReads() {
	prefix := ot.keys[ot.r.IntN(len(ot.keys))]
	prefix = prefix[:ot.r.IntN(len(prefix)+1)]
	keys := sortedKeys(ot.model, prefix, successor(prefix))
	check := func(what string, i int, k []byte, w int64, ok bool, err error) {
		ot.t.Helper()
		must(ot.t, err)
		if ok != (len(keys) > 0) || ok && (string(k) != keys[i] || w != ot.model[keys[i]]) {
			ot.t.Fatalf("%s of %x: %x %d %v, want one of %x", what, prefix, k, w, ok, keys)
		}
	}
	k, w, ok, err := ot.o.First(prefix)
	check("first", 0, k, w, ok, err)
	k, w, ok, err = ot.o.Last(prefix)
	check("last", len(keys)-1, k, w, ok, err)
	lo, hi := ot.keys[ot.r.IntN(len(ot.keys))], ot.keys[ot.r.IntN(len(ot.keys))]
	if bytes.Compare(lo, hi) > 0 {
		lo, hi = hi, lo
	}
	ot.checkScan(lo, hi)
}

func (ot *orderedTest) checkScan(lo, hi []byte) {
	var got []string
	must(ot.t, ot.o.Scan(lo, hi, func(k []byte, w int64) bool {
		if w != ot.model[string(k)] {
			ot.t.Fatalf("scan: key %x has weight %d, want %d", k, w, ot.model[string(k)])
		}
		got = append(got, string(k))
		return true
	}))
	if want := sortedKeys(ot.model, lo, hi); !slices.Equal(got, want) {
		ot.t.Fatalf("scan %x to %x: %x\nwant %x", lo, hi, got, want)
	}
}

func (ot *orderedTest) checkpoint() {
	if ot.flying == nil {
		ot.flying = ot.db.NewCheckpoint(ot.commit)
		ot.o.Collect(ot.flying)
		ot.saved[ot.commit] = maps.Clone(ot.model)
		must(ot.t, ot.flying.Commit(context.Background()))
		if ot.r.IntN(2) == 0 {
			return
		}
	}
	if ot.r.IntN(5) == 0 {
		ot.o.Abandoned(ot.flying)
	} else {
		ot.o.Cleaned(ot.flying)
	}
	ot.flying = nil
}

func TestOrderedAgainstMap(t *testing.T) {
	r := newRand(t)
	for range 10 * *roundsFlag {
		fs := vfs.NewCrashableMem()
		ot := &orderedTest{t: t, r: r, saved: map[uint64]map[string]int64{0: {}}}
		ot.keys = randomKeys(r, 2+r.IntN(1500))
		ot.open(fs)
		evicting := r.IntN(3) > 0
		for range 100 {
			switch r.IntN(8) {
			default:
				ot.oneCommit()
			case 0:
				ot.checkpoint()
			case 1:
				if evicting {
					ot.o.Evict(int64(r.IntN(30000)))
				}
			case 2:
				ot.checkScan(nil, nil)
			case 3:
				if r.IntN(5) == 0 {
					clone := crashClone(fs, r)
					must(t, ot.db.Close())
					fs = clone
					ot.open(fs)
				}
			}
			ot.checkReads()
		}
		ot.checkScan(nil, nil)
		must(t, ot.db.Close())
	}
}

// TestOrderedTree drives the tree alone: many pages, all shapes of keys, down to nothing and up.
func TestOrderedTree(t *testing.T) {
	r := newRand(t)
	for range 3 * *roundsFlag {
		keys := randomKeys(r, 20000)
		slices.SortFunc(keys, bytes.Compare)
		keys = slices.CompactFunc(keys, bytes.Equal)
		var a keyArena
		var tree orderedTree
		tree.init(&a)
		in := make([]bool, len(keys))
		for i, k := range keys {
			a.set(int32(i), k)
		}
		grow := 6
		for step := range 60000 {
			if step%15000 == 0 {
				grow = []int{9, 1, 5, 2}[step/15000]
			}
			i := r.IntN(len(keys))
			if step%3 == 0 { // some runs in order
				i = step / 3 % len(keys)
			}
			if in[i] != (tree.find(keys[i]) == int32(i)) {
				t.Fatalf("key %x: in %v, found slot %d", keys[i], in[i], tree.find(keys[i]))
			}
			if up := r.IntN(10) < grow; up && !in[i] {
				tree.insert(int32(i))
				in[i] = true
			} else if !up && in[i] {
				tree.remove(int32(i))
				in[i] = false
			}
		}
		checkTree(t, &tree, in)
		for i := range keys {
			if in[i] {
				tree.remove(int32(i))
				in[i] = false
			}
		}
		checkTree(t, &tree, in)
	}
}

func checkTree(t *testing.T, tree *orderedTree, in []bool) {
	t.Helper()
	var got, want []int32
	for p := tree.first; p != nil; p = p.next {
		got = append(got, p.slots[:p.n]...)
		if p.next != nil && p.next.prev != p {
			t.Fatal("leaves are linked wrongly")
		}
	}
	for i, ok := range in {
		if ok {
			want = append(want, int32(i))
		}
	}
	if !slices.Equal(got, want) || tree.n != len(want) {
		t.Fatalf("tree holds %d of %d keys, or in another order", len(got), len(want))
	}
}
