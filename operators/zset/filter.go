package zset

import (
	"encoding/binary"
	"math/bits"
)

// Filter returns the rows whose bit in keep is set (least significant first, as a Column's validity),
// with their weights and in their order. The result is nil when none is, and b itself when all are or
// when keep is nil.
func (b *Batch) Filter(keep []byte) *Batch {
	if keep == nil {
		return b
	}
	sel := Selected(keep, b.N)
	switch len(sel) {
	case 0:
		return nil
	case b.N:
		return b
	}
	return b.Gather(sel)
}

// Selected returns the numbers of the bits among the first n of keep that are set.
func Selected(keep []byte, n int) []int32 {
	sel := make([]int32, 0, n)
	i := 0
	for ; i+64 <= n; i += 64 {
		for w := binary.LittleEndian.Uint64(keep[i>>3:]); w != 0; w &= w - 1 {
			sel = append(sel, int32(i+bits.TrailingZeros64(w)))
		}
	}
	for ; i < n; i++ {
		if keep[i>>3]>>(i&7)&1 != 0 {
			sel = append(sel, int32(i))
		}
	}
	return sel
}
