package agg

import (
	"fmt"

	"tidemill/state/column"
	"tidemill/state/rowkey"
)

// maxResultBytes bounds a result whose size depends on the data: beyond it the group's row is rejected.
const maxResultBytes = 16 << 20

// fold is an aggregate function of a group's rows in their order.
type fold struct {
	// args is how many arguments there are.
	args      int
	keepNulls bool // rows whose first argument is NULL count
	keyNulls  bool // rows whose first order expression is NULL count
	// distinct says that the function makes a difference between one and several equal rows; others ignore DISTINCT.
	distinct bool
	// make returns what computes the result of a slot.
	make func(m *multiset) (result, bool)
}

// result computes an encoded result; "" for that of no rows. A value that cannot be is badResult and the reason.
type result func(slot int32) (string, error)

// folds are the functions that keep the rows of a group, a file each.
var folds = map[string]fold{
	"first":        {args: 1, keepNulls: true, keyNulls: true, make: pickFirst},
	"last":         {args: 1, keepNulls: true, keyNulls: true, make: pickLast},
	"any_value":    {args: 1, keyNulls: true, make: pickFirst},
	"arg_min":      {args: 1, make: pickFirst}, // plan makes the second argument an order
	"arg_min_null": {args: 1, keepNulls: true, make: pickFirst},
	"string_agg":   {args: 1, keyNulls: true, distinct: true, make: joinTexts},
	"product":      {args: 1, keyNulls: true, distinct: true, make: multiply},
	"mode":         {args: 1, keyNulls: true, distinct: true, make: mostFrequent},
	"mad":          {args: 1, keyNulls: true, distinct: true, make: deviation},
	"entropy":      {args: 1, keyNulls: true, distinct: true, make: entropy},
}

// multiset keeps the rows of each group, counted and in order, in the trace, and beside them what the function makes
// of them, which it computes at the end of a commit for the groups that changed. A row costs a step in the trace;
// each function says what its result costs.
type multiset struct {
	shown
	spec    Spec
	f       fold
	trace   Trace
	rows    *entries
	compute result
	enc     *rowkey.Encoder // of the result
	none    string          // the result of no rows, "" for NULL

	changed []int32 // slots to settle
	marked  []bool
}

func newMultiset(s Spec, f fold, trace Trace) (Aggregate, error) {
	if len(s.Args) != f.args {
		return nil, fmt.Errorf("%w: %s", ErrUnsupported, s.Describe())
	}
	m := &multiset{spec: s, f: f, trace: trace, rows: newEntries(s.Args, s.Order), enc: rowkey.NewEncoder([]column.Type{s.Result})}
	m.spec.Distinct = s.Distinct && f.distinct
	m.rows.keyed = m.spec.Distinct
	var ok bool
	if m.compute, ok = f.make(m); !ok {
		return nil, fmt.Errorf("%w: %s", ErrUnsupported, s.Describe())
	}
	return m, nil
}

// Grow makes slots below n exist.
func (m *multiset) Grow(n int) {
	m.shown.Grow(n)
	m.marked = grown(m.marked, n)
}

// Restore undoes what happened since Save, and forgets which slots were to be settled.
func (m *multiset) Restore(slots []int32) {
	m.shown.Restore(slots)
	for _, s := range m.changed {
		m.marked[s] = false
	}
	m.changed = m.changed[:0]
}

// counts reports whether a row takes part.
func (m *multiset) counts(cols []column.Column, i int) bool {
	n := len(m.spec.Args)
	for k := range n {
		if cols[k].IsNull(i) && !(k == 0 && m.f.keepNulls) {
			return false
		}
	}
	return m.f.keyNulls || len(cols) == n || !cols[n].IsNull(i)
}

// Add puts rows into the trace.
func (m *multiset) Add(slots []int32, cols []column.Column, w []int64) error {
	for i, s := range slots {
		if s < 0 || !m.counts(cols, i) {
			continue
		}
		wt := weightOf(w, i)
		if _, _, err := m.trace.Add(s, m.rows.row(cols, i), wt); err != nil {
			return err
		}
		m.mark(s)
	}
	return nil
}

func (m *multiset) mark(s int32) {
	if !m.marked[s] {
		m.marked[s] = true
		m.changed = append(m.changed, s)
	}
}

// Settle computes the results of the groups that changed.
func (m *multiset) Settle() error {
	for _, s := range m.changed {
		m.marked[s] = false
		v, err := m.compute(s)
		if err != nil {
			return err
		}
		m.put(s, v)
	}
	m.changed = m.changed[:0]
	return nil
}

// Output returns the results of slots.
func (m *multiset) Output(slots []int32, prev bool) (column.Column, *Errors) {
	return m.results(m.spec.Result, m.enc, m.none, slots, prev)
}

// each calls fn with the encoded rows of a group, in order, and how often each counts.
func (m *multiset) each(slot int32, fn func(entry []byte, w int64) bool) error {
	return m.trace.Ascend(slot, nil, func(entry []byte, w int64) bool {
		if w <= 0 {
			return true
		}
		if m.spec.Distinct {
			w = 1
		}
		return fn(entry, w)
	})
}

// values returns the group's different arguments, in order, and how often each counts.
func (m *multiset) values(slot int32) (col column.Column, w []int64, err error) {
	out := []*column.Builder{column.NewBuilder(m.spec.Args[0], 16)}
	var derr error
	err = m.each(slot, func(entry []byte, n int64) bool {
		derr = m.rows.decode(entry, out)
		w = append(w, n)
		return derr == nil
	})
	if err == nil {
		err = derr
	}
	return out[0].Finish(), w, err
}

// argument returns an entry's only argument as a result.
func (m *multiset) argument(entry []byte) (string, error) {
	if !m.rows.keyed || !m.rows.hides() {
		return string(m.rows.argsOf(entry)), nil
	}
	b := column.NewBuilder(m.spec.Args[0], 1)
	if err := m.rows.decode(entry, []*column.Builder{b}); err != nil {
		return "", err
	}
	return m.encode(b.Finish()), nil
}

// encode returns a value as a result.
func (m *multiset) encode(v column.Column) string {
	return string(m.enc.AppendIdentity(nil, []column.Column{v}, 0))
}

// double returns a DOUBLE as a result.
func (m *multiset) double(v float64) string {
	return m.encode(column.Of(column.T(column.Double), []float64{v}, nil))
}

func bad(format string, args ...any) string {
	return string(rune(badResult)) + fmt.Sprintf(format, args...)
}
