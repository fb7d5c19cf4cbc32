package state

import (
	"context"
	"encoding/binary"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"tidemill/state/column"
)

// value is what the twin keeps for a key.
type value struct {
	sum  int64
	text string
}

// tableTest runs a Table beside its twin, a map. A key is its stored form: eight bytes or none for
// FixedKeys.
type tableTest struct {
	t         *testing.T
	r         *rand.Rand
	fs        *vfs.MemFS
	mode      Mode
	warm      int64
	keep      bool
	db        *DB
	tab       *Table
	sums      *sumCells
	texts     *textCells
	published atomic.Uint64
	commit    uint64
	model     map[string]value
	saved     map[uint64]map[string]value // by checkpoint position
	flying    *Checkpoint
	written   bool // the one that is flying
	keys      []string
	image     map[int32]string // what an image by slot shows: the key of each entry in memory
}

func newTableTest(t *testing.T, r *rand.Rand, mode Mode) *tableTest {
	tt := &tableTest{t: t, r: r, fs: vfs.NewCrashableMem(), mode: mode, model: map[string]value{}}
	tt.warm = []int64{0, 1 << 30}[r.IntN(2)]
	tt.keep = r.IntN(2) == 0
	tt.saved = map[uint64]map[string]value{0: {}}
	n := 1 + r.IntN(300)
	for range n {
		var k string
		switch {
		case mode == FixedKeys && r.IntN(n) == 0:
		case mode == FixedKeys && r.IntN(2) == 0:
			k = string(binary.BigEndian.AppendUint64(nil, r.Uint64N(uint64(n))))
		case mode == FixedKeys:
			k = string(binary.BigEndian.AppendUint64(nil, r.Uint64N(8)<<61|r.Uint64N(uint64(n))<<20))
		default:
			k = strings.Repeat(string([]byte{byte(r.IntN(3))}), r.IntN(40))
			k += fmt.Sprint(r.IntN(n))[:1]
		}
		tt.keys = append(tt.keys, k)
	}
	tt.open()
	return tt
}

func (tt *tableTest) open() {
	tt.db = openTest(tt.t, tt.fs)
	tt.sums, tt.texts = &sumCells{}, &textCells{}
	var err error
	tt.tab, err = NewTable(tt.db, TableOptions{Keyspace: 7, Mode: tt.mode, WarmBytes: tt.warm, KeepFreed: tt.keep}, tt.sums, tt.texts)
	must(tt.t, err)
	tt.tab.warmAfter = 1 + tt.r.IntN(100)
	tt.image = map[int32]string{}
}

// refresh brings the image up to date where the table says that it is not.
func (tt *tableTest) refresh(slots []int32) {
	for _, s := range slots {
		delete(tt.image, s)
		if tt.tab.Live(s) {
			tt.image[s] = string(tt.tab.AppendKey(nil, s))
		}
	}
}

func (tt *tableTest) release() {
	tt.refresh(tt.tab.Freed())
	tt.tab.ReleaseFreed()
}

func (tt *tableTest) find(keys []string) []int32 {
	out := make([]int32, len(keys))
	if tt.mode == ByteKeys {
		arena, offs := []byte("x"), []int32{1}
		for _, k := range keys {
			arena = append(arena, k...)
			offs = append(offs, int32(len(arena)))
		}
		must(tt.t, tt.tab.FindBytes(arena, offs, out))
		return out
	}
	fixed := make([]uint64, len(keys))
	var valid []byte
	for i, k := range keys {
		if k != "" {
			fixed[i] = binary.BigEndian.Uint64([]byte(k))
			continue
		}
		if valid == nil {
			valid = column.NewBitmap(len(keys), true)
		}
		column.ClearBit(valid, i)
	}
	must(tt.t, tt.tab.FindFixed(fixed, valid, out))
	return out
}

// oneCommit changes random keys, and publishes or voids.
func (tt *tableTest) oneCommit() {
	tt.commit++
	tt.tab.Begin(tt.commit)
	next := maps.Clone(tt.model)
	var order []int32
	for range 1 + tt.r.IntN(3) {
		keys := make([]string, tt.r.IntN(60))
		for i := range keys {
			keys[i] = tt.keys[tt.r.IntN(len(tt.keys))]
		}
		slots := tt.find(keys)
		if tt.r.IntN(10) == 0 {
			continue // found and never touched
		}
		tt.tab.Touch(slots)
		for i, s := range slots {
			if got := string(tt.tab.AppendKey(nil, s)); got != keys[i] {
				tt.t.Fatalf("slot %d has key %q, want %q", s, got, keys[i])
			}
			v := next[keys[i]]
			if tt.sums.cur[s] != v.sum || tt.texts.cur[s] != v.text {
				tt.t.Fatalf("key %q: found %d %q, want %+v", keys[i], tt.sums.cur[s], tt.texts.cur[s], v)
			}
			if v.sum += int64(tt.r.IntN(7)) - 3; tt.r.IntN(3) == 0 {
				v.sum = 0
			}
			v.text = strings.Repeat("t", tt.r.IntN(5))
			if tt.sums.cur[s] = v.sum; v.sum == 0 {
				v.text = ""
			}
			tt.texts.cur[s] = v.text
			next[keys[i]] = v
			if !slices.Contains(order, s) {
				order = append(order, s)
			}
		}
	}
	if !slices.Equal(order, tt.tab.Touched()) {
		tt.t.Fatalf("touched %v, want %v", tt.tab.Touched(), order)
	}
	tt.checkReads() // sees the commit before
	if tt.r.IntN(4) == 0 {
		tt.tab.Void()
		tt.commit--
		return
	}
	tt.tab.Publish(tt.commit)
	tt.refresh(tt.tab.Touched())
	tt.checkReads()
	maps.DeleteFunc(next, func(_ string, v value) bool { return v.sum == 0 })
	tt.model = next
	tt.published.Store(tt.commit)
}

// checkpoint collects one, writes one or hears of one that was written: commits and evictions come between.
func (tt *tableTest) checkpoint() {
	if tt.flying == nil {
		tt.flying, tt.written = tt.db.NewCheckpoint(tt.commit), false
		tt.tab.Collect(tt.flying)
		tt.saved[tt.commit] = maps.Clone(tt.model)
		if tt.r.IntN(2) == 0 {
			return // written later
		}
	}
	if !tt.written && tt.r.IntN(5) > 0 {
		must(tt.t, tt.flying.Commit(context.Background()))
		tt.written = true
		if tt.r.IntN(2) == 0 {
			return // cleaned later
		}
	}
	if !tt.written || tt.r.IntN(5) == 0 {
		tt.tab.Abandoned(tt.flying)
	} else {
		tt.tab.Cleaned(tt.flying)
	}
	tt.flying = nil
}

// reopen goes on from what a crash leaves.
func (tt *tableTest) reopen() {
	clone := crashClone(tt.fs, tt.r)
	must(tt.t, tt.db.Close())
	tt.fs = clone
	tt.open()
	tt.flying = nil
	tt.commit = tt.db.Applied()
	tt.published.Store(tt.commit)
	tt.model = maps.Clone(tt.saved[tt.commit])
}

// checkReads compares lookups of some keys with the model.
func (tt *tableTest) checkReads() {
	for range 10 {
		k := tt.keys[tt.r.IntN(len(tt.keys))]
		want := tt.model[k]
		var got value
		f := func(s int32, previous bool) {
			got = value{tt.sums.cur[s], tt.texts.cur[s]}
			if previous {
				got = value{tt.sums.prev[s], tt.texts.prev[s]}
			}
		}
		found, raw, err := tt.tab.read([]byte(k), &tt.published, f)
		must(tt.t, err)
		if raw != nil {
			got = decodeRaw(tt.t, raw)
		}
		if found != (want.sum != 0) || got != want {
			tt.t.Fatalf("commit %d, key %q: read %v %+v, want %+v", tt.commit, k, found, got, want)
		}
	}
}

func decodeRaw(t *testing.T, raw []byte) value {
	s, x := &sumCells{}, &textCells{}
	s.Grow(1)
	x.Grow(1)
	rest, err := s.Decode(0, raw)
	must(t, err)
	rest, err = x.Decode(0, rest)
	must(t, err)
	if len(rest) != 0 {
		t.Fatalf("%d bytes too many", len(rest))
	}
	return value{s.cur[0], x.cur[0]}
}

func (tt *tableTest) checkAll() {
	got := map[string]value{}
	must(tt.t, tt.tab.Each(func(s int32) bool {
		k := string(tt.tab.AppendKey(nil, s))
		if _, twice := got[k]; twice {
			tt.t.Fatalf("key %q twice", k)
		}
		got[k] = value{tt.sums.cur[s], tt.texts.cur[s]}
		return true
	}))
	if !maps.Equal(got, tt.model) {
		tt.t.Fatalf("commit %d: %d entries, want %d:\n got %v\nwant %v", tt.commit, len(got), len(tt.model), got, tt.model)
	}
	if tt.keep {
		tt.release()
	}
	for s := range int32(len(tt.tab.meta)) {
		if key, shown := tt.image[s]; tt.keep && (shown != tt.tab.Live(s) || shown && key != string(tt.tab.AppendKey(nil, s))) {
			tt.t.Fatalf("slot %d is live: %v, in the image: %v %q", s, tt.tab.Live(s), shown, key)
		}
		if tt.tab.meta[s]&flagFree != 0 && (tt.sums.cur[s] != 0 || tt.texts.cur[s] != "") {
			tt.t.Fatalf("free slot %d has a value", s)
		}
	}
	if tt.tab.Bytes() > tt.tab.HeldBytes() {
		tt.t.Fatalf("%d bytes of %d held", tt.tab.Bytes(), tt.tab.HeldBytes())
	}
}

func TestTableAgainstMap(t *testing.T) {
	r := newRand(t)
	for run := range 60 {
		tt := newTableTest(t, r, Mode(run%2))
		evicting := r.IntN(3) > 0
		for range 80 {
			switch r.IntN(8) {
			default:
				tt.oneCommit()
			case 0:
				tt.checkpoint()
			case 1:
				if evicting {
					tt.tab.Evict(int64(r.IntN(20000)))
				}
				if r.IntN(2) == 0 {
					tt.release()
				}
			case 2:
				tt.checkAll()
			case 3:
				if r.IntN(4) == 0 {
					tt.reopen()
				} else if r.IntN(8) == 0 {
					must(t, tt.tab.Warm())
				}
			}
		}
		tt.checkAll()
		must(t, tt.db.Close())
	}
}
