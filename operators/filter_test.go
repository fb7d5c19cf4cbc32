package operators_test

import (
	"encoding/binary"
	"fmt"
	"testing"

	"tidemill/operators"
	"tidemill/operators/expr"
	"tidemill/operators/optest"
	"tidemill/operators/zset"
	"tidemill/state"
	"tidemill/state/column"
)

var int64T, int8T, boolT = column.T(column.Int64), column.T(column.Int8), column.T(column.Bool)

func constant(v int64) *expr.Expr {
	raw := binary.LittleEndian.AppendUint64(nil, uint64(v))
	return &expr.Expr{Kind: expr.Constant, Type: int64T, Const: &expr.Value{Raw: raw}}
}

func fn(name string, t column.Type, args ...*expr.Expr) *expr.Expr {
	return &expr.Expr{Kind: expr.Call, Type: t, Func: name, Args: args}
}

// narrow is a cast that fails outside TINYINT.
func narrow(e *expr.Expr) *expr.Expr {
	return &expr.Expr{Kind: expr.Cast, Type: int8T, Args: []*expr.Expr{e}}
}

func widen(e *expr.Expr) *expr.Expr {
	return &expr.Expr{Kind: expr.Cast, Type: int64T, Args: []*expr.Expr{e}}
}

// narrowed is the value of narrow, and what is wrong with it.
func narrowed(b *zset.Batch, c, i int) (v int64, null bool, reason string) {
	if b.Cols[c].IsNull(i) {
		return 0, true, ""
	}
	v = column.Values[int64](&b.Cols[c])[i]
	if v < -128 || v > 127 {
		return 0, true, fmt.Sprintf("Type INT64 with value %d can't be cast because the value is out of range for the destination type INT8", v)
	}
	return v, false, ""
}

// smallInts are values around the bounds of TINYINT.
func smallInts() column.Column {
	c := column.Of(int64T, []int64{-5000, -129, -128, -1, 0, 1, 3, 4, 5, 127, 128, 1 << 40, 0}, column.NewBitmap(13, true))
	column.ClearBit(c.Valid, 12)
	return c
}

// runLinear holds a linear operator against a function that says, of one row, whether and as what it
// passes, and why it does not.
func runLinear(t *testing.T, name string, op operators.Linear, fields []column.Field, out []column.Type,
	row func(b *zset.Batch, i int, out []*column.Builder) (passes bool, reason string)) {
	t.Helper()
	optest.Run(t, optest.Case{
		Inputs: []optest.Input{{Fields: fields, Values: map[int]column.Column{0: smallInts(), 1: smallInts()}}},
		Open:   func(*state.DB) (optest.Operator, error) { return optest.Linear(op), nil },
		Want: func(in []*zset.Batch, bad *operators.Rejects) *zset.Batch {
			b, builders := in[0], make([]*column.Builder, len(out))
			for k := range out {
				builders[k] = column.NewBuilder(out[k], in[0].N)
			}
			res := &zset.Batch{W: []int64{}}
			for i := range b.N {
				passes, reason := row(b, i, builders)
				switch {
				case reason != "":
					bad.Add(name, reason, fields, b, i)
				case passes:
					res.N++
					res.W = append(res.W, b.Weight(i))
				}
			}
			for _, bl := range builders {
				res.Cols = append(res.Cols, bl.Finish())
			}
			return res
		},
	})
}

func linearFields() ([]column.Field, []column.Type) {
	types := typeOf(column.Int64, column.Int64, column.Bool, column.Varchar, column.Double)
	return fieldsOf(types...), types
}

func copyRow(b *zset.Batch, i int, out []*column.Builder) {
	for k := range out {
		out[k].AppendFrom(&b.Cols[k], i)
	}
}

func TestFilter(t *testing.T) {
	fields, types := linearFields()
	f := operators.NewFilter("filter", fields, []*expr.Expr{fn(">", boolT, col(fields, 0), constant(3)), col(fields, 2)}, nil)
	if f.Fallible() {
		t.Fatal("a comparison can fail")
	}
	runLinear(t, "filter", f, fields, types, func(b *zset.Batch, i int, out []*column.Builder) (bool, string) {
		if b.Cols[0].IsNull(i) || b.Cols[2].IsNull(i) || column.Values[int64](&b.Cols[0])[i] <= 3 || b.Cols[2].Data[i] == 0 {
			return false, ""
		}
		copyRow(b, i, out)
		return true, ""
	})
}

// TestFilterRejects has conjuncts that fail on rows, some of which another conjunct drops.
func TestFilterRejects(t *testing.T) {
	fields, types := linearFields()
	f := operators.NewFilter("filter", fields, []*expr.Expr{
		col(fields, 2),
		fn(">", boolT, widen(narrow(col(fields, 0))), constant(3)),
		fn("<", boolT, widen(narrow(col(fields, 1))), constant(100)),
	}, nil)
	if !f.Fallible() {
		t.Fatal("a narrowing cast cannot fail")
	}
	runLinear(t, "filter", f, fields, types, func(b *zset.Batch, i int, out []*column.Builder) (bool, string) {
		x, xNull, xReason := narrowed(b, 0, i)
		y, yNull, yReason := narrowed(b, 1, i)
		switch {
		case b.Cols[2].IsNull(i) || b.Cols[2].Data[i] == 0,
			xReason == "" && (xNull || x <= 3),
			yReason == "" && (yNull || y >= 100):
			return false, ""
		case xReason != "":
			return false, xReason
		case yReason != "":
			return false, yReason
		}
		copyRow(b, i, out)
		return true, ""
	})
}
