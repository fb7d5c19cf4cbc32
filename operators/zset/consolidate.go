package zset

import (
	"bytes"
	"fmt"
	"hash/maphash"
	"math/bits"

	"tidemill/state/column"
)

// Consolidate returns b with one row for each distinct identity (every bit counts: 0.0 and -0.0 are
// two rows), carrying the sum of its weights. Rows whose weights sum to zero are gone. The rows stand in the
// order of first appearance. The result is nil when no row is left, and b itself when b is
// consolidated already; else its rows are copied. It panics when a sum passes 64 bits: weights are
// bounded where they are made.
//
//	a +1, b +1, a -1, b +2   becomes   b +3
func Consolidate(b *Batch) *Batch {
	if b == nil || b.N == 0 {
		return nil
	}
	if b.N == 1 {
		if b.Weight(0) == 0 {
			return nil
		}
		return b
	}
	first, weights := group(b)
	kept := first[:0]
	unit := true
	for g, w := range weights {
		if w == 0 {
			continue
		}
		unit = unit && w == 1
		weights[len(kept)] = w
		kept = append(kept, first[g])
	}
	switch len(kept) {
	case 0:
		return nil
	case b.N:
		return b
	}
	out := (&Batch{Cols: b.Cols, N: b.N}).Gather(kept)
	if !unit {
		out.W = weights[:len(kept)]
	}
	return out
}

// group numbers the distinct rows of b in order of first appearance and returns, for each, that
// first row and the sum of the weights.
func group(b *Batch) (first []int32, weights []int64) {
	hashes := hashRows(b)
	size := 1 << bits.Len(uint(b.N*2-1))
	slots, mask := make([]int32, size), uint64(size-1) // group number + 1
	first, weights = make([]int32, 0, b.N), make([]int64, 0, b.N)
	same := sameRow(b.Cols)
	for row, h := range hashes {
		for at := h & mask; ; at = (at + 1) & mask {
			g := slots[at] - 1
			if g < 0 {
				slots[at] = int32(len(first)) + 1
				first, weights = append(first, int32(row)), append(weights, b.Weight(row))
				break
			}
			if other := first[g]; hashes[other] == h && same(int(other), row) {
				weights[g] = addWeights(weights[g], b.Weight(row))
				break
			}
		}
	}
	return first, weights
}

func addWeights(a, b int64) int64 {
	sum := a + b
	if (a^sum)&(b^sum) < 0 {
		panic(fmt.Sprintf("zset: weights %d and %d overflow", a, b))
	}
	return sum
}

// Seeds of the process: who sends rows cannot make them collide. No result depends on them.
var (
	textSeed = maphash.MakeSeed()
	seed     = maphash.Bytes(textSeed, []byte("seed"))
)

const nullHash = 0x9e3779b97f4a7c15

func mix(h, v uint64) uint64 {
	hi, lo := bits.Mul64(h^v^0xa0761d6478bd642f, seed|1)
	return hi ^ lo ^ h<<32
}

// hashRows hashes the bits of every row, column by column.
func hashRows(b *Batch) []uint64 {
	hashes := make([]uint64, b.N)
	for i := range hashes {
		hashes[i] = seed
	}
	for i := range b.Cols {
		c := &b.Cols[i]
		switch c.Type.Size() {
		case 0:
			for row := range hashes {
				v := uint64(nullHash)
				if !c.IsNull(row) {
					v = maphash.Bytes(textSeed, c.Raw(row))
				}
				hashes[row] = mix(hashes[row], v)
			}
		case 1:
			hashFixed[uint8](c, hashes)
		case 2:
			hashFixed[uint16](c, hashes)
		case 4:
			hashFixed[uint32](c, hashes)
		case 8:
			hashFixed[uint64](c, hashes)
		default:
			for row, v := range column.Values[column.Int128](c) {
				if c.IsNull(row) {
					v = column.Int128{Lo: nullHash}
				}
				hashes[row] = mix(mix(hashes[row], v.Lo), uint64(v.Hi))
			}
		}
	}
	return hashes
}

func hashFixed[V uint8 | uint16 | uint32 | uint64](c *column.Column, hashes []uint64) {
	vals := column.Values[V](c)
	if c.Valid == nil {
		for row, v := range vals {
			hashes[row] = mix(hashes[row], uint64(v))
		}
		return
	}
	for row, v := range vals {
		x := uint64(v)
		if c.IsNull(row) {
			x = nullHash
		}
		hashes[row] = mix(hashes[row], x)
	}
}

// sameRow returns the test of whether two rows of cols are equal bit for bit.
func sameRow(cols []column.Column) func(i, j int) bool {
	if len(cols) == 1 && cols[0].Valid == nil && cols[0].Type.Size() == 8 {
		vals := column.Values[uint64](&cols[0])
		return func(i, j int) bool { return vals[i] == vals[j] }
	}
	return func(i, j int) bool {
		for k := range cols {
			c := &cols[k]
			if c.Valid != nil {
				null := c.IsNull(i)
				if null != c.IsNull(j) {
					return false
				}
				if null {
					continue
				}
			}
			if !bytes.Equal(c.Raw(i), c.Raw(j)) {
				return false
			}
		}
		return true
	}
}

// Equal reports whether a and b are the same Z-set: the same rows, bit for bit, with the same
// weights, however they are listed. Nil is the empty one, and empty ones are equal whatever their
// columns.
func Equal(a, b *Batch) bool {
	a, b = Consolidate(a), Consolidate(b)
	if a == nil || b == nil {
		return a == b
	}
	if a.N != b.N || len(a.Cols) != len(b.Cols) {
		return false
	}
	for i := range a.Cols {
		if a.Cols[i].Type != b.Cols[i].Type {
			return false
		}
	}
	return Consolidate(Concat(a, b.Negate())) == nil
}
