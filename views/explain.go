package views

import (
	"fmt"
	"strings"

	"tidemill/operators"
	"tidemill/views/catalog"
	"tidemill/views/plan"
)

// Explain shows a view's plan, an operator a line, with the state that each keeps. The view need not be in
// the graph: then it shows what would be kept.
func (g *Graph) Explain(rel *catalog.Relation) (string, error) {
	v := g.views[rel.ID]
	if v == nil {
		var err error
		if v, err = g.lower(rel); err != nil {
			return "", err
		}
	}
	text := plan.Explain(rel.Plan, func(n *plan.Node) string {
		for _, st := range v.stages {
			if st.plan == n {
				return describeState(st.op)
			}
		}
		return ""
	})
	if v.Derived() {
		text += "no state: the rows are computed from what the view reads, at each read\n"
	}
	if v.rejects != nil {
		text += "rows that fail are kept in " + v.RejectsName() + "\n"
	}
	return text, nil
}

func describeState(op *operators.Aggregate) string {
	s := op.State()
	var b strings.Builder
	fmt.Fprintf(&b, "state: a row per group, %d in memory, %d bytes", s.Groups, s.Bytes)
	if s.Traces > 0 {
		fmt.Fprintf(&b, "; a trace of values for %d of its columns, %d values", s.Traces, s.Values)
	}
	if len(s.Foreign) > 0 {
		fmt.Fprintf(&b, "; evaluated in DuckDB: %s", strings.Join(s.Foreign, ", "))
	}
	return b.String()
}

// Sizes returns how many groups the view keeps in memory, how many different rows it has rejected, and the
// bytes in memory. It is the committer's.
func (v *View) Sizes() (groups, rejects, bytes int64) {
	for _, st := range v.stages {
		s := st.op.State()
		groups += int64(s.Groups)
		bytes += s.Bytes
	}
	if v.rejects != nil {
		s := v.rejects.State()
		rejects = int64(s.Groups)
		bytes += s.Bytes
	}
	return groups, rejects, bytes
}
