package plan

import (
	"encoding/json"
	"math"
	"strconv"
	"strings"

	"tidemill/operators/expr"
	"tidemill/state/column"
)

// aggregates are the functions that are maintained, under the names that DuckDB binds, with the name
// that an Agg has.
var aggregates = map[string]string{
	"count_star": "count_star", "count": "count", "count_if": "sum", "countif": "sum", // NULL of no row that is not
	"sum": "sum", "sum_no_overflow": "sum", "fsum": "sum", "kahan_sum": "sum", "sumkahan": "sum",
	"avg": "avg", "mean": "avg", "favg": "avg", "min": "min", "max": "max",
	"bool_and": "bool_and", "bool_or": "bool_or", "bit_and": "bit_and", "bit_or": "bit_or", "bit_xor": "bit_xor",
	"first": "first", "last": "last", "any_value": "any_value", "arbitrary": "first",
	"arg_min": "arg_min", "argmin": "arg_min", "min_by": "arg_min", "arg_max": "arg_max", "argmax": "arg_max", "max_by": "arg_max",
	"arg_min_null": "arg_min_null", "arg_max_null": "arg_max_null",
	"string_agg": "string_agg", "group_concat": "string_agg", "listagg": "string_agg", "product": "product",
	"median": "median", "quantile": "quantile_disc", "quantile_disc": "quantile_disc", "quantile_cont": "quantile_cont",
	"mode": "mode", "mad": "mad", "entropy": "entropy",
	"var_pop": "var_pop", "var_samp": "var_samp", "variance": "var_samp",
	"stddev_pop": "stddev_pop", "stddev_samp": "stddev_samp", "stddev": "stddev_samp", "sem": "sem",
	"skewness": "skewness", "kurtosis": "kurtosis", "kurtosis_pop": "kurtosis_pop",
	"covar_pop": "covar_pop", "covar_samp": "covar_samp", "corr": "corr",
	"regr_avgx": "regr_avgx", "regr_avgy": "regr_avgy", "regr_count": "regr_count", "regr_intercept": "regr_intercept",
	"regr_r2": "regr_r2", "regr_slope": "regr_slope", "regr_sxx": "regr_sxx", "regr_syy": "regr_syy", "regr_sxy": "regr_sxy",
}

// aggregateHints say what to do in place of an aggregate that is not maintained.
var aggregateHints = map[string]string{
	"approx_count_distinct": "count(DISTINCT x) is exact under every change",
	"approx_quantile":       "quantile_cont(x, q) is exact under every change",
	"reservoir_quantile":    "quantile_disc(x, q) is exact under every change",
	"approx_top_k":          "group by the value and count; take the largest in the query that reads the view",
	"arg_min_nulls_last":    "use arg_min_null, or first(x ORDER BY y)",
	"arg_max_nulls_last":    "use arg_max_null, or first(x ORDER BY y DESC NULLS LAST)",
	"bitstring_agg":         "use bit_or(1 << x)",
}

// ordered are the functions whose result depends on the order of the rows.
var ordered = map[string]bool{
	"first": true, "last": true, "any_value": true, "arg_min": true, "arg_max": true, "arg_min_null": true, "arg_max_null": true,
	"string_agg": true, "list": true, "mode": true,
}

// idempotent are the functions for which two equal rows are as one.
var idempotent = map[string]bool{
	"min": true, "max": true, "bool_and": true, "bool_or": true, "bit_and": true, "bit_or": true,
	"first": true, "last": true, "any_value": true, "arg_min": true, "arg_max": true, "arg_min_null": true, "arg_max_null": true,
}

func (d *decoder) agg(e *jexpr, in *flow) (*Agg, error) {
	if e == nil || e.Class != "BOUND_AGGREGATE" {
		return nil, malformed("an aggregate is missing")
	}
	word := strings.ToUpper(e.Name)
	fn, ok := aggregates[e.Name]
	if !ok {
		hint := aggregateHints[e.Name]
		return nil, unsupported("the aggregate function "+e.Name, hint, word+" (", word).at(e.pos())
	}
	t, ok := e.Return.column()
	if !ok {
		return nil, unsupported("the aggregate function "+e.Name+" of type "+e.Return.name(), "", word+" (").at(e.pos())
	}
	a := &Agg{Func: fn, Type: t, Distinct: e.AggregateType == "DISTINCT" && !idempotent[fn]}
	args := e.Children
	var err error
	if ordered[fn] {
		if args, err = d.order(a, e, in); err != nil {
			return nil, err
		}
	}
	if a.Args, err = d.exprs(args, in); err != nil {
		return nil, err
	}
	if err := a.params(e); err != nil {
		return nil, err
	}
	if fn == "count" && (len(a.Args) == 0 || !a.Distinct && neverNull(a.Args[0], in.node)) {
		a.Func, a.Args, a.Distinct = "count_star", nil, false
	}
	if len(a.Args) > maxArgs(a.Func) {
		return nil, unsupported("the aggregate function "+e.Name+" with "+strconv.Itoa(len(e.Children))+" arguments", "", word+" (", word).at(e.pos())
	}
	if e.Filter != nil {
		a.Filter, err = d.expr(e.Filter, in)
	}
	return a, err
}

func maxArgs(fn string) int {
	if fn == "corr" || strings.HasPrefix(fn, "covar_") || strings.HasPrefix(fn, "regr_") {
		return 2
	}
	return 1
}

// order decodes what an aggregate's rows are ordered by, and returns its arguments. DuckDB has made the first row of
// an order the arg_min of a sort key by then, and the last one its arg_max.
func (d *decoder) order(a *Agg, e *jexpr, in *flow) ([]*jexpr, error) {
	args := e.Children
	if strings.HasPrefix(a.Func, "arg_") {
		if len(args) != 2 {
			return args, nil // refused for their number
		}
		key := args[1]
		last := strings.HasPrefix(a.Func, "arg_max")
		if key != nil && key.Name == "create_sort_key" && len(key.Children)%2 == 0 {
			switch {
			case last:
				a.Func = "last"
			case a.Func == "arg_min":
				a.Func = "any_value"
			default:
				a.Func = "first"
			}
			return args[:1], d.sortKey(a, key, in)
		}
		x, err := d.expr(key, in)
		if err != nil {
			return nil, err
		}
		a.Order = []Order{{Expr: x, Desc: last}}
		a.Func = strings.Replace(a.Func, "arg_max", "arg_min", 1)
		args = args[:1]
	}
	if e.OrderBys == nil {
		return args, nil
	}
	for _, o := range e.OrderBys.Orders {
		x, err := d.expr(o.Expr, in)
		if err != nil {
			return nil, err
		}
		a.Order = append(a.Order, Order{Expr: x, Desc: o.Type == "DESCENDING", NullsFirst: o.Nulls == "NULLS FIRST"})
	}
	return args, nil
}

// sortKey decodes create_sort_key's pairs of an expression and how it is ordered.
func (d *decoder) sortKey(a *Agg, key *jexpr, in *flow) error {
	for i := 0; i < len(key.Children); i += 2 {
		x, err := d.expr(key.Children[i], in)
		if err != nil {
			return err
		}
		how := key.Children[i+1]
		var text string
		if how == nil || how.Value == nil || json.Unmarshal(how.Value.Value, &text) != nil {
			return malformed("a sort key without an order")
		}
		a.Order = append(a.Order, Order{Expr: x, Desc: strings.HasPrefix(text, "DESC"), NullsFirst: strings.HasSuffix(text, "NULLS FIRST")})
	}
	return nil
}

// params decodes the constant arguments, which DuckDB has taken out of the others.
func (a *Agg) params(e *jexpr) error {
	var data struct {
		Separator *string   `json:"separator"`
		Quantiles []*jvalue `json:"quantiles"`
		Desc      bool      `json:"desc"`
	}
	switch a.Func {
	case "string_agg", "median", "quantile_disc", "quantile_cont":
		if err := json.Unmarshal(e.FunctionData, &data); err != nil {
			return malformed("the constants of %s: %v", e.Name, err)
		}
	default:
		return nil
	}
	if a.Func == "string_agg" {
		if data.Separator == nil {
			return malformed("%s without a separator", e.Name)
		}
		a.Params = &Params{Separator: *data.Separator}
		return nil
	}
	a.Params = &Params{Desc: data.Desc}
	for _, v := range data.Quantiles {
		q, err := quantile(v)
		if err != nil {
			return err
		}
		a.Params.Quantiles = append(a.Params.Quantiles, q)
	}
	return nil
}

func quantile(v *jvalue) (Quantile, error) {
	c, err := constant(v)
	if err != nil {
		return Quantile{}, err
	}
	switch {
	case c.Const.Null:
	case c.Type.Kind == column.Double:
		f, err := parseFloat(v.Value, 64)
		return Quantile{Float: f}, err
	case c.Type.Kind == column.Decimal:
		digits, err := strconv.ParseInt(string(v.Value), 10, 64)
		if err == nil {
			return Quantile{Digits: digits, Scale: int(c.Type.Scale), Float: float64(digits) / math.Pow10(int(c.Type.Scale)), Exact: true}, nil
		}
	}
	return Quantile{}, unsupported("a quantile of type "+v.Type.name(), "write a DECIMAL between 0 and 1")
}

// inputs returns the arguments and what they are ordered by.
func (a *Agg) inputs() []*expr.Expr {
	out := append([]*expr.Expr(nil), a.Args...)
	for _, o := range a.Order {
		out = append(out, o.Expr)
	}
	return out
}

// rewrite returns the aggregate with f applied to its columns.
func (a Agg) rewrite(f func(*expr.Expr) *expr.Expr) Agg {
	a.Args = rewriteAll(a.Args, f)
	a.Filter = rewrite(a.Filter, f)
	order := append([]Order(nil), a.Order...)
	for i := range order {
		order[i].Expr = rewrite(order[i].Expr, f)
	}
	a.Order = order
	return a
}
