package views

import (
	"flag"
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"tidemill/operators/zset"
	"tidemill/operators/zset/zsettest"
	"tidemill/state"
	"tidemill/state/column"
	"tidemill/state/image"
	"tidemill/views/catalog"
)

var seedFlag = flag.Uint64("seed", 1, "seed of the random tests; 0 takes one from the clock")

var bigint = column.T(column.Int64)

// newRand returns a source whose seed is printed when the test fails.
func newRand(t *testing.T) *rand.Rand {
	seed := *seedFlag
	if seed == 0 {
		seed = uint64(time.Now().UnixNano())
	}
	t.Logf("-seed=%d", seed)
	return rand.New(rand.NewPCG(seed, 0))
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// flow is a graph over an empty database, with the commit that readers see.
type flow struct {
	t         *testing.T
	g         *Graph
	published atomic.Uint64
	nextID    uint32
}

func newFlow(t *testing.T) *flow {
	t.Helper()
	db, err := state.Open(state.Options{Dir: "state", FS: vfs.NewMem()})
	must(t, err)
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	return &flow{t: t, g: NewGraph(db, nil, Options{WarmBytes: 1 << 20, Workers: 1}), nextID: 1}
}

// table adds a table of BIGINT columns.
func (f *flow) table(name string, key []int, columns ...string) *Table {
	f.t.Helper()
	rel := &catalog.Relation{ID: f.nextID, Name: name, Kind: catalog.Table, Fields: bigints(columns...), PrimaryKey: key}
	f.nextID++
	types := make([]column.Type, len(columns))
	for i := range types {
		types[i] = bigint
	}
	table, err := f.g.AddTable(rel, image.NewRows(types))
	must(f.t, err)
	return table
}

// publish ends the running commit.
func (f *flow) publish() {
	f.g.Publish()
	f.published.Add(1)
}

func bigints(names ...string) []column.Field {
	fields := make([]column.Field, len(names))
	for i, n := range names {
		fields[i] = column.Field{Name: n, Type: bigint}
	}
	return fields
}

// batchOf makes a batch of BIGINT rows.
func batchOf(rows ...[]int64) *zset.Batch {
	if len(rows) == 0 {
		return nil
	}
	b := &zset.Batch{N: len(rows)}
	for c := range rows[0] {
		vals := make([]int64, len(rows))
		for i := range rows {
			vals[i] = rows[i][c]
		}
		b.Cols = append(b.Cols, column.Of(bigint, vals, nil))
	}
	return b
}

// equal compares rows as multisets.
func equal(t *testing.T, what string, got, want *zset.Batch) {
	t.Helper()
	if !zset.Equal(got, want) {
		t.Fatalf("%s\n%swant\n%s", what, zsettest.Format(got), zsettest.Format(want))
	}
}

// contents returns the rows of a relation as of the last published commit.
func (f *flow) contents(id uint32) *zset.Batch {
	f.t.Helper()
	var all []*zset.Batch
	must(f.t, f.g.contents(id, func(b *zset.Batch) error {
		all = append(all, b)
		return nil
	}))
	return zset.Concat(all...)
}
