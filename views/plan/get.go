package plan

import (
	"encoding/json"
	"strings"

	"tidemill/operators/expr"
	"tidemill/views/plan/token"
)

// rowIdentifier is the column index that DuckDB gives to a table's row number, which it also scans
// when no column is asked for.
const rowIdentifier = 1<<64 - 1

// get decodes a scan, with the filters that DuckDB has pushed into it.
func (d *decoder) get(j *jnode) (*flow, error) {
	if j.Function != "seq_scan" {
		return nil, unsupported("the table function "+j.Function, "create a table and append the rows to it", strings.ToUpper(j.Function)+" (", strings.ToUpper(j.Function))
	}
	if j.Sample != nil || j.Extra != nil && j.Extra.Sample != nil {
		return nil, unsupported("sampling", "", "TABLESAMPLE", "USING SAMPLE")
	}
	if j.ColumnIndexes == nil || j.ProjectionIDs == nil {
		return nil, malformed("it was serialised without its empty and default values, so its columns are not known")
	}
	var table jtable
	if err := json.Unmarshal(j.FunctionData, &table); err != nil {
		return nil, malformed("%v", err)
	}
	name, schema, ok := d.lookup(token.Join(table.Schema, table.Table))
	if !ok {
		return nil, &Error{Position: -1, Message: "relation " + table.Table + " does not exist", find: []string{strings.ToUpper(table.Table)}}
	}
	if len(schema) != len(j.ReturnedTypes) {
		return nil, malformed("relation %s has %d columns, the catalog has %d", name, len(j.ReturnedTypes), len(schema))
	}
	scan := &Node{Op: Scan, Relation: name}
	all := &flow{node: scan}
	place := map[int]int{} // the relation's column to the scan's
	add := func(col int) int {
		if at, ok := place[col]; ok {
			return at
		}
		place[col] = len(scan.Columns)
		scan.Columns = append(scan.Columns, col)
		scan.Schema = append(scan.Schema, schema[col])
		return place[col]
	}
	for _, c := range j.ColumnIndexes {
		switch {
		case c.Index == nil || len(c.Children) > 0:
			return nil, malformed("a column of %s without its index", name)
		case *c.Index == rowIdentifier:
			all.cols = append(all.cols, -1)
		case *c.Index >= uint64(len(schema)):
			return nil, malformed("column %d of %s, which has %d", *c.Index, name, len(schema))
		default:
			col := int(*c.Index)
			if t, ok := j.ReturnedTypes[col].column(); !ok || t != schema[col].Type {
				return nil, malformed("column %s of %s is %s, in the catalog %s", schema[col].Name, name, j.ReturnedTypes[col].name(), schema[col].Type)
			}
			all.cols = append(all.cols, add(col))
		}
	}
	conds, err := d.tableFilters(j, all, add)
	if err != nil {
		return nil, err
	}
	out, err := all.pick(j.ProjectionIDs)
	if err != nil || len(conds) == 0 {
		return out, err
	}
	return &flow{&Node{Op: Filter, Inputs: []*Node{scan}, Schema: scan.Schema, Exprs: conds}, out.cols}, nil
}

// tableFilters decodes the filters of a scan. Their keys are columns of the relation; add makes the
// scan output one.
func (d *decoder) tableFilters(j *jnode, scan *flow, add func(int) int) ([]*expr.Expr, error) {
	if j.TableFilters == nil {
		return nil, nil
	}
	var out []*expr.Expr
	for _, f := range j.TableFilters.Filters {
		if f.Key < 0 || f.Key >= len(j.ReturnedTypes) || f.Value == nil {
			return nil, malformed("a filter on column %d of %d", f.Key, len(j.ReturnedTypes))
		}
		col := add(f.Key)
		e, err := d.tableFilter(f.Value, &flow{scan.node, []int{col}})
		if err != nil {
			return nil, err
		}
		if e != nil {
			out = append(out, conjuncts(e)...)
		}
	}
	return out, nil
}

// tableFilter decodes one filter on the one column of f, to nil when it is a hint that another
// filter enforces.
func (d *decoder) tableFilter(j *jfilter, f *flow) (*expr.Expr, error) {
	if j == nil {
		return nil, malformed("a filter of a scan is missing")
	}
	col := columnOf(f.node, f.cols[0])
	switch j.Type {
	case "OPTIONAL_FILTER":
		return nil, nil
	case "CONSTANT_COMPARISON":
		c, err := constant(j.Constant)
		if err != nil {
			return nil, err
		}
		return comparison(j.Comparison, col, c)
	case "IS_NULL":
		return boolean(expr.IsNull, col), nil
	case "IS_NOT_NULL":
		return boolean(expr.IsNotNull, col), nil
	case "IN_FILTER":
		in := boolean(expr.In, col)
		for _, v := range j.Values {
			c, err := constant(v)
			if err != nil {
				return nil, err
			}
			in.Args = append(in.Args, c)
		}
		return in, nil
	case "EXPRESSION_FILTER":
		return d.expr(j.Expr, f)
	case "CONJUNCTION_AND", "CONJUNCTION_OR":
		e := boolean(expr.And)
		if j.Type == "CONJUNCTION_OR" {
			e.Kind = expr.Or
		}
		for _, c := range j.Children {
			a, err := d.tableFilter(c, f)
			switch {
			case err != nil:
				return nil, err
			case a != nil:
				e.Args = append(e.Args, a)
			case e.Kind == expr.Or: // one hint among alternatives makes a hint of all
				return nil, nil
			}
		}
		if len(e.Args) == 0 {
			return nil, nil
		}
		return e, nil
	default:
		return nil, malformed("a filter %s in a scan", j.Type)
	}
}
