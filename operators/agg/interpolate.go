package agg

import (
	"math"
	"math/big"

	"tidemill/state/column"
)

// value appends the value between two encoded rows, as DuckDB computes it.
func (q *quantile) value(out *column.Builder, found [2]string, same bool, part float64) error {
	both := []*column.Builder{column.NewBuilder(q.spec.Args[0], 2)}
	for _, entry := range found {
		if err := q.rows.decode([]byte(entry), both); err != nil {
			return err
		}
	}
	col := both[0].Finish()
	if !q.cont {
		out.AppendFrom(&col, 0)
		return nil
	}
	if same {
		part = 0
	}
	between(out, &col, part)
	return nil
}

// microsPerDay is a day in the unit of TIMESTAMP.
const microsPerDay = 24 * 60 * 60 * 1_000_000

// between appends the value that lies part of the way from row 0 of c to row 1: of instants the nearest one, of
// DECIMALs the digits cut off.
func between(out *column.Builder, c *column.Column, part float64) {
	switch k := c.Type.Kind; {
	case k == column.Float:
		v := column.Values[float32](c)
		column.Append(out, mixFloats(v[0], v[1], part))
	case k == column.Double:
		v := column.Values[float64](c)
		column.Append(out, mix(v[0], v[1], part))
	case c.Type.Integer():
		column.Append(out, mix(doubleOf(c, 0), doubleOf(c, 1), part))
	case k == column.Decimal:
		column.Append(out, betweenDecimals(c, part))
	case k == column.Date:
		v := column.Values[int32](c)
		column.Append(out, betweenInstants(microsOf(v[0]), microsOf(v[1]), part))
	default: // TIME and TIMESTAMPs
		v := column.Values[int64](c)
		column.Append(out, betweenInstants(v[0], v[1], part))
	}
}

// mix interpolates doubles.
func mix(lo, hi, part float64) float64 {
	if part == 0 {
		return lo
	}
	a, b := float64(lo*(1-part)), float64(hi*part) // two roundings, not a fused one
	return a + b
}

// mixFloats interpolates in single precision.
func mixFloats(lo, hi float32, part float64) float32 {
	if part == 0 {
		return lo
	}
	return lo + float32(float64(hi-lo)*part)
}

// mixSame interpolates what is not a double, in double precision.
func mixSame(lo, hi, part float64) float64 {
	if part == 0 {
		return lo
	}
	return lo + float64((hi-lo)*part)
}

func betweenInstants(lo, hi int64, part float64) int64 {
	if part == 0 {
		return lo
	}
	return int64(math.Round(mixSame(float64(lo), float64(hi), part)))
}

func betweenInts(lo, hi int64, part float64) int64 {
	if part == 0 {
		return lo
	}
	return lo + int64(float64(hi-lo)*part)
}

func betweenDecimals(c *column.Column, part float64) column.Int128 {
	v := column.Values[column.Int128](c)
	if part == 0 {
		return v[0]
	}
	if c.Type.Width <= 18 {
		return column.Int128Of(betweenInts(int64(v[0].Lo), int64(v[1].Lo), part))
	}
	lo, hi := doubleOf(c, 0), doubleOf(c, 1)
	f, _ := new(big.Float).SetFloat64(mixSame(lo, hi, part)).Int(nil)
	return int128OfBig(f)
}

func int128OfBig(v *big.Int) column.Int128 {
	mask := new(big.Int).SetUint64(math.MaxUint64)
	abs := new(big.Int).Abs(v)
	out := column.Int128{Lo: new(big.Int).And(abs, mask).Uint64(), Hi: int64(new(big.Int).Rsh(abs, 64).Uint64())}
	if v.Sign() < 0 {
		return out.Neg()
	}
	return out
}

// doubleOf returns the integer, or a DECIMAL's digits, of row i as a double.
func doubleOf(c *column.Column, i int) float64 {
	switch c.Type.Kind {
	case column.Int8:
		return float64(column.Values[int8](c)[i])
	case column.Int16:
		return float64(column.Values[int16](c)[i])
	case column.Int32:
		return float64(column.Values[int32](c)[i])
	case column.Int64:
		return float64(column.Values[int64](c)[i])
	case column.UInt8:
		return float64(column.Values[uint8](c)[i])
	case column.UInt16:
		return float64(column.Values[uint16](c)[i])
	case column.UInt32:
		return float64(column.Values[uint32](c)[i])
	case column.UInt64:
		return float64(column.Values[uint64](c)[i])
	}
	v := column.Values[column.Int128](c)[i]
	return v.Float64()
}

func bigOf(v column.Int128) *big.Int {
	b := new(big.Int).Lsh(big.NewInt(v.Hi), 64)
	return b.Add(b, new(big.Int).SetUint64(v.Lo))
}

// microsOf returns the midnight of a day; the infinite days are the infinite instants.
func microsOf(day int32) int64 {
	switch day {
	case math.MaxInt32:
		return math.MaxInt64
	case -math.MaxInt32:
		return -math.MaxInt64
	}
	return int64(day) * microsPerDay
}
