package expr_test

import (
	"slices"
	"strings"
	"testing"

	"tidemill/operators/expr"
	"tidemill/state/column"
)

func TestSQL(t *testing.T) {
	i := col(0, column.Int64)
	five := constant(column.Int64, int64(5))
	boolean := column.T(column.Bool)
	dec := column.DecimalOf(18, 2)
	for _, c := range []struct {
		e    *expr.Expr
		want string
	}{
		{call("+", column.Int64, i, five), "(c0 + CAST('5' AS BIGINT))"},
		{call("-", column.Int64, i), "(- c0)"},
		{call("!~~", column.Bool, i, five), `"!~~"(c0, CAST('5' AS BIGINT))`},
		{call("left", column.Varchar, i, five), `"left"(c0, CAST('5' AS BIGINT))`},
		{call("prefix", column.Bool, textConstant("it's"), textConstant("a\x00b")),
			"prefix(CAST('it''s' AS VARCHAR), CAST(('a' || chr(0) || 'b') AS VARCHAR))"},
		{&expr.Expr{Kind: expr.Call, Func: "*", Type: dec, Args: []*expr.Expr{{Kind: expr.Column, Type: dec}, {Kind: expr.Column, Type: dec}}},
			"CAST((c0 * c0) AS DECIMAL(18,2))"},
		{&expr.Expr{Kind: expr.Case, Type: column.T(column.Int64), Args: []*expr.Expr{call("<", column.Bool, i, five), i, five}},
			"CASE WHEN (c0 < CAST('5' AS BIGINT)) THEN c0 ELSE CAST('5' AS BIGINT) END"},
		{&expr.Expr{Kind: expr.NotIn, Type: boolean, Args: []*expr.Expr{i, five, five}}, "(c0 NOT IN (CAST('5' AS BIGINT), CAST('5' AS BIGINT)))"},
		{&expr.Expr{Kind: expr.Opaque, Type: boolean, Text: "list_any([{0}], lambda x: {'a': x} = {'a': {1}})", Args: []*expr.Expr{i, five}},
			"list_any([c0], lambda x: {'a': x} = {'a': CAST('5' AS BIGINT)})"},
		{&expr.Expr{Kind: expr.Constant, Type: column.T(column.Double)}, "CAST(NULL AS DOUBLE)"},
	} {
		if got := c.e.SQL(colName); got != c.want {
			t.Errorf("got  %s\nwant %s", got, c.want)
		}
	}
}

// TestConstantsReadBack prints random values of every type and has DuckDB read them.
func TestConstantsReadBack(t *testing.T) {
	d := openDuck(t)
	g := newGen(7)
	const n = 60
	cols := g.data(n)
	for c := range cols {
		e := &expr.Expr{Kind: expr.Column, Type: cols[c].Type, Col: 0}
		got, errs, err := d.eval(e, values(cols[c:c+1], n), n)
		if err != nil || errs != nil {
			t.Fatal(err, errs)
		}
		if msg := compareColumns(&cols[c], &got); msg != "" {
			t.Errorf("%s: %s", cols[c].Type, msg)
		}
	}
}

func TestDescribe(t *testing.T) {
	v := col(0, column.Varchar)
	md5 := func(a *expr.Expr) *expr.Expr { return call("md5", column.Varchar, a) }
	d := openDuck(t)
	e := call("||", column.Varchar, md5(v), call("reverse", column.Varchar, md5(call("lower", column.Varchar, v))))
	p := expr.Compile(e, d)
	if got, want := p.Describe(), []string{"md5", "reverse"}; !slices.Equal(got, want) || p.Native() {
		t.Errorf("got %v, want %v", got, want)
	}
	x := column.OfStrings(column.T(column.Varchar), []string{"a", "B"})
	if _, _, err := p.Eval([]column.Column{x}, 2); err != nil {
		t.Fatal(err)
	}
	if d.calls != 1 {
		t.Errorf("%d calls of the evaluator, want one for the whole tree", d.calls)
	}
	if !expr.Compile(call("lower", column.Varchar, v), nil).Native() {
		t.Error("lower is not native")
	}
}

func TestFallible(t *testing.T) {
	i := col(0, column.Int64)
	five := constant(column.Int64, int64(5))
	for _, c := range []struct {
		e    *expr.Expr
		want bool
	}{
		{call("%", column.Int64, i, five), false},
		{call("%", column.Int64, i, i), true},
		{call("%", column.Int64, i, constant(column.Int64, int64(-1))), true},
		{call("+", column.Int64, i, five), true},
		{castTo(column.Double, i), false},
		{castTo(column.Int32, i), true},
		{call("<", column.Bool, i, five), false},
		{call("/", column.Double, castTo(column.Double, i), constant(column.Double, 0.0)), false},
		{call("md5", column.Varchar, col(0, column.Varchar)), true},
		{call("lower", column.Varchar, col(0, column.Varchar)), false},
		{call("some_function", column.Varchar, col(0, column.Varchar)), true},
		{&expr.Expr{Kind: expr.Try, Type: column.T(column.Int64), Args: []*expr.Expr{call("+", column.Int64, i, five)}}, false},
		{&expr.Expr{Kind: expr.TryCast, Type: column.T(column.Int8), Args: []*expr.Expr{i}}, false},
	} {
		if got := expr.Fallible(c.e); got != c.want {
			t.Errorf("%s: %v, want %v", c.e.SQL(colName), got, c.want)
		}
	}
}

// TestNativesAreBound has DuckDB bind every kernel's signature and compares the result's type.
func TestNativesAreBound(t *testing.T) {
	d := openDuck(t)
	g := newGen(1)
	for _, n := range expr.AllNatives() {
		if n.Func == "CAST" {
			continue
		}
		ret := g.typeOf(n.Ret)
		if n.Ret == column.Decimal {
			ret = column.DecimalOf(38, 4)
		}
		e := &expr.Expr{Kind: expr.Call, Func: n.Func, Type: ret}
		for i, k := range n.Args {
			typ := column.T(k)
			if k == column.Decimal {
				typ = column.DecimalOf(18, 2)
			}
			e.Args = append(e.Args, g.argument(n, i, typ, g.constant))
		}
		if n.Func == "date_part" {
			e.Args[0] = textConstant(map[column.Kind]string{column.Int64: "year", column.Double: "epoch"}[n.Ret])
		}
		var got string
		if err := d.db.QueryRow("SELECT typeof(TRY(" + e.SQL(colName) + "))").Scan(&got); err != nil || got != ret.String() {
			t.Errorf("%s: DuckDB binds %q, want %q (%v)", e.SQL(colName), got, ret, err)
		}
	}
	if sigs := expr.Natives(); !slices.ContainsFunc(sigs, func(s expr.Signature) bool {
		return s.Func == "%" && s.Args == "BIGINT, BIGINT" && strings.HasPrefix(s.Type, "BIGINT") && s.Fallible
	}) {
		t.Error("Natives does not list %")
	}
}
