package expr_test

import (
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"tidemill/operators/expr"
	"tidemill/state/column"
)

// intColumn makes a column with NULL at the rows in nulls.
func fixedColumn[V column.Fixed](k column.Kind, vals []V, nulls ...int) column.Column {
	c := column.Of(column.T(k), vals, nil)
	if len(nulls) > 0 {
		c.Valid = column.NewBitmap(len(vals), true)
		for _, i := range nulls {
			var zero V
			vals[i] = zero
			column.ClearBit(c.Valid, i)
		}
	}
	return c
}

// eval evaluates without DuckDB and prints the rows: a constant's text, NULL, or "!" and the reason.
func eval(t *testing.T, e *expr.Expr, cols ...column.Column) []string {
	t.Helper()
	c, errs, err := expr.Compile(e, nil).Eval(cols, cols[0].N)
	if err != nil {
		t.Fatal(err)
	}
	out := make([]string, c.N)
	for i := range out {
		out[i] = literalOf(&c, i)
	}
	if errs != nil {
		for i, r := range errs.Rows {
			out[r] = "!" + errs.Reasons[i]
		}
	}
	return out
}

func check(t *testing.T, got []string, want ...string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

func typed(k column.Kind, vals ...string) []string {
	out := make([]string, len(vals))
	for i, v := range vals {
		switch {
		case v == "NULL":
			out[i] = fmt.Sprintf("CAST(NULL AS %s)", column.T(k))
		case strings.HasPrefix(v, "!"):
			out[i] = v
		default:
			out[i] = fmt.Sprintf("CAST('%s' AS %s)", v, column.T(k))
		}
	}
	return out
}

func TestOverflow(t *testing.T) {
	a, b := col(0, column.Int64), col(1, column.Int64)
	x := fixedColumn(column.Int64, []int64{math.MaxInt64, 1, 0, math.MinInt64}, 2)
	y := fixedColumn(column.Int64, []int64{1, 2, math.MaxInt64, -1})
	check(t, eval(t, call("+", column.Int64, a, b), x, y), typed(column.Int64,
		"!Overflow in addition of INT64 (9223372036854775807 + 1)!", "3", "NULL", "!Overflow in addition of INT64 (-9223372036854775808 + -1)!")...)
	check(t, eval(t, call("-", column.Int64, a, b), x, y), typed(column.Int64,
		"9223372036854775806", "-1", "NULL", "-9223372036854775807")...)
	check(t, eval(t, call("*", column.Int64, a, b), x, y), typed(column.Int64,
		"9223372036854775807", "2", "NULL", "!Overflow in multiplication of INT64 (-9223372036854775808 * -1)!")...)
	check(t, eval(t, call("//", column.Int64, a, b), x, y), typed(column.Int64,
		"9223372036854775807", "0", "NULL", "!Overflow in division of -9223372036854775808 / -1")...)
	check(t, eval(t, call("-", column.Int64, a), x), typed(column.Int64,
		"-9223372036854775807", "-1", "NULL", "!Overflow in negation of numeric value!")...)
	u := fixedColumn(column.UInt8, []uint8{255, 0, 7})
	check(t, eval(t, call("-", column.UInt8, col(0, column.UInt8), constant(column.UInt8, uint8(1))), u), typed(column.UInt8,
		"254", "!Overflow in subtraction of UINT8 (0 - 1)!", "6")...)
}

func TestDivisionByZeroIsNull(t *testing.T) {
	x := fixedColumn(column.Int32, []int32{7, -7, 5})
	y := fixedColumn(column.Int32, []int32{2, 2, 0})
	check(t, eval(t, call("//", column.Int32, col(0, column.Int32), col(1, column.Int32)), x, y), typed(column.Int32, "3", "-3", "NULL")...)
	check(t, eval(t, call("%", column.Int32, col(0, column.Int32), col(1, column.Int32)), x, y), typed(column.Int32, "1", "-1", "NULL")...)
}

// TestConstantDivisor checks the multiplication that stands for a division.
func TestConstantDivisor(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	xs := []int64{math.MinInt64, math.MinInt64 + 1, -1, 0, 1, math.MaxInt64}
	for range 2000 {
		xs = append(xs, int64(r.Uint64())>>r.IntN(64))
	}
	divisors := []int64{2, 3, 7, 10, 100, 1000, 100_000, 1 << 31, 1<<62 + 1, 1 << 62, math.MaxInt64}
	for range 100 {
		divisors = append(divisors, 2+r.Int64N(math.MaxInt64-2)>>r.IntN(62))
	}
	for _, d := range divisors {
		if d < 2 {
			continue
		}
		for _, op := range []string{"%", "//"} {
			e := call(op, column.Int64, col(0, column.Int64), constant(column.Int64, d))
			c, errs, err := expr.Compile(e, nil).Eval([]column.Column{fixedColumn(column.Int64, slices.Clone(xs))}, len(xs))
			if err != nil || errs != nil {
				t.Fatal(err, errs)
			}
			for i, got := range column.Values[int64](&c) {
				want := xs[i] % d
				if op == "//" {
					want = xs[i] / d
				}
				if got != want {
					t.Fatalf("%d %s %d = %d, want %d", xs[i], op, d, got, want)
				}
			}
		}
	}
}

// TestHugeInt checks 128-bit arithmetic against math/big.
func TestHugeInt(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	const n = 4000
	value := func() column.Int128 {
		v := column.Int128{Lo: r.Uint64(), Hi: int64(r.Uint64())}
		for range r.IntN(3) {
			v = column.Int128{Lo: v.Lo>>40 | uint64(v.Hi)<<24, Hi: v.Hi >> 40}
		}
		return v
	}
	x, y := make([]column.Int128, n), make([]column.Int128, n)
	for i := range n {
		x[i], y[i] = value(), value()
	}
	cols := []column.Column{fixedColumn(column.HugeInt, x), fixedColumn(column.HugeInt, y)}
	bigOf := func(v column.Int128) *big.Int {
		b := new(big.Int).Lsh(big.NewInt(v.Hi), 64)
		return b.Add(b, new(big.Int).SetUint64(v.Lo))
	}
	for op, f := range map[string]func(z, a, b *big.Int) *big.Int{
		"+": (*big.Int).Add, "-": (*big.Int).Sub, "*": (*big.Int).Mul, "//": (*big.Int).Quo, "%": (*big.Int).Rem,
	} {
		c, errs, err := expr.Compile(call(op, column.HugeInt, col(0, column.HugeInt), col(1, column.HugeInt)), nil).Eval(cols, n)
		if err != nil {
			t.Fatal(err)
		}
		failed := map[int32]bool{}
		if errs != nil {
			for _, row := range errs.Rows {
				failed[row] = true
			}
		}
		for i := range n {
			if y[i] == (column.Int128{}) {
				continue
			}
			want := f(new(big.Int), bigOf(x[i]), bigOf(y[i]))
			fits := want.BitLen() <= 127 || op != "*" && want.Cmp(new(big.Int).Neg(new(big.Int).Lsh(big.NewInt(1), 127))) == 0
			if failed[int32(i)] == fits || fits && int128Of(want) != column.Values[column.Int128](&c)[i] {
				t.Fatalf("%s %s %s: want %s, fits %v", bigOf(x[i]), op, bigOf(y[i]), want, fits)
			}
		}
	}
}

func TestFloatOrder(t *testing.T) {
	x := fixedColumn(column.Double, []float64{math.NaN(), 0, math.Inf(1), math.NaN()})
	y := fixedColumn(column.Double, []float64{math.NaN(), math.Copysign(0, -1), math.NaN(), 1})
	for op, want := range map[string][]string{
		"=": {"true", "true", "false", "false"}, "<": {"false", "false", "true", "false"}, ">": {"false", "false", "false", "true"},
		">=": {"true", "true", "false", "true"},
	} {
		check(t, eval(t, call(op, column.Bool, col(0, column.Double), col(1, column.Double)), x, y), typed(column.Bool, want...)...)
	}
	check(t, eval(t, call(">", column.Bool, col(0, column.Double), constant(column.Double, 5.0)), x), typed(column.Bool, "true", "false", "true", "true")...)
}

func TestCasts(t *testing.T) {
	x := fixedColumn(column.Double, []float64{2.5, 3.5, -2.5, 1e300, math.NaN(), 0}, 5)
	check(t, eval(t, castTo(column.Int32, col(0, column.Double)), x), typed(column.Int32, "2", "4", "-2",
		"!Type DOUBLE with value 1e+300 can't be cast because the value is out of range for the destination type INT32",
		"!Type DOUBLE with value nan can't be cast because the value is out of range for the destination type INT32", "NULL")...)
	i := fixedColumn(column.Int32, []int32{300, -1, 5})
	check(t, eval(t, castTo(column.UInt8, col(0, column.Int32)), i), typed(column.UInt8,
		"!Type INT32 with value 300 can't be cast because the value is out of range for the destination type UINT8",
		"!Type INT32 with value -1 can't be cast because the value is out of range for the destination type UINT8", "5")...)
	try := castTo(column.UInt8, col(0, column.Int32))
	try.Kind = expr.TryCast
	check(t, eval(t, try, i), typed(column.UInt8, "NULL", "NULL", "5")...)
}

// TestErrorRule covers AND, OR, CASE, COALESCE and TRY over an argument that fails on some rows.
func TestErrorRule(t *testing.T) {
	cond := fixedColumn(column.Bool, []uint8{0, 1, 0, 0}, 2)
	big := fixedColumn(column.Int32, []int32{300, 300, 300, 1})
	fails := call(">", column.Bool, castTo(column.Int8, col(1, column.Int32)), constant(column.Int8, int8(0)))
	reason := "!Type INT32 with value 300 can't be cast because the value is out of range for the destination type INT8"
	node := func(k expr.Kind, t column.Kind, args ...*expr.Expr) *expr.Expr {
		return &expr.Expr{Kind: k, Type: column.T(t), Args: args}
	}
	c := col(0, column.Bool)
	check(t, eval(t, node(expr.And, column.Bool, c, fails), cond, big), typed(column.Bool, "false", reason, reason, "false")...)
	check(t, eval(t, node(expr.Or, column.Bool, fails, c), cond, big), typed(column.Bool, reason, "true", reason, "true")...)
	other := fixedColumn(column.Int32, []int32{0, 1, 300, 1})
	fails2 := call(">", column.Bool, castTo(column.Int8, col(2, column.Int32)), constant(column.Int8, int8(0)))
	check(t, eval(t, node(expr.And, column.Bool, fails, fails2), cond, big, other), typed(column.Bool, "false", reason, reason, "true")...)
	check(t, eval(t, node(expr.Or, column.Bool, fails, fails2), cond, big, other), typed(column.Bool, reason, "true", reason, "true")...)
	cast := castTo(column.Int8, col(1, column.Int32))
	check(t, eval(t, node(expr.Case, column.Int8, c, constant(column.Int8, int8(7)), cast), cond, big), typed(column.Int8, reason, "7", reason, "1")...)
	check(t, eval(t, node(expr.Try, column.Int8, cast), cond, big), typed(column.Int8, "NULL", "NULL", "NULL", "1")...)
	check(t, eval(t, node(expr.Coalesce, column.Bool, c, fails), cond, big), typed(column.Bool, "false", "true", reason, "false")...)
	check(t, eval(t, node(expr.IsNull, column.Bool, cast), cond, big), typed(column.Bool, reason, reason, reason, "false")...)
}

func TestGreatest(t *testing.T) {
	x := fixedColumn(column.Double, []float64{math.NaN(), 3, 0, 0}, 2, 3)
	y := fixedColumn(column.Double, []float64{7, 4, -1, 0}, 3)
	check(t, eval(t, call("greatest", column.Double, col(0, column.Double), col(1, column.Double)), x, y), typed(column.Double, "nan", "4", "-1", "NULL")...)
	check(t, eval(t, call("least", column.Double, col(0, column.Double), col(1, column.Double)), x, y), typed(column.Double, "7", "3", "-1", "NULL")...)
}

func TestSelectTrue(t *testing.T) {
	c := fixedColumn(column.Bool, []uint8{1, 0, 1, 1, 0, 1, 1, 0, 1, 1}, 2)
	if got, want := expr.SelectTrue(c), []int32{0, 3, 5, 6, 8, 9}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestText(t *testing.T) {
	x := column.OfStrings(column.T(column.Varchar), []string{"Abc", "", "  x ", "banana"})
	v := col(0, column.Varchar)
	check(t, eval(t, call("upper", column.Varchar, v), x), typed(column.Varchar, "ABC", "", "  X ", "BANANA")...)
	check(t, eval(t, call("trim", column.Varchar, v), x), typed(column.Varchar, "Abc", "", "x", "banana")...)
	check(t, eval(t, call("replace", column.Varchar, v, textConstant("an"), textConstant("AN!")), x), typed(column.Varchar, "Abc", "", "  x ", "bAN!AN!a")...)
	check(t, eval(t, call("substring", column.Varchar, v, constant(column.Int64, int64(2)), constant(column.Int64, int64(3))), x), typed(column.Varchar, "bc", "", " x ", "ana")...)
	check(t, eval(t, call("~~", column.Bool, v, textConstant("%a%n%a")), x), typed(column.Bool, "false", "false", "false", "true")...)
}

func TestTimes(t *testing.T) {
	x := fixedColumn(column.Timestamp, []int64{951782400000000 + 3661500000, -1, math.MaxInt64})
	ts := col(0, column.Timestamp)
	check(t, eval(t, call("year", column.Int64, ts), x), typed(column.Int64, "2000", "1969", "NULL")...)
	check(t, eval(t, call("minute", column.Int64, ts), x), typed(column.Int64, "1", "59", "NULL")...)
	check(t, eval(t, call("date_trunc", column.Timestamp, textConstant("month"), ts), x), typed(column.Timestamp,
		"2000-02-01 00:00:00", "1969-12-01 00:00:00", "infinity")...)
	finite := fixedColumn(column.Timestamp, []int64{951782400000000, -1})
	month := constant(column.Interval, column.IntervalValue{Months: 1})
	check(t, eval(t, call("+", column.Timestamp, ts, month), finite), typed(column.Timestamp,
		"2000-03-29 00:00:00", "1970-01-31 23:59:59.999999")...)
}
