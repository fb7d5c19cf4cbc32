package expr_test

import (
	"bytes"
	"flag"
	"fmt"
	"strings"
	"testing"
	"time"

	"tidemill/operators/expr"
	"tidemill/state/column"
)

var (
	treesFlag = flag.Int("trees", 500, "random expressions to compare with DuckDB")
	seedFlag  = flag.Uint64("seed", 1, "seed of the random expressions; 0 takes the clock")
)

// TestDifferential compares random expressions over random rows with DuckDB: the value of every
// row, bit for bit, which rows fail, and the messages.
func TestDifferential(t *testing.T) {
	seed := *seedFlag
	if seed == 0 {
		seed = uint64(time.Now().UnixNano())
	}
	t.Logf("seed %d", seed)
	g := newGen(seed)
	d := openDuck(t)
	g.ev = d
	const rows = 40
	var cols []column.Column
	native := 0
	for i := range *treesFlag {
		if i%50 == 0 {
			cols = g.data(rows)
			if _, err := d.db.Exec("CREATE OR REPLACE TABLE data AS FROM " + values(cols, rows)); err != nil {
				t.Fatal(err)
			}
		}
		want := g.anyType()
		if g.IntN(3) == 0 {
			want = pickOf(g, column.T(column.Bool), column.T(column.Int64), column.T(column.Varchar), column.T(column.Double), column.DecimalOf(18, 4))
		}
		e := g.tree(want, 1+g.IntN(4))
		p := expr.Compile(e, d)
		if p.Native() {
			native++
		}
		if msg := difference(d, p, e, cols, rows); msg != "" {
			t.Errorf("tree %d: %s\n%s", i, msg, e.SQL(colName))
			if e = shrink(d, e, cols, rows); e != nil {
				t.Fatalf("smallest: %s\n%s\nleft to DuckDB: %v", difference(d, expr.Compile(e, d), e, cols, rows), e.SQL(colName), expr.Compile(e, d).Describe())
			}
		}
	}
	t.Logf("%d of %d trees wholly native, %d calls of the evaluator", native, *treesFlag, d.calls)
}

// shrink finds a smallest subtree that still differs.
func shrink(d *duck, e *expr.Expr, cols []column.Column, n int) *expr.Expr {
	for _, a := range e.Args {
		if difference(d, expr.Compile(a, d), a, cols, n) != "" {
			return shrink(d, a, cols, n)
		}
	}
	return e
}

// difference evaluates twice with the program (its buffers are reused) and once with DuckDB.
func difference(d *duck, p *expr.Program, e *expr.Expr, cols []column.Column, n int) string {
	want, wantErrs, err := d.eval(e, "data", n)
	if err != nil {
		return err.Error()
	}
	first, _, err := p.Eval(cols, n)
	if err != nil {
		return err.Error()
	}
	got, gotErrs, err := p.Eval(cols, n)
	if err != nil {
		return err.Error()
	}
	if msg := compareColumns(&first, &got); msg != "" {
		return "first and second evaluation: " + msg
	}
	if gotErrs != nil && !expr.Fallible(e) {
		return "an infallible expression failed: " + gotErrs.Reasons[0]
	}
	fails := map[int32]string{}
	if gotErrs != nil {
		for i, r := range gotErrs.Rows {
			fails[r] = gotErrs.Reasons[i]
		}
	}
	if wantErrs != nil {
		for i, r := range wantErrs.Rows {
			reason, ok := fails[r]
			if !ok {
				return fmt.Sprintf("row %d: got %s, want error %q%s", r, show(&got, int(r)), wantErrs.Reasons[i], inputsOf(e, cols, int(r)))
			}
			if len(e.Args) <= 2 && wantErrs.Reasons[i] != "another row's" && reason != "another row's" && reason != wantErrs.Reasons[i] && plain(e) {
				return fmt.Sprintf("row %d: got error %q, want error %q", r, reason, wantErrs.Reasons[i])
			}
			delete(fails, r)
		}
	}
	for r, reason := range fails {
		return fmt.Sprintf("row %d: got error %q, want %s%s", r, reason, show(&want, int(r)), inputsOf(e, cols, int(r)))
	}
	for i := range n {
		if show(&got, i) != show(&want, i) {
			return fmt.Sprintf("row %d: got %s, want %s%s", i, show(&got, i), show(&want, i), inputsOf(e, cols, i))
		}
	}
	return ""
}

// plain reports whether e is one operation, so that there is one reason to fail.
func plain(e *expr.Expr) bool {
	for _, a := range e.Args {
		// The digits of a FLOAT in a message may be others that read back too.
		if expr.Fallible(a) || a.Type.Kind == column.Float {
			return false
		}
	}
	return true
}

func inputsOf(e *expr.Expr, cols []column.Column, row int) string {
	s := ""
	if e.Kind == expr.Column {
		s = fmt.Sprintf("; %s = %s", colName(e.Col), literalOf(&cols[e.Col], row))
	}
	for _, a := range e.Args {
		s += inputsOf(a, cols, row)
	}
	return s
}

// show tells values apart by their bits, but takes every NaN as one.
func show(c *column.Column, i int) string {
	s := strings.ReplaceAll(literalOf(c, i), "-nan", "nan")
	if c.IsNull(i) && c.Offsets == nil && !bytes.Equal(c.Raw(i), make([]byte, c.Type.Size())) {
		s += " over bytes that are not zero"
	}
	return s
}

func compareColumns(a, b *column.Column) string {
	for i := range a.N {
		if show(a, i) != show(b, i) {
			return fmt.Sprintf("row %d: %s and %s", i, show(a, i), show(b, i))
		}
	}
	return ""
}
