package plan

import (
	"encoding/json"
	"fmt"

	"tidemill/state/column"
)

// fields returns unnamed columns of the types.
func fields(types []jtype) ([]column.Field, error) {
	var out []column.Field
	for i, t := range types {
		ct, ok := t.column()
		if !ok {
			return nil, unsupported("a column of type "+t.name(), "")
		}
		out = append(out, column.Field{Name: fmt.Sprintf("col%d", i), Type: ct})
	}
	return out, nil
}

func (d *decoder) values(j *jnode) (*flow, error) {
	in, err := d.input(j, 0, 1)
	if err != nil {
		return nil, err
	}
	if in.node.Op != Values || len(in.node.Rows) != 1 {
		return nil, unsupported("VALUES that refer to another relation", "", "VALUES")
	}
	n := &Node{Op: Values}
	if n.Schema, err = fields(j.ExprTypes); err != nil {
		return nil, err
	}
	var rows [][]*jexpr
	if err := json.Unmarshal(j.Exprs, &rows); err != nil {
		return nil, malformed("%v", err)
	}
	for _, r := range rows {
		row, err := d.exprs(r, in)
		if err != nil {
			return nil, err
		}
		if len(row) != len(n.Schema) {
			return nil, malformed("VALUES of %d and %d columns", len(n.Schema), len(row))
		}
		n.Rows = append(n.Rows, row)
	}
	return identity(n), nil
}

func (d *decoder) empty(j *jnode) (*flow, error) {
	schema, err := fields(j.ReturnTypes)
	if err != nil {
		return nil, err
	}
	return identity(&Node{Op: Values, Schema: schema}), nil
}
