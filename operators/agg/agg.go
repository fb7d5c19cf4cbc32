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
	"strings"

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

	// Add adds row i of args, with weight w[i] (1 when w is nil), to slots[i]; rows with a negative slot
	// are left out. args are the columns of Spec.Args and, behind them, those of Spec.Order; none for an
	// aggregate without argument. NULLs are ignored as SQL ignores them.
	Add(slots []int32, args []column.Column, w []int64) error
	// Output returns the aggregate of each slot, of the previous version when prev is set. Rows for
	// which the value cannot be represented are NULL and have a reason.
	Output(slots []int32, prev bool) (column.Column, *Errors)
}

// Settler is an Aggregate that has work left at the end of a commit's input: Settle comes after the last Add and
// before the first Output.
type Settler interface {
	Settle() error
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
// Values are encodings whose byte order is the SQL order; none is the beginning of another.
type Trace interface {
	// Add changes how often the slot's group has the value and returns the count before and after.
	Add(slot int32, value []byte, w int64) (before, after int64, err error)
	// First returns the smallest value of the slot's group; ok is false when there is none.
	First(slot int32) (value []byte, ok bool, err error)
	// Last returns the largest.
	Last(slot int32) (value []byte, ok bool, err error)
	// Ascend calls fn with the values of the slot's group from the given one on, or from the smallest when it is nil,
	// until fn returns false. The value is valid only during the call.
	Ascend(slot int32, from []byte, fn func(value []byte, w int64) bool) error
	// Descend calls fn with the values below the given one, or from the largest when it is nil, downwards.
	Descend(slot int32, below []byte, fn func(value []byte, w int64) bool) error
}

// Order is one expression of an aggregate's ORDER BY.
type Order struct {
	Type       column.Type
	Desc       bool
	NullsFirst bool
}

// Spec says which aggregate of which columns.
type Spec struct {
	Func     string        // as package plan names it
	Args     []column.Type // none for count_star
	Order    []Order       // of the columns behind the arguments
	Distinct bool
	Result   column.Type
	Params   Params
}

// Params are the constants that some functions take.
type Params struct {
	Separator string     // string_agg
	Quantiles []Quantile // quantile_cont, quantile_disc, median
	Desc      bool       // quantiles from the largest
	List      bool       // the result is a list of all Quantiles
}

// arg is the type of the only argument.
func (s Spec) arg() column.Type {
	if len(s.Args) == 0 {
		return column.Type{}
	}
	return s.Args[0]
}

// NeedsTrace reports whether the aggregate keeps its values in a trace.
func (s Spec) NeedsTrace() bool {
	if s.Func == "min" || s.Func == "max" || s.Distinct && s.Func != "count_star" {
		return true
	}
	_, ok := folds[s.Func]
	return ok || isQuantile(s.Func)
}

func isQuantile(fn string) bool {
	return fn == "quantile_cont" || fn == "quantile_disc" || fn == "median"
}

// OutputFallible reports whether a group's value may be one that the result type cannot hold.
func (s Spec) OutputFallible() bool {
	switch s.Func {
	case "sum":
		k := s.arg().Kind
		return k == column.Decimal || k == column.HugeInt || k == column.UInt64
	case "avg":
		return s.arg().Kind == column.Interval
	case "string_agg", "list", "mad":
		return true
	}
	return moments[s.Func].fallible
}

// New returns an empty aggregate. trace is used only when NeedsTrace. The error wraps ErrUnsupported
// and names function and types.
func New(s Spec, trace Trace) (Aggregate, error) {
	if f, ok := folds[s.Func]; ok {
		return newMultiset(s, f, trace)
	}
	inner := newPlain(s, trace)
	if isQuantile(s.Func) && len(s.Args) == 1 {
		if q := newQuantile(s, trace); q != nil {
			return q, nil
		}
	}
	if inner == nil {
		return nil, fmt.Errorf("%w: %s", ErrUnsupported, s.Describe())
	}
	if s.Distinct && s.NeedsTrace() && s.Func != "min" && s.Func != "max" {
		return &distinct{Aggregate: inner, trace: trace, enc: rowkey.NewEncoder(s.Args)}, nil
	}
	return inner, nil
}

// Describe names the function and the types of its arguments.
func (s Spec) Describe() string {
	names := make([]string, len(s.Args))
	for i, t := range s.Args {
		names[i] = t.String()
	}
	return s.Func + "(" + strings.Join(names, ", ") + ")"
}

// newPlain returns an aggregate that keeps no multiset, or an extreme; nil when there is none.
func newPlain(s Spec, trace Trace) Aggregate {
	t := s.arg()
	number := t.Integer() || t.Kind == column.Bool || t.Kind == column.Decimal
	switch s.Func {
	case "count_star":
		return &count{}
	case "count":
		return &count{skipNulls: true}
	case "regr_count":
		return &count{skipNulls: true, result: s.Result}
	case "min", "max":
		return newExtreme(t, s.Func == "max", trace)
	case "bool_and", "bool_or":
		if t.Kind == column.Bool {
			return &boolean{or: s.Func == "bool_or"}
		}
	case "bit_and", "bit_or", "bit_xor":
		if t.Integer() {
			return newBitCounts(s)
		}
	}
	if s.Func == "sum" || s.Func == "avg" {
		switch {
		case t.Floating():
			return &floatSum{arg: t, avg: s.Func == "avg"}
		case number:
			return &intSum{arg: t, result: s.Result, avg: s.Func == "avg"}
		case s.Func == "avg" && t.Kind == column.Interval:
			return &intervalAvg{}
		case s.Func == "avg" && (t.Kind == column.Time || t.Kind == column.Timestamp || t.Kind == column.TimestampTZ) && s.Result == t:
			return &timeAvg{typ: t}
		}
	}
	if m, ok := moments[s.Func]; ok && len(s.Args) == m.args {
		for _, a := range s.Args {
			if a.Kind != column.Double {
				return nil
			}
		}
		return newMoment(s.Func, m)
	}
	return nil
}
