package operators_test

import (
	"context"
	"testing"

	"tidemill/operators"
	"tidemill/operators/zset"
	"tidemill/state"
	"tidemill/state/column"
)

// counting counts rows by a BIGINT and keeps its state in memory or on disk.
type counting struct {
	t  *testing.T
	db *state.DB
	a  *operators.Aggregate
	n  uint64
}

func newCounting(t *testing.T, warmBytes int64) *counting {
	p := plainAggregate{fieldsOf(int64T), []int{0}, []plainCall{call("count_star", -1)}}
	c := &counting{t: t, db: openDB(t)}
	config := p.config(c.db)
	config.WarmBytes = warmBytes
	c.a = newAggregate(t, config)
	return c
}

// add commits a row for each key from lo to hi, not included.
func (c *counting) add(lo, hi int) {
	c.t.Helper()
	keys := make([]int64, 0, hi-lo)
	for k := lo; k < hi; k++ {
		keys = append(keys, int64(k))
	}
	c.n++
	must(c.t, c.a.Begin(c.n, c.n == 1))
	must(c.t, c.a.Add(&zset.Batch{N: len(keys), Cols: []column.Column{column.Of(int64T, keys, nil)}}, nil))
	_, err := c.a.Finish(false, nil)
	must(c.t, err)
	c.a.Publish()
}

// write makes the state durable and evicts all of it.
func (c *counting) write() {
	c.t.Helper()
	cp := c.db.NewCheckpoint(c.n)
	for _, k := range c.a.Caches() {
		k.Collect(cp)
	}
	must(c.t, cp.Commit(context.Background()))
	for _, k := range c.a.Caches() {
		k.Cleaned(cp)
		k.Evict(0)
	}
}

// holds checks that the snapshot has each key from 0 to n once, with the counts that count says.
func (c *counting) holds(n int, count func(key int64) int64) {
	c.t.Helper()
	s, err := c.a.Snapshot()
	must(c.t, err)
	if s.Rows != int64(n) {
		c.t.Fatalf("%d rows, want %d", s.Rows, n)
	}
	seen := make([]bool, n)
	for _, ch := range s.Chunks {
		cols, err := ch.Columns()
		must(c.t, err)
		for i, key := range column.Values[int64](&cols[0]) {
			if got := column.Values[int64](&cols[1])[i]; seen[key] || got != count(key) {
				c.t.Fatalf("key %d: seen %v, count %d, want %d", key, seen[key], got, count(key))
			}
			seen[key] = true
		}
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// TestSnapshotAfterEviction reads a relation whose groups went to disk and came back, one by one or all
// at once, into other places than they had.
func TestSnapshotAfterEviction(t *testing.T) {
	const keys = 3*4096 + 5
	once := func(int64) int64 { return 1 }
	for _, warm := range []int64{0, 1 << 30} {
		c := newCounting(t, warm)
		c.add(0, keys)
		c.holds(keys, once)
		c.write()
		c.holds(keys, once)
		c.write()
		c.write()
		c.add(keys-10, keys)
		last := func(key int64) int64 {
			if key >= keys-10 {
				return 2
			}
			return 1
		}
		c.holds(keys, last)
		c.write()
		c.add(0, keys) // so many single reads that all is loaded where that is allowed
		more := func(key int64) int64 { return last(key) + 1 }
		c.holds(keys, more)
		c.write()
		c.add(0, 2000)
		c.holds(keys, func(key int64) int64 {
			if key < 2000 {
				return more(key) + 1
			}
			return more(key)
		})
	}
}
