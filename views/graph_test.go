package views

import (
	"math/rand/v2"
	"testing"

	"tidemill/operators/expr"
	"tidemill/operators/zset"
	"tidemill/state/column"
	"tidemill/views/catalog"
	"tidemill/views/plan"
)

// counts is SELECT column, count(*) FROM relation GROUP BY 1.
func counts(relation string, fields []column.Field, c int) *plan.Node {
	group := &expr.Expr{Kind: expr.Column, Type: fields[c].Type, Col: 0}
	scan := &plan.Node{Op: plan.Scan, Schema: []column.Field{fields[c]}, Relation: relation, Columns: []int{c}}
	return &plan.Node{Op: plan.Aggregate, Inputs: []*plan.Node{scan}, Schema: bigints("k", "n"),
		Groups: []*expr.Expr{group}, Aggs: []plan.Agg{{Func: "count_star", Type: bigint}}}
}

// view adds a view and fills it from what is there, in a commit.
func (f *flow) view(name string, p *plan.Node) *View {
	f.t.Helper()
	v, err := f.g.AddView(&catalog.Relation{ID: f.nextID, Name: name, Kind: catalog.View, Fields: p.Schema, Plan: p})
	must(f.t, err)
	f.nextID++
	must(f.t, f.g.Step(f.published.Load()+1, nil, v))
	f.publish()
	return v
}

// countOf is what counts computes.
func countOf(b *zset.Batch, c int) *zset.Batch {
	if b == nil {
		return nil
	}
	n := map[int64]int64{}
	for i, v := range column.Values[int64](&b.Cols[c]) {
		n[v] += b.Weight(i)
	}
	return rowsOf(n)
}

// chain is a table, the rows of each value in it, how many values have how many rows, and once more.
type chain struct {
	*flow
	table *Table
	views []*View
	ids   []uint64 // of rows that are there
}

func (c *chain) grow() {
	below, fields, at := c.table.Rel.Name, c.table.Rel.Fields, 0
	if n := len(c.views); n > 0 {
		below, fields, at = c.views[n-1].Rel.Name, c.views[n-1].Rel.Fields, 1
	}
	name := string(rune('a' + len(c.views)))
	c.views = append(c.views, c.view(name, counts(below, fields, at)))
}

func (c *chain) commit(r *rand.Rand) {
	n, id := c.published.Load()+1, c.table.Rel.ID
	var d Delta
	if k := r.IntN(len(c.ids) + 1); k > 0 && r.IntN(2) == 0 {
		r.Shuffle(len(c.ids), func(i, j int) { c.ids[i], c.ids[j] = c.ids[j], c.ids[i] })
		gone, err := c.g.Delete(n, id, c.ids[:k])
		must(c.t, err)
		d, c.ids = gone, c.ids[k:]
	} else {
		rows := make([][]int64, 1+r.IntN(5))
		for i := range rows {
			rows[i] = []int64{r.Int64N(4)}
			c.ids = append(c.ids, c.table.Rows.Next()+uint64(i))
		}
		b := batchOf(rows...)
		added, err := c.g.Append(n, id, b.Cols, b.N, nil)
		must(c.t, err)
		d = added
	}
	must(c.t, c.g.Step(n, map[uint32]Delta{id: d}))
	c.publish()
}

func (c *chain) check() {
	c.t.Helper()
	want, at := c.contents(c.table.Rel.ID), 0
	for _, v := range c.views {
		want = countOf(want, at)
		equal(c.t, "view "+v.Rel.Name+" holds", c.contents(v.Rel.ID), want)
		at = 1
	}
}

// TestViewsFollowViews steps views over views over a table, made early, late and over each other.
func TestViewsFollowViews(t *testing.T) {
	r := newRand(t)
	for run := range 20 {
		f := newFlow(t)
		c := &chain{flow: f, table: f.table("t", nil, "v")}
		for i := range 30 {
			if len(c.views) < 3 && (run%2 == 0 && i < 3 || i%10 == 5) {
				c.grow()
				c.check()
			}
			c.commit(r)
			c.check()
		}
	}
}
