package operators

import (
	"tidemill/operators/expr"
	"tidemill/operators/zset"
	"tidemill/state/column"
)

// Project computes each output column from the row.
//
//	out = [(e1(row), e2(row), ...) | row in in], weights unchanged; no state
//
//	in  (1, 5):+1 (2, 7):-1     SELECT b, a + b
//	out (5, 6):+1 (7, 9):-1
//
// A row on which any expression fails is rejected.
type Project struct {
	name     string
	input    []column.Field
	programs []*expr.Program // nil for a plain column
	columns  []int
	exprs    []*expr.Expr
	fallible bool
	need     []bool // outputs that are computed; nil for all
}

// NewProject returns a projection over rows of the input fields. name is what rejects call it.
func NewProject(name string, input []column.Field, exprs []*expr.Expr, ev expr.Evaluator) *Project {
	p := &Project{name: name, input: input, exprs: exprs}
	for _, e := range exprs {
		var prog *expr.Program
		if e.Kind != expr.Column {
			prog = expr.Compile(e, ev)
		}
		p.programs = append(p.programs, prog)
		p.columns = append(p.columns, e.Col)
		p.fallible = p.fallible || expr.Fallible(e)
	}
	return p
}

// Fallible reports whether an expression can fail on a row.
func (p *Project) Fallible() bool { return p.fallible }

// Need implements Linear. An expression that can fail is computed whether anybody reads it or not.
func (p *Project) Need(output []bool) []bool {
	p.need = append([]bool(nil), output...)
	in := make([]bool, len(p.input))
	for i, e := range p.exprs {
		p.need[i] = p.need[i] || expr.Fallible(e)
		if p.need[i] {
			expr.MarkColumns(e, in)
		}
	}
	if p.fallible {
		return allColumns(len(p.input))
	}
	return in
}

// Apply returns the computed rows.
func (p *Project) Apply(b *zset.Batch, rejects *Rejects) (*zset.Batch, error) {
	if b == nil {
		return nil, nil
	}
	out := &zset.Batch{N: b.N, W: b.W}
	var err error
	var errs *expr.RowErrors
	if out.Cols, errs, err = p.eval(b); err != nil || errs == nil {
		return out, err
	}
	good := rejects.drop(p.name, p.input, b, errs)
	if good == nil {
		return nil, nil
	}
	out = &zset.Batch{N: good.N, W: good.W}
	out.Cols, _, err = p.eval(good)
	return out, err
}

func (p *Project) eval(b *zset.Batch) (cols []column.Column, all *expr.RowErrors, err error) {
	cols = make([]column.Column, len(p.programs))
	for i, prog := range p.programs {
		if p.need != nil && !p.need[i] {
			cols[i] = column.Absent(p.exprs[i].Type, b.N)
			continue
		}
		if prog == nil {
			cols[i] = b.Cols[p.columns[i]]
			continue
		}
		var errs *expr.RowErrors
		if cols[i], errs, err = prog.Eval(b.Cols, b.N); err != nil {
			return nil, nil, err
		}
		all = expr.MergeErrors(all, errs)
	}
	return cols, all, nil
}
