package exact

import "math/bits"

// uint128 is the magnitude hi*2^64 + lo.
type uint128 struct{ hi, lo uint64 }

// isZero reports whether u is 0.
func (u uint128) isZero() bool { return u.hi|u.lo == 0 }

// bitLen is the number of bits of u, 0 for 0.
func (u uint128) bitLen() int {
	if u.hi != 0 {
		return 64 + bits.Len64(u.hi)
	}
	return bits.Len64(u.lo)
}

// trailingZeros is the index of the lowest set bit of u, 128 for 0.
func (u uint128) trailingZeros() int {
	if u.lo != 0 {
		return bits.TrailingZeros64(u.lo)
	}
	return 64 + bits.TrailingZeros64(u.hi)
}

// shift is u*2^by, rounded down and without the bits at 128 and above. Callers
// have checked that none is lost.
func (u uint128) shift(by int) uint128 {
	switch {
	case by >= 64:
		return uint128{u.lo << uint(by-64), 0}
	case by >= 0:
		return uint128{u.hi<<uint(by) | u.lo>>uint(64-by), u.lo << uint(by)}
	case by > -64:
		return uint128{u.hi >> uint(-by), u.lo>>uint(-by) | u.hi<<uint(64+by)}
	default:
		return uint128{0, u.hi >> uint(-by-64)}
	}
}

// negateIf is the two's complement of u if neg, else u.
func (u uint128) negateIf(neg bool) uint128 {
	if !neg {
		return u
	}
	lo, borrow := bits.Sub64(0, u.lo, 0)
	hi, _ := bits.Sub64(0, u.hi, borrow)
	return uint128{hi, lo}
}
