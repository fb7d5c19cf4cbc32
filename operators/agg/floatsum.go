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
	sums []exact.Sum      // the current one of slot s at 2s, the previous one behind it
	arg  column.Type
	avg  bool
	vals []float64 // scratch
	rows []int32   // scratch
}

// sum returns the place of a slot's sum.
func (f *floatSum) sum(slot int32, prev bool) *exact.Sum {
	if prev {
		return &f.sums[2*slot+1]
	}
	return &f.sums[2*slot]
}

func (f *floatSum) Grow(n int) {
	f.n.Grow(n)
	f.sums = grown(f.sums, 2*n)
}

func (f *floatSum) Save(slots []int32) {
	f.n.Save(slots)
	for _, s := range slots {
		f.sums[2*s+1].Set(&f.sums[2*s])
	}
}

func (f *floatSum) Restore(slots []int32) {
	f.n.Restore(slots)
	for _, s := range slots {
		f.sums[2*s].Set(&f.sums[2*s+1])
	}
}

func (f *floatSum) Reset(slot int32) {
	f.n.Reset(slot)
	f.sums[2*slot], f.sums[2*slot+1] = exact.Sum{}, exact.Sum{}
}

func (f *floatSum) Empty(slot int32) bool { return f.n.v[slot].cur == 0 && f.sums[2*slot].IsZero() }

func (f *floatSum) Bytes() int64 { return f.n.Bytes() + 32*int64(cap(f.sums)) }

func (f *floatSum) Encode(dst []byte, slot int32) []byte {
	return f.sums[2*slot].AppendTo(binary.AppendVarint(dst, f.n.v[slot].cur))
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
	f.n.set(slot, n)
	f.sums[2*slot], f.sums[2*slot+1] = s, s.Clone()
	return rest, nil
}

func (f *floatSum) Add(slots []int32, args []column.Column, w []int64) error {
	arg := &args[0]
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
	if cap(f.rows) < len(slots) {
		f.rows = make([]int32, len(slots))
	}
	rows := f.rows[:len(slots)]
	n := f.n.v
	for i, s := range slots {
		if s < 0 || arg.Valid != nil && arg.IsNull(i) { // a NULL takes part in nothing
			rows[i] = -1
			continue
		}
		rows[i] = 2 * s
		if w == nil {
			n[s].cur++
		} else {
			n[s].cur += w[i]
		}
	}
	exact.AddTo(f.sums, rows, vals, w)
	return nil
}

func (f *floatSum) Output(slots []int32, prev bool) (column.Column, *Errors) {
	b := column.NewBuilder(column.T(column.Double), len(slots))
	for _, s := range slots {
		n, sum := *f.n.at(s, prev), f.sum(s, prev)
		switch {
		case n == 0:
			b.AppendNull()
		case f.avg:
			column.Append(b, sum.Div(n))
		default:
			column.Append(b, sum.Float64())
		}
	}
	return b.Finish(), nil
}
