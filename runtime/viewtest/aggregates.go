package viewtest

import (
	"strings"

	"tidemill/state/column"
)

// aggregateForm is a way to call an aggregate. Args are types of its arguments: ANY, a type's name, or one of the words
// below; the result's type is that of the first argument when empty.
type aggregateForm struct {
	sql, args, result string
	loose             looseness
}

// aggregateForms are the aggregates that the rest of the generator does not make.
//
//	ANY     some type
//	PLAIN   a type whose equal values have equal bits
//	INT     an integer type
//	SMALL   small integers as DOUBLE, whose powers doubles add exactly
//	POINT   a type between whose values there are others, with no infinities
var aggregateForms = []aggregateForm{
	{sql: "bool_and(#)", args: "BOOLEAN"}, {sql: "bool_or(#)", args: "BOOLEAN"}, {sql: "count_if(#)", args: "BOOLEAN", result: "HUGEINT"},
	{sql: "bit_and(#)", args: "INT"}, {sql: "bit_or(#)", args: "INT"}, {sql: "bit_xor(#)", args: "INT"}, {sql: "bit_xor(DISTINCT #)", args: "INT"},
	{sql: "first(#[ ORDER BY #])", args: "ANY"}, {sql: "last(#[ ORDER BY #])", args: "ANY"}, {sql: "any_value(#[ ORDER BY #])", args: "ANY"},
	{sql: "first(# ORDER BY @ DESC NULLS FIRST[, #])", args: "ANY|ANY"}, {sql: "last(# ORDER BY @[, #])", args: "ANY|ANY"},
	{sql: "any_value(# ORDER BY @ DESC[, #])", args: "ANY|ANY"},
	{sql: "arg_min(#, @[ ORDER BY #])", args: "ANY|ANY"}, {sql: "max_by(#, @[ ORDER BY #])", args: "ANY|ANY"},
	{sql: "arg_min_null(#, @[ ORDER BY #])", args: "ANY|ANY"}, {sql: "arg_max_null(#, @[ ORDER BY #])", args: "ANY|ANY"},
	{sql: "mode(#[ ORDER BY #])", args: "PLAIN"}, {sql: "entropy(#)", args: "PLAIN", result: "DOUBLE", loose: nearly},
	{sql: "string_agg(#, '-'[ ORDER BY #])", args: "VARCHAR"}, {sql: "string_agg(# ORDER BY @ DESC[, #])", args: "VARCHAR|PLAIN"},
	{sql: "string_agg(DISTINCT #, ', ' ORDER BY # DESC)", args: "VARCHAR"},
	{sql: "median(#)", args: "INT", result: "DOUBLE"}, {sql: "median(DISTINCT #)", args: "INT", result: "DOUBLE"}, {sql: "median(#)", args: "POINT"},
	{sql: "quantile_cont(#, 0.9)", args: "INT", result: "DOUBLE"}, {sql: "quantile_cont(#, 0.25)", args: "POINT"},
	{sql: "quantile_disc(#, 0.75)", args: "PLAIN"}, {sql: "percentile_disc(0.1) WITHIN GROUP (ORDER BY # DESC)", args: "PLAIN"},
	{sql: "product(#)", args: "SMALL", result: "DOUBLE", loose: nearly}, {sql: "avg(#)", args: "DATE", result: "TIMESTAMP"},
	{sql: "var_samp(#)", args: "SMALL", result: "DOUBLE", loose: nearly}, {sql: "stddev_pop(DISTINCT #)", args: "SMALL", result: "DOUBLE", loose: nearly},
	{sql: "stddev(#)", args: "SMALL", result: "DOUBLE", loose: nearly}, {sql: "sem(#)", args: "SMALL", result: "DOUBLE", loose: nearly},
	{sql: "skewness(#)", args: "SMALL", result: "DOUBLE", loose: nearly}, {sql: "kurtosis(#)", args: "SMALL", result: "DOUBLE", loose: nearly},
	{sql: "covar_pop(#, @)", args: "SMALL|SMALL", result: "DOUBLE", loose: nearly}, {sql: "corr(#, @)", args: "SMALL|SMALL", result: "DOUBLE", loose: nearly},
	{sql: "regr_slope(#, @)", args: "SMALL|SMALL", result: "DOUBLE", loose: nearly}, {sql: "regr_r2(#, @)", args: "SMALL|SMALL", result: "DOUBLE", loose: nearly},
	{sql: "regr_intercept(#, @)", args: "SMALL|SMALL", result: "DOUBLE", loose: nearly}, {sql: "regr_sxy(#, @)", args: "SMALL|SMALL", result: "DOUBLE", loose: nearly},
	{sql: "regr_count(#, @)", args: "SMALL|SMALL", result: "UINTEGER"},
}

// formed makes an aggregate of aggregateForms.
func (w *world) formed(g *generator, a *aggregate) bool {
	f := pick(w.r, aggregateForms)
	first, second, two := strings.Cut(f.args, "|")
	x := w.formArgument(g, first)
	a.Form, a.Arg, a.Stated = f.sql, &x, w.r.IntN(2) == 0
	if two {
		y := w.formArgument(g, second)
		a.Arg2 = &y
	}
	if a.typ, a.loose = x.typ, max(f.loose, groupLooseness(x.typ)); f.result != "" {
		a.typ, _ = column.ParseType(f.result)
		a.loose = f.loose
	}
	if first == "ANY" {
		a.exact = x.exact
	}
	return true
}

func (w *world) formArgument(g *generator, word string) expression {
	switch word {
	case "ANY":
		return g.any(someType(w.r), 1)
	case "PLAIN":
		for {
			if t := someType(w.r); groupLooseness(t) == strict {
				return g.any(t, 1)
			}
		}
	case "INT":
		return g.any(pick(w.r, allTypes[1:10]), 1)
	case "POINT":
		return g.any(pick(w.r, []column.Type{column.DecimalOf(9, 2), column.DecimalOf(18, 3), column.T(column.Double), column.T(column.Time)}), 1)
	case "SMALL":
		e := g.any(column.T(column.Int8), 1)
		return expression{sql: "CAST((" + e.sql + ") % 32 AS DOUBLE)", typ: column.T(column.Double), fallible: e.fallible}
	}
	t, _ := column.ParseType(word)
	return g.any(t, 1)
}
