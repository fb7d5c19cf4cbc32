package column

import (
	"encoding/binary"
	"math/bits"
)

// NewBitmap returns a bitmap of n bits, all set when ones is true. Bits past n are 0.
func NewBitmap(n int, ones bool) []byte {
	b := make([]byte, (n+7)/8)
	if ones {
		for i := range b {
			b[i] = 0xff
		}
		if r := n & 7; r != 0 {
			b[len(b)-1] = 1<<r - 1
		}
	}
	return b
}

// SetBit sets bit i.
func SetBit(b []byte, i int) { b[i>>3] |= 1 << (i & 7) }

// ClearBit clears bit i.
func ClearBit(b []byte, i int) { b[i>>3] &^= 1 << (i & 7) }

// Bit reports whether bit i is set.
func Bit(b []byte, i int) bool { return b[i>>3]>>(i&7)&1 != 0 }

func countBits(b []byte, n int) int {
	c, full := 0, n/8
	i := 0
	for ; i+8 <= full; i += 8 {
		c += bits.OnesCount64(binary.LittleEndian.Uint64(b[i:]))
	}
	for ; i < full; i++ {
		c += bits.OnesCount8(b[i])
	}
	if r := n & 7; r != 0 {
		c += bits.OnesCount8(b[full] & (1<<r - 1))
	}
	return c
}

// And returns the bitmap of rows set in both a and b, either of which may be nil for all ones; the
// result is nil when both are. It may alias an input.
func And(a, b []byte) []byte {
	if a == nil {
		return b
	}
	if b == nil {
		return a
	}
	out := make([]byte, min(len(a), len(b)))
	for i := range out {
		out[i] = a[i] & b[i]
	}
	return out
}

// sliceBitmap copies n bits of b from lo on.
func sliceBitmap(b []byte, lo, n int) []byte {
	out := make([]byte, (n+7)/8)
	if lo&7 == 0 {
		copy(out, b[lo>>3:])
	} else {
		s := uint(lo & 7)
		for i := range out {
			j := lo>>3 + i
			v := b[j] >> s
			if j+1 < len(b) {
				v |= b[j+1] << (8 - s)
			}
			out[i] = v
		}
	}
	if r := n & 7; r != 0 {
		out[len(out)-1] &= 1<<r - 1
	}
	return out
}
