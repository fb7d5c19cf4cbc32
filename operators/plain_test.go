package operators_test

import (
	"fmt"
	"math"
	"math/big"
	"slices"
	"testing"

	"tidemill/operators"
	"tidemill/operators/agg"
	"tidemill/operators/expr"
	"tidemill/operators/optest"
	"tidemill/operators/zset"
	"tidemill/state"
	"tidemill/state/column"
	"tidemill/state/rowkey"
)

// plainCall is an aggregate of a column, in words that the recomputation and AggregateCall share.
type plainCall struct {
	fn       string
	arg      int // -1 for none
	distinct bool
	filter   int // a BOOLEAN column, or -1
}

func call(fn string, arg int) plainCall { return plainCall{fn: fn, arg: arg, filter: -1} }

func (c plainCall) over(filter int) plainCall { c.filter = filter; return c }

func (c plainCall) different() plainCall { c.distinct = true; return c }

func (c plainCall) result(fields []column.Field) column.Type {
	switch {
	case c.fn == "count" || c.fn == "count_star":
		return column.T(column.Int64)
	case c.fn == "min" || c.fn == "max":
		return fields[c.arg].Type
	case c.fn == "avg" || fields[c.arg].Type.Floating():
		return column.T(column.Double)
	case fields[c.arg].Type.Kind == column.Decimal:
		return column.DecimalOf(38, int(fields[c.arg].Type.Scale))
	}
	return column.T(column.HugeInt)
}

func col(fields []column.Field, i int) *expr.Expr {
	return &expr.Expr{Kind: expr.Column, Type: fields[i].Type, Col: i}
}

func (c plainCall) bound(fields []column.Field) operators.AggregateCall {
	out := operators.AggregateCall{Spec: agg.Spec{Func: c.fn, Distinct: c.distinct, Result: c.result(fields)}}
	if c.arg >= 0 {
		out.Spec.Args, out.Args = []column.Type{fields[c.arg].Type}, []*expr.Expr{col(fields, c.arg)}
	}
	if c.filter >= 0 {
		out.Filter = col(fields, c.filter)
	}
	return out
}

func fieldsOf(types ...column.Type) []column.Field {
	fields := make([]column.Field, len(types))
	for i, t := range types {
		fields[i] = column.Field{Name: fmt.Sprint("c", i), Type: t}
	}
	return fields
}

// plainAggregate groups rows of fields by some of their columns.
type plainAggregate struct {
	fields []column.Field
	groups []int
	calls  []plainCall
}

const aggregateName = "aggregate"

func (p plainAggregate) output() []column.Field {
	var out []column.Field
	for _, g := range p.groups {
		out = append(out, p.fields[g])
	}
	for i, c := range p.calls {
		out = append(out, column.Field{Name: fmt.Sprint("a", i), Type: c.result(p.fields)})
	}
	return out
}

func (p plainAggregate) config(db *state.DB) operators.AggregateConfig {
	c := operators.AggregateConfig{Name: aggregateName, Input: p.fields, Output: p.output(), DB: db, Keyspace: optest.Keyspace}
	for _, g := range p.groups {
		c.Groups = append(c.Groups, col(p.fields, g))
	}
	for _, call := range p.calls {
		c.Aggs = append(c.Aggs, call.bound(p.fields))
	}
	return c
}

func (p plainAggregate) open(db *state.DB) (optest.Operator, error) {
	a, err := operators.NewAggregate(p.config(db))
	if err != nil {
		return nil, err
	}
	return optest.Aggregate(a), nil
}

// run holds the operator against the recomputation; values are for optest.Input.
func (p plainAggregate) run(t *testing.T, values map[int]column.Column) {
	t.Helper()
	optest.Run(t, optest.Case{
		Inputs: []optest.Input{{Fields: p.fields, Values: values}},
		Open:   p.open,
		Want: func(in []*zset.Batch, bad *operators.Rejects) *zset.Batch {
			return p.want(in[0], bad)
		},
		Keys: len(p.groups),
	})
}

// want is GROUP BY as one would write it down.
func (p plainAggregate) want(b *zset.Batch, bad *operators.Rejects) *zset.Batch {
	var order []string
	rows := map[string][]int{}
	cols := make([]column.Column, len(p.groups))
	for k, g := range p.groups {
		cols[k] = b.Cols[g]
	}
	enc := encoderOf(cols)
	if len(p.groups) == 0 {
		order = []string{""}
	}
	for i := range b.N {
		key := string(enc.AppendKey(nil, cols, i))
		if rows[key] == nil && len(p.groups) > 0 {
			order = append(order, key)
		}
		rows[key] = append(rows[key], i)
	}
	out := p.output()
	builders := make([]*column.Builder, len(out))
	for k := range out {
		builders[k] = column.NewBuilder(out[k].Type, len(order))
	}
	for _, key := range order {
		p.row(b, cols, rows[key], builders, bad)
	}
	res := &zset.Batch{N: builders[0].Len()}
	for _, bl := range builders {
		res.Cols = append(res.Cols, bl.Finish())
	}
	return res
}

// row appends a group's output row, or rejects it.
func (p plainAggregate) row(b *zset.Batch, cols []column.Column, rows []int, out []*column.Builder, bad *operators.Rejects) {
	first := smallest(cols, rows, false)
	results := make([]column.Column, len(p.calls))
	for k, c := range p.calls {
		var reason string
		if results[k], reason = c.compute(p.fields, b, rows); reason != "" {
			shown := &zset.Batch{Cols: make([]column.Column, len(cols)), N: 1}
			for g := range cols {
				shown.Cols[g] = cols[g].Gather([]int32{int32(first)})
			}
			bad.Add(aggregateName, reason, p.output()[:len(cols)], shown, 0)
			return
		}
	}
	for g := range cols {
		out[g].AppendFrom(&cols[g], first)
	}
	for k := range results {
		out[len(cols)+k].AppendFrom(&results[k], 0)
	}
}

func encoderOf(cols []column.Column) *rowkey.Encoder {
	types := make([]column.Type, len(cols))
	for i := range cols {
		types[i] = cols[i].Type
	}
	return rowkey.NewEncoder(types)
}

// smallest returns the row that sorts first, or last, in identity order; -1 for no rows.
func smallest(cols []column.Column, rows []int, last bool) int {
	enc, best, at := encoderOf(cols), []byte(nil), -1
	for _, i := range rows {
		id := enc.AppendIdentity(nil, cols, i)
		if at < 0 || (slices.Compare(id, best) > 0) == last {
			best, at = id, i
		}
	}
	return at
}

// compute returns the aggregate of rows as a column of one row, or why there is none.
func (c plainCall) compute(fields []column.Field, b *zset.Batch, rows []int) (column.Column, string) {
	res := column.NewBuilder(c.result(fields), 1)
	n, kept := int64(0), []int(nil)
	weights := map[int]int64{}
	seen := map[string]bool{}
	for _, i := range rows {
		if c.filter >= 0 && (b.Cols[c.filter].IsNull(i) || b.Cols[c.filter].Data[i] == 0) {
			continue
		}
		w := b.Weight(i)
		if c.arg >= 0 {
			arg := b.Cols[c.arg : c.arg+1]
			if arg[0].IsNull(i) {
				continue
			}
			key := string(encoderOf(arg).AppendKey(nil, arg, i))
			if c.distinct && seen[key] && c.fn != "min" && c.fn != "max" { // of equal values these show the first by its bits
				continue
			}
			seen[key] = true
			if c.distinct {
				w = 1
			}
		}
		n += w
		kept, weights[i] = append(kept, i), w
	}
	switch {
	case c.fn == "count" || c.fn == "count_star":
		column.Append(res, n)
	case n == 0:
		res.AppendNull()
	case c.fn == "min" || c.fn == "max":
		arg := b.Cols[c.arg : c.arg+1]
		res.AppendFrom(&arg[0], smallest(arg, kept, c.fn == "max"))
	case fields[c.arg].Type.Floating():
		column.Append(res, plainFloat(&b.Cols[c.arg], kept, weights, n, c.fn == "avg"))
	default:
		if reason := c.sum(res, &b.Cols[c.arg], kept, weights, n); reason != "" {
			return column.Column{}, reason
		}
	}
	return res.Finish(), ""
}

// sum appends the sum or average of numbers that are not floats.
func (c plainCall) sum(res *column.Builder, arg *column.Column, kept []int, weights map[int]int64, n int64) string {
	sum := new(big.Int)
	for _, i := range kept {
		sum.Add(sum, new(big.Int).Mul(plainInt(arg, i), big.NewInt(weights[i])))
	}
	ten := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(arg.Type.Scale)), nil)
	if c.fn == "avg" {
		f, _ := new(big.Rat).SetFrac(sum, ten.Mul(ten, big.NewInt(n))).Float64()
		column.Append(res, f)
		return ""
	}
	result := column.T(column.HugeInt)
	limit := new(big.Int).Lsh(big.NewInt(1), 127)
	if arg.Type.Kind == column.Decimal {
		result = column.DecimalOf(38, int(arg.Type.Scale))
		limit.Exp(big.NewInt(10), big.NewInt(38), nil)
	}
	if c := sum.CmpAbs(limit); c > 0 || c == 0 && (sum.Sign() > 0 || result.Kind == column.Decimal) {
		return fmt.Sprintf("sum of %s is out of range of %s", arg.Type, result)
	}
	column.Append(res, int128Of(sum))
	return ""
}

func int128Of(v *big.Int) column.Int128 {
	mod := new(big.Int).And(v, new(big.Int).Sub(new(big.Int).Lsh(big.NewInt(1), 128), big.NewInt(1)))
	lo := new(big.Int).And(mod, new(big.Int).SetUint64(math.MaxUint64)).Uint64()
	return column.Int128{Lo: lo, Hi: int64(new(big.Int).Rsh(mod, 64).Uint64())}
}

// plainInt reads a number from its little-endian bytes.
func plainInt(c *column.Column, i int) *big.Int {
	raw := slices.Clone(c.Raw(i))
	slices.Reverse(raw)
	v := new(big.Int).SetBytes(raw)
	signed := !(c.Type.Kind == column.Bool || c.Type.Kind >= column.UInt8 && c.Type.Kind <= column.UInt64)
	if signed && raw[0]&0x80 != 0 {
		v.Sub(v, new(big.Int).Lsh(big.NewInt(1), uint(8*len(raw))))
	}
	return v
}

// plainFloat is the rounded exact sum, or average, with NaN and the infinities as arithmetic has them.
func plainFloat(c *column.Column, kept []int, weights map[int]int64, n int64, avg bool) float64 {
	sum, special := new(big.Rat), 0.0
	for _, i := range kept {
		var v float64
		if c.Type.Kind == column.Float {
			v = float64(column.Values[float32](c)[i])
		} else {
			v = column.Values[float64](c)[i]
		}
		if math.IsNaN(v) || math.IsInf(v, 0) {
			special += v
			continue
		}
		x := new(big.Rat).SetFloat64(v)
		sum.Add(sum, x.Mul(x, new(big.Rat).SetInt64(weights[i])))
	}
	if math.IsNaN(special) {
		return math.NaN()
	}
	if special != 0 {
		return special
	}
	if avg {
		sum.Quo(sum, new(big.Rat).SetInt64(n))
	}
	negative := sum.Sign() < 0
	f, _ := sum.Float64()
	if negative && f == 0 {
		f = math.Copysign(0, -1)
	}
	return f
}
