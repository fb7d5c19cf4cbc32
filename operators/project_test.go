package operators_test

import (
	"testing"

	"tidemill/operators"
	"tidemill/operators/expr"
	"tidemill/operators/optest"
	"tidemill/operators/zset"
	"tidemill/state"
	"tidemill/state/column"
)

func TestProject(t *testing.T) {
	fields, types := linearFields()
	exprs := []*expr.Expr{
		col(fields, 3), col(fields, 4), constant(7),
		{Kind: expr.IsNull, Type: boolT, Args: []*expr.Expr{col(fields, 0)}}, col(fields, 3),
	}
	p := operators.NewProject("project", fields, exprs, nil)
	if p.Fallible() {
		t.Fatal("IS NULL can fail")
	}
	out := []column.Type{types[3], types[4], int64T, boolT, types[3]}
	runLinear(t, "project", p, fields, out, func(b *zset.Batch, i int, out []*column.Builder) (bool, string) {
		out[0].AppendFrom(&b.Cols[3], i)
		out[1].AppendFrom(&b.Cols[4], i)
		column.Append(out[2], int64(7))
		null := uint8(0)
		if b.Cols[0].IsNull(i) {
			null = 1
		}
		column.Append(out[3], null)
		out[4].AppendFrom(&b.Cols[3], i)
		return true, ""
	})
}

// TestProjectRejects has two expressions that fail: the first one's reason counts.
func TestProjectRejects(t *testing.T) {
	fields, types := linearFields()
	p := operators.NewProject("project", fields, []*expr.Expr{narrow(col(fields, 0)), col(fields, 3), narrow(col(fields, 1))}, nil)
	if !p.Fallible() {
		t.Fatal("a narrowing cast cannot fail")
	}
	out := []column.Type{int8T, types[3], int8T}
	runLinear(t, "project", p, fields, out, func(b *zset.Batch, i int, out []*column.Builder) (bool, string) {
		x, xNull, xReason := narrowed(b, 0, i)
		y, yNull, yReason := narrowed(b, 1, i)
		if xReason != "" {
			return false, xReason
		}
		if yReason != "" {
			return false, yReason
		}
		appendNarrow(out[0], x, xNull)
		out[1].AppendFrom(&b.Cols[3], i)
		appendNarrow(out[2], y, yNull)
		return true, ""
	})
}

func appendNarrow(b *column.Builder, v int64, null bool) {
	if null {
		b.AppendNull()
	} else {
		column.Append(b, int8(v))
	}
}

// TestAggregateRejects has expressions that fail in a group, an argument and a FILTER: an argument fails
// only where its FILTER is true, and the row then counts for no aggregate.
func TestAggregateRejects(t *testing.T) {
	fields, _ := linearFields()
	plain := plainAggregate{
		fields: []column.Field{{Name: "g", Type: int8T}, {Name: "x", Type: int8T}, fields[2]},
		groups: []int{0},
		calls:  []plainCall{call("count_star", -1), call("sum", 1).over(2), call("max", 1).over(2)},
	}
	open := func(db *state.DB) (optest.Operator, error) {
		c := plain.config(db)
		c.Input = fields
		c.Groups = []*expr.Expr{narrow(col(fields, 0))}
		for i := range c.Aggs {
			if c.Aggs[i].Args != nil {
				c.Aggs[i].Args, c.Aggs[i].Filter = []*expr.Expr{narrow(col(fields, 1))}, col(fields, 2)
			}
		}
		a, err := operators.NewAggregate(c)
		if err != nil {
			return nil, err
		}
		if !a.Fallible() {
			t.Error("a narrowing cast cannot fail")
		}
		return optest.Aggregate(a), nil
	}
	optest.Run(t, optest.Case{
		Inputs: []optest.Input{{Fields: fields, Values: map[int]column.Column{0: smallInts(), 1: smallInts()}}},
		Open:   open,
		Keys:   1,
		Want: func(in []*zset.Batch, bad *operators.Rejects) *zset.Batch {
			b := in[0]
			cols := []*column.Builder{column.NewBuilder(int8T, b.N), column.NewBuilder(int8T, b.N), column.NewBuilder(boolT, b.N)}
			kept := &zset.Batch{W: []int64{}}
			for i := range b.N {
				x, xNull, reason := narrowed(b, 0, i)
				y, yNull, yReason := narrowed(b, 1, i)
				if reason == "" && !b.Cols[2].IsNull(i) && b.Cols[2].Data[i] == 1 {
					reason = yReason
				}
				if reason != "" {
					bad.Add(aggregateName, reason, fields, b, i)
					continue
				}
				appendNarrow(cols[0], x, xNull)
				appendNarrow(cols[1], y, yNull)
				cols[2].AppendFrom(&b.Cols[2], i)
				kept.N++
				kept.W = append(kept.W, b.Weight(i))
			}
			for _, c := range cols {
				kept.Cols = append(kept.Cols, c.Finish())
			}
			return plain.want(kept, bad)
		},
	})
}
