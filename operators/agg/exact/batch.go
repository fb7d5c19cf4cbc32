package exact

import (
	"math"
	"math/bits"
)

const (
	// touchSums is the number of sums from which a batch is touched ahead:
	// 512 KiB of them, about where a core's own cache ends.
	touchSums = 1 << 14
	// touchRows is the number of rows touched ahead: their sums fill a quarter
	// of a first-level cache at the most.
	touchRows = 128
)

// AddTo adds vals[i] with weight weights[i] to sums[slots[i]], for a batch
// whose rows have been given the slots of their groups. Nil weights are all 1.
// A row with a negative slot is skipped, which is how a NULL is left out.
//
// It panics if slots or weights are shorter than vals, or a slot is beyond sums;
// the rows before that slot may have been added.
//
// The loops repeat [Sum.Add] because the compiler does not inline it: the call
// would be a good part of the cost of a row. With many groups that cost is
// waiting for memory, and a row has so many instructions that a core sees only
// a few rows ahead; so a block's sums are read first in a loop of their own,
// where the waits overlap.
func AddTo(sums []Sum, slots []int32, vals []float64, weights []int64) {
	slots = slots[:len(vals)]
	if weights != nil {
		weights = weights[:len(vals)]
	}
	block := len(vals)
	if len(sums) >= touchSums {
		block = touchRows
	}
	for len(vals) > 0 {
		n := min(block, len(vals))
		if len(sums) >= touchSums {
			touch(sums, slots[:n])
		}
		if weights == nil {
			addOnes(sums, slots[:n], vals[:n])
		} else {
			addWeighted(sums, slots[:n], vals[:n], weights[:n])
			weights = weights[n:]
		}
		slots, vals = slots[n:], vals[n:]
	}
}

// touch brings the sums of slots into the cache. Its result is only there for
// the reads to be kept.
//
//go:noinline
func touch(sums []Sum, slots []int32) (scales uint16) {
	for _, slot := range slots {
		if uint(slot) < uint(len(sums)) {
			scales |= sums[slot].scale
		}
	}
	return scales
}

// addWeighted is AddTo with weights for every row.
func addWeighted(sums []Sum, slots []int32, vals []float64, weights []int64) {
	slots, weights = slots[:len(vals)], weights[:len(vals)]
	for i, v := range vals {
		slot := slots[i]
		if slot < 0 {
			continue
		}
		s, w := &sums[slot], weights[i]
		b := math.Float64bits(v)
		shift := uint(b>>52&exponentMax) + scaleBias - uint(s.scale)
		if shift >= 64 || (w+1)&^2 != 0 {
			s.addSlow(v, w)
			continue
		}
		m := b&fractionMask | hiddenBit
		neg := uint64((int64(b) ^ w) >> 63)
		addHi := m>>1>>(^shift&63) ^ neg
		lo, carry := bits.Add64(s.lo, m<<(shift&63)^neg, neg&1)
		hi, _ := bits.Add64(s.hi, addHi, carry)
		if int64((hi^s.hi)&(hi^addHi)) < 0 {
			s.addSlow(v, w)
			continue
		}
		s.hi, s.lo = hi, lo
	}
}

// addOnes is AddTo with all weights 1.
func addOnes(sums []Sum, slots []int32, vals []float64) {
	slots = slots[:len(vals)]
	for i, v := range vals {
		slot := slots[i]
		if slot < 0 {
			continue
		}
		s := &sums[slot]
		b := math.Float64bits(v)
		shift := uint(b>>52&exponentMax) + scaleBias - uint(s.scale)
		if shift >= 64 {
			s.addSlow(v, 1)
			continue
		}
		m := b&fractionMask | hiddenBit
		neg := uint64(int64(b) >> 63)
		addHi := m>>1>>(^shift&63) ^ neg
		lo, carry := bits.Add64(s.lo, m<<(shift&63)^neg, neg&1)
		hi, _ := bits.Add64(s.hi, addHi, carry)
		if int64((hi^s.hi)&(hi^addHi)) < 0 {
			s.addSlow(v, 1)
			continue
		}
		s.hi, s.lo = hi, lo
	}
}

// AddMany adds vals[i] with weight weights[i], for an aggregate with one group.
// Nil weights are all 1. It panics if weights are shorter than vals.
func (s *Sum) AddMany(vals []float64, weights []int64) {
	if weights == nil {
		for _, v := range vals {
			s.Add(v, 1)
		}
		return
	}
	weights = weights[:len(vals)]
	for i, v := range vals {
		s.Add(v, weights[i])
	}
}
