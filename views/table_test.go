package views

import (
	"maps"
	"math/rand/v2"
	"testing"

	"tidemill/operators/zset"
	"tidemill/operators/zset/zsettest"
	"tidemill/state/column"
)

// keyedTest runs a table with a primary key beside its twin, a map.
type keyedTest struct {
	*flow
	r     *rand.Rand
	table *Table
	model map[int64]int64 // of the published commit
	sum   zsettest.Integral
}

const maxKey = 9

// body returns random rows, some of which delete their key, and applies them to m one by one.
func (k *keyedTest) body(m map[int64]int64) (*zset.Batch, []byte) {
	n := 1 + k.r.IntN(6)
	rows, deleted := make([][]int64, n), []byte(nil)
	if k.r.IntN(2) == 0 {
		deleted = column.NewBitmap(n, false)
	}
	for i := range rows {
		rows[i] = []int64{k.r.Int64N(maxKey), k.r.Int64N(4)}
		if deleted != nil && k.r.IntN(3) == 0 {
			column.SetBit(deleted, i)
			delete(m, rows[i][0])
			continue
		}
		m[rows[i][0]] = rows[i][1]
	}
	return batchOf(rows...), deleted
}

// commit makes one commit of one or two bodies, and publishes or voids it. Lookups see it when it is
// published and not before.
func (k *keyedTest) commit() {
	next, n := maps.Clone(k.model), k.published.Load()+1
	var deltas []*zset.Batch
	for range 1 + k.r.IntN(2) {
		b, deleted := k.body(next)
		delta, err := k.g.Append(n, k.table.Rel.ID, b.Cols, b.N, deleted)
		must(k.t, err)
		deltas = append(deltas, delta...)
		k.lookups("in the commit")
	}
	if k.r.IntN(4) == 0 {
		must(k.t, k.g.Void())
		k.lookups("after the void")
		equal(k.t, "the voided table holds", k.contents(k.table.Rel.ID), rowsOf(k.model))
		return
	}
	k.g.Publish()
	k.lookups("before others may see it")
	k.published.Store(n)
	k.model = next
	k.lookups("after the commit")
	must(k.t, k.sum.Add(zset.Concat(deltas...)))
	equal(k.t, "the sum of deltas is", k.sum.Batch(), rowsOf(k.model))
	equal(k.t, "the table holds", k.contents(k.table.Rel.ID), rowsOf(k.model))
}

func (k *keyedTest) lookups(when string) {
	k.t.Helper()
	for key := range int64(maxKey) {
		row, err := k.table.Lookup([]column.Column{column.Of(bigint, []int64{key}, nil)}, &k.published)
		must(k.t, err)
		want, there := k.model[key]
		if (row != nil) != there || there && column.Values[int64](&row[1])[0] != want {
			k.t.Fatalf("%s, key %d: found %v, want %d %v", when, key, row, want, there)
		}
	}
}

func rowsOf(m map[int64]int64) *zset.Batch {
	var rows [][]int64
	for k, v := range m {
		rows = append(rows, []int64{k, v})
	}
	return batchOf(rows...)
}

// TestKeyedTableAgainstMap: the last row of a key wins, the deltas are what changed, a void leaves no trace.
func TestKeyedTableAgainstMap(t *testing.T) {
	r := newRand(t)
	for range 40 {
		f := newFlow(t)
		k := &keyedTest{flow: f, r: r, table: f.table("t", []int{0}, "id", "v"), model: map[int64]int64{}}
		f.g.feeds[k.table.Rel.ID] = true
		for range 30 {
			k.commit()
		}
	}
}
