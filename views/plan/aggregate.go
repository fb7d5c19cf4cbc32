package plan

import (
	"encoding/binary"
	"reflect"
	"slices"
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
	list, err := exprList(j.Exprs)
	if err != nil {
		return nil, err
	}
	n := &Node{Op: Aggregate, Inputs: []*Node{in.node}}
	groups := make([]*jexpr, len(j.Groups))
	firsts := map[*jexpr]int{} // of list, to the group that each is the value of
	for i, g := range j.Groups {
		groups[i] = g
		if x := normalised(g); x != nil {
			for _, e := range list {
				if isCollatedGroup(e) && reflect.DeepEqual(e.Children[0], x) {
					groups[i], firsts[e] = x, i
				}
			}
		}
	}
	if n.Groups, err = d.exprs(groups, in); err != nil {
		return nil, err
	}
	if err := n.groupingSets(j); err != nil {
		return nil, err
	}
	for i, g := range n.Groups {
		f := fieldOf(j.Groups[i].Alias, i, g, in.node)
		f.NotNull = f.NotNull && n.Sets == nil
		n.Schema = append(n.Schema, f)
	}
	out := make([]int, len(groups), len(groups)+len(list))
	for i := range out {
		out[i] = i
	}
	for i, e := range list {
		if g, ok := firsts[e]; ok {
			out = append(out, g)
			continue
		}
		out = append(out, len(groups)+len(n.Aggs))
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
	f, err := n.withoutSets(j)
	if err != nil || len(firsts) == 0 {
		return f, err
	}
	for k, o := range out {
		out[k] = f.cols[o]
	}
	return &flow{f.node, append(out, f.cols[len(groups)+len(n.Aggs):]...)}, nil
}

// normalised returns what DuckDB groups by the normal form of, or nil. Types whose equal values may differ in
// their bits are grouped so, and the value itself is the first of the group; here the operators do both.
func normalised(j *jexpr) *jexpr {
	if j != nil && j.Class == "BOUND_FUNCTION" && len(j.Children) == 1 && (j.Name == "normalized_interval" || j.Name == "timetz_byte_comparable") {
		return j.Children[0]
	}
	return nil
}

// isCollatedGroup reports whether e is the value that DuckDB shows for a group that it has normalised.
func isCollatedGroup(e *jexpr) bool {
	return e != nil && e.Class == "BOUND_AGGREGATE" && e.Name == "first" && e.Alias == "__collated_group" && len(e.Children) == 1
}

// groupingSets sets what the plan has other than one set of all groups.
func (n *Node) groupingSets(j *jnode) error {
	plain := len(j.GroupingSets) == 0 || len(j.GroupingSets) == 1 && len(j.GroupingSets[0]) == len(j.Groups)
	if plain && len(j.GroupingFunctions) == 0 {
		return nil
	}
	if n.Sets = j.GroupingSets; len(n.Sets) == 0 {
		n.Sets = [][]int{nil}
		for i := range j.Groups {
			n.Sets[0] = append(n.Sets[0], i)
		}
	}
	for _, s := range append(j.GroupingFunctions, n.Sets...) {
		for _, g := range s {
			if g < 0 || g >= len(n.Groups) {
				return malformed("group %d of %d", g, len(n.Groups))
			}
		}
	}
	n.Schema = append(n.Schema, column.Field{Name: "grouping set", Type: column.T(column.Int32), NotNull: true})
	return nil
}

// withoutSets returns an aggregate's columns as DuckDB has them: without the number of the grouping set, and with the
// values of GROUPING() for it at the end.
func (n *Node) withoutSets(j *jnode) (*flow, error) {
	f := identity(n)
	if n.Sets == nil {
		return f, nil
	}
	p := &Node{Op: Project, Inputs: []*Node{n}, Schema: append([]column.Field(nil), n.Schema[1:]...)}
	for i := range p.Schema {
		p.Exprs = append(p.Exprs, columnOf(n, 1+i))
	}
	for i, args := range j.GroupingFunctions {
		p.Exprs = append(p.Exprs, n.grouping(args))
		p.Schema = append(p.Schema, column.Field{Name: "grouping" + strconv.Itoa(i), Type: column.T(column.Int64), NotNull: true})
	}
	return identity(p), nil
}

// grouping returns GROUPING(args): a bit for each argument, the last one the lowest, that is set when the row's grouping
// set does not have it.
func (n *Node) grouping(args []int) *expr.Expr {
	value := func(set []int) *expr.Expr {
		bits := int64(0)
		for _, g := range args {
			if bits <<= 1; !slices.Contains(set, g) {
				bits |= 1
			}
		}
		return integer(column.T(column.Int64), bits)
	}
	e := &expr.Expr{Kind: expr.Case, Type: column.T(column.Int64)}
	last := len(n.Sets) - 1
	for i, set := range n.Sets[:last] {
		is := boolean(expr.Call, columnOf(n, 0), integer(column.T(column.Int32), int64(i)))
		is.Func = "="
		e.Args = append(e.Args, is, value(set))
	}
	if last == 0 {
		return value(n.Sets[0])
	}
	e.Args = append(e.Args, value(n.Sets[last]))
	return e
}

// integer returns a constant INTEGER or BIGINT.
func integer(t column.Type, v int64) *expr.Expr {
	raw := binary.LittleEndian.AppendUint64(nil, uint64(v))[:t.Size()]
	return &expr.Expr{Kind: expr.Constant, Type: t, Const: &expr.Value{Raw: raw}}
}

func neverNull(e *expr.Expr, in *Node) bool {
	return e.Kind == expr.Column && in.Schema[e.Col].NotNull || e.Kind == expr.Constant && !e.Const.Null
}
