// Package agg holds aggregate functions under insertion and retraction, a file each.
//
// An Aggregate keeps one value per slot (a group) in two versions, the current one and the one before the running
// commit, so that an operator can emit what a group was and what it is, and a commit can be undone. It
// is a state.Cells: the operator's table saves, evicts and loads it. The owner serialises calls that
// change it; Output of the previous version is safe beside them for slots saved in this commit.
package agg

import (
	"errors"
	"fmt"

	"tidemill/state/column"
	"tidemill/state/rowkey"
)

// Aggregate is one aggregate function's values by slot.
type Aggregate interface {
	// Grow makes slots below n exist, new ones empty.
	Grow(n int)
	// Save copies the current values of slots to the previous ones.
	Save(slots []int32)
	// Restore undoes what happened since Save.
	Restore(slots []int32)
	// Reset empties both versions of a slot.
	Reset(slot int32)
	// Encode appends the current value in its canonical form: a function of the rows alone.
	Encode(dst []byte, slot int32) []byte
	// Decode sets both versions from what Encode wrote and returns the rest.
	Decode(slot int32, b []byte) ([]byte, error)
	// Empty reports whether the slot holds the value of no rows.
	Empty(slot int32) bool
	// Bytes returns the memory that all slots use.
	Bytes() int64

	// Add adds row i of arg, with weight w[i] (1 when w is nil), to slots[i]; rows with a negative slot
	// are left out. arg is nil for an aggregate without argument. NULLs are ignored as SQL ignores them.
	Add(slots []int32, arg *column.Column, w []int64) error
	// Output returns the aggregate of each slot, of the previous version when prev is set. Rows for
	// which the value cannot be represented are NULL and have a reason.
	Output(slots []int32, prev bool) (column.Column, *Errors)
}

// Errors names the rows of an output that have no value, ascending.
type Errors struct {
	Rows    []int32
	Reasons []string
}

func (e *Errors) add(row int, reason string) *Errors {
	if e == nil {
		e = &Errors{}
	}
	e.Rows = append(e.Rows, int32(row))
	e.Reasons = append(e.Reasons, reason)
	return e
}

// ErrUnsupported is wrapped by New's errors.
var ErrUnsupported = errors.New("not maintained")

// Trace is an ordered multiset of values per slot, kept by the operator for the aggregates that need one.
// Values are encodings whose byte order is the SQL order.
type Trace interface {
	// Add changes how often the slot's group has the value and returns the count before and after.
	Add(slot int32, value []byte, w int64) (before, after int64, err error)
	// First returns the smallest value of the slot's group; ok is false when there is none.
	First(slot int32) (value []byte, ok bool, err error)
	// Last returns the largest.
	Last(slot int32) (value []byte, ok bool, err error)
}

// Spec says which aggregate of which column.
type Spec struct {
	Func     string      // as DuckDB binds it: count_star, count, sum, avg, min, max
	Arg      column.Type // zero for count_star
	Distinct bool
	Result   column.Type
}

// NeedsTrace reports whether the aggregate keeps its values in a trace.
func (s Spec) NeedsTrace() bool {
	return s.Func == "min" || s.Func == "max" || s.Distinct && s.Func != "count_star"
}

// OutputFallible reports whether a group's value may be one that the result type cannot hold.
func (s Spec) OutputFallible() bool {
	return s.Func == "sum" && (s.Arg.Kind == column.Decimal || s.Arg.Kind == column.HugeInt || s.Arg.Kind == column.UInt64)
}

// New returns an empty aggregate. trace is used only when NeedsTrace. The error wraps ErrUnsupported
// and names function and type.
func New(s Spec, trace Trace) (Aggregate, error) {
	inner, err := newPlain(s, trace)
	if err != nil {
		return nil, err
	}
	if s.Distinct && s.NeedsTrace() && s.Func != "min" && s.Func != "max" {
		return &distinct{Aggregate: inner, trace: trace, enc: rowkey.NewEncoder([]column.Type{s.Arg})}, nil
	}
	return inner, nil
}

func newPlain(s Spec, trace Trace) (Aggregate, error) {
	switch s.Func {
	case "count_star":
		return &count{}, nil
	case "count":
		return &count{skipNulls: true}, nil
	case "min", "max":
		return newExtreme(s.Arg, s.Func == "max", trace), nil
	case "sum", "avg":
		switch {
		case s.Arg.Floating():
			return &floatSum{arg: s.Arg, avg: s.Func == "avg"}, nil
		case s.Arg.Integer() || s.Arg.Kind == column.Bool || s.Arg.Kind == column.Decimal:
			return &intSum{arg: s.Arg, result: s.Result, avg: s.Func == "avg"}, nil
		}
	}
	return nil, fmt.Errorf("%w: %s(%s)", ErrUnsupported, s.Func, s.Arg)
}
