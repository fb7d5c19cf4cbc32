// Package operators turns changes of inputs into changes of outputs: a file per operator.
//
// An operator is a function from a delta (rows with weights, see zset) to a delta, in the algebra of
// DBSP (Budiu et al., "DBSP: Automatic Incremental View Maintenance", VLDB 2023). Linear operators
// (Filter, Project, union) keep nothing: what they make of a sum of deltas is the sum of what they
// make of each. Stateful ones (Aggregate, and Distinct, which is an Aggregate without aggregates) keep
// a table of groups, write-back cached in memory in front of the state database.
//
// Operators are total: a row on which an expression fails leaves the flow at that operator with its
// weight, as a reject, and an insertion and its retraction therefore cancel there too. An error
// returned is the machinery's (a disk that cannot be read), never the data's.
//
// One goroutine at a time steps an operator. Only Aggregate.Lookup may run beside it. The same delta,
// cut into batches in any way, gives the same state and, consolidated, the same output.
package operators

import (
	"tidemill/operators/zset"
)

// Linear is an operator without state.
type Linear interface {
	// Apply returns what the operator makes of b, or nil when nothing is left. Rows that fail go to
	// rejects, which may be nil when nothing can fail. b is not kept unless the result shares its columns.
	Apply(b *zset.Batch, rejects *Rejects) (*zset.Batch, error)
	// Fallible reports whether a row can fail.
	Fallible() bool
	// Need says which columns of its output anybody reads; the others may be absent (column.Absent) from then on.
	// It returns which columns of the input the operator reads, of which a row that fails shows all.
	Need(output []bool) (input []bool)
}

// allColumns is what an operator needs of its input when a row of it may have to be shown.
func allColumns(n int) []bool {
	all := make([]bool, n)
	for i := range all {
		all[i] = true
	}
	return all
}
