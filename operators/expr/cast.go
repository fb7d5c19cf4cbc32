package expr

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unsafe"

	"tidemill/state/column"
)

// outOfRange is DuckDB's message for a number that the destination type does not hold.
func outOfRange(from column.Kind, value string, to column.Kind) string {
	return fmt.Sprintf("Type %s with value %s can't be cast because the value is out of range for the destination type %s",
		physicalName(from), value, physicalName(to))
}

// castInts converts between integer types.
func castInts[S, D integer](k *kcall) {
	x, dst := viewAs[S](&k.args[0]), outVals[D](k)
	x = x[:len(dst)]
	if holdsAll[S, D]() {
		for i := range dst {
			dst[i] = D(x[i])
		}
		return
	}
	bad := uint8(0)
	for i := range dst {
		r := D(x[i])
		dst[i] = r
		bad |= b2u(S(r) != x[i]) | (b2u(r < 0) ^ b2u(x[i] < 0))
	}
	if bad == 0 {
		return
	}
	for i, r := range dst {
		if (S(r) != x[i] || (r < 0) != (x[i] < 0)) && k.ok(i) {
			k.fail(i, outOfRange(k.args[0].Type.Kind, fmt.Sprint(x[i]), k.nd.typ.Kind))
		}
	}
}

// holdsAll reports whether every S is a D.
func holdsAll[S, D integer]() bool {
	var s S
	var d D
	sSigned, dSigned := ^S(0) < 0, ^D(0) < 0
	return sSigned == dSigned && unsafe.Sizeof(s) <= unsafe.Sizeof(d) ||
		!sSigned && dSigned && unsafe.Sizeof(s) < unsafe.Sizeof(d)
}

func castToFloat[S integer | floating, D floating](k *kcall) {
	x, dst := viewAs[S](&k.args[0]), outVals[D](k)
	x = x[:len(dst)]
	for i := range dst {
		dst[i] = D(x[i])
	}
}

// castNarrowFloat is DOUBLE to FLOAT.
func castNarrowFloat(k *kcall) {
	x, dst := viewAs[float64](&k.args[0]), outVals[float32](k)
	for i := range dst {
		dst[i] = float32(x[i])
		if math.IsInf(float64(dst[i]), 0) && !math.IsInf(x[i], 0) && k.ok(i) {
			k.fail(i, outOfRange(column.Double, doubleText(x[i], 64), column.Float))
		}
	}
}

// castFloatToInt rounds half to even. A value within a half above the greatest integer passes
// DuckDB's range check and then wraps as the processor does: those are left to it.
func castFloatToInt[S floating, D integer](k *kcall) {
	x, dst := viewAs[S](&k.args[0]), outVals[D](k)
	var d D
	bits := 8 * int(unsafe.Sizeof(d))
	lo, hi := 0.0, math.Ldexp(1, bits)
	if ^D(0) < 0 {
		lo, hi = -math.Ldexp(1, bits-1), math.Ldexp(1, bits-1)
	}
	for i := range dst {
		v := float64(x[i])
		r := math.RoundToEven(v)
		switch {
		case v >= lo && r < hi:
			dst[i] = D(r)
			if hi > 1<<63 && r >= 1<<63 {
				dst[i] = D(uint64(r))
			}
			continue
		case !k.ok(i):
		case v >= lo && v < hi:
			k.leave(i)
		default:
			k.fail(i, outOfRange(k.args[0].Type.Kind, doubleText(v, 8*int(unsafe.Sizeof(x[i]))), k.nd.typ.Kind))
		}
		dst[i] = 0
	}
}

// doubleText prints a float as DuckDB does: the shortest digits that read back, an exponent below
// -4 and from 16 on.
func doubleText(f float64, bits int) string {
	switch {
	case f != f && math.Signbit(f):
		return "-nan"
	case f != f:
		return "nan"
	case math.IsInf(f, 1):
		return "inf"
	case math.IsInf(f, -1):
		return "-inf"
	}
	s := strconv.FormatFloat(f, 'e', -1, bits)
	mantissa, exp, _ := strings.Cut(s, "e")
	e, _ := strconv.Atoi(exp)
	if e < -4 || e >= 16 {
		return mantissa + "e" + exp
	}
	s = strconv.FormatFloat(f, 'f', -1, bits)
	if !strings.Contains(s, ".") {
		s += ".0"
	}
	return s
}

func castBoolToInt[D integer | floating](k *kcall) {
	x, dst := viewAs[uint8](&k.args[0]), outVals[D](k)
	for i := range dst {
		dst[i] = D(x[i])
	}
}

func castToBool[S integer | floating](k *kcall) {
	x, dst := viewAs[S](&k.args[0]), outVals[uint8](k)
	for i := range dst {
		dst[i] = b2u(x[i] != 0)
	}
}

// castToHuge widens to HUGEINT.
func castToHuge[S integer](k *kcall) {
	x, dst := viewAs[S](&k.args[0]), out128(k)
	for i := range dst {
		dst[i] = wide(x[i])
	}
}

func wide[S integer](v S) int128 {
	if v < 0 {
		return int128{uint64(v), -1}
	}
	return int128{uint64(v), 0}
}

// castFromHuge narrows HUGEINT.
func castFromHuge[D integer](k *kcall) {
	x, dst := ints128(k, 0), outVals[D](k)
	for i := range dst {
		dst[i] = D(x[i].Lo)
		if wide(dst[i]) != x[i] && k.ok(i) {
			k.fail(i, outOfRange(column.HugeInt, x[i].String(), k.nd.typ.Kind))
		}
	}
}

func (a int128) float64() float64 { return column.Int128(a).Float64() }

// castHugeToDouble leaves what needs more than 64 bits and a sign to DuckDB, which does not round some of it to
// the nearest.
func castHugeToDouble(k *kcall) {
	x, dst := ints128(k, 0), outVals[float64](k)
	for i := range dst {
		if hi := x[i].Hi; hi == 0 || hi == -1 {
			dst[i] = x[i].float64()
		} else {
			k.leave(i)
		}
	}
}

func cast(from, to column.Kind, fn kernelFunc, fallible bool) native {
	n := native{name: "CAST", args: []column.Kind{from}, ret: to, fn: fn}
	if fallible {
		n.fallible = always
	}
	return n
}

func castsFrom[S integer](from column.Kind) []native {
	return []native{
		cast(from, column.Int8, castInts[S, int8], !holdsAll[S, int8]()),
		cast(from, column.Int16, castInts[S, int16], !holdsAll[S, int16]()),
		cast(from, column.Int32, castInts[S, int32], !holdsAll[S, int32]()),
		cast(from, column.Int64, castInts[S, int64], !holdsAll[S, int64]()),
		cast(from, column.UInt8, castInts[S, uint8], !holdsAll[S, uint8]()),
		cast(from, column.UInt16, castInts[S, uint16], !holdsAll[S, uint16]()),
		cast(from, column.UInt32, castInts[S, uint32], !holdsAll[S, uint32]()),
		cast(from, column.UInt64, castInts[S, uint64], !holdsAll[S, uint64]()),
		cast(from, column.HugeInt, castToHuge[S], false),
		cast(from, column.Double, castToFloat[S, float64], false),
		cast(from, column.Float, castToFloat[S, float32], false),
		cast(from, column.Bool, castToBool[S], false),
		cast(column.HugeInt, from, castFromHuge[S], true),
		cast(column.Double, from, castFloatToInt[float64, S], true),
		cast(column.Float, from, castFloatToInt[float32, S], true),
		cast(column.Bool, from, castBoolToInt[S], false),
		{name: "CAST", args: []column.Kind{from}, ret: column.Decimal, fn: castIntToDecimal[S], fallible: always},
		{name: "CAST", args: []column.Kind{column.Decimal}, ret: from, fn: castDecimalToInt[S], fallible: always},
		cast(from, column.Varchar, castIntToText[S], false),
		cast(column.Varchar, from, castTextToInt[S], true),
	}
}

// casts are all CAST kernels; TRY_CAST uses them too.
func casts() []native {
	out := []native{
		cast(column.Bool, column.Double, castBoolToInt[float64], false),
		cast(column.Bool, column.Float, castBoolToInt[float32], false),
		cast(column.Double, column.Bool, castToBool[float64], false),
		cast(column.Float, column.Bool, castToBool[float32], false),
		cast(column.Float, column.Double, castToFloat[float32, float64], false),
		cast(column.Double, column.Float, castNarrowFloat, true),
		cast(column.HugeInt, column.Double, castHugeToDouble, false),
	}
	return slices.Concat(out,
		castsFrom[int8](column.Int8), castsFrom[int16](column.Int16), castsFrom[int32](column.Int32), castsFrom[int64](column.Int64),
		castsFrom[uint8](column.UInt8), castsFrom[uint16](column.UInt16), castsFrom[uint32](column.UInt32), castsFrom[uint64](column.UInt64),
		decimalCasts(), textCasts(), temporalCasts())
}
