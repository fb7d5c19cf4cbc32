package expr

import (
	"bytes"

	"tidemill/state/column"
)

// The comparison operators, in the order of comparisonNames.
type comparison int

const (
	opEQ comparison = iota
	opNE
	opLT
	opLE
	opGT
	opGE
)

var comparisonNames = [...]string{"=", "<>", "<", "<=", ">", ">="}

// flipped is the operator for exchanged arguments.
var flipped = [...]comparison{opEQ, opNE, opGT, opGE, opLT, opLE}

// comparer writes op(a, b) to dst, a byte a row. One of a and b may stand for all rows. The order
// is DuckDB's: every NaN is the same value and the greatest, -0 is 0, text goes by bytes, intervals
// by their normal form.
type comparer func(op comparison, dst []uint8, a, b *vec)

func comparerOf(t column.Type) comparer {
	switch t.Kind {
	case column.Bool, column.UInt8:
		return compareInts[uint8]
	case column.Int8:
		return compareInts[int8]
	case column.Int16:
		return compareInts[int16]
	case column.UInt16:
		return compareInts[uint16]
	case column.Int32, column.Date:
		return compareInts[int32]
	case column.UInt32:
		return compareInts[uint32]
	case column.UInt64:
		return compareInts[uint64]
	case column.Int64, column.Time, column.Timestamp, column.TimestampS, column.TimestampMS,
		column.TimestampNS, column.TimestampTZ:
		return compareInts[int64]
	case column.Float:
		return compareFloats[float32]
	case column.Double:
		return compareFloats[float64]
	case column.HugeInt, column.Decimal:
		return compareRows(func(a, b *vec, i, j int) int {
			return as128(column.Values[column.Int128](&a.Column))[i].cmp(as128(column.Values[column.Int128](&b.Column))[j])
		})
	case column.UUID:
		return compareRows(func(a, b *vec, i, j int) int { return bytes.Compare(a.Raw(i), b.Raw(j)) })
	case column.Varchar, column.Blob:
		return compareTexts
	case column.Interval:
		return compareRows(func(a, b *vec, i, j int) int {
			return compareIntervals(column.Values[column.IntervalValue](&a.Column)[i], column.Values[column.IntervalValue](&b.Column)[j])
		})
	}
	return nil
}

type integer interface {
	~int8 | ~int16 | ~int32 | ~int64 | ~uint8 | ~uint16 | ~uint32 | ~uint64
}

type floating interface{ ~float32 | ~float64 }

func b2u(b bool) uint8 {
	var r uint8
	if b {
		r = 1
	}
	return r
}

func compareInts[T integer](op comparison, dst []uint8, a, b *vec) {
	if a.konst {
		op, a, b = flipped[op], b, a
	}
	if b.konst {
		compareConst(op, dst, viewAs[T](a), viewAs[T](b)[0])
		return
	}
	x, y := viewAs[T](a), viewAs[T](b)
	if op == opGT || op == opGE {
		op, x, y = flipped[op], y, x
	}
	x, y = x[:len(dst)], y[:len(dst)]
	switch op {
	case opEQ:
		for i := range dst {
			dst[i] = b2u(x[i] == y[i])
		}
	case opNE:
		for i := range dst {
			dst[i] = b2u(x[i] != y[i])
		}
	case opLT:
		for i := range dst {
			dst[i] = b2u(x[i] < y[i])
		}
	case opLE:
		for i := range dst {
			dst[i] = b2u(x[i] <= y[i])
		}
	}
}

// compareConst compares with c, which is not NaN. A NaN in x is the greatest: greater is written
// as not less or equal.
func compareConst[T integer | floating](op comparison, dst []uint8, x []T, c T) {
	x = x[:len(dst)]
	switch op {
	case opEQ:
		for i := range dst {
			dst[i] = b2u(x[i] == c)
		}
	case opNE:
		for i := range dst {
			dst[i] = b2u(x[i] != c)
		}
	case opLT:
		for i := range dst {
			dst[i] = b2u(x[i] < c)
		}
	case opLE:
		for i := range dst {
			dst[i] = b2u(x[i] <= c)
		}
	case opGT:
		for i := range dst {
			dst[i] = b2u(!(x[i] <= c))
		}
	case opGE:
		for i := range dst {
			dst[i] = b2u(!(x[i] < c))
		}
	}
}

func compareFloats[T floating](op comparison, dst []uint8, a, b *vec) {
	if a.konst {
		op, a, b = flipped[op], b, a
	}
	x, y := viewAs[T](a), viewAs[T](b)
	step := 1
	if b.konst {
		if c := y[0]; c == c {
			compareConst(op, dst, x, c)
			return
		}
		step = 0
	}
	for i, j := 0, 0; i < len(dst); i, j = i+1, j+step {
		dst[i] = holds(op, compareFloat(x[i], y[j]))
	}
}

// compareFloat orders floats as DuckDB does.
func compareFloat[T floating](a, b T) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	case a == b:
		return 0
	}
	return int(b2u(a != a)) - int(b2u(b != b))
}

func holds(op comparison, c int) uint8 {
	switch op {
	case opEQ:
		return b2u(c == 0)
	case opNE:
		return b2u(c != 0)
	case opLT:
		return b2u(c < 0)
	case opLE:
		return b2u(c <= 0)
	case opGT:
		return b2u(c > 0)
	}
	return b2u(c >= 0)
}

// compareRows makes a comparer from a function of row i of a and row j of b.
func compareRows(cmp func(a, b *vec, i, j int) int) comparer {
	return func(op comparison, dst []uint8, a, b *vec) {
		sa, sb := b2u(!a.konst), b2u(!b.konst)
		for i, j, k := 0, 0, 0; k < len(dst); i, j, k = i+int(sa), j+int(sb), k+1 {
			dst[k] = holds(op, cmp(a, b, i, j))
		}
	}
}

func compareTexts(op comparison, dst []uint8, a, b *vec) {
	if op != opEQ && op != opNE {
		compareRows(func(a, b *vec, i, j int) int { return bytes.Compare(a.Bytes(i), b.Bytes(j)) })(op, dst, a, b)
		return
	}
	if a.konst {
		a, b = b, a
	}
	not := uint8(op) // opNE is 1
	if b.konst {
		want := b.Str(0)
		for i := range dst {
			dst[i] = b2u(a.Str(i) == want) ^ not
		}
		return
	}
	for i := range dst {
		dst[i] = b2u(a.Str(i) == b.Str(i)) ^ not
	}
}

const (
	microsPerDay  = 86_400_000_000
	daysPerMonth  = 30
	monthsPerYear = 12
)

// compareIntervals compares by months of 30 days and days of 24 hours, as DuckDB does.
func compareIntervals(a, b column.IntervalValue) int {
	am, ad, au := normalInterval(a)
	bm, bd, bu := normalInterval(b)
	switch {
	case am != bm:
		return sign(am < bm)
	case ad != bd:
		return sign(ad < bd)
	case au != bu:
		return sign(au < bu)
	}
	return 0
}

func sign(less bool) int {
	if less {
		return -1
	}
	return 1
}

func normalInterval(v column.IntervalValue) (months, days, micros int64) {
	days = int64(v.Days) + v.Micros/microsPerDay
	return int64(v.Months) + days/daysPerMonth, days % daysPerMonth, v.Micros % microsPerDay
}

// viewAs views a vec's values.
func viewAs[V column.Fixed](v *vec) []V { return column.Values[V](&v.Column) }

// comparisons are the kernels of =, <>, <, <=, > and >= over every type.
func comparisons() []native {
	var out []native
	for k := column.Bool; k <= column.UUID; k++ {
		cmp := comparerOf(column.T(k))
		if cmp == nil {
			continue
		}
		for op, name := range comparisonNames {
			out = append(out, native{name: name, args: []column.Kind{k, k}, ret: column.Bool,
				accept: func(e *Expr) bool { return e.Args[0].Type == e.Args[1].Type },
				fn:     func(k *kcall) { cmp(comparison(op), outVals[uint8](k), &k.args[0], &k.args[1]) }})
		}
	}
	return out
}
