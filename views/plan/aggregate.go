package plan

import (
	"strconv"
	"strings"

	"tidemill/operators/expr"
	"tidemill/state/column"
)

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

func neverNull(e *expr.Expr, in *Node) bool {
	return e.Kind == expr.Column && in.Schema[e.Col].NotNull || e.Kind == expr.Constant && !e.Const.Null
}
