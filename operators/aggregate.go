package operators

import (
	"fmt"

	"tidemill/operators/agg"
	"tidemill/operators/expr"
	"tidemill/operators/zset"
	"tidemill/state"
	"tidemill/state/column"
	"tidemill/state/image"
	"tidemill/state/rowkey"
)

// stepRows is how many rows an aggregate takes at a time: the columns in between stay in a core's second
// level cache, and a lookup waits for its lock as long as so many rows take, some 0.1 ms. Doubled,
// the wait doubles; halved, the cost of a call shows.
const stepRows = 4096

// AggregateConfig is what an Aggregate computes and where it keeps it.
type AggregateConfig struct {
	Name   string // what rejects and EXPLAIN call it
	Input  []column.Field
	Output []column.Field // groups, then aggregates
	Groups []*expr.Expr   // none: the whole input is one group, which is there without rows too
	Aggs   []AggregateCall
	Eval   expr.Evaluator
	DB     *state.DB
	// Keyspace is the first of the 1 + len(Aggs) + 1 keyspaces that are the operator's own.
	Keyspace uint32
	// WarmBytes is how much state, unpacked, is loaded at once instead of entry by entry.
	WarmBytes int64
}

// Keyspaces returns how many keyspaces an Aggregate with these calls has: the groups', one per
// call for its trace, and one for the trace of group identities.
func Keyspaces(calls int) uint32 { return uint32(calls) + 2 }

// AggregateCall is one aggregate of an Aggregate.
type AggregateCall struct {
	Spec   agg.Spec
	Arg    *expr.Expr // nil for count(*)
	Filter *expr.Expr // nil for none
}

// Aggregate groups its input and keeps one row per group that has rows.
//
//	out = the groups of (sum of all deltas), each with its aggregates
//
//	in  (a, 5):+1 (a, 7):+1     then     in  (a, 7):-1      GROUP BY 1, sum(2)
//	out (a, 12):+1                       out (a, 12):-1 (a, 5):+1
//
// State: a table from the group's key to the number of its rows and the value of each aggregate, with an
// ordered trace of (group, value) for those that need one (min, max, DISTINCT). A row costs one
// probe of the table and an addition per aggregate, and a step in the trace where there is one. An
// output row is made only for groups that a commit touched, and only when somebody reads the output.
//
// A group's columns are those of its rows; where equal keys differ in their bits (0.0 and -0.0), the row
// that sorts first by its bits, among those present, gives them.
type Aggregate struct {
	c        AggregateConfig
	groups   []*expr.Program
	args     []*expr.Program // nil for count(*)
	filters  []*expr.Program // nil for none
	fallible bool            // an input row can fail

	table  *state.Table
	cells  *aggCells
	traces []*state.Ordered
	image  image.Slots
	whole  bool // the image was made when all groups were in memory

	fixed  bool // the key is one column of at most 8 bytes
	types  []column.Type
	outT   []column.Type
	commit uint64
	born   bool // the running commit creates the operator

	slots []int32 // scratch
	keys  *rowkey.Encoder
}

// Cache is what checkpoints and eviction do with an operator's memory; see state.Table.
type Cache interface {
	Collect(cp *state.Checkpoint)
	Cleaned(cp *state.Checkpoint)
	Abandoned(cp *state.Checkpoint)
	Evict(target int64) int
	Bytes() int64
	Dirty() (entries int, bytes int64)
}

// aggCells is all values of a slot: rows, aggregates, and the group's bits where keys hide them.
type aggCells struct {
	rows     *agg.Rows
	aggs     []agg.Aggregate
	identity *agg.Identity // nil where equal keys have equal bits
}

func (c *aggCells) each() []state.Cells {
	all := []state.Cells{c.rows}
	for _, g := range c.aggs {
		all = append(all, g)
	}
	if c.identity != nil {
		all = append(all, c.identity)
	}
	return all
}

// anchor is a cell without a value that keeps its slot's entry in existence: the one group of an
// aggregate without GROUP BY is there even when it has no rows.
type anchor struct{}

func (anchor) Grow(int)                                 {}
func (anchor) Save([]int32)                             {}
func (anchor) Restore([]int32)                          {}
func (anchor) Reset(int32)                              {}
func (anchor) Encode(dst []byte, _ int32) []byte        { return dst }
func (anchor) Decode(_ int32, b []byte) ([]byte, error) { return b, nil }
func (anchor) Empty(int32) bool                         { return false }
func (anchor) Bytes() int64                             { return 0 }

// NewAggregate returns an aggregate whose state is in the database, or empty. The error wraps
// agg.ErrUnsupported when an aggregate is not maintained.
func NewAggregate(c AggregateConfig) (*Aggregate, error) {
	a := &Aggregate{c: c}
	for _, g := range c.Groups {
		a.groups = append(a.groups, expr.Compile(g, c.Eval))
		a.types = append(a.types, g.Type)
		a.fallible = a.fallible || expr.Fallible(g)
	}
	a.keys = rowkey.NewEncoder(a.types)
	for _, f := range c.Output {
		a.outT = append(a.outT, f.Type)
	}
	for _, call := range c.Aggs {
		var arg, filter *expr.Program
		if call.Arg != nil {
			arg = expr.Compile(call.Arg, c.Eval)
			a.fallible = a.fallible || expr.Fallible(call.Arg)
		}
		if call.Filter != nil {
			filter = expr.Compile(call.Filter, c.Eval)
			a.fallible = a.fallible || expr.Fallible(call.Filter)
		}
		a.args, a.filters = append(a.args, arg), append(a.filters, filter)
	}
	a.fixed = len(a.types) == 0 || len(a.types) == 1 && rowkey.FixedType(a.types[0])
	var err error
	if a.cells, err = a.newCells(true); err != nil {
		return nil, err
	}
	opts := state.TableOptions{Keyspace: c.Keyspace, Mode: state.ByteKeys, WarmBytes: c.WarmBytes, KeepFreed: true}
	if a.fixed {
		opts.Mode = state.FixedKeys
	}
	cells := a.cells.each()
	if len(c.Groups) == 0 {
		cells = append(cells, anchor{})
	}
	if a.table, err = state.NewTable(c.DB, opts, cells...); err != nil {
		return nil, err
	}
	return a, nil
}

// newCells makes empty cells; live ones get traces, others only decode and show.
func (a *Aggregate) newCells(live bool) (*aggCells, error) {
	var err error
	trace := func(i int, needed bool) agg.Trace {
		if !live || !needed || err != nil {
			return nil
		}
		var o *state.Ordered
		o, err = state.NewOrdered(a.c.DB, state.OrderedOptions{Keyspace: a.c.Keyspace + 1 + uint32(i)})
		a.traces = append(a.traces, o)
		return &slotTrace{a: a, o: o}
	}
	cells := &aggCells{rows: &agg.Rows{}}
	for i, call := range a.c.Aggs {
		g, nerr := agg.New(call.Spec, trace(i, call.Spec.NeedsTrace()))
		if nerr != nil {
			return nil, nerr
		}
		cells.aggs = append(cells.aggs, g)
	}
	for _, t := range a.types {
		if hidesBits(t) {
			cells.identity = agg.NewIdentity(a.types, trace(len(a.c.Aggs), true))
			break
		}
	}
	return cells, err
}

// hidesBits reports whether equal values of the type may differ in their bits.
func hidesBits(t column.Type) bool { return t.Floating() || t.Kind == column.Interval }

// Fallible reports whether a row of the input or of the output can fail.
func (a *Aggregate) Fallible() bool {
	return a.fallible || a.outputFallible()
}

// Output returns the columns of the operator's rows.
func (a *Aggregate) Output() []column.Field { return a.c.Output }

// Begin starts commit. born says that this commit creates the operator.
func (a *Aggregate) Begin(commit uint64, born bool) error {
	a.commit, a.born = commit, born
	a.table.Begin(commit)
	for _, t := range a.traces {
		t.Begin(commit)
	}
	if born && len(a.c.Groups) == 0 {
		return a.touchGlobal()
	}
	return nil
}

// touchGlobal makes the one group of an aggregate without GROUP BY, which has no row yet.
func (a *Aggregate) touchGlobal() error {
	slot := []int32{0}
	if err := a.table.FindFixed([]uint64{0}, nil, slot); err != nil {
		return err
	}
	a.table.Touch(slot)
	return nil
}

// Add takes a batch of the commit's delta. It does not keep b.
func (a *Aggregate) Add(b *zset.Batch, rejects *Rejects) error {
	for lo := 0; lo < b.N; lo += stepRows {
		if err := a.add(b.Slice(lo, min(lo+stepRows, b.N)), rejects); err != nil {
			return fmt.Errorf("%s: %w", a.c.Name, err)
		}
	}
	return nil
}

// evaluated is a batch's group columns and, per aggregate, its argument and whether the row counts.
type evaluated struct {
	groups, args []column.Column
	pass         [][]byte // values of the FILTER as a byte per row, nil for none
}

func (a *Aggregate) eval(b *zset.Batch) (ev evaluated, all *expr.RowErrors, err error) {
	run := func(p *expr.Program) (column.Column, error) {
		c, errs, err := p.Eval(b.Cols, b.N)
		all = mergeErrors(all, errs)
		return c, err
	}
	ev.groups = make([]column.Column, len(a.groups))
	for i, g := range a.groups {
		if ev.groups[i], err = run(g); err != nil {
			return ev, nil, err
		}
	}
	ev.args, ev.pass = make([]column.Column, len(a.args)), make([][]byte, len(a.args))
	for i := range a.args {
		if f := a.filters[i]; f != nil {
			if ev.args[i], ev.pass[i], err = a.evalFiltered(i, b, &all); err != nil {
				return ev, nil, err
			}
			continue
		}
		if a.args[i] != nil {
			if ev.args[i], err = run(a.args[i]); err != nil {
				return ev, nil, err
			}
		}
	}
	return ev, all, nil
}

// evalFiltered evaluates an aggregate's argument on the rows that pass its FILTER only: on others it
// cannot fail.
func (a *Aggregate) evalFiltered(i int, b *zset.Batch, all **expr.RowErrors) (column.Column, []byte, error) {
	v, errs, err := a.filters[i].Eval(b.Cols, b.N)
	if err != nil {
		return column.Column{}, nil, err
	}
	*all = mergeErrors(*all, errs)
	sel := expr.SelectTrue(v)
	pass := make([]byte, b.N)
	for _, r := range sel {
		pass[r] = 1
	}
	if a.args[i] == nil {
		return column.Column{}, pass, nil
	}
	sub := b.Gather(sel)
	arg, errs, err := a.args[i].Eval(sub.Cols, sub.N)
	if err != nil {
		return column.Column{}, nil, err
	}
	if errs != nil {
		at := &expr.RowErrors{Reasons: errs.Reasons}
		for _, r := range errs.Rows {
			at.Rows = append(at.Rows, sel[r])
		}
		*all = mergeErrors(*all, at)
	}
	out := column.NewBuilder(arg.Type, b.N)
	k := 0
	for r := range b.N {
		if k < len(sel) && int(sel[k]) == r {
			out.AppendFrom(&arg, k)
			k++
		} else {
			out.AppendNull()
		}
	}
	return out.Finish(), pass, nil
}

func (a *Aggregate) add(b *zset.Batch, rejects *Rejects) error {
	ev, errs, err := a.eval(b)
	if err != nil {
		return err
	}
	if errs != nil {
		if b = rejects.drop(a.c.Name, a.c.Input, b, errs); b == nil {
			return nil
		}
		if ev, _, err = a.eval(b); err != nil {
			return err
		}
	}
	if err := a.find(&ev, b.N); err != nil {
		return err
	}
	a.table.Touch(a.slots)
	if err := a.cells.rows.Add(a.slots, nil, b.W); err != nil {
		return err
	}
	for i, g := range a.cells.aggs {
		slots := a.slots
		if ev.pass[i] != nil {
			slots = make([]int32, b.N)
			for r, s := range a.slots {
				slots[r] = s
				if ev.pass[i][r] == 0 {
					slots[r] = -1
				}
			}
		}
		var arg *column.Column
		if a.args[i] != nil {
			arg = &ev.args[i]
		}
		if err := g.Add(slots, arg, b.W); err != nil {
			return err
		}
	}
	if a.cells.identity != nil {
		return a.cells.identity.AddRows(a.slots, ev.groups, b.W)
	}
	return nil
}

// find sets a.slots to the slots of the rows' groups.
func (a *Aggregate) find(ev *evaluated, n int) error {
	if cap(a.slots) < n {
		a.slots = make([]int32, max(n, stepRows))
	}
	a.slots = a.slots[:n]
	if len(a.groups) == 0 {
		one := []int32{0}
		if err := a.table.FindFixed([]uint64{0}, nil, one); err != nil {
			return err
		}
		for i := range a.slots {
			a.slots[i] = one[0]
		}
		return nil
	}
	if keys, valid, ok := rowkey.FixedKey(ev.groups, n); ok {
		return a.table.FindFixed(keys, valid, a.slots)
	}
	arena, offs := a.keys.Keys(ev.groups, n)
	return a.table.FindBytes(arena, offs, a.slots)
}

// Finish ends the commit's input. It returns the delta of the output when wanted, else nil. Groups whose
// output cannot be represented go to rejects.
func (a *Aggregate) Finish(wanted bool, rejects *Rejects) (*zset.Batch, error) {
	touched := a.table.Touched()
	if len(touched) == 0 {
		return nil, nil
	}
	if !wanted {
		if !a.outputFallible() {
			return nil, nil
		}
	}
	var was, is []int32
	for _, s := range touched {
		if a.present(s, true) {
			was = append(was, s)
		}
		if a.present(s, false) {
			is = append(is, s)
		}
	}
	old, err := a.rows(a.cells, was, true, -1, rejects)
	if err != nil {
		return nil, err
	}
	now, err := a.rows(a.cells, is, false, +1, rejects)
	if err != nil {
		return nil, err
	}
	return zset.Consolidate(zset.Concat(old, now)), nil
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
	if len(a.c.Groups) == 0 {
		return !(prev && a.born)
	}
	return a.cells.rows.Present(slot, prev)
}

// rows returns the output rows of slots with the given weight; rejects may be nil, and rows that cannot
// be represented are then left out.
func (a *Aggregate) rows(cells *aggCells, slots []int32, prev bool, weight int64, rejects *Rejects) (*zset.Batch, error) {
	if len(slots) == 0 {
		return nil, nil
	}
	out := &zset.Batch{N: len(slots), W: make([]int64, len(slots))}
	for i := range out.W {
		out.W[i] = weight
	}
	var err error
	if out.Cols, err = a.groupColumns(cells, slots, prev); err != nil {
		return nil, err
	}
	groups := len(out.Cols)
	var all *expr.RowErrors
	for _, g := range cells.aggs {
		c, errs := g.Output(slots, prev)
		if errs != nil {
			all = mergeErrors(all, &expr.RowErrors{Rows: errs.Rows, Reasons: errs.Reasons})
		}
		out.Cols = append(out.Cols, c)
	}
	if all == nil {
		return out, nil
	}
	if rejects == nil {
		rejects = &Rejects{}
	}
	shown := &zset.Batch{Cols: out.Cols[:groups], N: out.N, W: out.W}
	if rejects.drop(a.c.Name, a.c.Output[:groups], shown, all) == nil {
		return nil, nil
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

// Publish makes the commit's changes visible to lookups and snapshots.
func (a *Aggregate) Publish() {
	a.image.Mark(a.table.Touched())
	a.table.Publish(a.commit)
	for _, t := range a.traces {
		t.Publish(a.commit)
	}
	a.image.Mark(a.table.Freed())
	a.table.ReleaseFreed()
	a.born = false
}

// Void undoes the running commit.
func (a *Aggregate) Void() {
	a.table.Void()
	for _, t := range a.traces {
		t.Void()
	}
}

// Changed reports whether the running commit touched a group.
func (a *Aggregate) Changed() bool { return len(a.table.Touched()) > 0 }

// Caches returns what checkpoints and eviction go through.
func (a *Aggregate) Caches() []Cache {
	out := []Cache{a.table}
	for _, t := range a.traces {
		out = append(out, t)
	}
	return out
}

// Snapshot returns the output rows as of the last published commit. State that is small is loaded for
// it; of larger state, the groups that are only on disk are read from there each time.
func (a *Aggregate) Snapshot() (*image.Snapshot, error) {
	if err := a.warm(); err != nil {
		return nil, err
	}
	a.image.Mark(a.table.Freed()) // evicted since the last commit
	a.table.ReleaseFreed()
	if complete := a.table.Complete(); complete != a.whole {
		a.whole = complete
		a.image.MarkAll(a.table.Slots())
	}
	if err := a.image.Refresh(a.table.Slots(), a.buildChunk); err != nil {
		return nil, err
	}
	snap := a.image.Snapshot()
	if a.whole {
		return snap, nil
	}
	return snap, a.addEvicted(snap)
}

// warm loads the groups that are only on disk if all of them are few.
func (a *Aggregate) warm() error {
	if a.table.Complete() {
		return nil
	}
	// Snappy about halves such entries, and an entry takes about twice its bytes in memory.
	n, err := a.c.DB.Keyspace(a.c.Keyspace).DiskBytes()
	if err != nil || 4*n > a.c.WarmBytes {
		return err
	}
	return a.table.Warm()
}

// addEvicted adds the rows of groups that are only on disk.
func (a *Aggregate) addEvicted(snap *image.Snapshot) error {
	builders := newBuilders(a.outT, image.SlotRows)
	n := 0
	end := func() {
		if n > 0 {
			snap.Chunks = append(snap.Chunks, image.ScanChunk{Chunk: image.NewChunk(finish(builders), n)})
			snap.Rows += int64(n)
		}
		builders, n = newBuilders(a.outT, image.SlotRows), 0
	}
	var err error
	eachErr := a.table.Each(func(s int32) bool {
		if a.table.Live(s) {
			return true // in the image
		}
		var b *zset.Batch
		if b, err = a.rows(a.cells, []int32{s}, false, 1, nil); err != nil {
			return false
		}
		if b != nil {
			for i := range b.Cols {
				builders[i].AppendFrom(&b.Cols[i], 0)
			}
			if n++; n == image.SlotRows {
				end()
			}
		}
		return true
	})
	end()
	if err == nil {
		err = eachErr
	}
	return err
}

func (a *Aggregate) buildChunk(lo, hi int) ([]column.Column, int, error) {
	slots := make([]int32, 0, hi-lo)
	for s := lo; s < hi; s++ {
		if a.table.Live(int32(s)) && a.present(int32(s), false) {
			slots = append(slots, int32(s))
		}
	}
	b, err := a.rows(a.cells, slots, false, 1, nil)
	if b == nil || err != nil {
		return nil, 0, err
	}
	return b.Cols, b.N, nil
}
