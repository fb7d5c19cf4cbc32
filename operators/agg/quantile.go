package agg

import (
	"encoding/binary"
	"math"
	"math/big"
	"slices"

	"tidemill/state/column"
	"tidemill/state/rowkey"
)

// Quantile is a fraction between 0 and 1 as it was written: a DECIMAL's digits and scale, or a DOUBLE.
type Quantile struct {
	Digits int64   `json:"d,omitempty"`
	Scale  int     `json:"s,omitempty"`
	Float  float64 `json:"f"`
	Exact  bool    `json:"x,omitempty"` // Digits and Scale say it
}

// discrete returns the place of the quantile among n sorted rows, from 0.
func (q Quantile) discrete(n int64) int64 {
	var below int64
	if q.Exact {
		scaling := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(q.Scale)), nil)
		rest := new(big.Int).Sub(scaling, big.NewInt(q.Digits))
		below = rest.Quo(rest.Mul(rest, big.NewInt(n)), scaling).Int64()
	} else {
		below = int64(math.Floor(float64(n) - float64(n)*q.Float))
	}
	return max(1, n-below) - 1
}

// quantile is quantile_disc, quantile_cont and median, of one fraction or several. For each fraction it keeps
// a place in the group's sorted values and how many rows are below it, so that a result costs as many steps in the
// trace as rows of the group have come or gone in the commit.
type quantile struct {
	*multiset
	v    []pair[*places]
	cont bool
	qs   []Quantile
}

// places is immutable once a commit has ended: a change makes a copy.
type places struct {
	n  int64
	at []place
}

// place is a value, encoded, and the number of rows below it; it need not be there any more until Settle.
type place struct {
	value string
	below int64
}

func newQuantile(s Spec, trace Trace) Aggregate {
	q := &quantile{cont: s.Func != "quantile_disc", qs: s.Params.Quantiles}
	arg := s.Args[0]
	if arg.Kind == column.TimeTZ || arg.Kind == column.UHugeInt && q.cont {
		return nil // DuckDB interpolates between them in ways of its own
	}
	if s.Func == "median" && s.Result == arg && !interpolates(arg) {
		q.cont = false
	}
	result := s.Result
	if q.cont && !interpolated(arg, result) || !q.cont && result != arg || len(q.qs) == 0 {
		return nil
	}
	m := &multiset{spec: s, trace: trace, rows: newEntries(s.Args, nil), enc: rowkey.NewEncoder([]column.Type{s.Result})}
	m.rows.keyed = s.Distinct
	q.multiset = m
	return q
}

// interpolates reports whether there are values between two of the type.
func interpolates(t column.Type) bool {
	return t.Integer() || t.Floating() || t.Kind == column.Decimal || t.Kind == column.Date || t.Kind >= column.Time && t.Kind <= column.TimestampTZ
}

// interpolated reports whether values between two of type arg are of type result.
func interpolated(arg, result column.Type) bool {
	switch {
	case arg.Integer():
		return result.Kind == column.Double
	case arg.Kind == column.Date:
		return result.Kind == column.Timestamp
	}
	return interpolates(arg) && arg == result
}

// Grow makes slots below n exist.
func (q *quantile) Grow(n int) {
	q.multiset.Grow(n)
	q.v = grown(q.v, n)
}

// Save copies current values to previous ones.
func (q *quantile) Save(slots []int32) {
	q.multiset.Save(slots)
	for _, s := range slots {
		q.v[s].prev = q.v[s].cur
	}
}

// Restore undoes what happened since Save.
func (q *quantile) Restore(slots []int32) {
	q.multiset.Restore(slots)
	for _, s := range slots {
		q.v[s].cur = q.v[s].prev
	}
}

// Reset empties a slot.
func (q *quantile) Reset(slot int32) {
	q.multiset.Reset(slot)
	q.v[slot] = pair[*places]{}
}

// Empty reports whether the group has no value.
func (q *quantile) Empty(slot int32) bool { return q.v[slot].cur == nil }

// Bytes returns the memory of all slots: places are about as long as results.
func (q *quantile) Bytes() int64 {
	return q.multiset.Bytes() + 16*int64(cap(q.v)) + int64(len(q.qs))*(q.text+int64(24*cap(q.v)))
}

// Encode appends the result, the number of rows and the places.
func (q *quantile) Encode(dst []byte, slot int32) []byte {
	dst = q.multiset.Encode(dst, slot)
	p := q.v[slot].cur
	if p == nil {
		return binary.AppendVarint(dst, 0)
	}
	dst = binary.AppendVarint(dst, p.n)
	for _, at := range p.at {
		dst = binary.AppendVarint(dst, at.below)
		dst = append(binary.AppendUvarint(dst, uint64(len(at.value))), at.value...)
	}
	return dst
}

// Decode reads what Encode wrote.
func (q *quantile) Decode(slot int32, b []byte) ([]byte, error) {
	b, err := q.multiset.Decode(slot, b)
	if err != nil {
		return nil, err
	}
	n, b, err := decodeVarint(b)
	if err != nil || n == 0 {
		q.v[slot] = pair[*places]{}
		return b, err
	}
	p := &places{n: n}
	for range q.qs {
		var at place
		if at.below, b, err = decodeVarint(b); err != nil {
			return nil, err
		}
		size, k := binary.Uvarint(b)
		if k <= 0 || size > uint64(len(b)-k) {
			return nil, errShort
		}
		at.value = string(b[k : k+int(size)])
		b = b[k+int(size):]
		p.at = append(p.at, at)
	}
	q.v[slot] = pair[*places]{p, p}
	return b, nil
}

// own returns the places of a slot, to be changed.
func (q *quantile) own(slot int32) *places {
	v := &q.v[slot]
	switch {
	case v.cur == nil:
		v.cur = &places{at: make([]place, len(q.qs))}
	case v.cur == v.prev:
		v.cur = &places{v.cur.n, slices.Clone(v.cur.at)}
	}
	return v.cur
}

// Add puts rows into the trace and notes on which side of each place they are.
func (q *quantile) Add(slots []int32, cols []column.Column, w []int64) error {
	for i, s := range slots {
		if s < 0 || cols[0].IsNull(i) {
			continue
		}
		wt := weightOf(w, i)
		value := q.rows.row(cols, i)
		before, after, err := q.trace.Add(s, value, wt)
		if err != nil {
			return err
		}
		if q.spec.Distinct {
			wt = sign(after) - sign(before)
		}
		p := q.own(s)
		p.n += wt
		for k := range p.at {
			if string(value) < p.at[k].value {
				p.at[k].below += wt
			}
		}
		q.mark(s)
	}
	return nil
}

// sign is 1 for a count of rows that are there.
func sign(n int64) int64 {
	if n > 0 {
		return 1
	}
	return 0
}

// Settle moves the places of the groups that changed and computes their results.
func (q *quantile) Settle() error {
	for _, s := range q.changed {
		q.marked[s] = false
		p := q.own(s)
		if p.n == 0 {
			q.v[s].cur = nil
			q.put(s, "")
			continue
		}
		v, err := q.settle(s, p)
		if err != nil {
			return err
		}
		q.put(s, v)
	}
	q.changed = q.changed[:0]
	return nil
}

func (q *quantile) settle(slot int32, p *places) (string, error) {
	out := column.NewBuilder(q.spec.Result, len(q.qs))
	for k, f := range q.qs {
		lo, hi, part := q.ranks(f, p.n)
		pair, err := q.seek(slot, &p.at[k], min(lo, hi), max(lo, hi))
		if err != nil {
			return "", err
		}
		if lo > hi {
			pair[0], pair[1] = pair[1], pair[0]
		}
		if err := q.value(out, pair, lo == hi, part); err != nil {
			return "", err
		}
	}
	return q.encode(out.Finish()), nil
}

// ranks returns the places, from 0, of the two rows that the quantile lies between, and which part of the way from the
// first to the second.
func (q *quantile) ranks(f Quantile, n int64) (lo, hi int64, part float64) {
	if q.cont {
		at := float64(n-1) * f.Float
		lo, hi = int64(math.Floor(at)), int64(math.Ceil(at))
		part = at - math.Floor(at)
	} else {
		lo = f.discrete(n)
		hi = lo
	}
	if q.spec.Params.Desc {
		lo, hi = n-1-lo, n-1-hi
	}
	return lo, hi, part
}

// seek moves a place to the row of rank lo and returns the encoded values of the ranks lo and hi, which is lo or the next.
func (q *quantile) seek(slot int32, at *place, lo, hi int64) (found [2]string, err error) {
	if lo < at.below {
		err = q.trace.Descend(slot, []byte(at.value), func(value []byte, w int64) bool {
			at.below -= q.weight(w)
			if lo >= at.below {
				at.value = string(value)
				return false
			}
			return true
		})
		if err != nil {
			return found, err
		}
	}
	below, ok := at.below, false
	err = q.trace.Ascend(slot, []byte(at.value), func(value []byte, w int64) bool {
		end := below + q.weight(w)
		if !ok && lo < end {
			at.value, at.below, ok = string(value), below, true
			found[0] = at.value
		}
		if ok && hi < end {
			found[1] = string(value)
			return false
		}
		below = end
		return true
	})
	return found, err
}

func (q *quantile) weight(w int64) int64 {
	if q.spec.Distinct {
		return sign(w)
	}
	return max(w, 0)
}
