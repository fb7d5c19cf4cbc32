package operators_test

import (
	"fmt"
	"testing"

	"tidemill/operators/zset"
	"tidemill/state/column"
	"tidemill/state/column/columntest"
)

func typeOf(kinds ...column.Kind) []column.Type {
	types := make([]column.Type, len(kinds))
	for i, k := range kinds {
		types[i] = column.T(k)
	}
	return types
}

func numeric() []column.Type {
	var types []column.Type
	for _, t := range columntest.Types() {
		if t.Integer() || t.Floating() || t.Kind == column.Decimal || t.Kind == column.Bool {
			types = append(types, t)
		}
	}
	return types
}

// everyCall is the calls over each of the columns from the first one on.
func everyCall(fields []column.Field, from int, fns ...string) []plainCall {
	var calls []plainCall
	for i := from; i < len(fields); i++ {
		for _, fn := range fns {
			calls = append(calls, call(fn, i))
		}
	}
	return calls
}

func TestAggregateCount(t *testing.T) {
	fields := fieldsOf(typeOf(column.Int64, column.Varchar, column.Bool)...)
	plainAggregate{fields, []int{0}, []plainCall{
		call("count_star", -1), call("count", 1), call("count_star", -1).over(2), call("count", 1).over(2),
	}}.run(t, nil)
}

func TestAggregateSums(t *testing.T) {
	fields := fieldsOf(append(typeOf(column.Int16), numeric()...)...)
	plainAggregate{fields, []int{0}, everyCall(fields, 1, "sum", "avg")}.run(t, nil)
}

func TestAggregateExtremes(t *testing.T) {
	fields := fieldsOf(append(typeOf(column.Varchar), columntest.Types()...)...)
	plainAggregate{fields, []int{0}, everyCall(fields, 1, "min", "max")}.run(t, nil)
}

func TestAggregateDistinctCalls(t *testing.T) {
	fields := fieldsOf(append(typeOf(column.Bool), columntest.Types()...)...)
	var calls []plainCall
	for _, c := range everyCall(fields, 1, "count", "sum", "avg", "min") {
		if numeric := fields[c.arg].Type; c.fn == "sum" || c.fn == "avg" {
			if !(numeric.Integer() || numeric.Floating() || numeric.Kind == column.Decimal || numeric.Kind == column.Bool) {
				continue
			}
		}
		calls = append(calls, c.different())
	}
	plainAggregate{fields, []int{0}, calls}.run(t, nil)
}

func TestAggregateFilters(t *testing.T) {
	fields := fieldsOf(typeOf(column.Int32, column.Bool, column.Bool, column.Double, column.Int64, column.Varchar)...)
	plainAggregate{fields, []int{0}, []plainCall{
		call("count_star", -1).over(1), call("sum", 3).over(1), call("sum", 3).over(2), call("avg", 4).over(2),
		call("min", 5).over(1), call("max", 5), call("count", 5).different().over(2), call("sum", 4).different().over(1),
	}}.run(t, nil)
}

// TestAggregateGroups groups by each type.
func TestAggregateGroups(t *testing.T) {
	for _, typ := range columntest.Types() {
		t.Run(typ.String(), func(t *testing.T) {
			fields := fieldsOf(typ, column.T(column.Int32), column.T(column.Varchar))
			plainAggregate{fields, []int{0}, []plainCall{call("count_star", -1), call("sum", 1), call("min", 2)}}.run(t, nil)
		})
	}
}

func TestAggregateCompositeGroups(t *testing.T) {
	for _, types := range [][]column.Type{
		typeOf(column.Varchar, column.Varchar, column.Int64),
		typeOf(column.Int64, column.Date, column.Int32),
		typeOf(column.Double, column.Varchar, column.Double),
		typeOf(column.Interval, column.Float, column.Blob),
		append(typeOf(column.UUID), column.DecimalOf(18, 3), column.T(column.HugeInt)),
	} {
		t.Run(fmt.Sprint(types), func(t *testing.T) {
			fields := fieldsOf(append(types, column.T(column.Double), column.T(column.Bool))...)
			plainAggregate{fields, []int{2, 0, 1}, []plainCall{
				call("count_star", -1), call("sum", 3), call("max", 0), call("count", 3).different().over(4),
			}}.run(t, nil)
		})
	}
}

// TestAggregateWithoutGroups has a row even when there is nothing to count.
func TestAggregateWithoutGroups(t *testing.T) {
	fields := fieldsOf(typeOf(column.Int64, column.Double, column.Varchar, column.Bool)...)
	plainAggregate{fields, nil, []plainCall{
		call("count_star", -1), call("sum", 0), call("avg", 1), call("min", 2), call("max", 1).over(3), call("count", 2).different(),
	}}.run(t, nil)
}

// TestDistinct is an aggregate without aggregates.
func TestDistinct(t *testing.T) {
	for _, types := range [][]column.Type{
		typeOf(column.Int32), typeOf(column.Varchar), typeOf(column.Double), typeOf(column.Int64, column.Interval, column.Varchar),
	} {
		t.Run(fmt.Sprint(types), func(t *testing.T) {
			p := plainAggregate{fields: fieldsOf(types...)}
			for i := range types {
				p.groups = append(p.groups, i)
			}
			p.run(t, nil)
		})
	}
}

// TestAggregateOutOfRange sums numbers so large that a group's sum leaves its type and comes back.
func TestAggregateOutOfRange(t *testing.T) {
	big := column.Int128{Lo: 0x098a223fffffffff, Hi: 0x4b3b4ca85a86c47a} // 10^38 - 1
	max128 := column.Int128{Lo: ^uint64(0), Hi: 1<<63 - 1}
	fields := fieldsOf(column.T(column.Varchar), column.DecimalOf(38, 2), column.T(column.HugeInt), column.T(column.UInt64))
	decimals := column.NewBuilder(fields[1].Type, 4)
	for _, v := range []column.Int128{big, big.Neg(), {Lo: 1}, {}} {
		column.Append(decimals, v)
	}
	decimals.AppendNull()
	huge := column.NewBuilder(fields[2].Type, 4)
	for _, v := range []column.Int128{max128, {Hi: -1 << 63}, {Lo: 1}, {Lo: ^uint64(0), Hi: -1}} {
		column.Append(huge, v)
	}
	values := map[int]column.Column{1: decimals.Finish(), 2: huge.Finish()}
	for _, groups := range [][]int{{0}, nil, {0, 1}} {
		plainAggregate{fields, groups, []plainCall{call("sum", 1), call("sum", 2), call("avg", 2), call("sum", 3), call("avg", 1)}}.run(t, values)
	}
}

// TestAggregateNegativeOnTheWay meets a value whose weight is negative while the group's extreme is looked
// for: it is not the extreme, though the trace lists it.
func TestAggregateNegativeOnTheWay(t *testing.T) {
	fields := fieldsOf(typeOf(column.Int32, column.Int32)...)
	p := plainAggregate{fields, []int{0}, []plainCall{call("min", 1), call("max", 1)}}
	db := openDB(t)
	a := newAggregate(t, p.config(db))
	row := func(v int32, w int64) {
		if err := a.Add(&zset.Batch{N: 1, W: []int64{w}, Cols: []column.Column{
			column.Of(fields[0].Type, []int32{1}, nil), column.Of(fields[1].Type, []int32{v}, nil)}}, nil); err != nil {
			t.Fatal(err)
		}
	}
	commit := func(n uint64, f func(), want ...int32) {
		t.Helper()
		if err := a.Begin(n, n == 1); err != nil {
			t.Fatal(err)
		}
		f()
		out, err := a.Finish(true, nil)
		if err != nil {
			t.Fatal(err)
		}
		a.Publish()
		for i := range out.N {
			if out.Weight(i) != 1 {
				continue
			}
			got := []int32{column.Values[int32](&out.Cols[1])[i], column.Values[int32](&out.Cols[2])[i]}
			if got[0] != want[0] || got[1] != want[1] {
				t.Fatalf("commit %d: min and max are %v, want %v", n, got, want)
			}
		}
	}
	commit(1, func() { row(5, 1); row(6, 1) }, 5, 6)
	commit(2, func() {
		row(3, -1)
		row(9, -1)
		row(5, -1)
		row(6, -1)
		row(7, 1)
		row(3, 1)
		row(9, 1)
	}, 7, 7)
}
