// Package zsettest helps tests of code that makes deltas: random batches, printing, and an integral
// that fails on a negative weight. It is for tests only.
package zsettest

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"tidemill/operators/zset"
	"tidemill/state/column"
	"tidemill/state/column/columntest"
)

// Random returns n random rows of these types with weights from -2 to 2, zeros among them. Its
// values repeat.
func Random(r *rand.Rand, types []column.Type, n int) *zset.Batch {
	few := columntest.Columns(r, types, 1+n/3)
	sel, b := make([]int32, n), &zset.Batch{N: n, W: make([]int64, n)}
	for i := range sel {
		sel[i] = int32(r.IntN(few[0].N))
		b.W[i] = int64(r.IntN(5) - 2)
	}
	for i := range few {
		b.Cols = append(b.Cols, few[i].Gather(sel))
	}
	return b
}

// Row returns row i of b as text, such as (1, NULL, tide).
func Row(b *zset.Batch, i int) string {
	out := []byte{'('}
	for k := range b.Cols {
		if k > 0 {
			out = append(out, ", "...)
		}
		out = column.AppendText(out, &b.Cols[k], i)
	}
	return string(append(out, ')'))
}

// Format returns the consolidated rows of b with their weights, sorted by their text, a line each.
func Format(b *zset.Batch) string {
	b = zset.Consolidate(b)
	if b == nil {
		return ""
	}
	lines := make([]string, b.N)
	for i := range lines {
		lines[i] = fmt.Sprintf("%s %+d\n", Row(b, i), b.Weight(i))
	}
	slices.Sort(lines)
	return strings.Join(lines, "")
}

// Integral is the sum of the deltas added to it. The zero value is empty and ready.
type Integral struct{ sum *zset.Batch }

// Add adds a delta, nil for none, and returns an error that lists the rows whose weight is negative
// afterwards: SQL's relations have none.
func (in *Integral) Add(delta *zset.Batch) error {
	in.sum = zset.Consolidate(zset.Concat(in.sum, delta))
	if in.sum == nil {
		return nil
	}
	var bad []string
	for i := range in.sum.N {
		if w := in.sum.Weight(i); w < 0 {
			bad = append(bad, fmt.Sprintf("%s has weight %d", Row(in.sum, i), w))
		}
	}
	if len(bad) > 0 {
		return fmt.Errorf("integral is not a relation: %s", strings.Join(bad, "; "))
	}
	return nil
}

// Batch returns the consolidated sum, nil when it is empty.
func (in *Integral) Batch() *zset.Batch { return in.sum }
