package plan

import (
	"strconv"
	"strings"

	"tidemill/operators/expr"
	"tidemill/state/column"
)

// aggregates are the functions that are maintained, under the names that DuckDB binds, with the name
// that an Agg has.
var aggregates = map[string]string{
	"count_star": "count_star", "count": "count", "sum": "sum", "sum_no_overflow": "sum",
	"avg": "avg", "mean": "avg", "min": "min", "max": "max",
}

func (d *decoder) aggregate(j *jnode) (*flow, error) {
	in, err := d.input(j, 0, 1)
	if err != nil {
		return nil, err
	}
	if err := oneGroupingSet(j); err != nil {
		return nil, err
	}
	n := &Node{Op: Aggregate, Inputs: []*Node{in.node}}
	if n.Groups, err = d.exprs(j.Groups, in); err != nil {
		return nil, err
	}
	for i, g := range n.Groups {
		n.Schema = append(n.Schema, fieldOf(j.Groups[i].Alias, i, g, in.node))
	}
	list, err := exprList(j.Exprs)
	if err != nil {
		return nil, err
	}
	for i, e := range list {
		a, err := d.agg(e, in)
		if err != nil {
			return nil, err
		}
		name := e.Alias
		if name == "" {
			name = "agg" + strconv.Itoa(i)
		}
		n.Aggs = append(n.Aggs, *a)
		n.Schema = append(n.Schema, column.Field{Name: name, Type: a.Type, NotNull: strings.HasPrefix(a.Func, "count")})
	}
	return identity(n), nil
}

// oneGroupingSet refuses all but a plain GROUP BY.
func oneGroupingSet(j *jnode) error {
	if len(j.GroupingFunctions) > 0 {
		return unsupported("GROUPING()", "", "GROUPING", "GROUPING_ID")
	}
	if len(j.GroupingSets) == 0 || len(j.GroupingSets) == 1 && len(j.GroupingSets[0]) == len(j.Groups) {
		return nil
	}
	return unsupported("GROUPING SETS, ROLLUP or CUBE", "UNION ALL one GROUP BY for each grouping", "GROUPING SETS", "ROLLUP", "CUBE")
}

func (d *decoder) agg(e *jexpr, in *flow) (*Agg, error) {
	if e == nil || e.Class != "BOUND_AGGREGATE" {
		return nil, malformed("an aggregate is missing")
	}
	fn, ok := aggregates[e.Name]
	if !ok || len(e.Children) > 1 {
		what := "the aggregate function " + e.Name
		if ok {
			what += " with " + strconv.Itoa(len(e.Children)) + " arguments"
		}
		word := strings.ToUpper(e.Name)
		hint := "count, sum, avg, min and max are maintained"
		if e.Name == "first" { // also what DuckDB adds for a column grouped by another spelling of it
			hint += "; group by lower(s) in place of a collation"
		}
		return nil, unsupported(what, hint, word+" (", word, "COLLATE").at(e.pos())
	}
	t, ok := e.Return.column()
	if !ok {
		return nil, unsupported("the aggregate function "+fn+" of type "+e.Return.name(), "", strings.ToUpper(fn)+" (").at(e.pos())
	}
	a := &Agg{Func: fn, Type: t, Distinct: e.AggregateType == "DISTINCT" && fn != "min" && fn != "max"}
	var err error
	if a.Args, err = d.exprs(e.Children, in); err != nil {
		return nil, err
	}
	if fn == "count" && (len(a.Args) == 0 || !a.Distinct && neverNull(a.Args[0], in.node)) {
		a.Func, a.Args, a.Distinct = "count_star", nil, false
	}
	if fn == "avg" && !t.Floating() {
		return nil, unsupported("avg of type "+e.Return.name(), "take the average of epoch(x)", "AVG (", "MEAN (").at(e.pos())
	}
	if e.Filter != nil {
		a.Filter, err = d.expr(e.Filter, in)
	}
	return a, err
}

func neverNull(e *expr.Expr, in *Node) bool {
	return e.Kind == expr.Column && in.Schema[e.Col].NotNull || e.Kind == expr.Constant && !e.Const.Null
}
