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
	name      string
	input     []column.Field
	conjuncts []*expr.Program
	safe      int // conjuncts before this one cannot fail
}

// NewFilter returns a filter over rows of these fields. Conjuncts that cannot fail are to come first.
// name is what rejects call the operator.
func NewFilter(name string, input []column.Field, conjuncts []*expr.Expr, ev expr.Evaluator) *Filter {
	f := &Filter{name: name, input: input}
	for i, c := range conjuncts {
		f.conjuncts = append(f.conjuncts, expr.Compile(c, ev))
		if f.safe == i && !expr.Fallible(c) {
			f.safe++
		}
	}
	return f
}

// Fallible reports whether a conjunct can fail on a row.
func (f *Filter) Fallible() bool { return f.safe < len(f.conjuncts) }

// Apply returns the rows that pass.
func (f *Filter) Apply(b *zset.Batch, rejects *Rejects) (*zset.Batch, error) {
	for _, c := range f.conjuncts[:f.safe] {
		if b == nil {
			return nil, nil
		}
		sel, _, err := c.Select(b.Cols, b.N)
		if err != nil {
			return nil, err
		}
		b = gatherAll(b, sel)
	}
	if b == nil || f.safe == len(f.conjuncts) {
		return b, nil
	}
	pass := column.NewBitmap(b.N, true) // no conjunct seen so far drops the row
	reasons := map[int32]string{}       // the first error of each row
	for _, c := range f.conjuncts[f.safe:] {
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
