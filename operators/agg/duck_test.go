package agg_test

import (
	"database/sql"
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	_ "github.com/duckdb/duckdb-go/v2" // the oracle's driver

	"tidemill/operators/agg"
	"tidemill/state/column"
	"tidemill/state/column/columntest"
)

// duckCall is an aggregate as DuckDB's SQL has it, over columns a0, a1, ..., and as a Spec.
type duckCall struct {
	sql  string
	spec agg.Spec
	near bool // within some units in the last place
}

var (
	double = column.T(column.Double)
	text   = column.T(column.Varchar)
	number = column.T(column.Int64)
)

func of(fn, sql string, result column.Type, args ...column.Type) duckCall {
	return duckCall{sql: sql, spec: agg.Spec{Func: fn, Args: args, Result: result}}
}

func (c duckCall) by(o ...agg.Order) duckCall { c.spec.Order = o; return c }

func (c duckCall) approx() duckCall { c.near = true; return c }

func (c duckCall) different() duckCall {
	c.spec.Distinct = true
	return c
}

func (c duckCall) at(desc bool, qs ...agg.Quantile) duckCall {
	c.spec.Params = agg.Params{Quantiles: qs, Desc: desc}
	return c
}

func decimalQuantile(digits int64, scale int) agg.Quantile {
	return agg.Quantile{Digits: digits, Scale: scale, Float: float64(digits) / math.Pow10(scale), Exact: true}
}

// duckCalls is every aggregate that DuckDB can be asked for and that plain_test does not recompute.
func duckCalls() []duckCall {
	var all []duckCall
	half := decimalQuantile(5, 1)
	for _, t := range columntest.Plain() {
		all = append(all,
			of("first", "first(a0 ORDER BY a0 NULLS LAST)", t, t),
			of("last", "last(a0 ORDER BY a0 NULLS LAST)", t, t),
			of("any_value", "any_value(a0 ORDER BY a0)", t, t),
			of("arg_min", "arg_min(a0, a1 ORDER BY a0)", t, t).by(agg.Order{Type: number}),
			of("arg_min", "arg_max(a0, a1 ORDER BY a0)", t, t).by(agg.Order{Type: number, Desc: true}),
			of("arg_min_null", "arg_min_null(a0, a1 ORDER BY a0 NULLS LAST)", t, t).by(agg.Order{Type: number}),
			of("last", "last(a0 ORDER BY a1 DESC NULLS FIRST, a0 NULLS LAST)", t, t).by(agg.Order{Type: number, Desc: true, NullsFirst: true}),
		)
		if t.Kind != column.TimeTZ { // refused
			all = append(all, of("quantile_disc", "quantile_disc(a0, 0.3)", t, t).at(false, decimalQuantile(3, 1)),
				of("quantile_disc", "quantile_disc(a0, -0.25)", t, t).at(true, decimalQuantile(25, 2)))
		}
		if t.Kind != column.Interval && !t.Floating() { // of those DuckDB counts some equal values apart
			all = append(all, of("mode", "mode(a0 ORDER BY a0)", t, t), of("entropy", "entropy(a0)", double, t).approx())
		}
		median := t
		switch {
		case t.Integer():
			median = double
		case t.Kind == column.Date:
			median = column.T(column.Timestamp)
		}
		if t.Kind != column.TimeTZ && t.Kind != column.UHugeInt { // refused
			m := of("median", "median(a0)", median, t).at(false, half)
			if t.Kind == column.Decimal && t.Width > 18 {
				m = m.approx() // by way of DOUBLE
			}
			all = append(all, m)
		}
		if t.Integer() {
			for _, fn := range []string{"bit_and", "bit_or", "bit_xor"} {
				all = append(all, of(fn, fn+"(a0)", t, t))
			}
			if t.Size() <= 4 { // of larger ones DuckDB takes numbers apart that are one DOUBLE for the same
				all = append(all, of("median", "median(DISTINCT a0)", median, t).at(false, half).different())
			}
		}
		switch t.Kind {
		case column.Time, column.Timestamp, column.TimestampTZ:
			all = append(all, of("avg", "avg(a0)", t, t))
			fallthrough
		case column.Date:
			all = append(all, of("mad", "mad(a0)", column.T(column.Interval), t))
		case column.Interval:
			all = append(all, of("avg", "avg(a0)", t, t))
		case column.Decimal, column.Double, column.Float:
			all = append(all, of("mad", "mad(a0)", t, t).approx(), of("quantile_cont", "quantile_cont(a0, 0.3)", t, t).at(false, decimalQuantile(3, 1)).approx())
		}
	}
	separated := of("string_agg", "string_agg(a0, '--' ORDER BY a1 DESC, a0)", text, text).by(agg.Order{Type: number, Desc: true})
	separated.spec.Params.Separator = "--"
	distinct := of("string_agg", "string_agg(DISTINCT a0, ',' ORDER BY a0 DESC NULLS LAST)", text, text).by(agg.Order{Type: text, Desc: true}).different()
	distinct.spec.Params.Separator = ","
	all = append(all, separated, distinct,
		of("bool_and", "bool_and(a0)", column.T(column.Bool), column.T(column.Bool)),
		of("bool_or", "bool_or(a0)", column.T(column.Bool), column.T(column.Bool)),
		of("sum", "count_if(a0)", column.T(column.HugeInt), column.T(column.Bool)),
		of("product", "product(a0)", double, double).approx(),
		of("stddev_pop", "stddev_pop(DISTINCT a0)", double, double).approx().different(),
		of("regr_count", "regr_count(a0, a1)", column.T(column.UInt32), double, double))
	for _, fn := range []string{"var_pop", "var_samp", "stddev_pop", "stddev_samp", "sem", "skewness", "kurtosis", "kurtosis_pop"} {
		all = append(all, of(fn, fn+"(a0)", double, double).approx())
	}
	for _, fn := range []string{"covar_pop", "covar_samp", "corr", "regr_avgx", "regr_avgy", "regr_sxx", "regr_syy", "regr_sxy", "regr_slope", "regr_intercept", "regr_r2"} {
		all = append(all, of(fn, fn+"(a0, a1)", double, double, double).approx())
	}
	return all
}

// TestAgainstDuckDB adds and retracts rows at random and compares each group with DuckDB's answer over the rows that
// are left.
func TestAgainstDuckDB(t *testing.T) {
	r := columntest.Rand(t)
	db, err := sql.Open("duckdb", "")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	db.SetMaxOpenConns(1)
	if _, err := db.Exec("SET threads = 1; SET TimeZone = 'UTC'"); err != nil {
		t.Fatal(err)
	}
	for _, c := range duckCalls() {
		for range 2 {
			c.run(t, r, db)
		}
	}
}

const duckGroups = 4

func (c duckCall) run(t *testing.T, r *rand.Rand, db *sql.DB) {
	types := append([]column.Type{}, c.spec.Args...)
	for _, o := range c.spec.Order {
		types = append(types, o.Type)
	}
	n := r.IntN(40)
	cols := make([]column.Column, len(types))
	for i, typ := range types {
		cols[i] = fewValues(r, typ, n, c.near)
	}
	if c.spec.Func == "string_agg" && c.spec.Distinct {
		cols[1] = cols[0]
	}
	slots, gone := make([]int32, n), make([]int32, n)
	minus := make([]int64, n)
	keep := make([]bool, n)
	for i := range slots {
		slots[i], minus[i], keep[i] = int32(r.IntN(duckGroups)), -1, r.IntN(3) > 0
		if gone[i] = slots[i]; keep[i] {
			gone[i] = -1
		}
	}
	a := newAgg(t, c.spec, duckGroups)
	step := func(slots []int32, w []int64) {
		all := []int32{0, 1, 2, 3}
		a.Save(all)
		if err := a.Add(slots, cols, w); err != nil {
			t.Fatal(err)
		}
		if s, ok := a.(agg.Settler); ok {
			if err := s.Settle(); err != nil {
				t.Fatal(err)
			}
		}
	}
	step(slots, nil)
	step(gone, minus)
	got, errs := a.Output([]int32{0, 1, 2, 3}, false)
	bad := map[int32]string{}
	if errs != nil {
		for i, row := range errs.Rows {
			bad[row] = errs.Reasons[i]
		}
	}
	for g := range int32(duckGroups) {
		query := c.query(cols, slots, keep, g)
		var want sql.NullString
		if err := db.QueryRow(query).Scan(&want); err != nil {
			if bad[g] == "" && strings.Contains(err.Error(), "Out of Range") {
				t.Errorf("%s gives %s\nDuckDB: %v", query, column.AppendText(nil, &got, int(g)), err)
			} else if bad[g] == "" {
				t.Fatalf("%s\n%v", query, err)
			}
			continue
		}
		if bad[g] != "" {
			t.Errorf("%s has no value: %s\nDuckDB: %v", query, bad[g], want)
			continue
		}
		text := string(column.AppendText(nil, &got, int(g)))
		if got.IsNull(int(g)) != !want.Valid || want.Valid && !c.same(text, want.String) {
			t.Errorf("%s\n%v(%v)\ngot  %q\nwant %q", query, c.spec.Func, c.spec.Args, text, want.String)
		}
	}
}

// fewValues draws from few values, so that some are equal; small ones where sums are approximate.
func fewValues(r *rand.Rand, t column.Type, n int, small bool) column.Column {
	pool := columntest.Random(r, t, 8)
	if small && t.Floating() {
		b := column.NewBuilder(t, 8)
		for range 8 {
			v := float64(r.IntN(4096)-2048) / 256
			switch {
			case r.IntN(6) == 0:
				b.AppendNull()
			case t.Kind == column.Float:
				column.Append(b, float32(v))
			default:
				column.Append(b, v)
			}
		}
		pool = b.Finish()
	}
	sel := make([]int32, n)
	for i := range sel {
		sel[i] = int32(r.IntN(pool.N))
	}
	return pool.Gather(sel)
}

func (c duckCall) query(cols []column.Column, slots []int32, keep []bool, g int32) string {
	var rows []string
	for i := range slots {
		if slots[i] != g || !keep[i] {
			continue
		}
		var vals []string
		for k := range cols {
			vals = append(vals, literal(&cols[k], i))
		}
		rows = append(rows, "("+strings.Join(vals, ", ")+")")
	}
	var sel, names []string
	for k := range cols {
		sel = append(sel, "NULL::"+cols[k].Type.String())
		names = append(names, fmt.Sprint("a", k))
	}
	from := "SELECT " + strings.Join(sel, ", ") + " WHERE false"
	if len(rows) > 0 {
		from = "VALUES " + strings.Join(rows, ", ")
	}
	return "SELECT CAST((" + c.sql + ") AS VARCHAR) FROM (" + from + ") v(" + strings.Join(names, ", ") + ")"
}

func literal(c *column.Column, i int) string {
	if c.IsNull(i) {
		return "NULL::" + c.Type.String()
	}
	if c.Type.Kind == column.Interval {
		v := column.Values[column.IntervalValue](c)[i]
		return fmt.Sprintf("(to_months(%d) + to_days(%d) + to_microseconds(%d))", v.Months, v.Days, v.Micros)
	}
	s := strings.ReplaceAll(string(column.AppendText(nil, c, i)), "'", "''")
	if strings.Contains(s, "\x00") {
		s = strings.ReplaceAll(s, "\x00", "' || chr(0) || '")
	}
	return "CAST('" + s + "' AS " + c.Type.String() + ")"
}

func (c duckCall) same(got, want string) bool {
	if got == want || strings.TrimPrefix(got, "-") == "nan" && strings.TrimPrefix(want, "-") == "nan" {
		return true
	}
	a, err1 := strconv.ParseFloat(got, 64)
	b, err2 := strconv.ParseFloat(want, 64)
	if err1 != nil || err2 != nil {
		return false
	}
	if a == 0 && b == 0 {
		return true
	}
	tolerance := 1e-9
	if c.spec.Result.Kind == column.Float || strings.HasPrefix(c.spec.Func, "kurtosis") || c.spec.Func == "skewness" {
		tolerance = 1e-6 // of DuckDB's powers of numbers that lie close together
	}
	return c.near && math.Abs(a-b) <= tolerance*max(math.Abs(a), math.Abs(b), 1e-3)
}
