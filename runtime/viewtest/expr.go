package viewtest

import (
	"fmt"
	"math/rand/v2"
	"strings"

	"tidemill/state/column"
)

// col is a column that an expression can use.
type col struct {
	name string
	typ  column.Type
	// exact says that floats are k/1024 or sums of such, so that every way to add them gives the same
	// bits, and that other numbers are far from the ends of sums.
	exact bool
	// loose columns may differ between engines within the normalisations: they are passed on as they are,
	// and never computed with.
	loose looseness
}

// expression is SQL text with what the generator knows about it.
type expression struct {
	sql      string
	typ      column.Type
	fallible bool // may be: what is not known to succeed is fallible
	exact    bool
	loose    looseness
}

// generator makes expressions over the columns of a scope.
type generator struct {
	r     *rand.Rand
	scope []col
	// safe asks for expressions that cannot fail.
	safe bool
	// grouped scopes are of aggregates, which DuckDB does not allow in TRY.
	grouped bool
}

var allTypes = []column.Type{
	column.T(column.Bool), column.T(column.Int8), column.T(column.Int16), column.T(column.Int32), column.T(column.Int64),
	column.T(column.UInt8), column.T(column.UInt16), column.T(column.UInt32), column.T(column.UInt64), column.T(column.HugeInt),
	column.T(column.Float), column.T(column.Double), column.DecimalOf(4, 1), column.DecimalOf(9, 2), column.DecimalOf(18, 3), column.DecimalOf(38, 10),
	column.T(column.Varchar), column.T(column.Blob), column.T(column.Date), column.T(column.Time),
	column.T(column.TimestampS), column.T(column.TimestampMS), column.T(column.Timestamp), column.T(column.TimestampNS),
	column.T(column.TimestampTZ), column.T(column.Interval), column.T(column.UUID),
}

// someType prefers the types that people use.
func someType(r *rand.Rand) column.Type {
	if r.IntN(2) == 0 {
		return column.T([]column.Kind{column.Int64, column.Int32, column.Varchar, column.Double, column.Bool, column.Date, column.Timestamp}[r.IntN(7)])
	}
	return allTypes[r.IntN(len(allTypes))]
}

func pick[T any](r *rand.Rand, of []T) T { return of[r.IntN(len(of))] }

// leaf is a column or a constant of the type.
func (g *generator) leaf(t column.Type) expression {
	var fits []col
	for _, c := range g.scope {
		if c.typ == t && c.loose == strict {
			fits = append(fits, c)
		}
	}
	if len(fits) > 0 && g.r.IntN(6) > 0 {
		c := pick(g.r, fits)
		return expression{sql: c.name, typ: t, exact: c.exact}
	}
	if len(fits) == 0 && g.r.IntN(2) == 0 { // a column of another type, cast
		if e, ok := g.castColumn(t); ok {
			return e
		}
	}
	if g.r.IntN(12) == 0 {
		return expression{sql: null(t).sql, typ: t}
	}
	return expression{sql: random(g.r, t, few).sql, typ: t, exact: true}
}

// castColumn returns a cast of some column to t.
func (g *generator) castColumn(t column.Type) (expression, bool) {
	for range 4 {
		if len(g.scope) == 0 {
			break
		}
		c := pick(g.r, g.scope)
		if c.loose != strict || !castable(c.typ, t) {
			continue
		}
		if g.safe {
			return expression{sql: fmt.Sprintf("TRY_CAST(%s AS %s)", c.name, t), typ: t}, true
		}
		return expression{sql: fmt.Sprintf("CAST(%s AS %s)", c.name, t), typ: t, fallible: true}, true
	}
	return expression{}, false
}

// castable reports whether DuckDB binds the cast.
func castable(from, to column.Type) bool {
	numeric := func(t column.Type) bool {
		return t.Integer() || t.Floating() || t.Kind == column.Decimal || t.Kind == column.Bool
	}
	stamp := func(t column.Type) bool {
		return t.Kind == column.Date || t.Kind >= column.TimestampS && t.Kind <= column.Timestamp
	}
	switch {
	case to.Kind == column.Varchar:
		return true
	case from.Kind == column.Varchar:
		return to.Kind != column.Interval
	}
	return numeric(from) && numeric(to) || stamp(from) && stamp(to)
}

// any returns an expression of the type.
func (g *generator) any(t column.Type, depth int) expression {
	if depth <= 0 || g.r.IntN(4) == 0 {
		return g.leaf(t)
	}
	if g.r.IntN(4) == 0 {
		return g.generic(t, depth-1)
	}
	forms := formsOf(t)
	if len(forms) == 0 {
		return g.generic(t, depth-1)
	}
	return g.form(pick(g.r, forms), t, depth-1)
}

// generic makes forms that every type has.
func (g *generator) generic(t column.Type, depth int) expression {
	T := t.String()
	switch g.r.IntN(7) {
	case 0:
		return g.form(form{sql: "CASE WHEN $1 THEN $2 ELSE $3 END", args: "BOOLEAN|" + T + "|" + T}, t, depth)
	case 1:
		return g.form(form{sql: "CASE WHEN $1 THEN $2 END", args: "BOOLEAN|" + T}, t, depth)
	case 2:
		return g.form(form{sql: "coalesce($1, $2)", args: T + "|" + T}, t, depth)
	case 3:
		return g.form(form{sql: "nullif($1, $2)", args: T + "|" + T}, t, depth)
	case 4:
		if t.Kind == column.Interval || t.Floating() { // equal values that differ: which is given is open
			return g.leaf(t)
		}
		return g.form(form{sql: pick(g.r, []string{"greatest($1, $2)", "least($1, $2)"}), args: T + "|" + T}, t, depth)
	case 5:
		if !g.grouped && g.r.IntN(3) == 0 {
			e := (&generator{r: g.r, scope: g.scope}).any(t, depth)
			return expression{sql: "TRY(" + e.sql + ")", typ: t}
		}
		fallthrough
	default:
		if e, ok := g.castColumn(t); ok {
			return e
		}
		return g.leaf(t)
	}
}

// form is SQL with $1, $2 ... for arguments whose types args lists. An argument type of ANY is some type, #
// the result's own type, and a number the type of that argument.
type form struct {
	sql, args string
	fallible  bool
	// exact forms keep the exactness of their arguments.
	exact bool
}

func (g *generator) form(f form, t column.Type, depth int) expression {
	f.sql = strings.ReplaceAll(f.sql, "AS #)", "AS "+t.String()+")")
	if f.fallible && g.safe {
		return g.leaf(t)
	}
	out := expression{sql: f.sql, typ: t, fallible: f.fallible, exact: f.exact}
	if m := marked[f.sql]; m != "" {
		out.sql = m
	}
	if f.args == "" {
		return out
	}
	names := strings.Split(f.args, "|")
	types := make([]column.Type, len(names))
	for i, name := range names {
		switch {
		case name == "ANY":
			types[i] = someType(g.r)
		case name == "NUM":
			types[i] = pick(g.r, allTypes[1:16])
		case name == "#":
			types[i] = t
		case name[0] >= '1' && name[0] <= '9':
			types[i] = types[name[0]-'1']
		default:
			types[i], _ = column.ParseType(name)
		}
		a := g.any(types[i], depth)
		out.fallible = out.fallible || a.fallible
		out.exact = out.exact && a.exact
		out.sql = strings.ReplaceAll(out.sql, fmt.Sprintf("$%d", i+1), "("+a.sql+")")
	}
	return out
}

// An AND or OR that one operand decides does not fail, whatever the other does, and so a BETWEEN, which is an AND. DuckDB
// fails or not by the order of its work, so that such a form is written with marks: asUser and asOracle replace them.
const (
	markAnd, markOr, markBetween, markNotBetween = "\uE000", "\uE001", "\uE002", "\uE003" // before the first operand
	sepAnd, sepOr, sepBetween, sepNotBetween     = "\uE004", "\uE005", "\uE006", "\uE007"
	sepTo, markEnd                               = "\uE008", "\uE009"
)

var marked = map[string]string{
	"$1 AND $2":                markAnd + "$1" + sepAnd + "$2" + markEnd,
	"$1 OR $2":                 markOr + "$1" + sepOr + "$2" + markEnd,
	"$1 BETWEEN $2 AND $3":     markBetween + "$1" + sepBetween + "$2" + sepTo + "$3" + markEnd,
	"$1 NOT BETWEEN $2 AND $3": markNotBetween + "$1" + sepNotBetween + "$2" + sepTo + "$3" + markEnd + ")",
}

// decided are the oracle's macros for the marks.
var decided = []string{
	"CREATE MACRO decided_and(a, b) AS CASE WHEN TRY(a) = FALSE THEN FALSE WHEN TRY(b) = FALSE THEN FALSE ELSE (a) AND (b) END",
	"CREATE MACRO decided_or(a, b) AS CASE WHEN TRY(a) = TRUE THEN TRUE WHEN TRY(b) = TRUE THEN TRUE ELSE (a) OR (b) END",
	"CREATE MACRO decided_between(x, a, b) AS CASE WHEN TRY(x >= a) = FALSE THEN FALSE WHEN TRY(x <= b) = FALSE THEN FALSE ELSE x >= a AND x <= b END",
}

var (
	userMarks = strings.NewReplacer(markAnd, "(", markOr, "(", markBetween, "(", markNotBetween, "((",
		sepAnd, " AND ", sepOr, " OR ", sepBetween, " BETWEEN ", sepNotBetween, " NOT BETWEEN ", sepTo, " AND ", markEnd, ")")
	oracleMarks = strings.NewReplacer(markAnd, "decided_and(", markOr, "decided_or(",
		markBetween, "decided_between(", markNotBetween, "(NOT decided_between(",
		sepAnd, ", ", sepOr, ", ", sepBetween, ", ", sepNotBetween, ", ", sepTo, ", ", markEnd, ")")
)

func asUser(sql string) string   { return userMarks.Replace(sql) }
func asOracle(sql string) string { return oracleMarks.Replace(sql) }
