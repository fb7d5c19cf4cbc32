package viewtest

import (
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"

	"tidemill/state/column"
)

// looseness says how a column may differ from DuckDB's answer.
//
//	what       how                                    why
//	strict     not at all: same text, same type
//	equalBits  0.0 and -0.0 are one value,            SQL's equality does not tell them apart: which one a group or
//	                                                  DISTINCT shows, and which of them min and max give, is open
//	                                                  (we show the smallest; DuckDB the first that it met)
//	           and so are 1 month and 30 days
//	lastBits   doubles up to 2 steps apart are equal  avg: ours is the correctly rounded quotient of the exact sum,
//	                                                  DuckDB rounds the sum, then the quotient
//	nearly     doubles alike in 8 digits, or that      variances, correlations and their like: ours are formulas of
//	           both are below 1e-8, are equal         exact sums, DuckDB's of running means
//	(all)      nan and -nan are one value             the sum of both infinities is what the machine makes of it
//
// Rejects are compared exactly, but for views in which a condition stands over something in the same statement that can
// fail (block.pushes): the planner may evaluate a condition that cannot fail first, and what it drops is then never
// rejected. Such a view has the same rows, and at most as many rejects as SQL's order of evaluation gives.
//
// Sums of floats are compared where all ways to add them give the same bits (col.exact); any other floats are
// operators/agg's to test, by exact recomputation.
type looseness int

const (
	strict looseness = iota
	equalBits
	lastBits
	nearly
)

// groupLooseness is that of a column that shows one of several equal values.
func groupLooseness(t column.Type) looseness {
	if t.Floating() || t.Kind == column.Interval {
		return equalBits
	}
	return strict
}

// fold returns the text that stands for all that are the same as s.
func (l looseness) fold(s string) string {
	switch {
	case s == "-nan":
		return "nan"
	case l == strict:
	case s == "-0.0":
		return "0.0"
	case strings.Contains(s, " ") || strings.Contains(s, ":"):
		return intervalLength(s)
	}
	return s
}

// intervalLength returns the microseconds of an interval's text, with months of 30 days.
func intervalLength(s string) string {
	const day = 86_400_000_000
	total := new(big.Int)
	words := strings.Fields(s)
	for i := 0; i < len(words); i++ {
		unit := int64(0)
		if i+1 < len(words) {
			unit = map[string]int64{"year": 360 * day, "month": 30 * day, "day": day}[strings.TrimSuffix(words[i+1], "s")]
		}
		if unit != 0 {
			n, _ := strconv.ParseInt(words[i], 10, 64)
			total.Add(total, new(big.Int).Mul(big.NewInt(n), big.NewInt(unit)))
			i++
			continue
		}
		var h, m int64
		var sec string
		clock, negative := strings.CutPrefix(words[i], "-")
		fmt.Sscanf(clock, "%d:%d:%s", &h, &m, &sec)
		whole, part, _ := strings.Cut(sec, ".")
		seconds, _ := strconv.ParseInt(whole, 10, 64)
		micros, _ := strconv.ParseInt((part + "000000")[:6], 10, 64)
		at := big.NewInt(((h*60+m)*60+seconds)*1_000_000 + micros)
		if negative {
			at.Neg(at)
		}
		total.Add(total, at)
	}
	return total.String()
}

// same compares two folded texts.
func (l looseness) same(a, b string) bool {
	if a == b || l != lastBits && l != nearly {
		return a == b
	}
	x, err1 := strconv.ParseFloat(a, 64)
	y, err2 := strconv.ParseFloat(b, 64)
	if l == nearly {
		return err1 == nil && err2 == nil && math.Abs(x-y) <= 1e-8*max(1, math.Abs(x), math.Abs(y))
	}
	if err1 != nil || err2 != nil || math.Signbit(x) != math.Signbit(y) {
		return false
	}
	i, j := math.Float64bits(x), math.Float64bits(y)
	return max(i, j)-min(i, j) <= 2
}
