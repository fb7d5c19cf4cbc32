package operators

import (
	"fmt"

	"tidemill/operators/agg"
	"tidemill/operators/expr"
	"tidemill/operators/zset"
	"tidemill/state/column"
	"tidemill/state/rowkey"
)

// Finish ends the commit's input. It returns the delta of the output when wanted, else nil: for each group
// whose row changed, the old row retracted and the new one inserted. Groups whose output cannot be
// represented go to rejects.
func (a *Aggregate) Finish(wanted bool, rejects *Rejects) (*zset.Batch, error) {
	if err := a.settle(); err != nil {
		return nil, fmt.Errorf("%s: %w", a.c.Name, err)
	}
	touched := a.table.Touched()
	if len(touched) == 0 || !wanted && !a.outputFallible() {
		return nil, nil
	}
	old, now := a.version(touched, true), a.version(touched, false)
	for _, v := range []*version{old, now} {
		if err := a.reject(v, rejects); err != nil {
			return nil, err
		}
	}
	if !wanted {
		return nil, nil
	}
	dropUnchanged(old, now, a.cells.identity != nil)
	return a.delta(old, now)
}

// settle ends the input of the aggregates that wait for its end.
func (a *Aggregate) settle() error {
	for _, g := range a.cells.aggs {
		if s, ok := g.(agg.Settler); ok {
			if err := s.Settle(); err != nil {
				return err
			}
		}
	}
	if a.cells.identity != nil {
		return a.cells.identity.Settle()
	}
	return nil
}

// version is what touched groups show before or after the commit.
type version struct {
	prev  bool
	at    []int32 // places in the list of touched slots
	slots []int32 // those slots
	aggs  []column.Column
	errs  *expr.RowErrors // rows of aggs without a value
	keep  []int32         // rows that are part of the delta
}

func (a *Aggregate) version(touched []int32, prev bool) *version {
	v := &version{prev: prev, at: make([]int32, 0, len(touched)), slots: make([]int32, 0, len(touched))}
	for i, s := range touched {
		if a.present(s, prev) {
			v.at, v.slots = append(v.at, int32(i)), append(v.slots, s)
		}
	}
	for i, g := range a.cells.aggs {
		if !a.reads(len(a.types)+i) && !a.c.Aggs[i].Spec.OutputFallible() {
			v.aggs = append(v.aggs, column.Absent(a.outT[len(a.types)+i], len(v.slots)))
			continue
		}
		c, errs := g.Output(v.slots, prev)
		if errs != nil {
			v.errs = expr.MergeErrors(v.errs, &expr.RowErrors{Rows: errs.Rows, Reasons: errs.Reasons})
		}
		v.aggs = append(v.aggs, c)
	}
	v.keep = make([]int32, 0, len(v.slots))
	k := 0
	for i := range int32(len(v.slots)) {
		if v.errs != nil && k < len(v.errs.Rows) && v.errs.Rows[k] == i {
			k++
			continue
		}
		v.keep = append(v.keep, i)
	}
	return v
}

// reject reports the version's groups that cannot be represented.
func (a *Aggregate) reject(v *version, rejects *Rejects) error {
	if v.errs == nil {
		return nil
	}
	slots := make([]int32, len(v.errs.Rows))
	weight := int64(1)
	if v.prev {
		weight = -1
	}
	w := make([]int64, len(slots))
	for i, r := range v.errs.Rows {
		slots[i], w[i] = v.slots[r], weight
	}
	groups, err := a.groupColumns(a.cells, slots, v.prev)
	if err != nil {
		return err
	}
	b := &zset.Batch{Cols: groups, N: len(slots), W: w}
	for i, reason := range v.errs.Reasons {
		rejects.Add(a.c.Name, reason, a.c.Output[:len(groups)], b, i)
	}
	return nil
}

// dropUnchanged takes groups out of both versions that show the same in both. Where keys hide bits the
// group's columns may have changed too, and Consolidate finds out.
func dropUnchanged(old, now *version, hidden bool) {
	if hidden {
		return
	}
	// Pairs of rows of the same group, and whether they differ.
	var pairs [2][]int32
	for i, k := 0, 0; i < len(old.keep) && k < len(now.keep); {
		o, n := old.keep[i], now.keep[k]
		d := old.at[o] - now.at[n]
		if d == 0 {
			pairs[0], pairs[1] = append(pairs[0], o), append(pairs[1], n)
		}
		if d <= 0 {
			i++
		}
		if d >= 0 {
			k++
		}
	}
	differ := make([]bool, len(pairs[0]))
	for c := range old.aggs {
		column.Differ(&old.aggs[c], &now.aggs[c], pairs[0], pairs[1], differ)
	}
	old.keep = without(old.keep, pairs[0], differ)
	now.keep = without(now.keep, pairs[1], differ)
}

// without returns rows less those of some that do not differ; both are sorted.
func without(rows, some []int32, differ []bool) []int32 {
	out, k := rows[:0], 0
	for _, r := range rows {
		if k < len(some) && some[k] == r {
			if k++; !differ[k-1] {
				continue
			}
		}
		out = append(out, r)
	}
	return out
}

// delta returns the rows that old and now keep, the old ones first.
func (a *Aggregate) delta(old, now *version) (*zset.Batch, error) {
	n := len(old.keep) + len(now.keep)
	if n == 0 {
		return nil, nil
	}
	out := &zset.Batch{N: n, W: make([]int64, n)}
	for i := range out.W {
		out.W[i] = 1
		if i < len(old.keep) {
			out.W[i] = -1
		}
	}
	var err error
	if a.cells.identity != nil {
		out.Cols, err = a.identityColumns(old, now)
	} else if len(a.types) > 0 {
		at := make([]int32, 0, n)
		for _, v := range []*version{old, now} {
			for _, r := range v.keep {
				at = append(at, v.at[r])
			}
		}
		for c, parts := range a.groups {
			all := column.Concat(a.types[c], parts...)
			out.Cols = append(out.Cols, all.Gather(at))
		}
	}
	if err != nil {
		return nil, err
	}
	for c := range old.aggs {
		o, w := old.aggs[c].Gather(old.keep), now.aggs[c].Gather(now.keep)
		out.Cols = append(out.Cols, column.Concat(o.Type, &o, &w))
	}
	if a.cells.identity != nil {
		return zset.Consolidate(out), nil
	}
	return out, nil
}

func (a *Aggregate) identityColumns(old, now *version) ([]column.Column, error) {
	var parts [2][]column.Column
	for i, v := range []*version{old, now} {
		slots := make([]int32, len(v.keep))
		for k, r := range v.keep {
			slots[k] = v.slots[r]
		}
		var err error
		if parts[i], err = a.cells.identity.Columns(slots, v.prev); err != nil {
			return nil, err
		}
	}
	out := make([]column.Column, len(a.types))
	for c := range out {
		out[c] = column.Concat(a.types[c], &parts[0][c], &parts[1][c])
	}
	return out, nil
}

func (a *Aggregate) outputFallible() bool {
	for _, c := range a.c.Aggs {
		if c.Spec.OutputFallible() {
			return true
		}
	}
	return false
}

// present reports whether the slot's group is there, before or after the running commit.
func (a *Aggregate) present(slot int32, prev bool) bool {
	if a.global() {
		return !(prev && a.born)
	}
	return a.cells.rows.Present(slot, prev)
}

// rows returns the published output rows of slots, without those that cannot be represented.
func (a *Aggregate) rows(slots []int32) (*zset.Batch, error) {
	if len(slots) == 0 {
		return nil, nil
	}
	out := &zset.Batch{N: len(slots)}
	var err error
	if out.Cols, err = a.groupColumns(a.cells, slots, false); err != nil {
		return nil, err
	}
	var all *expr.RowErrors
	for _, g := range a.cells.aggs {
		c, errs := g.Output(slots, false)
		if errs != nil {
			all = expr.MergeErrors(all, &expr.RowErrors{Rows: errs.Rows, Reasons: errs.Reasons})
		}
		out.Cols = append(out.Cols, c)
	}
	if all == nil {
		return out, nil
	}
	return dropRows(out, all.Rows), nil
}

func dropRows(b *zset.Batch, rows []int32) *zset.Batch {
	sel := make([]int32, 0, b.N)
	k := 0
	for i := range int32(b.N) {
		if k < len(rows) && rows[k] == i {
			k++
			continue
		}
		sel = append(sel, i)
	}
	return gatherAll(b, sel)
}

// groupColumns returns the group columns of slots.
func (a *Aggregate) groupColumns(cells *aggCells, slots []int32, prev bool) ([]column.Column, error) {
	if len(a.types) == 0 {
		return nil, nil
	}
	if cells.identity != nil {
		return cells.identity.Columns(slots, prev)
	}
	return a.keyColumns(slots)
}

// keyColumns decodes the keys of slots of the live table.
func (a *Aggregate) keyColumns(slots []int32) ([]column.Column, error) {
	builders := newBuilders(a.types, len(slots))
	var key []byte
	for _, s := range slots {
		if a.fixed {
			k, null := a.table.KeyFixed(s)
			if null {
				builders[0].AppendNull()
			} else {
				rowkey.AppendFixed(builders[0], a.types[0], k)
			}
			continue
		}
		key = a.table.AppendKey(key[:0], s)
		if _, err := a.keys.DecodeKey(key, builders); err != nil {
			return nil, fmt.Errorf("%s: decode group %x: %w", a.c.Name, key, err)
		}
	}
	return finish(builders), nil
}

func newBuilders(types []column.Type, n int) []*column.Builder {
	builders := make([]*column.Builder, len(types))
	for i, t := range types {
		builders[i] = column.NewBuilder(t, n)
	}
	return builders
}

func finish(builders []*column.Builder) []column.Column {
	cols := make([]column.Column, len(builders))
	for i, b := range builders {
		cols[i] = b.Finish()
	}
	return cols
}
