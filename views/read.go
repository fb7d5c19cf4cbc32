package views

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"tidemill/state/column"
	"tidemill/state/image"
	"tidemill/views/plan"
	"tidemill/views/plan/token"
)

// RejectsSuffix makes the name of the relation that holds a view's rejects.
const RejectsSuffix = "$rejects"

// Stored is a relation that is read from an image: a table, the output of an operator with state, or
// a view's rejects.
type Stored struct {
	Name   string // in the read engine
	Fields []column.Field
}

// stageName is the read engine's name of a stage's output. A user cannot make such a name: it would
// have to be quoted, and names with "$" at their beginning are refused.
func (v *View) stageName(i int) string { return fmt.Sprintf("$%d:%d", v.Rel.ID, i) }

// RejectsName returns the name of the view's rejects.
func (v *View) RejectsName() string {
	schema, name, _ := token.Cut(v.Rel.Name)
	return token.Join(schema, name+RejectsSuffix)
}

// Stored lists what of the view is read from images.
func (v *View) Stored() []Stored {
	var out []Stored
	for i, st := range v.stages {
		out = append(out, Stored{v.stageName(i), distinctNames(st.op.Output())})
	}
	if v.rejects != nil {
		out = append(out, Stored{v.RejectsName(), v.rejects.Output()})
	}
	return out
}

// distinctNames returns the fields with names that differ, whatever their case: two groups that turn out to be the same
// column have its name both. Plans read by place.
func distinctNames(fields []column.Field) []column.Field {
	out := slices.Clone(fields)
	taken := map[string]bool{}
	for i := range out {
		for name, k := out[i].Name, 1; taken[strings.ToLower(out[i].Name)]; k++ {
			out[i].Name = name + "_" + strconv.Itoa(k)
		}
		taken[strings.ToLower(out[i].Name)] = true
	}
	return out
}

// Derived reports whether the view has no image of its own: its rows are computed from its inputs when
// read.
func (v *View) Derived() bool { return len(v.stages) == 0 }

// SQL returns a SELECT of the view's rows over stored relations and the views and tables it follows, for
// the read engine.
func (v *View) SQL(quote func(name string) string) string {
	return plan.SQL(v.readPlan(v.Rel.Plan), quote)
}

// readPlan is the plan with what is stored in place of the operators that store it.
func (v *View) readPlan(n *plan.Node) *plan.Node {
	for i, st := range v.stages {
		if st.plan == n {
			all := make([]int, len(n.Schema))
			for k := range all {
				all[k] = k
			}
			return &plan.Node{Op: plan.Scan, Schema: n.Schema, Relation: v.stageName(i), Columns: all}
		}
	}
	c := *n
	c.Inputs = make([]*plan.Node, len(n.Inputs))
	for i, in := range n.Inputs {
		c.Inputs[i] = v.readPlan(in)
	}
	return &c
}

// Reads adds to names the stored relations that a read of the relation scans.
func (g *Graph) Reads(id uint32, names map[string]bool) {
	if t := g.tables[id]; t != nil {
		names[t.Rel.Name] = true
		return
	}
	if v := g.views[id]; v != nil {
		v.scans(g, v.Rel.Plan, names)
	}
}

func (v *View) scans(g *Graph, n *plan.Node, names map[string]bool) {
	for i, st := range v.stages {
		if st.plan == n {
			names[v.stageName(i)] = true
			return
		}
	}
	if n.Op == plan.Scan {
		if id, err := g.resolve(n.Relation); err == nil {
			g.Reads(id, names)
		}
	}
	for _, in := range n.Inputs {
		v.scans(g, in, names)
	}
}

// Guarded reports whether a read of the relation computes rows that may fail: it is to be run in a DuckDB that evaluates
// expressions as they are written (plan.SQL).
func (g *Graph) Guarded(id uint32) bool {
	v := g.views[id]
	return v != nil && v.guarded(g, v.Rel.Plan)
}

func (v *View) guarded(g *Graph, n *plan.Node) bool {
	for _, st := range v.stages {
		if st.plan == n {
			return false
		}
	}
	if n.Op == plan.Scan {
		id, err := g.resolve(n.Relation)
		return err == nil && g.Guarded(id)
	}
	return n.Fallible() || slices.ContainsFunc(n.Inputs, func(in *plan.Node) bool { return v.guarded(g, in) })
}

// Snapshot returns the rows of a stored relation as of the last published commit; nil when there is no
// such relation.
func (g *Graph) Snapshot(name string) (*image.Snapshot, error) {
	if id, ok := g.names[name]; ok {
		if t := g.tables[id]; t != nil {
			return t.Rows.Snapshot(), nil
		}
	}
	for _, v := range g.views {
		for i, st := range v.stages {
			if v.stageName(i) == name {
				return st.op.Snapshot()
			}
		}
		if v.rejects != nil && v.RejectsName() == name {
			return v.rejects.Snapshot()
		}
	}
	return nil, nil
}
