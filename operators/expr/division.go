package expr

import (
	"fmt"
	"math/bits"

	"tidemill/state/column"
)

// divKernel is // or %. Division by zero gives NULL; the least value divided by -1 fails.
func divKernel[T integer](mod bool) func(e *Expr) kernelFunc {
	return func(e *Expr) kernelFunc {
		if d := e.Args[1]; d.Kind == Constant && d.Const != nil && !d.Const.Null && ^T(0) < 0 {
			if c := rawInt(d.Const.Raw); c > 1 {
				return divByConst[T](uint64(c), mod)
			}
		}
		return func(k *kcall) { divRows[T](k, mod) }
	}
}

func divRows[T integer](k *kcall, mod bool) {
	x, y, dst := viewAs[T](&k.args[0]), viewAs[T](&k.args[1]), outVals[T](k)
	signed := ^T(0) < 0
	for i := range dst {
		a, b := at(x, k.args[0].konst, i), at(y, k.args[1].konst, i)
		switch {
		case b == 0:
			dst[i] = 0
			if k.ok(i) {
				k.setNull(i)
			}
		case signed && b == ^T(0):
			if dst[i] = 0; !mod {
				dst[i] = -a
			}
			if a != 0 && a == -a && k.ok(i) {
				k.fail(i, fmt.Sprintf("Overflow in division of %d / %d", a, b))
			}
		case mod:
			dst[i] = a % b
		default:
			dst[i] = a / b
		}
	}
}

// divByConst divides by d > 1 with a multiplication (Granlund and Montgomery). The multiplier is
// 2^(63+l)/d rounded up with l = ceil(log2 d), which is exact for magnitudes up to 2^63 when d is
// no power of two; those are shifts.
func divByConst[T integer](d uint64, mod bool) kernelFunc {
	l := bits.Len64(d - 1)
	if d&(d-1) == 0 {
		return func(k *kcall) { shiftByConst(outVals[T](k), viewAs[T](&k.args[0]), l, mod) }
	}
	m, _ := bits.Div64(1<<(l-1), 0, d)
	m++
	return func(k *kcall) {
		dst, x := outVals[T](k), viewAs[T](&k.args[0])
		if mod {
			modConst(dst, x, d, m, l)
		} else {
			quoConst(dst, x, m, l)
		}
	}
}

func modConst[T integer](dst, x []T, d, m uint64, l int) {
	x = x[:len(dst)]
	shift := uint(l-1) & 63
	for i := range dst {
		v := int64(x[i])
		s := v >> 63
		u := uint64((v ^ s) - s)
		q, _ := bits.Mul64(u, m)
		r := int64(u - q>>shift*d)
		dst[i] = T((r ^ s) - s)
	}
}

func quoConst[T integer](dst, x []T, m uint64, l int) {
	x = x[:len(dst)]
	shift := uint(l-1) & 63
	for i := range dst {
		v := int64(x[i])
		s := v >> 63
		q, _ := bits.Mul64(uint64((v^s)-s), m)
		dst[i] = T((int64(q>>shift) ^ s) - s)
	}
}

func shiftByConst[T integer](dst, x []T, l int, mod bool) {
	x = x[:len(dst)]
	shift := uint(l) & 63
	mask := uint64(1)<<shift - 1
	for i := range dst {
		v := int64(x[i])
		s := v >> 63
		u := uint64((v ^ s) - s)
		r := int64(u >> shift)
		if mod {
			r = int64(u & mask)
		}
		dst[i] = T((r ^ s) - s)
	}
}

func wideDivision(mod bool) kernelFunc {
	minusOne := int128{^uint64(0), -1}
	return func(k *kcall) {
		x, y, dst := ints128(k, 0), ints128(k, 1), out128(k)
		for i := range dst {
			a, b := at(x, k.args[0].konst, i), at(y, k.args[1].konst, i)
			dst[i] = int128{}
			switch {
			case !k.ok(i):
			case b == int128{}:
				k.setNull(i)
			case a == minInt128 && b == minusOne:
				k.fail(i, fmt.Sprintf("Overflow in division of %s / %s", a, b))
			default:
				q, r := a.quoRem(b)
				if dst[i] = q; mod {
					dst[i] = r
				}
			}
		}
	}
}

// divisorMayOverflow reports whether the divisor of a signed division can be -1.
func divisorMayOverflow(e *Expr) bool {
	d := e.Args[1]
	if d.Kind != Constant || d.Const == nil {
		return true
	}
	if d.Const.Null {
		return false
	}
	for _, b := range d.Const.Raw {
		if b != 0xff {
			return false
		}
	}
	return true
}

func divisionOf[T integer](kind column.Kind) []native {
	two := []column.Kind{kind, kind}
	var fallible func(*Expr) bool
	if ^T(0) < 0 {
		fallible = divisorMayOverflow
	}
	return []native{
		{name: "//", args: two, ret: kind, prepare: divKernel[T](false), fallible: fallible},
		{name: "%", args: two, ret: kind, prepare: divKernel[T](true), fallible: fallible},
	}
}

// division is // and % of integers.
func division() []native {
	wide := []column.Kind{column.HugeInt, column.HugeInt}
	out := []native{
		{name: "//", args: wide, ret: column.HugeInt, fn: wideDivision(false), fallible: divisorMayOverflow},
		{name: "%", args: wide, ret: column.HugeInt, fn: wideDivision(true), fallible: divisorMayOverflow},
	}
	out = append(out, divisionOf[int8](column.Int8)...)
	out = append(out, divisionOf[int16](column.Int16)...)
	out = append(out, divisionOf[int32](column.Int32)...)
	out = append(out, divisionOf[int64](column.Int64)...)
	out = append(out, divisionOf[uint8](column.UInt8)...)
	out = append(out, divisionOf[uint16](column.UInt16)...)
	out = append(out, divisionOf[uint32](column.UInt32)...)
	return append(out, divisionOf[uint64](column.UInt64)...)
}
