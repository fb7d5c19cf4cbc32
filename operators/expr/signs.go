package expr

import (
	"fmt"
	"math"

	"tidemill/state/column"
)

func negateInt[T integer](k *kcall) {
	x, dst := viewAs[T](&k.args[0]), outVals[T](k)
	for i := range dst {
		r := -x[i]
		dst[i] = r
		if r == x[i] && r != 0 && k.ok(i) {
			k.fail(i, "Overflow in negation of numeric value!")
		}
	}
}

func absInt[T integer](k *kcall) {
	x, dst := viewAs[T](&k.args[0]), outVals[T](k)
	for i := range dst {
		r := x[i]
		if r < 0 {
			if r = -r; r < 0 && k.ok(i) {
				k.fail(i, fmt.Sprintf("Overflow on abs(%d)", r))
			}
		}
		dst[i] = r
	}
}

func negateFloat[T floating](k *kcall) {
	x, dst := viewAs[T](&k.args[0]), outVals[T](k)
	for i := range dst {
		dst[i] = -x[i]
	}
}

func absFloat[T floating](k *kcall) {
	x, dst := viewAs[T](&k.args[0]), outVals[T](k)
	for i := range dst {
		dst[i] = T(math.Abs(float64(x[i])))
	}
}

func signsOf[T integer](kind column.Kind) []native {
	one := []column.Kind{kind}
	return []native{
		{name: "-", args: one, ret: kind, fn: negateInt[T], fallible: always},
		{name: "abs", args: one, ret: kind, fn: absInt[T], fallible: always},
	}
}

// signs is unary minus and abs.
func signs() []native {
	out := []native{
		{name: "-", args: []column.Kind{column.Double}, ret: column.Double, fn: negateFloat[float64]},
		{name: "-", args: []column.Kind{column.Float}, ret: column.Float, fn: negateFloat[float32]},
		{name: "abs", args: []column.Kind{column.Double}, ret: column.Double, fn: absFloat[float64]},
		{name: "abs", args: []column.Kind{column.Float}, ret: column.Float, fn: absFloat[float32]},
	}
	out = append(out, signsOf[int8](column.Int8)...)
	out = append(out, signsOf[int16](column.Int16)...)
	out = append(out, signsOf[int32](column.Int32)...)
	return append(out, signsOf[int64](column.Int64)...)
}
