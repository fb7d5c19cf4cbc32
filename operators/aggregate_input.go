package operators

import (
	"fmt"

	"tidemill/operators/expr"
	"tidemill/operators/zset"
	"tidemill/state/column"
	"tidemill/state/rowkey"
)

// pipeRows is how many rows of a delta make it worth while to prepare them on another goroutine: some fifty
// times what that costs.
const pipeRows = 512

// Add takes a batch of the commit's delta. It does not keep b beyond Finish.
func (a *Aggregate) Add(b *zset.Batch, rejects *Rejects) error {
	return a.slices(b, rejects, a.absorb)
}

// Feed takes the commit's delta, of about so many rows, from each, which calls add with one batch after the
// other: Add for all of them.
//
// When it is worth while, each and what prepares a slice (its expressions, its keys) run on a goroutine of
// their own while this one absorbs the slice before (its groups are found and changed), so that one operator uses
// two cores. It is this one that absorbs because Finish goes over the same groups next, and finds them in its
// core's cache. Slices are absorbed in the order in which they came: the result is the same as without.
func (a *Aggregate) Feed(rows int, rejects *Rejects, each func(add func(*zset.Batch) error) error) error {
	if !a.c.Parallel || rows < pipeRows {
		return each(func(b *zset.Batch) error { return a.Add(b, rejects) })
	}
	slices := make(chan *prepared) // without a buffer: when one is taken the one before is done, and its programs are free
	failed := make(chan error, 1)
	go func() {
		err := each(func(b *zset.Batch) error {
			return a.slices(b, rejects, func(p *prepared) error { slices <- p; return nil })
		})
		close(slices)
		failed <- err
	}()
	var err error
	for p := range slices {
		if err == nil {
			err = a.absorb(p)
		}
	}
	if ferr := <-failed; ferr != nil {
		return ferr
	}
	if err != nil {
		return fmt.Errorf("%s: %w", a.c.Name, err)
	}
	return nil
}

// slices prepares b in slices and passes each on.
func (a *Aggregate) slices(b *zset.Batch, rejects *Rejects, pass func(*prepared) error) error {
	for lo := 0; lo < b.N; lo += stepRows {
		ps, err := a.prepare(b.Slice(lo, min(lo+stepRows, b.N)), rejects)
		for _, p := range ps {
			if err == nil {
				err = pass(p)
			}
		}
		if err != nil {
			return fmt.Errorf("%s: %w", a.c.Name, err)
		}
	}
	return nil
}

// programs evaluate a slice. What they return lies in their buffers, so there are two sets: one for the
// slice that is prepared, one for the slice that is absorbed.
type programs struct {
	groups  []*expr.Program
	args    [][]*expr.Program // of each aggregate
	filters []*expr.Program   // nil for none
}

func (a *Aggregate) compile() *programs {
	p := &programs{}
	for _, g := range a.c.Groups {
		p.groups = append(p.groups, expr.Compile(g, a.c.Eval))
	}
	for _, call := range a.c.Aggs {
		var args []*expr.Program
		for _, e := range call.Args {
			args = append(args, expr.Compile(e, a.c.Eval))
		}
		var filter *expr.Program
		if call.Filter != nil {
			filter = expr.Compile(call.Filter, a.c.Eval)
		}
		p.args, p.filters = append(p.args, args), append(p.filters, filter)
	}
	return p
}

// evaluated is a batch's group columns and, per aggregate, its arguments and whether the row counts.
type evaluated struct {
	groups []column.Column
	args   [][]column.Column
	pass   [][]byte // values of the FILTER as a byte per row, nil for none
}

// prepared is a slice of the input, ready to be absorbed.
type prepared struct {
	evaluated
	n     int
	w     []int64
	fixed []uint64 // keys, with valid, or
	valid []byte
	arena []byte // keys, with offs
	offs  []int32
}

// prepare evaluates a slice and makes its keys, once for each grouping set; nothing when no row is left.
func (a *Aggregate) prepare(b *zset.Batch, rejects *Rejects) ([]*prepared, error) {
	a.sets[0], a.sets[1] = a.sets[1], a.sets[0]
	ev, errs, err := a.eval(b)
	if err != nil {
		return nil, err
	}
	if errs != nil {
		if b = rejects.drop(a.c.Name, a.c.Input, b, errs); b == nil {
			return nil, nil
		}
		if ev, _, err = a.eval(b); err != nil {
			return nil, err
		}
	}
	p := &prepared{evaluated: ev, n: b.N, w: b.W}
	if a.c.Sets != nil {
		return a.grouped(p), nil
	}
	p.makeKeys(a.keys)
	return []*prepared{p}, nil
}

func (p *prepared) makeKeys(enc *rowkey.Encoder) {
	if len(p.groups) == 0 {
		return
	}
	if keys, valid, ok := rowkey.FixedKey(p.groups, p.n); ok {
		p.fixed, p.valid = keys, valid
	} else {
		p.arena, p.offs = enc.Keys(p.groups, p.n)
	}
}

func (a *Aggregate) eval(b *zset.Batch) (ev evaluated, all *expr.RowErrors, err error) {
	run := func(p *expr.Program) (column.Column, error) {
		c, errs, err := p.EvalScratch(b.Cols, b.N) // each program has its own buffers
		all = expr.MergeErrors(all, errs)
		return c, err
	}
	set := a.sets[0]
	ev.groups = make([]column.Column, len(a.c.Groups))
	for i, g := range set.groups {
		if ev.groups[i], err = run(g); err != nil {
			return ev, nil, err
		}
	}
	ev.args, ev.pass = make([][]column.Column, len(set.args)), make([][]byte, len(set.args))
	for i := range set.args {
		if set.filters[i] != nil {
			if ev.args[i], ev.pass[i], err = a.evalFiltered(i, b, &all); err != nil {
				return ev, nil, err
			}
			continue
		}
		ev.args[i] = make([]column.Column, len(set.args[i]))
		for k, p := range set.args[i] {
			if ev.args[i][k], err = run(p); err != nil {
				return ev, nil, err
			}
		}
	}
	return ev, all, nil
}

// evalFiltered evaluates an aggregate's arguments on the rows that pass its FILTER only: on others it
// cannot fail.
func (a *Aggregate) evalFiltered(i int, b *zset.Batch, all **expr.RowErrors) ([]column.Column, []byte, error) {
	set := a.sets[0]
	v, errs, err := set.filters[i].Eval(b.Cols, b.N)
	if err != nil {
		return nil, nil, err
	}
	*all = expr.MergeErrors(*all, errs)
	sel := expr.SelectTrue(v)
	pass := make([]byte, b.N)
	for _, r := range sel {
		pass[r] = 1
	}
	if len(set.args[i]) == 0 {
		return nil, pass, nil
	}
	sub := b.Gather(sel)
	args := make([]column.Column, len(set.args[i]))
	for k, p := range set.args[i] {
		arg, errs, err := p.Eval(sub.Cols, sub.N)
		if err != nil {
			return nil, nil, err
		}
		if errs != nil {
			at := &expr.RowErrors{Reasons: errs.Reasons}
			for _, r := range errs.Rows {
				at.Rows = append(at.Rows, sel[r])
			}
			*all = expr.MergeErrors(*all, at)
		}
		args[k] = scatter(&arg, sel, b.N)
	}
	return args, pass, nil
}

// scatter returns a column of n rows with the values of c at sel and NULL elsewhere.
func scatter(c *column.Column, sel []int32, n int) column.Column {
	out := column.NewBuilder(c.Type, n)
	k := 0
	for r := range n {
		if k < len(sel) && int(sel[k]) == r {
			out.AppendFrom(c, k)
			k++
		} else {
			out.AppendNull()
		}
	}
	return out.Finish()
}

// absorb finds the groups of a prepared slice and changes them.
func (a *Aggregate) absorb(p *prepared) error {
	if err := a.find(p); err != nil {
		return err
	}
	a.note(p, a.table.Touch(a.slots))
	if err := a.cells.rows.Add(a.slots, nil, p.w); err != nil {
		return err
	}
	for i, g := range a.cells.aggs {
		slots := a.slots
		if p.pass[i] != nil {
			slots = make([]int32, p.n)
			for r, s := range a.slots {
				slots[r] = s
				if p.pass[i][r] == 0 {
					slots[r] = -1
				}
			}
		}
		if err := g.Add(slots, p.args[i], p.w); err != nil {
			return err
		}
	}
	if a.cells.identity != nil {
		return a.cells.identity.AddRows(a.slots, p.groups, p.w)
	}
	return nil
}

// note remembers the group columns of the groups that the commit touches for the first time, from the rows that do:
// the keys have them too, but each lies in a cache line of its own.
func (a *Aggregate) note(p *prepared, first []int32) {
	if a.cells.identity != nil || len(first) == 0 {
		return // what shows may not be any row's
	}
	for i := range p.groups {
		part := column.Absent(a.types[i], len(first))
		if a.reads(i) {
			part = p.groups[i].Gather(first)
		}
		a.groups[i] = append(a.groups[i], &part)
	}
}

// find sets a.slots to the slots of the rows' groups.
func (a *Aggregate) find(p *prepared) error {
	if cap(a.slots) < p.n {
		a.slots = make([]int32, max(p.n, stepRows))
	}
	a.slots = a.slots[:p.n]
	switch {
	case len(p.groups) == 0:
		one := []int32{0}
		if err := a.table.FindFixed([]uint64{0}, nil, one); err != nil {
			return err
		}
		for i := range a.slots {
			a.slots[i] = one[0]
		}
		return nil
	case a.fixed:
		return a.table.FindFixed(p.fixed, p.valid, a.slots)
	}
	return a.table.FindBytes(p.arena, p.offs, a.slots)
}
