// Package exact sums floating-point numbers without error.
//
// A [Sum] holds the exact real number that its additions amount to; rounding
// happens once, when it is read, to the nearest float64 with ties to even. So
// the answer does not depend on the order of the rows, on how they were cut
// into batches or split over workers, and a retraction leaves no trace: after
// Add(v, 1) and Add(v, -1) the sum is what it was, NaN and the infinities
// included. A float32 is summed through its float64, which is exact.
//
// The idea is the superaccumulator, a fixed-point integer wide enough for
// every float64 (U. Kulisch; R. M. Neal, "Fast exact summation using small and
// large superaccumulators", arXiv:1505.05571, 2015). It takes hundreds of bytes,
// too many for one in each group of a view, and most groups need few of them:
//
//	Sum, 32 bytes                      wide, only where needed
//	+----------------------------+     +---------------------------------+
//	| window: 128-bit integer    |     | counts of NaN, +Inf, -Inf       |
//	| scale:  weight of its LSB  |  +  | accumulator: 2304-bit integer   |
//	| wide:   pointer, often nil |---->| in units of 2^-1074, or nil     |
//	+----------------------------+     +---------------------------------+
//
// The finite part of a sum is its window plus its accumulator. The window is
// placed by the first value, with room below for finer values and above for
// larger ones and for carries, and is moved when that loses no bit. What still
// does not fit goes to the accumulator. The accumulator carries at once, where
// Neal's small superaccumulator keeps overlapping chunks to put carries off: it
// is the rare path here, and plain two's complement is easier to get right.
//
// Many windows and accumulators stand for the same number. [Sum.AppendTo] and
// [Sum.Equal] look only at the number and the counts (FORMAT.md has the bytes).
//
// The range cannot be left: 2^79 additions of the largest float64 at the
// largest weight still fit the encoding. Nothing here locks; a Sum belongs to
// one goroutine at a time.
package exact
