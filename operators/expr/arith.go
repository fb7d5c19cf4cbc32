package expr

import (
	"fmt"
	"math/bits"
	"strings"
	"unsafe"

	"tidemill/state/column"
)

// The loops below compute every row and gather overflow in the sign bit of one word, so that they
// do not branch; only when it is set are the rows looked at one by one for those that are not NULL.

// addRows writes a+b and returns a negative number (for unsigned types: one with the highest bit)
// when some row overflowed.
func addRows[T integer](dst, a, b []T) (over T) {
	a, b = a[:len(dst)], b[:len(dst)]
	if ^T(0) < 0 {
		for i := range dst {
			r := a[i] + b[i]
			over |= (a[i] ^ r) & (b[i] ^ r)
			dst[i] = r
		}
		return over
	}
	for i := range dst {
		r := a[i] + b[i]
		over |= a[i]&b[i] | (a[i]|b[i])&^r
		dst[i] = r
	}
	return over
}

func addConst[T integer](dst, a []T, c T) (over T) {
	a = a[:len(dst)]
	if ^T(0) < 0 {
		for i := range dst {
			r := a[i] + c
			over |= (a[i] ^ r) & (c ^ r)
			dst[i] = r
		}
		return over
	}
	for i := range dst {
		r := a[i] + c
		over |= a[i]&c | (a[i]|c)&^r
		dst[i] = r
	}
	return over
}

func subRows[T integer](dst, a, b []T) (over T) {
	a, b = a[:len(dst)], b[:len(dst)]
	if ^T(0) < 0 {
		for i := range dst {
			r := a[i] - b[i]
			over |= (a[i] ^ b[i]) & (a[i] ^ r)
			dst[i] = r
		}
		return over
	}
	for i := range dst {
		r := a[i] - b[i]
		over |= ^a[i]&b[i] | (^a[i]|b[i])&r
		dst[i] = r
	}
	return over
}

func subConst[T integer](dst, a []T, c T) (over T) {
	a = a[:len(dst)]
	if ^T(0) < 0 {
		for i := range dst {
			r := a[i] - c
			over |= (a[i] ^ c) & (a[i] ^ r)
			dst[i] = r
		}
		return over
	}
	for i := range dst {
		r := a[i] - c
		over |= ^a[i]&c | (^a[i]|c)&r
		dst[i] = r
	}
	return over
}

// mulRows writes a*b and reports whether some row overflowed. A step of 0 takes b[0] for all rows.
func mulRows[T integer](dst, a, b []T, step int) bool {
	a = a[:len(dst)]
	var zero T
	signed := ^T(0) < 0
	switch size := unsafe.Sizeof(zero); {
	case size == 8 && signed:
		var over int64
		for i, j := 0, 0; i < len(dst); i, j = i+1, j+step {
			x, y := int64(a[i]), int64(b[j])
			hi, lo := bits.Mul64(uint64(x), uint64(y))
			h := int64(hi) - (x >> 63 & y) - (y >> 63 & x)
			over |= h ^ int64(lo)>>63
			dst[i] = T(lo)
		}
		return over != 0
	case size == 8:
		var over uint64
		for i, j := 0, 0; i < len(dst); i, j = i+1, j+step {
			hi, lo := bits.Mul64(uint64(a[i]), uint64(b[j]))
			over |= hi
			dst[i] = T(lo)
		}
		return over != 0
	}
	var over int64
	for i, j := 0, 0; i < len(dst); i, j = i+1, j+step {
		r := int64(a[i]) * int64(b[j])
		dst[i] = T(r)
		over |= r ^ int64(T(r))
	}
	return over != 0
}

// addOne, subOne and mulOne compute one row and whether it fits.
func addOne[T integer](a, b T) bool {
	return addRows([]T{0}, []T{a}, []T{b})>>(8*unsafe.Sizeof(a)-1) == 0
}
func subOne[T integer](a, b T) bool {
	return subRows([]T{0}, []T{a}, []T{b})>>(8*unsafe.Sizeof(a)-1) == 0
}
func mulOne[T integer](a, b T) bool { return !mulRows([]T{0}, []T{a}, []T{b}, 1) }

// at returns row i of v, or its one row.
func at[T any](v []T, konst bool, i int) T {
	if konst {
		return v[0]
	}
	return v[i]
}

// failRows finds the rows that overflow and gives them DuckDB's message.
func failRows[T integer](k *kcall, what, op string, fits func(a, b T) bool) {
	x, y := viewAs[T](&k.args[0]), viewAs[T](&k.args[1])
	for i := range k.n {
		a, b := at(x, k.args[0].konst, i), at(y, k.args[1].konst, i)
		if k.ok(i) && !fits(a, b) {
			k.fail(i, fmt.Sprintf("Overflow in %s of %s (%d %s %d)!", what, physicalName(k.nd.typ.Kind), a, op, b))
		}
	}
}

func addKernel[T integer](k *kcall) {
	x, y, dst := viewAs[T](&k.args[0]), viewAs[T](&k.args[1]), outVals[T](k)
	var over T
	switch {
	case k.args[0].konst:
		over = addConst(dst, y, x[0])
	case k.args[1].konst:
		over = addConst(dst, x, y[0])
	default:
		over = addRows(dst, x, y)
	}
	if over>>(8*unsafe.Sizeof(over)-1) != 0 {
		failRows(k, "addition", "+", addOne[T])
	}
}

func subKernel[T integer](k *kcall) {
	dst := outVals[T](k)
	k.spread(0)
	x, y := viewAs[T](&k.args[0]), viewAs[T](&k.args[1])
	var over T
	if k.args[1].konst {
		over = subConst(dst, x, y[0])
	} else {
		over = subRows(dst, x, y)
	}
	if over>>(8*unsafe.Sizeof(over)-1) != 0 {
		failRows(k, "subtraction", "-", subOne[T])
	}
}

func mulKernel[T integer](k *kcall) {
	x, y, dst := viewAs[T](&k.args[0]), viewAs[T](&k.args[1]), outVals[T](k)
	var over bool
	switch {
	case k.args[0].konst:
		over = mulRows(dst, y, x, 0)
	case k.args[1].konst:
		over = mulRows(dst, x, y, 0)
	default:
		over = mulRows(dst, x, y, 1)
	}
	if over {
		failRows(k, "multiplication", "*", mulOne[T])
	}
}

// wideKernel is +, - or * of HUGEINT.
func wideKernel(what, op string, f func(a, b int128) (int128, bool)) kernelFunc {
	return func(k *kcall) {
		x, y, dst := ints128(k, 0), ints128(k, 1), out128(k)
		for i := range dst {
			a, b := at(x, k.args[0].konst, i), at(y, k.args[1].konst, i)
			r, ok := f(a, b)
			dst[i] = r
			if op == "*" && r == minInt128 && k.ok(i) {
				k.leave(i) // DuckDB takes the least value as an overflow by the form of the factors
			} else if !ok && k.ok(i) {
				k.fail(i, fmt.Sprintf("Overflow in %s of INT128 (%s %s %s)!", what, a, op, b))
			}
		}
	}
}

// physicalName is the name that DuckDB's messages give to a type.
func physicalName(k column.Kind) string {
	switch k {
	case column.Bool:
		return "BOOL"
	case column.Int8, column.Int16, column.Int32, column.Int64, column.UInt8, column.UInt16, column.UInt32, column.UInt64:
		return strings.ToUpper(map[column.Kind]string{
			column.Int8: "int8", column.Int16: "int16", column.Int32: "int32", column.Int64: "int64",
			column.UInt8: "uint8", column.UInt16: "uint16", column.UInt32: "uint32", column.UInt64: "uint64",
		}[k])
	case column.HugeInt:
		return "INT128"
	}
	return column.T(k).String()
}

func integerKernels[T integer](kind column.Kind) []native {
	two := []column.Kind{kind, kind}
	return []native{
		{name: "+", args: two, ret: kind, fn: addKernel[T], fallible: always},
		{name: "-", args: two, ret: kind, fn: subKernel[T], fallible: always},
		{name: "*", args: two, ret: kind, fn: mulKernel[T], fallible: always},
	}
}

// arithmetic is + - * of integers.
func arithmetic() []native {
	wide := []column.Kind{column.HugeInt, column.HugeInt}
	out := []native{
		{name: "+", args: wide, ret: column.HugeInt, fn: wideKernel("addition", "+", int128.add), fallible: always},
		{name: "-", args: wide, ret: column.HugeInt, fn: wideKernel("subtraction", "-", int128.sub), fallible: always},
		{name: "*", args: wide, ret: column.HugeInt, fn: wideKernel("multiplication", "*", int128.mul), fallible: always},
	}
	out = append(out, integerKernels[int8](column.Int8)...)
	out = append(out, integerKernels[int16](column.Int16)...)
	out = append(out, integerKernels[int32](column.Int32)...)
	out = append(out, integerKernels[int64](column.Int64)...)
	out = append(out, integerKernels[uint8](column.UInt8)...)
	out = append(out, integerKernels[uint16](column.UInt16)...)
	out = append(out, integerKernels[uint32](column.UInt32)...)
	return append(out, integerKernels[uint64](column.UInt64)...)
}
