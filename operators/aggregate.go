package operators

import (
	"tidemill/operators/agg"
	"tidemill/operators/expr"
	"tidemill/state"
	"tidemill/state/column"
	"tidemill/state/image"
	"tidemill/state/rowkey"
)

// stepRows is how many rows an aggregate takes at a time: the columns in between stay in a core's second
// level cache, and the next slice is prepared while one is absorbed. Doubled, a commit of a few thousand rows
// has nothing to overlap; halved, the cost of a call shows.
const stepRows = 2048

// AggregateConfig is what an Aggregate computes and where it keeps it.
type AggregateConfig struct {
	Name   string // what rejects and EXPLAIN call it
	Input  []column.Field
	Output []column.Field // groups, then aggregates
	Groups []*expr.Expr   // none: the whole input is one group, which is there without rows too
	Aggs   []AggregateCall
	// Sets are the grouping sets, each a list of places in Groups: the input is grouped by each of them, the other
	// groups NULL, and Output has the number of the set before the groups. nil for one set of all groups.
	Sets [][]int
	Eval expr.Evaluator
	DB   *state.DB
	// Keyspace is the first of the 1 + len(Aggs) + 1 keyspaces that are the operator's own.
	Keyspace uint32
	// WarmBytes is how much state, unpacked, is loaded at once instead of entry by entry.
	WarmBytes int64
	// Parallel lets the operator use a second core.
	Parallel bool
}

// Keyspaces returns how many keyspaces an Aggregate with these calls has: the groups', one per
// call for its trace, and one for the trace of group identities.
func Keyspaces(calls int) uint32 { return uint32(calls) + 2 }

// AggregateCall is one aggregate of an Aggregate.
type AggregateCall struct {
	Spec   agg.Spec
	Args   []*expr.Expr // of Spec.Args, then of Spec.Order
	Filter *expr.Expr   // nil for none
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
	sets     [2]*programs // the first prepares
	fallible bool         // an input row can fail

	table  *state.Table
	cells  *aggCells
	traces []*state.Ordered
	image  image.Slots
	whole  bool // the image was made when all groups were in memory

	fixed  bool // the key is one column of at most 8 bytes
	types  []column.Type
	outT   []column.Type
	commit uint64
	born   bool               // the running commit creates the operator
	need   []bool             // columns of the output that are read; nil for all
	groups [][]*column.Column // of touched slots, in parts; nothing where identities keep them

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
	a.sets = [2]*programs{a.compile(), a.compile()}
	if c.Sets != nil {
		a.types = append(a.types, column.T(column.Int32))
	}
	for _, g := range c.Groups {
		a.types = append(a.types, g.Type)
		a.fallible = a.fallible || expr.Fallible(g)
	}
	a.keys = rowkey.NewEncoder(a.types)
	for _, f := range c.Output {
		a.outT = append(a.outT, f.Type)
	}
	for _, call := range c.Aggs {
		for _, e := range append([]*expr.Expr{call.Filter}, call.Args...) {
			a.fallible = a.fallible || e != nil && expr.Fallible(e)
		}
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
	if a.global() {
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
		o, err = state.NewOrdered(a.c.DB, state.OrderedOptions{Keyspace: a.c.Keyspace + 1 + uint32(i), WarmBytes: a.c.WarmBytes})
		a.traces = append(a.traces, o)
		return &slotTrace{a: a, o: o}
	}
	cells := &aggCells{rows: &agg.Rows{}}
	for i, call := range a.c.Aggs {
		if call.Spec.Func == "count_star" && call.Filter == nil && a.c.Sets == nil { // see touchEmptySets
			cells.aggs = append(cells.aggs, cells.rows.Count())
			continue
		}
		g, nerr := agg.New(call.Spec, trace(i, call.Spec.NeedsTrace()))
		if nerr != nil {
			return nil, nerr
		}
		cells.aggs = append(cells.aggs, g)
	}
	for _, t := range a.types {
		if t.HidesBits() {
			cells.identity = agg.NewIdentity(a.types, trace(len(a.c.Aggs), true))
			break
		}
	}
	return cells, err
}

// Fallible reports whether a row of the input or of the output can fail.
func (a *Aggregate) Fallible() bool {
	return a.fallible || a.outputFallible()
}

// Output returns the columns of the operator's rows.
func (a *Aggregate) Output() []column.Field { return a.c.Output }

// Need says which columns of the output anybody reads: the others are absent in deltas from then on, and a
// group whose read columns did not change is not in them. It returns which columns of the input the
// operator reads, of which a row that fails shows all.
func (a *Aggregate) Need(output []bool) []bool {
	if a.need = append([]bool(nil), output...); a.cells.identity != nil {
		a.need = nil // Consolidate reads all of them
	}
	if a.fallible {
		return allColumns(len(a.c.Input))
	}
	in := make([]bool, len(a.c.Input))
	for _, g := range a.c.Groups {
		expr.MarkColumns(g, in)
	}
	for _, c := range a.c.Aggs {
		for _, e := range c.Args {
			expr.MarkColumns(e, in)
		}
		expr.MarkColumns(c.Filter, in)
	}
	return in
}

// reads reports whether anybody reads column i of the output.
func (a *Aggregate) reads(i int) bool { return a.need == nil || a.need[i] }

// Begin starts commit. born says that this commit creates the operator.
func (a *Aggregate) Begin(commit uint64, born bool) error {
	a.commit, a.born = commit, born
	a.groups = make([][]*column.Column, len(a.types))
	a.noteEvicted()
	a.table.Begin(commit)
	for _, t := range a.traces {
		t.Begin(commit)
	}
	switch {
	case born && a.global():
		return a.touchGlobal()
	case born && a.c.Sets != nil:
		return a.touchEmptySets()
	}
	return nil
}

// global reports whether the whole input is one group.
func (a *Aggregate) global() bool { return len(a.types) == 0 }

// touchGlobal makes the one group of an aggregate without GROUP BY, which has no row yet.
func (a *Aggregate) touchGlobal() error {
	slot := []int32{0}
	if err := a.table.FindFixed([]uint64{0}, nil, slot); err != nil {
		return err
	}
	a.table.Touch(slot)
	return nil
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

// Caches returns what checkpoints and eviction go through.
func (a *Aggregate) Caches() []Cache {
	out := []Cache{a.table}
	for _, t := range a.traces {
		out = append(out, t)
	}
	return out
}
