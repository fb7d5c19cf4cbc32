package plan

import (
	"encoding/json"
	"fmt"

	"tidemill/operators/expr"
	"tidemill/state/column"
)

// Schemas looks a relation up by its name, whatever its case, and returns the name and the columns
// that the catalog has.
type Schemas func(name string) (canonical string, fields []column.Field, ok bool)

// maxNodes bounds a decoded plan. A CTE is decoded once and put in at each reference, so that a
// chain of CTEs that each use the one before twice doubles with every link; a hundredth of this is
// a large view.
const maxNodes = 20_000

// Decode reads the text of json_serialize_plan for one SELECT, made with skip_default and
// skip_empty off, and returns its plan as it stands there: no rule is applied. Column names are
// DuckDB's where the plan has them. An ORDER BY without a LIMIT is left out, because a relation has
// no order. The error is an *Error, with a Position only where the plan gives one.
func Decode(text []byte, lookup Schemas) (*Node, error) {
	plans, err := parsePlans(text)
	if err != nil {
		return nil, err
	}
	if len(plans) != 1 {
		return nil, &Error{Position: -1, Message: fmt.Sprintf("one SELECT is expected, not %d statements", len(plans))}
	}
	d := decoder{lookup: lookup, ctes: map[uint64]*cte{}}
	f, err := d.node(plans[0])
	if err != nil {
		return nil, err
	}
	return f.dense(), nil
}

type decoder struct {
	lookup Schemas
	ctes   map[uint64]*cte
	nodes  int // decoded so far, with CTEs at each reference
}

type cte struct {
	node *Node
	size int
}

// flow is a decoded operator: cols maps the columns that DuckDB's operator outputs to those of node,
// -1 for the row identifier, which relations do not have.
type flow struct {
	node *Node
	cols []int
}

func identity(n *Node) *flow {
	f := &flow{node: n, cols: make([]int, len(n.Schema))}
	for i := range f.cols {
		f.cols[i] = i
	}
	return f
}

// dense returns a node that outputs exactly the flow's columns, in their order.
func (f *flow) dense() *Node {
	same := len(f.cols) == len(f.node.Schema)
	for i, c := range f.cols {
		same = same && c == i
	}
	if same {
		return f.node
	}
	p := &Node{Op: Project, Inputs: []*Node{f.node}}
	for _, c := range f.cols {
		if c < 0 {
			continue // only DuckDB's placeholder for no column at all
		}
		p.Exprs = append(p.Exprs, columnOf(f.node, c))
		p.Schema = append(p.Schema, f.node.Schema[c])
	}
	return p
}

// pick returns the flow with only the columns of a projection map, when there is one.
func (f *flow) pick(projection []int) (*flow, error) {
	if len(projection) == 0 {
		return f, nil
	}
	out := &flow{node: f.node}
	for _, i := range projection {
		if i < 0 || i >= len(f.cols) {
			return nil, malformed("a projection map names column %d of %d", i, len(f.cols))
		}
		out.cols = append(out.cols, f.cols[i])
	}
	return out, nil
}

func columnOf(n *Node, i int) *expr.Expr {
	return &expr.Expr{Kind: expr.Column, Col: i, Type: n.Schema[i].Type}
}

func (d *decoder) node(j *jnode) (*flow, error) {
	if j == nil {
		return nil, malformed("an operator is missing")
	}
	if d.nodes++; d.nodes > maxNodes {
		return nil, unsupported("a statement of this size", "split it into several views", "WITH")
	}
	switch j.Type {
	case "LOGICAL_GET":
		return d.get(j)
	case "LOGICAL_FILTER":
		return d.filter(j)
	case "LOGICAL_PROJECTION":
		return d.project(j)
	case "LOGICAL_AGGREGATE_AND_GROUP_BY":
		return d.aggregate(j)
	case "LOGICAL_DISTINCT":
		return d.distinct(j)
	case "LOGICAL_UNION":
		return d.union(j)
	case "LOGICAL_DUMMY_SCAN":
		return identity(&Node{Op: Values, Rows: [][]*expr.Expr{{}}}), nil
	case "LOGICAL_EXPRESSION_GET":
		return d.values(j)
	case "LOGICAL_EMPTY_RESULT":
		return d.empty(j)
	case "LOGICAL_MATERIALIZED_CTE":
		return d.materializedCTE(j)
	case "LOGICAL_CTE_REF":
		return d.cteRef(j)
	case "LOGICAL_ORDER_BY":
		f, err := d.input(j, 0, 1)
		if err != nil {
			return nil, err
		}
		return f.pick(j.ProjectionMap)
	default:
		return nil, refuse(j)
	}
}

// input decodes the i-th of exactly n inputs.
func (d *decoder) input(j *jnode, i, n int) (*flow, error) {
	if len(j.Children) != n {
		return nil, malformed("%s with %d inputs", j.Type, len(j.Children))
	}
	return d.node(j.Children[i])
}

func exprList(raw json.RawMessage) ([]*jexpr, error) {
	var list []*jexpr
	if len(raw) == 0 {
		return nil, nil
	}
	if err := json.Unmarshal(raw, &list); err != nil {
		return nil, malformed("%v", err)
	}
	return list, nil
}

func (d *decoder) filter(j *jnode) (*flow, error) {
	in, err := d.input(j, 0, 1)
	if err != nil {
		return nil, err
	}
	list, err := exprList(j.Exprs)
	if err != nil {
		return nil, err
	}
	exprs, err := d.exprs(list, in)
	if err != nil {
		return nil, err
	}
	n := &Node{Op: Filter, Inputs: []*Node{in.node}, Schema: in.node.Schema}
	for _, e := range exprs {
		for _, c := range conjuncts(e) {
			if !bytesRange(c) {
				n.Exprs = append(n.Exprs, c)
			}
		}
	}
	if len(n.Exprs) == 0 {
		n = in.node
	}
	return (&flow{n, in.cols}).pick(j.ProjectionMap)
}

// bytesRange reports whether e is a comparison of a text with a BLOB, which SQL does not have. DuckDB
// adds such bounds beside a regular expression that implies them.
func bytesRange(e *expr.Expr) bool {
	return e.Kind == expr.Call && len(e.Args) == 2 && isComparison(e.Func) &&
		e.Args[0].Type.Kind == column.Varchar && e.Args[1].Type.Kind == column.Blob
}

// conjuncts takes nested ANDs apart.
func conjuncts(e *expr.Expr) []*expr.Expr {
	if e.Kind != expr.And {
		return []*expr.Expr{e}
	}
	var out []*expr.Expr
	for _, a := range e.Args {
		out = append(out, conjuncts(a)...)
	}
	return out
}

func (d *decoder) project(j *jnode) (*flow, error) {
	in, err := d.input(j, 0, 1)
	if err != nil {
		return nil, err
	}
	list, err := exprList(j.Exprs)
	if err != nil {
		return nil, err
	}
	exprs, err := d.exprs(list, in)
	if err != nil {
		return nil, err
	}
	n := &Node{Op: Project, Inputs: []*Node{in.node}, Exprs: exprs}
	for i, e := range exprs {
		n.Schema = append(n.Schema, fieldOf(list[i].Alias, i, e, in.node))
	}
	return identity(n), nil
}

// fieldOf describes the output column that e makes of input in.
func fieldOf(alias string, i int, e *expr.Expr, in *Node) column.Field {
	f := column.Field{Name: alias, Type: e.Type}
	switch e.Kind {
	case expr.Column:
		f.NotNull = in.Schema[e.Col].NotNull
		if f.Name == "" {
			f.Name = in.Schema[e.Col].Name
		}
	case expr.Constant:
		f.NotNull = !e.Const.Null
	}
	if f.Name == "" {
		f.Name = fmt.Sprintf("col%d", i)
	}
	return f
}

func (d *decoder) distinct(j *jnode) (*flow, error) {
	in, err := d.input(j, 0, 1)
	if err != nil {
		return nil, err
	}
	if j.DistinctType != "DISTINCT" {
		return nil, unsupported("DISTINCT ON", "use GROUP BY with min or max", "DISTINCT ON")
	}
	for i, t := range j.DistinctTargets {
		if x := normalised(t); x != nil {
			t = x
		}
		if t == nil || t.Class != "BOUND_REF" || t.Index != i {
			return nil, unsupported("DISTINCT by a collation", "select the expression that the collation stands for, such as lower(s)", "DISTINCT", "UNION")
		}
	}
	if len(j.DistinctTargets) != len(in.cols) {
		return nil, malformed("DISTINCT by %d of %d columns", len(j.DistinctTargets), len(in.cols))
	}
	n := in.dense()
	return identity(&Node{Op: Distinct, Inputs: []*Node{n}, Schema: n.Schema}), nil
}

func (d *decoder) union(j *jnode) (*flow, error) {
	n := &Node{Op: Union}
	for _, c := range j.Children {
		f, err := d.node(c)
		if err != nil {
			return nil, err
		}
		n.Inputs = append(n.Inputs, f.dense())
	}
	if len(n.Inputs) == 0 {
		return nil, malformed("UNION of nothing")
	}
	n.Schema = unionSchema(n.Inputs)
	for _, in := range n.Inputs {
		if len(in.Schema) != len(n.Schema) {
			return nil, malformed("UNION of %d and %d columns", len(n.Schema), len(in.Schema))
		}
		for i := range in.Schema {
			if in.Schema[i].Type != n.Schema[i].Type {
				return nil, malformed("UNION of %s and %s", n.Schema[i].Type, in.Schema[i].Type)
			}
		}
	}
	return identity(n), nil
}

// unionSchema names a union's columns as its first input does.
func unionSchema(inputs []*Node) []column.Field {
	schema := append([]column.Field(nil), inputs[0].Schema...)
	for _, in := range inputs[1:] {
		for i := range schema {
			if i < len(in.Schema) {
				schema[i].NotNull = schema[i].NotNull && in.Schema[i].NotNull
			}
		}
	}
	return schema
}

func (d *decoder) materializedCTE(j *jnode) (*flow, error) {
	before := d.nodes
	def, err := d.input(j, 0, 2)
	if err != nil {
		return nil, err
	}
	outer, shadowed := d.ctes[j.TableIndex]
	d.ctes[j.TableIndex] = &cte{node: def.dense(), size: d.nodes - before}
	f, err := d.input(j, 1, 2)
	if shadowed {
		d.ctes[j.TableIndex] = outer
	}
	return f, err
}

// cteRef puts in the definition: it is deterministic, so each reference may have its own.
func (d *decoder) cteRef(j *jnode) (*flow, error) {
	c := d.ctes[j.CTEIndex]
	if c == nil {
		return nil, malformed("reference to CTE %d, which is not defined", j.CTEIndex)
	}
	if d.nodes += c.size; d.nodes > maxNodes {
		return nil, unsupported("a statement of this size", "split it into several views", "WITH")
	}
	return identity(c.node), nil
}
