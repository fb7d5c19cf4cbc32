package expr

import (
	"fmt"

	"tidemill/state/column"
)

// fitsWidth reports whether an unscaled value has at most width digits.
func fitsWidth(v int128, width int) bool { return v.less(pow10[width]) && pow10[width].neg().less(v) }

// divRound divides by a positive power of ten and rounds half away from zero.
func divRound(v, d int128) int128 {
	if d == (int128{1, 0}) {
		return v
	}
	q, r := v.quoRem(d)
	if r.Hi < 0 {
		r = r.neg()
	}
	if twice, _ := r.add(r); !twice.less(d) {
		if v.Hi < 0 {
			q, _ = q.sub(int128{1, 0})
		} else {
			q, _ = q.add(int128{1, 0})
		}
	}
	return q
}

func castIntToDecimal[S integer](k *kcall) {
	x, dst := viewAs[S](&k.args[0]), out128(k)
	t := k.nd.typ
	limit, scale := pow10[t.Width-t.Scale], pow10[t.Scale]
	small := t.Width <= 18
	for i := range dst {
		v := wide(x[i])
		if v.less(limit) && limit.neg().less(v) {
			if small {
				dst[i] = int128From(int64(v.Lo) * int64(scale.Lo))
			} else {
				dst[i], _ = v.mul(scale)
			}
			continue
		}
		dst[i] = int128{}
		if k.ok(i) {
			k.fail(i, fmt.Sprintf("Could not cast value %d to %s", x[i], t))
		}
	}
}

func castDecimalToInt[D integer](k *kcall) {
	x, dst := ints128(k, 0), outVals[D](k)
	scale := pow10[k.args[0].Type.Scale]
	for i := range dst {
		r := divRound(x[i], scale)
		dst[i] = D(r.Lo)
		if wide(dst[i]) != r && k.ok(i) {
			k.fail(i, fmt.Sprintf("Failed to cast decimal value %s to type %s", r, physicalName(k.nd.typ.Kind)))
		}
	}
}

// castDecimals changes width and scale.
func castDecimals(k *kcall) {
	x, dst := ints128(k, 0), out128(k)
	from, to := k.args[0].Type, k.nd.typ
	up := int(to.Scale) - int(from.Scale)
	for i := range dst {
		v, fits := x[i], true
		switch {
		case up > 0:
			v, fits = v.mul(pow10[up])
		case up < 0:
			v = divRound(v, pow10[-up])
		}
		dst[i] = v
		if (!fits || !fitsWidth(v, int(to.Width))) && k.ok(i) {
			k.fail(i, fmt.Sprintf("Casting value %q to type %s failed: value is out of range!", decimalText(x[i], int(from.Scale)), to))
		}
	}
}

// castDecimalToDouble divides as DuckDB does: at once when the unscaled value is exact as a
// DOUBLE, otherwise the whole part and the rest each.
func castDecimalToDouble(k *kcall) {
	x, dst := ints128(k, 0), outVals[float64](k)
	scale := k.args[0].Type.Scale
	div := pow10[scale]
	fdiv := div.float64()
	exact := int128{1 << 53, 0}
	for i := range dst {
		if a := x[i].abs(); scale == 0 || !exact.less(a) {
			dst[i] = x[i].float64() / fdiv
			continue
		}
		q, r := x[i].quoRem(div)
		dst[i] = q.float64() + r.float64()/fdiv
	}
}

func castDecimalToText(k *kcall) {
	x, scale := ints128(k, 0), int(k.args[0].Type.Scale)
	outText(k, func(i int, b []byte) []byte { return append(b, decimalText(x[i], scale)...) })
}

// decimalKernel is + or - of two DECIMALs of the result's type. Only the widest types, 18 and 38
// digits, can overflow: others were widened by the binder.
func decimalKernel(what, op string, f func(a, b int128) (int128, bool)) kernelFunc {
	return func(k *kcall) {
		x, y, dst := ints128(k, 0), ints128(k, 1), out128(k)
		width := int(k.nd.typ.Width)
		check := width == 18 || width == 38
		for i := range dst {
			a, b := at(x, k.args[0].konst, i), at(y, k.args[1].konst, i)
			r, fits := f(a, b)
			dst[i] = r
			if check && (!fits || !fitsWidth(r, width)) && k.ok(i) {
				if width == 18 {
					k.fail(i, fmt.Sprintf("Overflow in %s of DECIMAL(18) (%s %s %s). You might want to add an explicit cast to a bigger decimal.", what, a, op, b))
				} else {
					k.fail(i, fmt.Sprintf("Overflow in %s of DECIMAL(38) (%s %s %s);", what, a, op, b))
				}
			}
		}
	}
}

func mulDecimals(k *kcall) {
	x, y, dst := ints128(k, 0), ints128(k, 1), out128(k)
	width := int(k.nd.typ.Width)
	check := width == 18 || width == 38
	for i := range dst {
		a, b := at(x, k.args[0].konst, i), at(y, k.args[1].konst, i)
		r, fits := a.mul(b)
		dst[i] = r
		if check && (!fits || !fitsWidth(r, width)) && k.ok(i) {
			hint := "bigger decimal"
			if width == 38 {
				hint = "decimal with a smaller scale"
			}
			k.fail(i, fmt.Sprintf("Overflow in multiplication of DECIMAL(%d) (%s * %s). You might want to add an explicit cast to a %s.", width, a, b, hint))
		}
	}
}

func negateDecimal(k *kcall) {
	x, dst := ints128(k, 0), out128(k)
	for i := range dst {
		dst[i] = x[i].neg()
	}
}

// sameType accepts a call whose arguments have the result's type.
func sameType(e *Expr) bool {
	for _, a := range e.Args {
		if a.Type != e.Type {
			return false
		}
	}
	return true
}

func widest(e *Expr) bool { return e.Type.Width == 18 || e.Type.Width == 38 }

func decimals() []native {
	one := []column.Kind{column.Decimal}
	two := []column.Kind{column.Decimal, column.Decimal}
	scalesAdd := func(e *Expr) bool { return e.Args[0].Type.Scale+e.Args[1].Type.Scale == e.Type.Scale }
	return []native{
		{name: "+", args: two, ret: column.Decimal, accept: sameType, fallible: widest,
			fn: decimalKernel("addition", "+", int128.add)},
		{name: "-", args: two, ret: column.Decimal, accept: sameType, fallible: widest,
			fn: decimalKernel("subtract", "-", int128.sub)},
		{name: "*", args: two, ret: column.Decimal, accept: scalesAdd, fallible: widest, fn: mulDecimals},
		{name: "-", args: one, ret: column.Decimal, accept: sameType, fn: negateDecimal},
	}
}

// decimalCastFails reports whether a cast between DECIMALs can meet a value that does not fit.
func decimalCastFails(e *Expr) bool {
	from, to := e.Args[0].Type, e.Type
	return to.Scale < from.Scale && int(to.Width)-int(to.Scale) <= int(from.Width)-int(from.Scale) ||
		int(to.Width)-int(to.Scale) < int(from.Width)-int(from.Scale)
}

func decimalCasts() []native {
	return []native{
		{name: "CAST", args: []column.Kind{column.Decimal}, ret: column.Decimal, fn: castDecimals, fallible: decimalCastFails},
		cast(column.Decimal, column.Double, castDecimalToDouble, false),
		cast(column.Decimal, column.Varchar, castDecimalToText, false),
	}
}
