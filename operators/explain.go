package operators

import "tidemill/operators/expr"

// StateInfo is what an operator keeps, for EXPLAIN and statistics.
type StateInfo struct {
	Groups  int      // in memory
	Whole   bool     // no group is only on disk
	Bytes   int64    // in memory
	Traces  int      // ordered traces
	Values  int      // in their memory
	Foreign []string // functions that are left to DuckDB
}

// State describes the operator. It is the committer's.
func (a *Aggregate) State() StateInfo {
	s := StateInfo{Groups: a.table.Len(), Whole: a.table.Complete(), Traces: len(a.traces)}
	for _, c := range a.Caches() {
		s.Bytes += c.Bytes()
	}
	for _, t := range a.traces {
		s.Values += t.Len()
	}
	for _, list := range append([][]*expr.Program{a.sets[0].groups, a.sets[0].filters}, a.sets[0].args...) {
		for _, p := range list {
			if p != nil {
				s.Foreign = append(s.Foreign, p.Describe()...)
			}
		}
	}
	return s
}
