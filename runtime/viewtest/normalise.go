package viewtest

import (
	"math"
	"strconv"

	"tidemill/state/column"
)

// looseness says how a column may differ from DuckDB's answer.
//
//	what       how                                    why
//	strict     not at all: same text, same type
//	equalBits  0.0 and -0.0 are one value             SQL's equality does not tell them apart: which one a group or
//	                                                  DISTINCT shows, and which of them min and max give, is open
//	                                                  (we show the smallest; DuckDB the first that it met)
//	lastBits   doubles up to 2 steps apart are equal  avg: ours is the correctly rounded quotient of the exact sum,
//	                                                  DuckDB rounds the sum, then the quotient
type looseness int

const (
	strict looseness = iota
	equalBits
	lastBits
)

// groupLooseness is that of a column that shows one of several equal values.
func groupLooseness(t column.Type) looseness {
	if t.Floating() {
		return equalBits
	}
	return strict
}

// fold returns the text that stands for all that are the same as s.
func (l looseness) fold(s string) string {
	if l != strict && s == "-0.0" {
		return "0.0"
	}
	return s
}

// same compares two folded texts.
func (l looseness) same(a, b string) bool {
	if a == b || l != lastBits {
		return a == b
	}
	x, err1 := strconv.ParseFloat(a, 64)
	y, err2 := strconv.ParseFloat(b, 64)
	if err1 != nil || err2 != nil || math.Signbit(x) != math.Signbit(y) {
		return false
	}
	i, j := math.Float64bits(x), math.Float64bits(y)
	return max(i, j)-min(i, j) <= 2
}
