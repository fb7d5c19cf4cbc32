package expr_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"

	"tidemill/operators/expr"
	"tidemill/state/column"
)

// testTypes are the types of the random data's columns: column i has type testTypes[i/2].
var testTypes = []column.Type{
	column.T(column.Bool), column.T(column.Int8), column.T(column.Int16), column.T(column.Int32), column.T(column.Int64),
	column.T(column.UInt8), column.T(column.UInt16), column.T(column.UInt32), column.T(column.UInt64),
	column.T(column.HugeInt), column.T(column.Float), column.T(column.Double),
	column.DecimalOf(4, 1), column.DecimalOf(9, 2), column.DecimalOf(18, 3), column.DecimalOf(38, 5),
	column.T(column.Varchar), column.T(column.Blob), column.T(column.Date), column.T(column.Time),
	column.T(column.Timestamp), column.T(column.TimestampMS), column.T(column.TimestampNS), column.T(column.TimestampS),
	column.T(column.TimestampTZ), column.T(column.Interval), column.T(column.UUID),
}

type gen struct {
	*rand.Rand
	natives map[column.Kind][]expr.NativeKinds
	ev      expr.Evaluator // for constant arguments
}

func newGen(seed uint64) *gen {
	g := &gen{Rand: rand.New(rand.NewPCG(seed, 17)), natives: map[column.Kind][]expr.NativeKinds{}}
	for _, n := range expr.AllNatives() {
		g.natives[n.Ret] = append(g.natives[n.Ret], n)
	}
	return g
}

func pickOf[T any](g *gen, xs ...T) T { return xs[g.IntN(len(xs))] }

// integer is a random integer of some size, extremes often.
func (g *gen) integer() int64 {
	switch g.IntN(5) {
	case 0:
		return pickOf(g, int64(0), 1, -1, math.MaxInt64, math.MinInt64, math.MaxInt32, math.MinInt32, 127, -128, 255, 32767, -32768, 65535, math.MaxUint32, 100)
	case 1:
		return int64(g.Uint64()) >> g.IntN(64)
	}
	return g.Int64N(41) - 20
}

func (g *gen) float() float64 {
	switch g.IntN(6) {
	case 0:
		return pickOf(g, 0, math.Copysign(0, -1), math.NaN(), math.Inf(1), math.Inf(-1), math.MaxFloat64, -math.MaxFloat64,
			math.SmallestNonzeroFloat64, 0.5, -0.5, 1.5, 2.5, 1e16, 1e15, 1e-5, 127.5, 255.5, 2147483647.5, 1e300, 9223372036854775807)
	case 1:
		f := math.Float64frombits(g.Uint64())
		if f != f {
			return math.NaN()
		}
		return f
	case 2:
		return float64(g.Int64N(1<<53)) / 1024
	case 3:
		return float64(g.IntN(600)-300) / 2
	}
	return float64(g.integer()) / 100
}

var texts = []string{"", "a", "abc", "ABC", "hello world", "  x ", "héllo", "straße", "日本語", "e\u0301", "%", "_", "a_c", "a%c",
	"12", "-7", "007", "1.5", "-0.25", "1e3", " 42 ", "9999999999999999999", "128", "-129", "true", "false", "t", "nan", "1_000", "+5", "0.1", ".5", "5.",
	"2020-02-29", "2019-02-29", "2020-02-29 23:59:59.999999", "2021-01-01 00:00:00", "1969-12-31 12:34:56.5", "infinity",
	"abcabcabc", "xxaxx", "'quoted'", "back\\slash", "new\nline", "nul\x00byte", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"}

func (g *gen) text() string {
	if g.IntN(4) == 0 {
		b := make([]byte, g.IntN(6))
		for i := range b {
			b[i] = "abcABC%_ 01"[g.IntN(11)]
		}
		return string(b)
	}
	return pickOf(g, texts...)
}

// value appends a random value of b's type, NULL now and then.
func (g *gen) value(b *column.Builder, t column.Type, nulls bool) {
	if nulls && g.IntN(5) == 0 {
		b.AppendNull()
		return
	}
	switch t.Kind {
	case column.Bool:
		column.Append(b, uint8(g.IntN(2)))
	case column.Int8:
		column.Append(b, int8(g.integer()))
	case column.Int16:
		column.Append(b, int16(g.integer()))
	case column.Int32:
		column.Append(b, int32(g.integer()))
	case column.Int64:
		column.Append(b, g.integer())
	case column.UInt8:
		column.Append(b, uint8(g.integer()))
	case column.UInt16:
		column.Append(b, uint16(g.integer()))
	case column.UInt32:
		column.Append(b, uint32(g.integer()))
	case column.UInt64:
		column.Append(b, uint64(g.integer()))
	case column.HugeInt:
		v := g.integer()
		x := column.Int128{Lo: uint64(v), Hi: v >> 63}
		switch g.IntN(6) {
		case 0:
			x = pickOf(g, column.Int128{Lo: math.MaxUint64, Hi: math.MaxInt64}, column.Int128{Hi: math.MinInt64}, column.Int128{Hi: 1}, column.Int128{Lo: 1, Hi: -1})
		case 1:
			x = column.Int128{Lo: g.Uint64(), Hi: g.integer()}
		}
		column.Append(b, x)
	case column.Float:
		column.Append(b, float32(g.float()))
	case column.Double:
		column.Append(b, g.float())
	case column.Decimal:
		column.Append(b, g.decimal(int(t.Width)))
	case column.Varchar:
		b.AppendString(g.text())
	case column.Blob:
		b.AppendString(pickOf(g, "", "\x00", "abc", "\xff\x00'", "é"))
	case column.Date:
		column.Append(b, pickOf(g, int32(g.IntN(40000)-5000), int32(g.IntN(4000000)-2000000), 0, -1, 11016, math.MaxInt32, -math.MaxInt32))
	case column.Time:
		column.Append(b, pickOf(g, g.Int64N(86400e6), 0, 86399999999, 3600e6))
	case column.Timestamp, column.TimestampTZ:
		column.Append(b, pickOf(g, g.Int64N(4e15)-1e15, g.Int64N(4e9)*1e6, g.Int64N(2e17)-1e17, 0, -1, 951782400000000, math.MaxInt64, -math.MaxInt64))
	case column.TimestampMS:
		column.Append(b, pickOf(g, g.Int64N(4e12)-1e12, 0, -1, math.MaxInt64, -math.MaxInt64))
	case column.TimestampS:
		column.Append(b, pickOf(g, g.Int64N(4e9)-1e9, 0, -1, math.MaxInt64, -math.MaxInt64))
	case column.TimestampNS:
		column.Append(b, pickOf(g, g.Int64N(4e18)-1e18, 0, -1, math.MaxInt64, -math.MaxInt64))
	case column.Interval:
		column.Append(b, column.IntervalValue{
			Months: pickOf(g, 0, 1, -1, 12, int32(g.IntN(100)-50), 400),
			Days:   pickOf(g, 0, 1, -1, 30, int32(g.IntN(100)-50), 100000),
			Micros: pickOf(g, 0, 1, -1, 86400e6, 3600e6, g.Int64N(1e12)-5e11, 1e17)})
	case column.UUID:
		var u [16]byte
		for i := range u {
			u[i] = byte(pickOf(g, 0, 255, g.IntN(256)))
		}
		b.AppendRaw(u[:])
	}
}

func (g *gen) decimal(width int) column.Int128 {
	digits := width
	if g.IntN(3) > 0 {
		digits = 1 + g.IntN(width)
	}
	v := column.Int128{}
	for range digits {
		d := uint64(g.IntN(10))
		if g.IntN(3) == 0 {
			d = pickOf(g, uint64(9), 0, 5)
		}
		hi, lo := mul10(v)
		v = column.Int128{Lo: lo + d, Hi: hi}
		if lo+d < lo {
			v.Hi++
		}
	}
	if g.IntN(2) == 0 {
		v = column.Int128{Lo: -v.Lo, Hi: ^v.Hi}
		if v.Lo == 0 {
			v.Hi++
		}
	}
	return v
}

func mul10(v column.Int128) (hi int64, lo uint64) {
	r := v
	for range 9 {
		lo := r.Lo + v.Lo
		r.Hi += v.Hi
		if lo < v.Lo {
			r.Hi++
		}
		r.Lo = lo
	}
	return r.Hi, r.Lo
}

// data makes two columns of each test type: with NULLs and without.
func (g *gen) data(n int) []column.Column {
	var cols []column.Column
	for _, t := range testTypes {
		for c := range 2 {
			b := column.NewBuilder(t, n)
			for range n {
				g.value(b, t, c == 0)
			}
			cols = append(cols, b.Finish())
		}
	}
	return cols
}

func (g *gen) constant(t column.Type) *expr.Expr {
	b := column.NewBuilder(t, 1)
	g.value(b, t, false)
	c := b.Finish()
	return &expr.Expr{Kind: expr.Constant, Type: t, Const: &expr.Value{Raw: c.Raw(0)}}
}

func textConstant(s string) *expr.Expr {
	return &expr.Expr{Kind: expr.Constant, Type: column.T(column.Varchar), Const: &expr.Value{Raw: []byte(s)}}
}

// leaf is a column, or sometimes a constant; a type without columns is reached by a cast.
func (g *gen) leaf(t column.Type) *expr.Expr {
	if g.IntN(4) == 0 {
		return g.constant(t)
	}
	for i, c := range testTypes {
		if c == t {
			return &expr.Expr{Kind: expr.Column, Type: t, Col: 2*i + g.IntN(2)}
		}
	}
	return g.constant(t)
}

// typeOf picks a type of a kind.
func (g *gen) typeOf(k column.Kind) column.Type {
	if k == column.Decimal {
		return pickOf(g, column.DecimalOf(4, 1), column.DecimalOf(9, 2), column.DecimalOf(18, 3), column.DecimalOf(38, 5))
	}
	return column.T(k)
}

func (g *gen) anyType() column.Type { return pickOf(g, testTypes...) }

// tree makes a random expression of type t.
func (g *gen) tree(t column.Type, depth int) *expr.Expr {
	if depth <= 0 {
		return g.leaf(t)
	}
	sub := func(t column.Type) *expr.Expr { return g.tree(t, depth-1-g.IntN(2)) }
	node := func(k expr.Kind, args ...*expr.Expr) *expr.Expr { return &expr.Expr{Kind: k, Type: t, Args: args} }
	boolean := column.T(column.Bool)
	switch g.IntN(12) {
	case 0:
		if g.IntN(2) == 0 {
			return node(expr.Case, sub(boolean), sub(t), sub(t))
		}
		return node(expr.Case, sub(boolean), sub(t), sub(boolean), sub(t), sub(t))
	case 1:
		return node(expr.Coalesce, sub(t), sub(t), sub(t))
	case 2:
		if g.IntN(3) == 0 {
			if arg := sub(t); readsColumn(arg) {
				return node(expr.Try, arg)
			}
		}
	case 3, 4:
		if t == boolean {
			switch g.IntN(8) {
			case 0, 1:
				return node(expr.And, sub(t), sub(t), sub(t))
			case 2, 3:
				return node(expr.Or, sub(t), sub(t))
			case 4:
				return node(expr.Not, sub(t))
			case 5:
				return node(pickOf(g, expr.IsNull, expr.IsNotNull), sub(g.anyType()))
			case 6:
				a := g.anyType()
				return node(pickOf(g, expr.In, expr.NotIn), sub(a), sub(a), g.leaf(a), g.constant(a))
			case 7:
				a := g.anyType()
				return node(pickOf(g, expr.Distinct, expr.NotDistinct), sub(a), sub(a))
			}
		}
	case 5:
		// Of 0 and -0 DuckDB's greatest and least take either.
		if g.IntN(4) == 0 && !t.Floating() {
			call := node(expr.Call, sub(t), sub(t), g.leaf(t))
			if call.Func = pickOf(g, "greatest", "least"); t.Kind == column.Varchar {
				call.Func = pickOf(g, "greatest", "least", "concat")
			}
			return call
		}
		if t.Kind == column.Varchar && g.IntN(2) == 0 {
			return &expr.Expr{Kind: expr.Call, Type: t, Func: pickOf(g, "reverse", "md5"), Args: []*expr.Expr{sub(t)}}
		}
	}
	options := g.natives[t.Kind]
	for range 10 {
		if len(options) == 0 {
			break
		}
		if e := g.call(pickOf(g, options...), t, sub); e != nil {
			return e
		}
	}
	return g.leaf(t)
}

// call makes a call of a kernel with result type t, or nil when that has no such call.
func (g *gen) call(n expr.NativeKinds, t column.Type, sub func(column.Type) *expr.Expr) *expr.Expr {
	e := &expr.Expr{Kind: expr.Call, Type: t, Func: n.Func}
	if n.Func == "CAST" {
		e.Kind, e.Func = expr.Cast, ""
		if g.IntN(3) == 0 {
			e.Kind = expr.TryCast
		}
	}
	// A constant that TRY makes NULL is folded by DuckDB's binder, together with every call around it and their
	// errors: bound plans have no such call.
	if e.Kind == expr.TryCast {
		defer func() {
			if e.Kind == expr.TryCast && !readsColumn(e) {
				e.Kind = expr.Cast
			}
		}()
	}
	types := make([]column.Type, len(n.Args))
	for i, k := range n.Args {
		types[i] = g.typeOf(k)
	}
	if t.Kind == column.Decimal && e.Kind == expr.Call {
		if n.Func == "*" {
			if t != column.DecimalOf(18, 4) {
				return nil
			}
			types[0], types[1] = column.DecimalOf(18, 2), column.DecimalOf(18, 2)
		} else {
			for i := range types {
				types[i] = t
			}
			if len(types) == 2 && t.Width != 18 && t.Width != 38 {
				// The binder widens these, so that they cannot overflow.
				narrow := func(column.Type) *expr.Expr {
					return &expr.Expr{Kind: expr.Cast, Type: t, Args: []*expr.Expr{sub(column.DecimalOf(4, 1))}}
				}
				if t.Width <= 4 {
					return nil
				}
				e.Args = []*expr.Expr{narrow(t), narrow(t)}
				return e
			}
		}
	} else if len(types) == 2 && types[0].Kind == column.Decimal {
		types[1] = types[0]
	}
	for i := range types {
		e.Args = append(e.Args, g.argument(n, i, types[i], sub))
	}
	if !expr.HasKernel(e) {
		return nil
	}
	if e.Kind == expr.Call && !strings.ContainsAny(n.Func, "=<>") {
		// The binder makes a function with a constant NULL for an argument NULL, errors of the
		// others or not, so that there is no such call in a bound plan.
		for _, a := range e.Args {
			if !g.constantNull(a) {
				continue
			}
			return &expr.Expr{Kind: expr.Constant, Type: t, Const: &expr.Value{Null: true}}
		}
	}
	return e
}

func (g *gen) constantNull(e *expr.Expr) bool {
	if hasColumns(e) {
		return false
	}
	c, errs, err := expr.Compile(e, g.ev).Eval(nil, 1)
	return err == nil && errs == nil && c.IsNull(0)
}

func hasColumns(e *expr.Expr) bool {
	return e.Kind == expr.Column || slices.ContainsFunc(e.Args, hasColumns)
}

// argument makes argument i, a constant where the kernel needs a meaningful one.
func (g *gen) argument(n expr.NativeKinds, i int, t column.Type, sub func(column.Type) *expr.Expr) *expr.Expr {
	switch {
	case i == 0 && (n.Func == "date_part" || n.Func == "date_trunc"):
		return textConstant(pickOf(g, "year", "quarter", "month", "week", "day", "hour", "minute", "second", "millisecond",
			"dow", "isodow", "doy", "epoch", "decade", "century", "millennium", "microsecond", "milliseconds", "microseconds", "isoyear", "days", "hours"))
	case i == 1 && (n.Func == "%" || n.Func == "//") && g.IntN(2) == 0:
		return g.constant(t)
	case i == 1 && n.Func == "~~" && g.IntN(4) > 0:
		return textConstant(pickOf(g, "a%", "%c", "%b%", "abc", "a_c", "%", "", "a%c", "%%", "_%", "h%o%d", `a\%c`, "%é%"))
	case i > 0 && (n.Func == "substring" || n.Func == "round") && t.Kind == column.Int64:
		b := column.NewBuilder(t, 1)
		column.Append(b, int64(g.IntN(12)-5))
		c := b.Finish()
		return &expr.Expr{Kind: expr.Constant, Type: t, Const: &expr.Value{Raw: c.Raw(0)}}
	}
	return sub(t)
}

func readsColumn(e *expr.Expr) bool {
	if e.Kind == expr.Column {
		return true
	}
	for _, a := range e.Args {
		if readsColumn(a) {
			return true
		}
	}
	return false
}
