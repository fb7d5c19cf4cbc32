package operators

import (
	"tidemill/operators/expr"
	"tidemill/operators/zset"
	"tidemill/state/column"
	"tidemill/state/rowkey"
)

// evaluated is a batch's group columns and, per aggregate, its argument and whether the row counts.
type evaluated struct {
	groups, args []column.Column
	pass         [][]byte // values of the FILTER as a byte per row, nil for none
}

func (a *Aggregate) eval(b *zset.Batch) (ev evaluated, all *expr.RowErrors, err error) {
	run := func(p *expr.Program) (column.Column, error) {
		c, errs, err := p.EvalScratch(b.Cols, b.N) // each program has its own buffers
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
