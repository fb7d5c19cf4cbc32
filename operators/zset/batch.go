// Package zset holds deltas: rows with integer weights, in columns.
//
// A Batch is a Z-set written as a list: the same row may stand in it more than once, and its weight
// is then the sum. Consolidate makes the list canonical. Batches are immutable once handed on; they
// share columns freely and nobody releases anything (see package column).
package zset

import (
	"math"

	"tidemill/state/column"
)

// Batch is N rows over Cols, each with a weight: +1 inserted, -1 retracted.
type Batch struct {
	Cols []column.Column
	N    int
	// W has a weight per row. A nil W means that every weight is +1.
	W []int64
}

// Weight returns the weight of row i.
func (b *Batch) Weight(i int) int64 {
	if b.W == nil {
		return 1
	}
	return b.W[i]
}

// Gather returns the rows at sel with their weights.
func (b *Batch) Gather(sel []int32) *Batch {
	out := &Batch{Cols: make([]column.Column, len(b.Cols)), N: len(sel)}
	for i := range b.Cols {
		out.Cols[i] = b.Cols[i].Gather(sel)
	}
	if b.W != nil {
		out.W = make([]int64, len(sel))
		for k, i := range sel {
			out.W[k] = b.W[i]
		}
	}
	return out
}

// Slice returns rows lo to hi, not included.
func (b *Batch) Slice(lo, hi int) *Batch {
	if lo == 0 && hi == b.N {
		return b
	}
	out := &Batch{Cols: make([]column.Column, len(b.Cols)), N: hi - lo}
	for i := range b.Cols {
		out.Cols[i] = b.Cols[i].Slice(lo, hi)
	}
	if b.W != nil {
		out.W = b.W[lo:hi]
	}
	return out
}

// Negate returns the batch with every weight's sign turned.
func (b *Batch) Negate() *Batch {
	w := make([]int64, b.N)
	for i := range w {
		w[i] = -b.Weight(i)
		if w[i] == math.MinInt64 {
			panic("zset: weight -2^63 has no negation")
		}
	}
	return &Batch{Cols: b.Cols, N: b.N, W: w}
}

// Concat returns the rows of all batches, which must have the same types, in order. Nil and empty
// batches are skipped; the result is nil when nothing is left, and the one batch itself when only
// one is.
func Concat(bs ...*Batch) *Batch {
	kept := make([]*Batch, 0, len(bs))
	n, weighted := 0, false
	for _, b := range bs {
		if b != nil && b.N > 0 {
			kept = append(kept, b)
			n += b.N
			weighted = weighted || b.W != nil
		}
	}
	switch len(kept) {
	case 0:
		return nil
	case 1:
		return kept[0]
	}
	out := &Batch{Cols: make([]column.Column, len(kept[0].Cols)), N: n}
	parts := make([]*column.Column, len(kept))
	for c := range out.Cols {
		for i, b := range kept {
			parts[i] = &b.Cols[c]
		}
		out.Cols[c] = column.Concat(kept[0].Cols[c].Type, parts...)
	}
	if weighted {
		out.W = make([]int64, 0, n)
		for _, b := range kept {
			for i := range b.N {
				out.W = append(out.W, b.Weight(i))
			}
		}
	}
	return out
}

// Size returns the bytes that the batch's buffers span.
func (b *Batch) Size() int {
	n := 8 * len(b.W)
	for i := range b.Cols {
		n += b.Cols[i].Size()
	}
	return n
}
