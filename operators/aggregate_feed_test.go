package operators_test

import (
	"errors"
	"strings"
	"testing"

	"tidemill/operators"
	"tidemill/operators/expr"
	"tidemill/operators/zset"
	"tidemill/operators/zset/zsettest"
	"tidemill/state/column"
	"tidemill/state/column/columntest"
)

// feedPair is the same aggregate twice: one takes its deltas through Feed on two cores, one through Add.
func feedPair(t *testing.T) (fed, added *operators.Aggregate, fields []column.Field) {
	fields = []column.Field{{Name: "g", Type: column.T(column.Int64)}, {Name: "k", Type: column.T(column.Varchar)}, {Name: "x", Type: column.T(column.Int64)}}
	p := plainAggregate{
		fields: []column.Field{{Name: "g", Type: int8T}, fields[1], fields[2]},
		groups: []int{0, 1},
		calls:  []plainCall{call("count_star", -1), call("sum", 2), call("max", 2)},
	}
	var both [2]*operators.Aggregate
	for i := range both {
		c := p.config(openDB(t))
		c.Input, c.Parallel = fields, i == 0
		c.Groups = []*expr.Expr{narrow(col(fields, 0)), col(fields, 1)}
		both[i] = newAggregate(t, c)
	}
	return both[0], both[1], fields
}

// TestFeedIsAdd steps both through commits that are large enough to be prepared on another goroutine, some rows of which
// fail, some retracted, some commits voided.
func TestFeedIsAdd(t *testing.T) {
	r := columntest.Rand(t)
	fed, added, fields := feedPair(t)
	var before []*zset.Batch
	for n := uint64(1); n <= 12; n++ {
		var batches []*zset.Batch
		rows := 0
		for range 1 + r.IntN(4) {
			size := 1 + r.IntN(6000)
			g, x, k := make([]int64, size), make([]int64, size), make([]string, size)
			for i := range g {
				g[i], x[i], k[i] = r.Int64N(300)-150, r.Int64N(1000), strings.Repeat("k", r.IntN(20))
			}
			batches = append(batches, &zset.Batch{N: size, Cols: []column.Column{column.Of(fields[0].Type, g, nil), column.OfStrings(fields[1].Type, k), column.Of(fields[2].Type, x, nil)}})
			rows += size
		}
		for _, b := range before {
			if r.IntN(3) == 0 {
				w := make([]int64, b.N)
				for i := range w {
					w[i] = -1
				}
				batches, rows = append(batches, &zset.Batch{N: b.N, Cols: b.Cols, W: w}), rows+b.N
			}
		}
		var outs [2]*zset.Batch
		var bads [2]*operators.Rejects
		void := r.IntN(4) == 0
		for i, a := range []*operators.Aggregate{fed, added} {
			bads[i] = &operators.Rejects{}
			must(t, a.Begin(n, n == 1))
			each := func(add func(*zset.Batch) error) error {
				for _, b := range batches {
					if err := add(b); err != nil {
						return err
					}
				}
				return nil
			}
			if a == fed {
				must(t, a.Feed(rows, bads[i], each))
			} else {
				must(t, each(func(b *zset.Batch) error { return a.Add(b, bads[i]) }))
			}
			var err error
			outs[i], err = a.Finish(true, bads[i])
			must(t, err)
			if void {
				a.Void()
			} else {
				a.Publish()
			}
		}
		if !zset.Equal(outs[0], outs[1]) || !zset.Equal(bads[0].Batch(), bads[1].Batch()) {
			t.Fatalf("commit %d: fed gives\n%sadded\n%s", n, zsettest.Format(outs[0]), zsettest.Format(outs[1]))
		}
		if before = nil; !void {
			before = batches
		}
	}
}

// TestFeedError has a source that fails in the middle, before and after the operator has taken rows.
func TestFeedError(t *testing.T) {
	fed, _, fields := feedPair(t)
	broken := errors.New("broken")
	r := columntest.Rand(t)
	for n := uint64(1); n <= 3; n++ {
		must(t, fed.Begin(n, n == 1))
		err := fed.Feed(1<<20, &operators.Rejects{}, func(add func(*zset.Batch) error) error {
			for range n - 1 {
				b := &zset.Batch{N: 3000}
				for _, f := range fields {
					b.Cols = append(b.Cols, columntest.Random(r, f.Type, b.N))
				}
				if err := add(b); err != nil {
					return err
				}
			}
			return broken
		})
		if !errors.Is(err, broken) {
			t.Fatalf("after %d batches: %v", n-1, err)
		}
		fed.Void()
	}
}
