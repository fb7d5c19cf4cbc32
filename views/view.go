package views

import (
	"fmt"

	"tidemill/operators"
	"tidemill/operators/agg"
	"tidemill/operators/expr"
	"tidemill/operators/zset"
	"tidemill/state/column"
	"tidemill/views/catalog"
	"tidemill/views/plan"
)

// View is a materialized view: its operators.
type View struct {
	Rel     *catalog.Relation
	root    node
	stages  []*stage // operators with state, inputs before those that follow them
	rejects *operators.Aggregate
	reads   []uint32 // relations that the plan scans, each once

	fallible bool // rows can fail
	tail     bool // rows can fail in what follows the last operator with state
	wanted   bool // another view needs this one's delta
	active   bool // stepped in the running commit
	bad      *operators.Rejects
	delta    Delta  // of the running commit, when wanted
	need     []bool // columns that views read in commits; the others may be absent from the delta
}

// node is a part of a view in the running commit: it calls fn with the batches of its delta.
type node interface {
	each(s *step, fn func(*zset.Batch) error) error
	// rows is at most how many rows each will give; many when it is not known.
	rows(s *step) int
}

// scan reads a relation that the view follows.
type scan struct {
	relation uint32
	columns  []int
	need     []bool // of columns; nil for all
}

// linear applies an operator without state.
type linear struct {
	input node
	op    operators.Linear
	view  *View
}

// union passes on all its inputs.
type union struct{ inputs []node }

// constant is rows that are there from the beginning.
type constant struct{ batch *zset.Batch }

// stage is an operator with state in its view.
type stage struct {
	input  node
	op     *operators.Aggregate
	plan   *plan.Node
	wanted bool // something in the commit follows
	out    *zset.Batch
}

// lowerer turns a view's plan into operators. Operators are numbered from the leaves up, so that the same
// plan always has the same keyspaces.
type lowerer struct {
	g        *Graph
	v        *View
	keyspace uint32
	limit    uint32
	counts   map[plan.Op]int
}

func (g *Graph) lower(rel *catalog.Relation) (*View, error) {
	v := &View{Rel: rel}
	lo, hi := RelationKeyspaces(rel.ID)
	l := &lowerer{g: g, v: v, keyspace: lo + operatorKeyspace, limit: hi, counts: map[plan.Op]int{}}
	var err error
	if v.root, v.tail, err = l.lower(rel.Plan); err != nil {
		return nil, err
	}
	v.fallible = v.fallible || v.tail
	for _, s := range v.stages {
		v.fallible = v.fallible || s.op.Fallible()
	}
	// A stage's delta is needed when its own output can fail (Finish sees to that) or when another
	// stage, or a part that can fail, is above it.
	if v.fallible {
		v.rejects, err = l.aggregate(operators.AggregateConfig{
			Name: "rejects", Input: operators.RejectFields,
			Output: append(append([]column.Field{}, operators.RejectFields...), column.Field{Name: "n", Type: column.T(column.Int64), NotNull: true}),
			Groups: []*expr.Expr{columnOf(0), columnOf(1), columnOf(2)},
			Aggs:   []operators.AggregateCall{{Spec: agg.Spec{Func: "count_star", Result: column.T(column.Int64)}}},
		})
	}
	return v, err
}

func columnOf(i int) *expr.Expr {
	return &expr.Expr{Kind: expr.Column, Type: operators.RejectFields[i].Type, Col: i}
}

func (l *lowerer) name(op plan.Op) string {
	l.counts[op]++
	return fmt.Sprintf("%s %d", op, l.counts[op])
}

// lower returns the node and whether a row can fail between it and the stages or relations below.
func (l *lowerer) lower(n *plan.Node) (node, bool, error) {
	inputs := make([]node, len(n.Inputs))
	fallible := false
	for i, in := range n.Inputs {
		var f bool
		var err error
		if inputs[i], f, err = l.lower(in); err != nil {
			return nil, false, err
		}
		fallible = fallible || f
	}
	switch n.Op {
	case plan.Scan:
		id, err := l.g.resolve(n.Relation)
		if err != nil {
			return nil, false, err
		}
		l.v.read(id)
		return &scan{relation: id, columns: n.Columns}, false, nil
	case plan.Filter:
		op := operators.NewFilter(l.name(n.Op), n.Inputs[0].Schema, n.Exprs, l.g.ev)
		return &linear{inputs[0], op, l.v}, fallible || op.Fallible(), nil
	case plan.Project:
		op := operators.NewProject(l.name(n.Op), n.Inputs[0].Schema, n.Exprs, l.g.ev)
		return &linear{inputs[0], op, l.v}, fallible || op.Fallible(), nil
	case plan.Union:
		return &union{inputs}, fallible, nil
	case plan.Values:
		rows, err := constantRows(n, l.g.ev)
		return &constant{rows}, false, err
	case plan.Aggregate, plan.Distinct:
		st := &stage{input: inputs[0], plan: n}
		var err error
		if st.op, err = l.aggregate(l.config(n)); err != nil {
			return nil, false, err
		}
		l.v.stages = append(l.v.stages, st)
		l.v.fallible = l.v.fallible || fallible // its input's rejects are the view's too
		return st, false, nil
	}
	return nil, false, fmt.Errorf("lower view %s: no operator for %q", l.v.Rel.Name, n.Op)
}

func (v *View) read(id uint32) {
	for _, r := range v.reads {
		if r == id {
			return
		}
	}
	v.reads = append(v.reads, id)
}

func (l *lowerer) config(n *plan.Node) operators.AggregateConfig {
	c := operators.AggregateConfig{Name: l.name(n.Op), Input: n.Inputs[0].Schema, Output: n.Schema, Groups: n.Groups, Sets: n.Sets}
	if n.Op == plan.Distinct {
		for i, f := range n.Schema {
			c.Groups = append(c.Groups, &expr.Expr{Kind: expr.Column, Type: f.Type, Col: i})
		}
		return c
	}
	for _, a := range n.Aggs {
		call := operators.AggregateCall{Filter: a.Filter, Spec: aggregateSpec(&a)}
		call.Args = append(call.Args, a.Args...)
		for _, o := range a.Order {
			call.Args = append(call.Args, o.Expr)
		}
		c.Aggs = append(c.Aggs, call)
	}
	return c
}

func (l *lowerer) aggregate(c operators.AggregateConfig) (*operators.Aggregate, error) {
	c.DB, c.Eval, c.WarmBytes, c.Keyspace = l.g.db, l.g.ev, l.g.opts.WarmBytes, l.keyspace
	c.Parallel = l.g.opts.Workers > 1
	l.keyspace += operators.Keyspaces(len(c.Aggs))
	if l.keyspace > l.limit {
		return nil, ErrTooManyOperators
	}
	return operators.NewAggregate(c)
}

// constantRows evaluates the rows of a Values node.
func constantRows(n *plan.Node, ev expr.Evaluator) (*zset.Batch, error) {
	b := &zset.Batch{N: len(n.Rows)}
	for c, f := range n.Schema {
		builder := column.NewBuilder(f.Type, len(n.Rows))
		for _, row := range n.Rows {
			v, errs, err := expr.Compile(row[c], ev).Eval(nil, 1)
			if err != nil {
				return nil, err
			}
			if errs != nil {
				return nil, fmt.Errorf("a constant row cannot be computed: %s", errs.Reasons[0])
			}
			builder.AppendFrom(&v, 0)
		}
		b.Cols = append(b.Cols, builder.Finish())
	}
	return b, nil
}
