package duck

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"sync"
	"testing"

	"tidemill/operators/expr"
	"tidemill/state/column"
)

func openTestEvaluator(t testing.TB) *Evaluator {
	v := OpenEvaluator()
	t.Cleanup(v.Close)
	return v
}

func col(i int, t column.Type) *expr.Expr {
	return &expr.Expr{Kind: expr.Column, Col: i, Type: t}
}

func cast(e *expr.Expr, k column.Kind) *expr.Expr {
	return &expr.Expr{Kind: expr.Cast, Type: column.T(k), Args: []*expr.Expr{e}}
}

// opaque writes an expression as SQL over {0}, {1}, ...
func opaque(text string, k column.Kind, args ...*expr.Expr) *expr.Expr {
	return &expr.Expr{Kind: expr.Opaque, Type: column.T(k), Text: text, Args: args}
}

func TestEvaluate(t *testing.T) {
	v := openTestEvaluator(t)
	const n = 10_000
	text, num := column.NewBuilder(column.T(column.Varchar), n), column.NewBuilder(column.T(column.Int64), n)
	for i := range n {
		if i%7 == 0 {
			text.AppendNull()
		} else {
			text.AppendString(fmt.Sprint("row number ", i))
		}
		column.Append(num, int64(i))
	}
	inputs := []column.Column{num.Finish(), text.Finish()}
	e := opaque("upper({0}) || ':' || {1}", column.Varchar, col(1, column.T(column.Varchar)), col(0, column.T(column.Int64)))
	for range 2 {
		got, errs, err := v.Evaluate(e, inputs, n)
		if err != nil || errs != nil {
			t.Fatal(errs, err)
		}
		for i := range n {
			if i%7 == 0 != got.IsNull(i) || i%7 != 0 && got.Str(i) != fmt.Sprintf("ROW NUMBER %d:%d", i, i) {
				t.Fatalf("row %d: %q", i, got.Str(i))
			}
		}
	}
	if len(v.prepared) != 1 {
		t.Errorf("%d prepared", len(v.prepared))
	}
	constant, _, err := v.Evaluate(opaque("1 + 1", column.Int32), nil, 3)
	if err != nil || !reflect.DeepEqual(column.Values[int32](&constant), []int32{2, 2, 2}) {
		t.Error(constant, err)
	}
	if got, _, err := v.Evaluate(e, []column.Column{inputs[0].Slice(0, 0), inputs[1].Slice(0, 0)}, 0); err != nil || got.N != 0 {
		t.Error(got, err)
	}
	if _, _, err := v.Evaluate(opaque("nope({0})", column.Int64, col(0, column.T(column.Int64))), inputs, n); err == nil {
		t.Error("an unknown function was evaluated")
	}
	if _, _, err := v.Evaluate(opaque("{0}", column.Int32, col(0, column.T(column.Int64))), inputs, n); err == nil {
		t.Error("a wrong type was let through")
	}
}

// Every type goes through an expression unchanged.
func TestEvaluateTypes(t *testing.T) {
	v := openTestEvaluator(t)
	rng := rand.New(rand.NewPCG(9, 9))
	for _, f := range allTypes() {
		in := randomColumn(rng, f.Type, 5000, true)
		e := &expr.Expr{Kind: expr.Coalesce, Type: f.Type, Args: []*expr.Expr{col(0, f.Type), col(0, f.Type)}}
		got, errs, err := v.Evaluate(e, []column.Column{in}, in.N)
		if err != nil || errs != nil {
			t.Fatal(f.Type, errs, err)
		}
		if !reflect.DeepEqual(got.Data, in.Data) || got.NullCount() != in.NullCount() {
			t.Errorf("%s changed", f.Type)
		}
	}
}

func TestEvaluateErrors(t *testing.T) {
	v := openTestEvaluator(t)
	const n = 5000
	b := column.NewBuilder(column.T(column.Varchar), n)
	for i := range n {
		switch {
		case i == 17 || i == 2048 || i == 4999:
			b.AppendString(fmt.Sprint("bad", i))
		case i%10 == 3:
			b.AppendNull()
		case i == 40:
			b.AppendString("99999999999999")
		default:
			b.AppendString(fmt.Sprint(i))
		}
	}
	in := []column.Column{b.Finish()}
	s := col(0, column.T(column.Varchar))
	bad := []int32{17, 40, 2048, 4999}
	for name, e := range map[string]*expr.Expr{
		"cast":   cast(s, column.Int32),
		"error":  opaque("CASE WHEN {0} LIKE 'bad%' OR length({0}) > 9 THEN CAST(error('no ' || {0}) AS INTEGER) ELSE {0}::INTEGER END", column.Int32, s),
		"opaque": opaque("length(repeat('x', ({0}::INTEGER) * 0)) + {0}::INTEGER", column.Int64, s),
	} {
		got, errs, err := v.Evaluate(e, in, n)
		if err != nil || errs == nil {
			t.Fatal(name, errs, err)
		}
		if !reflect.DeepEqual(errs.Rows, bad) {
			t.Fatalf("%s: rows %v %q", name, errs.Rows, errs.Reasons)
		}
		want := "Could not convert string 'bad2048' to INT32"
		if name == "error" {
			want = "no bad2048"
		}
		if errs.Reasons[2] != want {
			t.Errorf("%s: %q, want %q", name, errs.Reasons[2], want)
		}
		for i := range n {
			failed := i == 17 || i == 40 || i == 2048 || i == 4999
			if got.IsNull(i) != (failed || i%10 == 3) {
				t.Fatalf("%s: row %d is NULL: %v", name, i, got.IsNull(i))
			}
		}
		again, errs2, err := v.Evaluate(e, in, n)
		if err != nil || !reflect.DeepEqual(errs, errs2) || !reflect.DeepEqual(got, again) {
			t.Errorf("%s: a second evaluation differs", name)
		}
	}
}

// Many failures cost one evaluation alone per different row, up to the cap.
func TestEvaluateManyErrors(t *testing.T) {
	v := openTestEvaluator(t)
	const n = 20_000
	same, diff := column.NewBuilder(column.T(column.Varchar), n), column.NewBuilder(column.T(column.Varchar), n)
	for i := range n {
		same.AppendString("x")
		diff.AppendString(fmt.Sprint("x", i))
	}
	in := []column.Column{same.Finish(), diff.Finish()}
	_, errs, err := v.Evaluate(cast(col(0, column.T(column.Varchar)), column.Int32), in, n)
	if err != nil || len(errs.Rows) != n || errs.Reasons[n-1] != "Could not convert string 'x' to INT32" {
		t.Fatal(err)
	}
	_, errs, err = v.Evaluate(cast(col(1, column.T(column.Varchar)), column.Int32), in, n)
	if err != nil || len(errs.Rows) != n || !strings.Contains(errs.Reasons[0], "'x0'") || errs.Reasons[n-1] != manyReasons {
		t.Fatal(err)
	}
}

func TestEvaluateConcurrently(t *testing.T) {
	v := openTestEvaluator(t)
	var wg sync.WaitGroup
	for g := range int64(4) {
		wg.Go(func() {
			for i := range 20 {
				in := []column.Column{ints(g, int64(i))}
				e := opaque(fmt.Sprintf("{0} * %d::BIGINT", i), column.Int64, col(0, column.T(column.Int64)))
				got, _, err := v.Evaluate(e, in, 2)
				if err != nil || column.Values[int64](&got)[0] != g*int64(i) {
					t.Error(got, err)
					return
				}
			}
		})
	}
	wg.Wait()
	v.Close()
	if _, _, err := v.Evaluate(opaque("1", column.Int32), nil, 1); err != ErrClosed {
		t.Error(err)
	}
}

func TestEvaluatorEvicts(t *testing.T) {
	v := openTestEvaluator(t)
	for i := range maxPrepared + 5 {
		if _, _, err := v.Evaluate(opaque(fmt.Sprintf("%d::INTEGER", i), column.Int32), nil, 1); err != nil {
			t.Fatal(err)
		}
	}
	if len(v.prepared) != maxPrepared {
		t.Errorf("%d prepared", len(v.prepared))
	}
}
