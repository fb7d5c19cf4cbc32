package viewtest

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"strconv"
	"strings"

	"tidemill/state/column"
)

// value is one SQL value: as bytes for a column, and as an expression of SQL.
type value struct {
	null bool
	raw  []byte
	sql  string
}

// style says which values a column of a table has.
type style int

const (
	wild    style = iota // everything that the type holds
	few                  // a handful of values, so that groups are large and rows repeat
	summing              // floats k/1024 with |k| < 2^30, other numbers far from the type's ends: sums are exact
)

func null(t column.Type) value { return value{null: true, sql: "CAST(NULL AS " + t.String() + ")"} }

// intLimits returns the ends of an integer type of at most 64 bits.
func intLimits(k column.Kind) (lo int64, hi uint64) {
	bits := 8 * column.T(k).Size()
	if k >= column.UInt8 && k <= column.UInt64 {
		return 0, math.MaxUint64 >> (64 - bits)
	}
	return math.MinInt64 >> (64 - bits), math.MaxInt64 >> (64 - bits)
}

// random returns a value of t that is not NULL.
func random(r *rand.Rand, t column.Type, s style) value {
	switch {
	case t.Kind == column.Bool:
		b := r.IntN(2)
		return value{raw: []byte{byte(b)}, sql: []string{"FALSE", "TRUE"}[b]}
	case t.Integer():
		return randomInt(r, t, s)
	case t.Floating():
		return randomFloat(r, t, s)
	case t.Kind == column.Decimal:
		return randomDecimal(r, t, s)
	case t.Kind == column.Varchar:
		return textValue(randomText(r, s))
	case t.Kind == column.Blob:
		return randomBlob(r, s)
	case t.Kind == column.UUID:
		return randomUUID(r, s)
	case t.Kind == column.Interval:
		return randomInterval(r, s)
	}
	return randomTime(r, t, s)
}

func randomInt(r *rand.Rand, t column.Type, s style) value {
	var v *big.Int
	unsigned := t.Kind >= column.UInt8 && t.Kind <= column.UInt64
	switch {
	case s == few:
		v = big.NewInt(int64(r.IntN(7)) - 3)
	case s == summing:
		v = big.NewInt(int64(r.IntN(100)) - 50)
	case t.Kind == column.HugeInt:
		// Not near powers of two: DuckDB casts 2^81 to the DOUBLE 2^82.
		v = new(big.Int).Mul(new(big.Int).SetUint64(r.Uint64()), new(big.Int).SetUint64(r.Uint64()>>1))
		v.Rsh(v, uint(r.IntN(127)))
		if r.IntN(2) == 0 {
			v.Neg(v)
		}
		if r.IntN(4) == 0 {
			v = new(big.Int).Sub(new(big.Int).Lsh(big.NewInt(1), 127), big.NewInt(1))
		}
	default:
		lo, hi := intLimits(t.Kind)
		switch r.IntN(6) {
		case 0:
			v = big.NewInt(lo)
		case 1:
			v = new(big.Int).SetUint64(hi)
		case 2, 3:
			v = big.NewInt(int64(r.IntN(200)) - 100)
		default:
			v = new(big.Int).SetUint64(r.Uint64() >> r.IntN(64) & hi)
			if !unsigned && r.IntN(2) == 0 {
				v.Neg(v)
			}
		}
	}
	lo, hi := new(big.Int), new(big.Int)
	if t.Kind != column.HugeInt {
		l, h := intLimits(t.Kind)
		lo.SetInt64(l)
		hi.SetUint64(h)
		if v.Cmp(lo) < 0 {
			v.Abs(v)
		}
		if v.Cmp(hi) > 0 {
			v.Set(hi)
		}
	}
	return value{raw: littleEndian(v, t.Size()), sql: fmt.Sprintf("CAST('%s' AS %s)", v, t)}
}

// littleEndian returns v in two's complement.
func littleEndian(v *big.Int, size int) []byte {
	u := new(big.Int).Set(v)
	if u.Sign() < 0 {
		u.Add(u, new(big.Int).Lsh(big.NewInt(1), uint(8*size)))
	}
	b := u.FillBytes(make([]byte, size))
	for i, j := 0, size-1; i < j; i, j = i+1, j-1 {
		b[i], b[j] = b[j], b[i]
	}
	return b
}

func randomFloat(r *rand.Rand, t column.Type, s style) value {
	var v float64
	switch {
	case r.IntN(40) == 0 && s != few:
		v = []float64{math.NaN(), math.Inf(1), math.Inf(-1)}[r.IntN(3)]
	case s == few:
		v = []float64{0, math.Copysign(0, -1), 1, -1.5, 2, math.NaN()}[r.IntN(6)]
	case s == summing && t.Kind == column.Float:
		v = float64(r.IntN(1<<21)-1<<20) / 1024
	case s == summing:
		v = float64(r.IntN(1<<31)-1<<30) / 1024
	case t.Kind == column.Float:
		v = []float64{0, math.Copysign(0, -1), math.MaxFloat32, math.SmallestNonzeroFloat32, float64(r.Float32()), float64(float32(r.NormFloat64() * 1e6))}[r.IntN(6)]
	default:
		v = []float64{0, math.Copysign(0, -1), math.MaxFloat64, math.SmallestNonzeroFloat64, r.Float64(), r.NormFloat64() * 1e9, -2.5, 1e15}[r.IntN(8)]
	}
	if t.Kind == column.Float {
		return value{raw: binary.LittleEndian.AppendUint32(nil, math.Float32bits(float32(v))),
			sql: fmt.Sprintf("CAST('%s' AS FLOAT)", strconv.FormatFloat(v, 'g', -1, 32))}
	}
	return value{raw: binary.LittleEndian.AppendUint64(nil, math.Float64bits(v)),
		sql: fmt.Sprintf("CAST('%s' AS DOUBLE)", strconv.FormatFloat(v, 'g', -1, 64))}
}

func randomDecimal(r *rand.Rand, t column.Type, s style) value {
	limit := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(t.Width)), nil)
	v := new(big.Int)
	switch {
	case s == few:
		v.SetInt64(int64(r.IntN(9)) - 4)
	case s == summing:
		v.SetInt64(int64(r.IntN(100000)) - 50000)
	case r.IntN(4) == 0:
		v.Sub(limit, big.NewInt(1))
	default:
		v.SetUint64(r.Uint64())
		v.Mul(v, new(big.Int).SetUint64(r.Uint64()))
		v.Rsh(v, uint(r.IntN(128)))
	}
	v.Rem(v, limit)
	if s != few && r.IntN(2) == 0 {
		v.Neg(v)
	}
	digits := new(big.Int).Abs(v).String()
	if n := int(t.Scale) + 1 - len(digits); n > 0 {
		digits = strings.Repeat("0", n) + digits
	}
	at := len(digits) - int(t.Scale)
	text := digits[:at]
	if t.Scale > 0 {
		text += "." + digits[at:]
	}
	if v.Sign() < 0 {
		text = "-" + text
	}
	return value{raw: littleEndian(v, 16), sql: fmt.Sprintf("CAST('%s' AS %s)", text, t)}
}

var words = []string{"", "a", "b", "A", "ab", "abc", "42", "-7", " 12 ", "1e3", "3.75", "99999999999", "true", "é", "É", "日本語", "🦆duck", "a%_b", "it's", `back\slash`, "2024-02-29", "null", "x y  z"}

func randomText(r *rand.Rand, s style) string {
	switch {
	case s == few:
		return words[r.IntN(7)]
	case r.IntN(3) > 0:
		return words[r.IntN(len(words))]
	case r.IntN(10) == 0:
		return strings.Repeat(words[1+r.IntN(len(words)-1)], 1+r.IntN(200))
	case r.IntN(3) == 0:
		return strconv.Itoa(r.IntN(70000) - 35000)
	}
	b := make([]byte, r.IntN(24))
	for i := range b {
		b[i] = byte(' ' + r.IntN(95))
	}
	return string(b)
}

func textValue(s string) value {
	return value{raw: []byte(s), sql: "'" + strings.ReplaceAll(s, "'", "''") + "'"}
}

func randomBlob(r *rand.Rand, s style) value {
	n := r.IntN(20)
	if s == few {
		n = r.IntN(2)
	}
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(r.IntN(256))
		if s == few {
			b[i] &= 1
		}
	}
	return value{raw: b, sql: "unhex('" + hex.EncodeToString(b) + "')"}
}

func randomUUID(r *rand.Rand, s style) value {
	var b [16]byte
	if s == few {
		b[15] = byte(r.IntN(4))
		b[0] = byte(r.IntN(2)) << 7
	} else {
		binary.BigEndian.PutUint64(b[:], r.Uint64())
		binary.BigEndian.PutUint64(b[8:], r.Uint64())
	}
	h := hex.EncodeToString(b[:])
	return value{raw: b[:], sql: fmt.Sprintf("CAST('%s-%s-%s-%s-%s' AS UUID)", h[:8], h[8:12], h[12:16], h[16:20], h[20:])}
}

func randomInterval(r *rand.Rand, s style) value {
	m, d, us := int32(r.IntN(5)-2), int32(r.IntN(61)-30), int64(r.IntN(5)-2)*3_600_000_000
	if s == wild {
		m, d, us = int32(r.IntN(4000)-2000), int32(r.IntN(80000)-40000), r.Int64N(1e15)-5e14
	}
	raw := binary.LittleEndian.AppendUint32(nil, uint32(m))
	raw = binary.LittleEndian.AppendUint32(raw, uint32(d))
	raw = binary.LittleEndian.AppendUint64(raw, uint64(us))
	return value{raw: raw, sql: fmt.Sprintf("(to_months(%d) + to_days(%d) + to_microseconds(%d))", m, d, us)}
}

func randomTime(r *rand.Rand, t column.Type, s style) value {
	const day = 86_400_000_000
	switch t.Kind {
	case column.Date:
		n := int32(r.IntN(60000) - 20000)
		switch {
		case s == few:
			n = int32(19780 + r.IntN(4))
		case r.IntN(30) == 0:
			return value{raw: binary.LittleEndian.AppendUint32(nil, math.MaxInt32), sql: "CAST('infinity' AS DATE)"}
		case r.IntN(15) == 0:
			n = []int32{-719528, -719529, 2932896, -1000000, 3000000}[r.IntN(5)]
		}
		return value{raw: binary.LittleEndian.AppendUint32(nil, uint32(n)), sql: fmt.Sprintf("(DATE '1970-01-01' + %d)", n)}
	case column.Time:
		us := r.Int64N(day)
		if s == few {
			us = int64(r.IntN(4)) * 3_600_000_000
		}
		return value{raw: binary.LittleEndian.AppendUint64(nil, uint64(us)),
			sql: fmt.Sprintf("CAST('%02d:%02d:%02d.%06d' AS TIME)", us/3_600_000_000, us/60_000_000%60, us/1_000_000%60, us%1_000_000)}
	}
	us := r.Int64N(4e15) - 1e15
	switch {
	case s == few:
		us = 1_709_164_800_000_000 + int64(r.IntN(5))*43_200_000_000
	case r.IntN(30) == 0:
		return value{raw: binary.LittleEndian.AppendUint64(nil, math.MaxInt64), sql: fmt.Sprintf("CAST('infinity' AS %s)", t)}
	case r.IntN(15) == 0 && t.Kind != column.TimestampNS:
		us = []int64{-62_167_219_200_000_000, -62_167_219_200_000_001, 253_402_300_800_000_000, -1}[r.IntN(4)]
	}
	unit, sql := int64(1), fmt.Sprintf("make_timestamp(%d)", us)
	switch t.Kind {
	case column.TimestampS:
		us -= us % 1_000_000
		unit, sql = 1_000_000, fmt.Sprintf("CAST(make_timestamp(%d) AS TIMESTAMP_S)", us)
	case column.TimestampMS:
		us -= us % 1000
		unit, sql = 1000, fmt.Sprintf("CAST(make_timestamp(%d) AS TIMESTAMP_MS)", us)
	case column.TimestampTZ:
		sql = fmt.Sprintf("CAST(make_timestamp(%d) AS TIMESTAMPTZ)", us)
	case column.TimestampNS:
		ns := us*1000 + int64(r.IntN(2))*7
		return value{raw: binary.LittleEndian.AppendUint64(nil, uint64(ns)), sql: fmt.Sprintf("make_timestamp_ns(%d)", ns)}
	}
	return value{raw: binary.LittleEndian.AppendUint64(nil, uint64(us/unit)), sql: sql}
}
