package operators

import (
	"tidemill/operators/expr"
	"tidemill/operators/zset"
	"tidemill/state/column"
)

// Filter keeps the rows for which every conjunct is true.
//
//	out = [row | row in in, c1(row) and c2(row) and ...], weights unchanged; no state
//
//	in  (1, 5):+1 (2, 0):+1 (1, 5):-1     WHERE b > 3
//	out (1, 5):+1 (1, 5):-1
//
// A row that one conjunct drops does not fail, whatever the others would do with it: conjuncts that
// cannot fail come first, and of those that can, an error counts only if no other drops the row.
type Filter struct {
	name     string
	input    []column.Field
	exprs    []*expr.Expr
	safe     []*expr.Program // cannot fail; those with kernels are one program, so that rows are copied once
	fallible []*expr.Program
	need     []bool // columns that are copied; nil for all
}

// NewFilter returns a filter over rows of these fields. Conjuncts that cannot fail are to come first.
// name is what rejects call the operator.
func NewFilter(name string, input []column.Field, conjuncts []*expr.Expr, ev expr.Evaluator) *Filter {
	f := &Filter{name: name, input: input, exprs: conjuncts}
	var native []*expr.Expr
	var foreign []*expr.Program
	for i, c := range conjuncts {
		p := expr.Compile(c, ev)
		switch {
		case len(f.fallible) > 0 || expr.Fallible(c):
			f.fallible = append(f.fallible, p)
		case p.Native():
			native = append(native, conjuncts[i])
		default:
			foreign = append(foreign, p)
		}
	}
	switch len(native) {
	case 0:
	case 1:
		f.safe = append(f.safe, expr.Compile(native[0], ev))
	default:
		f.safe = append(f.safe, expr.Compile(&expr.Expr{Kind: expr.And, Type: column.T(column.Bool), Args: native}, ev))
	}
	f.safe = append(f.safe, foreign...)
	return f
}

// Fallible reports whether a conjunct can fail on a row.
func (f *Filter) Fallible() bool { return len(f.fallible) > 0 }

// Need implements Linear.
func (f *Filter) Need(output []bool) []bool {
	if f.Fallible() {
		f.need = nil
		return allColumns(len(f.input))
	}
	f.need = append([]bool(nil), output...)
	in := append([]bool(nil), output...)
	for _, e := range f.exprs {
		expr.MarkColumns(e, in)
	}
	return in
}

// Apply returns the rows that pass.
func (f *Filter) Apply(b *zset.Batch, rejects *Rejects) (*zset.Batch, error) {
	for i, c := range f.safe {
		if b == nil {
			return nil, nil
		}
		sel, _, err := c.Select(b.Cols, b.N)
		if err != nil {
			return nil, err
		}
		if i == len(f.safe)-1 {
			b = f.drop(b)
		}
		b = gatherAll(b, sel)
	}
	if b == nil || len(f.fallible) == 0 {
		return b, nil
	}
	pass := column.NewBitmap(b.N, true) // no conjunct seen so far drops the row
	reasons := map[int32]string{}       // the first error of each row
	for _, c := range f.fallible {
		v, errs, err := c.Eval(b.Cols, b.N)
		if err != nil {
			return nil, err
		}
		failed := map[int32]bool{}
		if errs != nil {
			for i, r := range errs.Rows {
				failed[r] = true
				if _, ok := reasons[r]; !ok {
					reasons[r] = errs.Reasons[i]
				}
			}
		}
		vals := column.Values[uint8](&v)
		for i := range b.N {
			if !failed[int32(i)] && (v.IsNull(i) || vals[i] == 0) {
				column.ClearBit(pass, i)
			}
		}
	}
	var sel []int32
	for i := range b.N {
		if !column.Bit(pass, i) {
			continue
		}
		if reason, bad := reasons[int32(i)]; bad {
			rejects.Add(f.name, reason, f.input, b, i)
			continue
		}
		sel = append(sel, int32(i))
	}
	return gatherAll(b, sel), nil
}

// drop makes the columns absent that nobody reads.
func (f *Filter) drop(b *zset.Batch) *zset.Batch {
	if f.need == nil {
		return b
	}
	out := &zset.Batch{N: b.N, W: b.W, Cols: make([]column.Column, len(b.Cols))}
	for i := range b.Cols {
		if out.Cols[i] = b.Cols[i]; !f.need[i] {
			out.Cols[i] = column.Absent(b.Cols[i].Type, b.N)
		}
	}
	return out
}

// gatherAll is b.Gather, without a copy when sel is all rows.
func gatherAll(b *zset.Batch, sel []int32) *zset.Batch {
	switch len(sel) {
	case 0:
		return nil
	case b.N:
		return b
	}
	return b.Gather(sel)
}
