package expr_test

import (
	"syscall"
	"testing"

	"tidemill/operators/expr"
	"tidemill/state/column"
)

const benchRows = 100_000

func col(i int, k column.Kind) *expr.Expr {
	return &expr.Expr{Kind: expr.Column, Type: column.T(k), Col: i}
}

func call(name string, ret column.Kind, args ...*expr.Expr) *expr.Expr {
	return &expr.Expr{Kind: expr.Call, Func: name, Type: column.T(ret), Args: args}
}

func constant[V column.Fixed](k column.Kind, v V) *expr.Expr {
	c := column.Of(column.T(k), []V{v}, nil)
	return &expr.Expr{Kind: expr.Constant, Type: column.T(k), Const: &expr.Value{Raw: c.Raw(0)}}
}

func castTo(k column.Kind, e *expr.Expr) *expr.Expr {
	return &expr.Expr{Kind: expr.Cast, Type: column.T(k), Args: []*expr.Expr{e}}
}

// cpuTime is the process's, so that a busy machine does not count.
func cpuTime() int64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err)
	}
	return u.Utime.Nano() + u.Stime.Nano()
}

// BenchmarkEval measures expressions of the common pipelines.
func BenchmarkEval(b *testing.B) {
	ids := make([]int64, benchRows)
	floats := make([]float64, benchRows)
	for i := range ids {
		ids[i] = int64(i)*48271 + 17
		floats[i] = float64(i) / 7
	}
	words := make([]string, benchRows)
	for i := range words {
		words[i] = []string{"alpha", "Beta", "gamma delta", ""}[i&3]
	}
	nullable := column.Of(column.T(column.Int64), ids, column.NewBitmap(benchRows, true))
	column.ClearBit(nullable.Valid, 77)
	cols := []column.Column{
		column.Of(column.T(column.Int64), ids, nil), column.Of(column.T(column.Double), floats, nil),
		column.OfStrings(column.T(column.Varchar), words), nullable,
		column.Of(column.T(column.Timestamp), ids, nil),
	}
	id := col(0, column.Int64)
	mod := call("%", column.Int64, id, constant(column.Int64, int64(100_000)))
	gt := call(">", column.Bool, id, constant(column.Int64, int64(2_400_000_000)))
	for _, bm := range []struct {
		name string
		e    *expr.Expr
		sel  bool
	}{
		{"add", call("+", column.Int64, id, id), false},
		{"add const", call("+", column.Int64, id, constant(column.Int64, int64(5))), false},
		{"add nullable", call("+", column.Int64, id, col(3, column.Int64)), false},
		{"mul const", call("*", column.Int64, id, constant(column.Int64, int64(5))), false},
		{"mod const", mod, false},
		{"cast div", call("/", column.Double, castTo(column.Double, id), constant(column.Double, 100.0)), false},
		{"cast mod div", call("/", column.Double, castTo(column.Double, mod), constant(column.Double, 100.0)), false},
		{"gt select", gt, true},
		{"mod gt select", call(">", column.Bool, mod, constant(column.Int64, int64(50_000))), true},
		{"and select", &expr.Expr{Kind: expr.And, Type: column.T(column.Bool), Args: []*expr.Expr{gt, call("<", column.Bool, col(1, column.Double), constant(column.Double, 1e4))}}, true},
		{"double mul", call("*", column.Double, col(1, column.Double), col(1, column.Double)), false},
		{"text eq", call("=", column.Bool, col(2, column.Varchar), textConstant("Beta")), false},
		{"lower", call("lower", column.Varchar, col(2, column.Varchar)), false},
		{"hour", call("hour", column.Int64, col(4, column.Timestamp)), false},
		{"trunc day", call("date_trunc", column.Timestamp, textConstant("day"), col(4, column.Timestamp)), false},
		{"case", &expr.Expr{Kind: expr.Case, Type: column.T(column.Int64), Args: []*expr.Expr{gt, mod, id}}, false},
	} {
		b.Run(bm.name, func(b *testing.B) {
			p := expr.Compile(bm.e, nil)
			b.ReportAllocs()
			start := cpuTime()
			for b.Loop() {
				var errs *expr.RowErrors
				var err error
				if bm.sel {
					_, errs, err = p.Select(cols, benchRows)
				} else {
					_, errs, err = p.EvalScratch(cols, benchRows)
				}
				if err != nil || errs != nil {
					b.Fatal(err, errs)
				}
			}
			b.ReportMetric(float64(cpuTime()-start)/float64(b.N)/benchRows, "cpu-ns/row")
		})
	}
}
