package agg

import (
	"math"
	"sort"

	"tidemill/state/column"
)

// deviation is mad: the median of the distances from the median. Its result costs a step for each of the group's
// different values, and sorting their distances.
func deviation(m *multiset) (result, bool) {
	arg, instant := m.spec.Args[0], false
	switch arg.Kind {
	case column.Float, column.Double, column.Decimal:
		if m.spec.Result != arg {
			return nil, false
		}
	case column.Date, column.Time, column.Timestamp, column.TimestampTZ:
		if instant = true; m.spec.Result.Kind != column.Interval {
			return nil, false
		}
	default:
		return nil, false
	}
	return func(slot int32) (string, error) {
		col, w, err := m.values(slot)
		if err != nil || len(w) == 0 {
			return "", err
		}
		out := column.NewBuilder(m.spec.Result, 1)
		switch {
		case instant:
			d, ok := instantDeviation(&col, w)
			if !ok {
				return bad("mad of %s is out of range of INTERVAL", arg), nil
			}
			column.Append(out, column.IntervalValue{Days: int32(d / microsPerDay), Micros: d % microsPerDay})
		case arg.Kind == column.Double:
			column.Append(out, floatDeviation(column.Values[float64](&col), w, mix))
		case arg.Kind == column.Float:
			vals := make([]float64, col.N)
			for i, v := range column.Values[float32](&col) {
				vals[i] = float64(v)
			}
			single := func(lo, hi, part float64) float64 { return float64(mixFloats(float32(lo), float32(hi), part)) }
			column.Append(out, float32(floatDeviation(vals, w, single)))
		default:
			v, ok := decimalDeviation(&col, w)
			if !ok {
				return bad("mad of %s is out of range", arg), nil
			}
			column.Append(out, v)
		}
		return m.encode(out.Finish()), nil
	}, true
}

// middle returns the places of the two rows in the middle of n sorted ones, in a list of different values with
// their counts, and the part of the way between them: 0 or a half.
func middle(w []int64) (lo, hi int, part float64) {
	n := int64(0)
	for _, k := range w {
		n += k
	}
	find := func(rank int64) int {
		for i, k := range w {
			if rank -= k; rank < 0 {
				return i
			}
		}
		return len(w) - 1
	}
	lo, hi = find((n-1)/2), find(n/2)
	if n%2 == 0 {
		part = 0.5
	}
	return lo, hi, part
}

// sorted orders distances with their counts.
func sorted[T any](d []T, w []int64, less func(a, b T) bool) {
	at := make([]int, len(d))
	for i := range at {
		at[i] = i
	}
	sort.Slice(at, func(i, k int) bool { return less(d[at[i]], d[at[k]]) })
	d2, w2 := make([]T, len(d)), make([]int64, len(d))
	for i, k := range at {
		d2[i], w2[i] = d[k], w[k]
	}
	copy(d, d2)
	copy(w, w2)
}

func floatDeviation(vals []float64, w []int64, mix func(lo, hi, part float64) float64) float64 {
	lo, hi, part := middle(w)
	median := mix(vals[lo], vals[hi], part)
	d := make([]float64, len(vals))
	for i, v := range vals {
		d[i] = math.Abs(v - median)
	}
	sorted(d, w, func(a, b float64) bool { return a < b || math.IsNaN(b) && !math.IsNaN(a) })
	lo, hi, part = middle(w)
	return mix(d[lo], d[hi], part)
}

func instantDeviation(c *column.Column, w []int64) (int64, bool) {
	vals := make([]int64, c.N)
	if c.Type.Kind == column.Date {
		for i, v := range column.Values[int32](c) {
			vals[i] = microsOf(v)
		}
	} else {
		copy(vals, column.Values[int64](c))
	}
	lo, hi, part := middle(w)
	median := betweenInstants(vals[lo], vals[hi], part)
	d := make([]int64, len(vals))
	for i, v := range vals {
		d[i] = v - median
		if (v > median) != (d[i] > 0) || d[i] == math.MinInt64 {
			return 0, false
		}
		d[i] = max(d[i], -d[i])
	}
	sorted(d, w, func(a, b int64) bool { return a < b })
	lo, hi, part = middle(w)
	return betweenInstants(d[lo], d[hi], part), true
}

func decimalDeviation(c *column.Column, w []int64) (column.Int128, bool) {
	lo, hi, part := middle(w)
	pick := func(c *column.Column, lo, hi int, part float64) column.Int128 {
		two := c.Gather([]int32{int32(lo), int32(hi)})
		return betweenDecimals(&two, part)
	}
	median := bigOf(pick(c, lo, hi, part))
	d := make([]column.Int128, c.N)
	for i, v := range column.Values[column.Int128](c) {
		x := bigOf(v)
		x.Abs(x.Sub(x, median))
		if x.Cmp(pow10[c.Type.Width]) >= 0 {
			return column.Int128{}, false
		}
		d[i] = int128OfBig(x)
	}
	sorted(d, w, func(a, b column.Int128) bool { return a.Cmp(b) < 0 })
	lo, hi, part = middle(w)
	col := column.Of(c.Type, d, nil)
	return pick(&col, lo, hi, part), true
}
