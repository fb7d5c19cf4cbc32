package agg

import (
	"encoding/binary"

	"tidemill/operators/agg/exact"
	"tidemill/state/column"
)

// floatSum is sum and avg of FLOAT and DOUBLE: the exact real number, rounded once when read. A NaN or an
// infinity among the rows is counted beside it and goes when its row is retracted.
type floatSum struct {
	n    versioned[int64] // rows that are not NULL
	cur  []exact.Sum
	prev []exact.Sum
	arg  column.Type
	avg  bool
	vals []float64 // scratch
	rows []int32   // scratch
}

func (f *floatSum) Grow(n int) {
	f.n.Grow(n)
	for len(f.cur) < n {
		f.cur, f.prev = append(f.cur, exact.Sum{}), append(f.prev, exact.Sum{})
	}
}

func (f *floatSum) Save(slots []int32) {
	f.n.Save(slots)
	for _, s := range slots {
		f.prev[s].Set(&f.cur[s])
	}
}

func (f *floatSum) Restore(slots []int32) {
	f.n.Restore(slots)
	for _, s := range slots {
		f.cur[s].Set(&f.prev[s])
	}
}

func (f *floatSum) Reset(slot int32) {
	f.n.Reset(slot)
	f.cur[slot], f.prev[slot] = exact.Sum{}, exact.Sum{}
}

func (f *floatSum) Empty(slot int32) bool { return f.n.cur[slot] == 0 && f.cur[slot].IsZero() }

func (f *floatSum) Bytes() int64 { return f.n.Bytes() + 32*int64(cap(f.cur)+cap(f.prev)) }

func (f *floatSum) Encode(dst []byte, slot int32) []byte {
	return f.cur[slot].AppendTo(binary.AppendVarint(dst, f.n.cur[slot]))
}

func (f *floatSum) Decode(slot int32, b []byte) ([]byte, error) {
	n, b, err := decodeVarint(b)
	if err != nil {
		return nil, err
	}
	s, rest, err := exact.Decode(b)
	if err != nil {
		return nil, err
	}
	f.n.cur[slot], f.n.prev[slot] = n, n
	f.cur[slot], f.prev[slot] = s, s.Clone()
	return rest, nil
}

func (f *floatSum) Add(slots []int32, arg *column.Column, w []int64) error {
	var vals []float64
	if f.arg.Kind == column.Float {
		f.vals = f.vals[:0]
		for _, v := range column.Values[float32](arg) {
			f.vals = append(f.vals, float64(v))
		}
		vals = f.vals
	} else {
		vals = column.Values[float64](arg)
	}
	if arg.Valid != nil { // a NULL takes part in nothing
		f.rows = append(f.rows[:0], slots...)
		for i := range f.rows {
			if arg.IsNull(i) {
				f.rows[i] = -1
			}
		}
		slots = f.rows
	}
	exact.AddTo(f.cur, slots, vals, w)
	n := f.n.cur
	for i, s := range slots {
		switch {
		case s < 0:
		case w == nil:
			n[s]++
		default:
			n[s] += w[i]
		}
	}
	return nil
}

func (f *floatSum) Output(slots []int32, prev bool) (column.Column, *Errors) {
	sums, ns := f.cur, f.n.at(prev)
	if prev {
		sums = f.prev
	}
	b := column.NewBuilder(column.T(column.Double), len(slots))
	for _, s := range slots {
		switch {
		case ns[s] == 0:
			b.AppendNull()
		case f.avg:
			column.Append(b, sums[s].Div(ns[s]))
		default:
			column.Append(b, sums[s].Float64())
		}
	}
	return b.Finish(), nil
}
