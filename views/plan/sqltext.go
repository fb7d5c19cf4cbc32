package plan

import (
	"slices"
	"strconv"
	"strings"

	"tidemill/operators/expr"
)

// SQL prints the plan as a DuckDB SELECT whose output columns have the names of the Schema. The
// function relation returns what stands in FROM for a relation: a name, or a SELECT in parentheses,
// with all the relation's columns in their order, whatever their names.
//
// The answer is the view's. A row on which an expression of a project or an aggregate fails is left
// out, and a row that one conjunct of a filter drops is dropped whatever its other conjuncts would
// do. What can fail is computed once, in TRY around a struct, which is NULL for an error and a
// struct of NULL for a NULL:
//
//	SELECT struct_extract(q.x0, 'v') AS c0
//	FROM (SELECT q.*, TRY(struct_pack(v := CAST(q.c0 AS INTEGER))) AS x0 FROM t AS q) AS q
//	WHERE q.x0 IS NOT NULL
//
// That holds in a DuckDB that evaluates expressions as they are written: its optimiser's rewriting takes
// errors away, and moves what is in TRY out of it. Where no node is Fallible it may do so.
//
// Where a Node stands for operators with state of their own, the text is only DuckDB's equivalent:
// its sums of floating-point numbers are not exact.
func SQL(n *Node, relation func(name string) string) string {
	p := sqlPrinter{relation}
	out := make([]string, len(n.Schema))
	for i, f := range n.Schema {
		out[i] = colRef(i) + " AS " + quoteName(f.Name)
	}
	return "SELECT " + selectList(out) + " FROM (" + p.node(n) + ") AS q"
}

type sqlPrinter struct {
	relation func(string) string
}

// node prints a SELECT with the output columns c0, c1, ... Its input is q: a name with a table before
// it is never taken for an output column's.
func (p sqlPrinter) node(n *Node) string {
	switch n.Op {
	case Scan:
		return p.scan(n)
	case Filter:
		return p.filter(n)
	case Project:
		return p.computed(n.Exprs, "("+p.node(n.Inputs[0])+")")
	case Aggregate:
		return p.aggregate(n)
	case Distinct:
		if len(n.Schema) == 0 { // at most one row
			return "SELECT 0 AS c FROM (" + p.node(n.Inputs[0]) + ") LIMIT 1"
		}
		return "SELECT DISTINCT " + selectList(colRefs(len(n.Schema))) + " FROM (" + p.node(n.Inputs[0]) + ") AS q"
	case Union:
		parts := make([]string, len(n.Inputs))
		for i, in := range n.Inputs {
			parts[i] = "(" + p.node(in) + ")"
		}
		return strings.Join(parts, " UNION ALL ")
	case Values:
		return p.values(n)
	default:
		panic("plan: SQL of " + string(n.Op))
	}
}

func colName(i int) string { return "c" + strconv.Itoa(i) }

func colRef(i int) string { return "q." + colName(i) }

func colNames(n int) []string { return each(n, colName) }

func colRefs(n int) []string { return each(n, colRef) }

func each(n int, f func(int) string) []string {
	out := make([]string, n)
	for i := range out {
		out[i] = f(i)
	}
	return out
}

// selectList joins output columns; a SELECT without any has a column that nothing reads.
func selectList(list []string) string {
	if len(list) == 0 {
		return "0 AS c"
	}
	return strings.Join(list, ", ")
}

// scan names the relation's columns anew, by place. The names must differ from those of the columns
// behind the last one that is read, which keep theirs.
func (p sqlPrinter) scan(n *Node) string {
	out := make([]string, len(n.Columns))
	last := -1
	for i, c := range n.Columns {
		out[i] = scanName(c) + " AS " + colName(i)
		last = max(last, c)
	}
	text := "SELECT " + selectList(out) + " FROM " + p.relation(n.Relation)
	if last < 0 {
		return text
	}
	aliases := make([]string, last+1)
	for i := range aliases {
		aliases[i] = scanName(i)
	}
	return text + " AS tidemill_scan(" + strings.Join(aliases, ", ") + ")"
}

func scanName(i int) string { return "tidemill_column_" + strconv.Itoa(i) }

func (p sqlPrinter) filter(n *Node) string {
	conds := make([]string, len(n.Exprs))
	for i, e := range n.Exprs {
		conds[i] = e.SQL(colRef)
		if expr.Fallible(e) { // an error is NULL, and either drops the row
			conds[i] = "TRY(" + conds[i] + ")"
		}
	}
	return "SELECT " + selectList(colRefs(len(n.Schema))) + " FROM (" + p.node(n.Inputs[0]) + ") AS q WHERE " + strings.Join(conds, " AND ")
}

// computed prints the expressions over what stands in FROM, without the rows on which one fails.
func (p sqlPrinter) computed(exprs []*expr.Expr, from string) string {
	var g guards
	out := make([]string, len(exprs))
	for i, e := range exprs {
		text, _ := g.value(e)
		out[i] = text + " AS " + colName(i)
	}
	text := "SELECT " + selectList(out) + " FROM " + g.wrap(from)
	if len(g.all) > 0 {
		text += " WHERE " + strings.Join(g.conditions(), " AND ")
	}
	return text
}

// guards are expressions that can fail, each computed once as a column x0, x1, ...
type guards struct {
	all []string
}

// value returns the text of e's value, which is a guard's when it can fail; then guard is its name.
func (g *guards) value(e *expr.Expr) (text, guard string) {
	text = e.SQL(colRef)
	if !expr.Fallible(e) {
		return text, ""
	}
	g.all = append(g.all, text)
	guard = "q.x" + strconv.Itoa(len(g.all)-1)
	return "struct_extract(" + guard + ", 'v')", guard
}

// wrap returns what stands in FROM with the guards as columns more.
func (g *guards) wrap(from string) string {
	if len(g.all) == 0 {
		return from + " AS q"
	}
	text := "(SELECT q.*"
	for i, e := range g.all {
		text += ", TRY(struct_pack(v := " + e + ")) AS x" + strconv.Itoa(i)
	}
	return text + " FROM " + from + " AS q) AS q"
}

func (g *guards) conditions() []string {
	out := make([]string, len(g.all))
	for i := range out {
		out[i] = "q.x" + strconv.Itoa(i) + " IS NOT NULL"
	}
	return out
}

// aggregate leaves out the rows on which a group, a FILTER, or an argument of an aggregate whose
// FILTER takes the row fails.
func (p sqlPrinter) aggregate(n *Node) string {
	if n.Sets != nil {
		return p.groupingSets(n)
	}
	var g guards
	var out, groups, conds []string
	need := func(guard, unless string) {
		if guard != "" {
			conds = append(conds, "("+guard+" IS NOT NULL"+unless+")")
		}
	}
	for i, e := range n.Groups {
		text, guard := g.value(e)
		need(guard, "")
		out = append(out, text+" AS "+colName(i))
		groups = append(groups, text)
	}
	for i, a := range n.Aggs {
		filter, unless := "", ""
		if a.Filter != nil {
			text, guard := g.value(a.Filter)
			need(guard, "")
			filter, unless = " FILTER (WHERE "+text+")", " OR ("+text+") IS NOT TRUE"
		}
		var args []string
		for _, e := range a.inputs() {
			text, guard := g.value(e)
			need(guard, unless)
			args = append(args, text)
		}
		out = append(out, a.sql(args, filter)+" AS "+colName(len(n.Groups)+i))
	}
	text := "SELECT " + selectList(out) + " FROM " + g.wrap("("+p.node(n.Inputs[0])+")")
	if len(n.Groups) == 0 && len(n.Aggs) == 0 {
		text = "SELECT 0 AS c"
	}
	if len(conds) > 0 {
		text += " WHERE " + strings.Join(conds, " AND ")
	}
	if len(groups) > 0 {
		text += " GROUP BY " + strings.Join(groups, ", ")
	}
	return text
}

// groupingSets prints a SELECT for each set.
func (p sqlPrinter) groupingSets(n *Node) string {
	parts := make([]string, len(n.Sets))
	for i, set := range n.Sets {
		one := *n
		one.Sets, one.Groups = nil, nil
		out := []string{"CAST(" + strconv.Itoa(i) + " AS INTEGER) AS c0"}
		for g, e := range n.Groups {
			text := "CAST(NULL AS " + e.Type.String() + ")"
			if slices.Contains(set, g) {
				text = colName(len(one.Groups))
				one.Groups = append(one.Groups, e)
			}
			out = append(out, text+" AS "+colName(1+g))
		}
		for k := range n.Aggs {
			out = append(out, colName(len(one.Groups)+k)+" AS "+colName(n.Keys()+k))
		}
		parts[i] = "(SELECT " + selectList(out) + " FROM (" + p.aggregate(&one) + ") AS q)"
	}
	return strings.Join(parts, " UNION ALL ")
}

// sql prints the aggregate with its order completed by its arguments, which is how the order that SQL leaves open is
// decided. args are the texts of its inputs.
func (a *Agg) sql(args []string, filter string) string {
	if a.Func == "count_star" {
		return "count(*)" + filter
	}
	args, keys := args[:len(a.Args)], args[len(a.Args):]
	fn, order := a.Func, ""
	if ordered[a.Func] {
		if strings.HasPrefix(fn, "arg_") {
			if a.Order[0].Desc {
				fn = strings.Replace(fn, "arg_min", "arg_max", 1)
			}
			args = append(slices.Clone(args), keys[0])
			keys = keys[1:]
		}
		skip := len(a.Order) - len(keys)
		var by []string
		for i, k := range keys {
			by = append(by, k+a.Order[skip+i].direction())
		}
		if !a.Distinct || len(by) == 0 {
			for _, x := range args[:len(a.Args)] {
				by = append(by, x+" ASC NULLS LAST")
			}
		}
		order = " ORDER BY " + strings.Join(by, ", ")
	}
	if a.Distinct {
		args = append([]string{"DISTINCT " + args[0]}, args[1:]...)
	}
	args = append(slices.Clone(args), a.constants()...)
	return "CAST(" + fn + "(" + strings.Join(args, ", ") + order + ")" + filter + " AS " + a.Type.String() + ")"
}

func (o Order) direction() string {
	s := " ASC"
	if o.Desc {
		s = " DESC"
	}
	if o.NullsFirst {
		return s + " NULLS FIRST"
	}
	return s + " NULLS LAST"
}

// constants prints the constant arguments.
func (a *Agg) constants() []string {
	if a.Params == nil || a.Func == "median" {
		return nil
	}
	if a.Func == "string_agg" {
		return []string{quoteText(a.Params.Separator)}
	}
	var out []string
	for _, q := range a.Params.Quantiles {
		text := "CAST('" + strconv.FormatFloat(q.Float, 'g', -1, 64) + "' AS DOUBLE)"
		if q.Exact {
			text = strconv.FormatFloat(q.Float, 'f', q.Scale, 64)
		}
		if a.Params.Desc {
			text = "-" + text
		}
		out = append(out, text)
	}
	if a.Params.List {
		return []string{"[" + strings.Join(out, ", ") + "]"}
	}
	return out
}

func (p sqlPrinter) values(n *Node) string {
	if len(n.Rows) == 0 {
		out := make([]string, len(n.Schema))
		for i, f := range n.Schema {
			out[i] = "CAST(NULL AS " + f.Type.String() + ") AS " + colName(i)
		}
		return "SELECT " + selectList(out) + " WHERE false"
	}
	rows := make([]string, len(n.Rows))
	for i, r := range n.Rows {
		if anyFallible(r) {
			return p.valuesOneByOne(n)
		}
		vals := make([]string, len(r))
		for j, e := range r {
			vals[j] = e.SQL(colRef)
		}
		rows[i] = "(" + strings.Join(append(vals, "0"), ", ") + ")"
	}
	return "SELECT " + selectList(colRefs(len(n.Schema))) + " FROM (VALUES " + strings.Join(rows, ", ") + ") AS q(" + strings.Join(append(colNames(len(n.Schema)), "c"), ", ") + ")"
}

func (p sqlPrinter) valuesOneByOne(n *Node) string {
	parts := make([]string, len(n.Rows))
	for i, r := range n.Rows {
		parts[i] = "(" + p.computed(r, "(SELECT 0 AS c)") + ")"
	}
	return strings.Join(parts, " UNION ALL ")
}
