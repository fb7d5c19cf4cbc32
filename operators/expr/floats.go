package expr

import (
	"math"

	"tidemill/state/column"
)

func addFloats[T floating](dst, a, b []T) {
	a, b = a[:len(dst)], b[:len(dst)]
	for i := range dst {
		dst[i] = a[i] + b[i]
	}
}

func subFloats[T floating](dst, a, b []T) {
	a, b = a[:len(dst)], b[:len(dst)]
	for i := range dst {
		dst[i] = a[i] - b[i]
	}
}

func mulFloats[T floating](dst, a, b []T) {
	a, b = a[:len(dst)], b[:len(dst)]
	for i := range dst {
		dst[i] = a[i] * b[i]
	}
}

func divFloats[T floating](dst, a, b []T) {
	a, b = a[:len(dst)], b[:len(dst)]
	for i := range dst {
		dst[i] = a[i] / b[i]
	}
}

func addFloatConst[T floating](dst, a []T, c T) {
	a = a[:len(dst)]
	for i := range dst {
		dst[i] = a[i] + c
	}
}

func mulFloatConst[T floating](dst, a []T, c T) {
	a = a[:len(dst)]
	for i := range dst {
		dst[i] = a[i] * c
	}
}

func divFloatConst[T floating](dst, a []T, c T) {
	a = a[:len(dst)]
	for i := range dst {
		dst[i] = a[i] / c
	}
}

// floatKernel makes a kernel of a loop over two columns; byConst is the loop for a second argument
// that is one value, if there is one.
func floatKernel[T floating](rows func(dst, a, b []T), byConst func(dst, a []T, c T)) kernelFunc {
	return func(k *kcall) {
		dst := outVals[T](k)
		k.spread(0)
		if k.args[1].konst && byConst != nil {
			byConst(dst, viewAs[T](&k.args[0]), viewAs[T](&k.args[1])[0])
			return
		}
		k.spread(1)
		rows(dst, viewAs[T](&k.args[0]), viewAs[T](&k.args[1]))
	}
}

// modFloats is C's fmod, which Go's Mod equals.
func modFloats[T floating](dst, a, b []T) {
	for i := range dst {
		dst[i] = T(math.Mod(float64(a[i]), float64(b[i])))
		if dst[i] != dst[i] {
			dst[i] = a[i] - a[i] + b[i]*0/(b[i]*0) // not a number as the processor makes it
		}
	}
}

func floatsOf[T floating](kind column.Kind) []native {
	two := []column.Kind{kind, kind}
	return []native{
		{name: "+", args: two, ret: kind, fn: floatKernel(addFloats[T], addFloatConst[T])},
		{name: "-", args: two, ret: kind, fn: floatKernel(subFloats[T], func(dst, a []T, c T) { addFloatConst(dst, a, -c) })},
		{name: "*", args: two, ret: kind, fn: floatKernel(mulFloats[T], mulFloatConst[T])},
		{name: "/", args: two, ret: kind, fn: floatKernel(divFloats[T], divFloatConst[T])},
		{name: "%", args: two, ret: kind, fn: floatKernel(modFloats[T], nil)},
	}
}

// mathKernel applies f, which is exact or correctly rounded in both languages.
func mathKernel(f func(float64) float64) kernelFunc {
	return func(k *kcall) {
		x, dst := viewAs[float64](&k.args[0]), outVals[float64](k)
		for i := range dst {
			dst[i] = f(x[i])
		}
	}
}

func sqrtKernel(k *kcall) {
	x, dst := viewAs[float64](&k.args[0]), outVals[float64](k)
	for i := range dst {
		dst[i] = math.Sqrt(x[i])
		if x[i] < 0 && k.ok(i) {
			k.fail(i, "cannot take square root of a negative number")
		}
	}
}

// floats is the arithmetic of DOUBLE and FLOAT under IEEE rules, as DuckDB's default setting
// ieee_floating_point_ops has it: division by zero gives an infinity or NaN.
func floats() []native {
	one := []column.Kind{column.Double}
	out := []native{
		{name: "floor", args: one, ret: column.Double, fn: mathKernel(math.Floor)},
		{name: "ceil", args: one, ret: column.Double, fn: mathKernel(math.Ceil)},
		{name: "trunc", args: one, ret: column.Double, fn: mathKernel(math.Trunc)},
		{name: "round", args: one, ret: column.Double, fn: mathKernel(math.Round)},
		{name: "sqrt", args: one, ret: column.Double, fn: sqrtKernel, fallible: always},
	}
	out = append(out, floatsOf[float64](column.Double)...)
	return append(out, floatsOf[float32](column.Float)...)
}
