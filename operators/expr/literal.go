package expr

import (
	"encoding/binary"
	"fmt"
	"math"
	"strconv"
	"strings"

	"tidemill/state/column"
)

// writeConstant prints a constant so that DuckDB reads back the same value of the same type.
// Not-a-number keeps its sign, which a cast to text shows, and loses its payload.
func writeConstant(b *strings.Builder, t column.Type, v *Value) {
	if v == nil || v.Null {
		b.WriteString("CAST(NULL AS " + t.String() + ")")
		return
	}
	switch {
	case t.Kind >= column.UHugeInt:
		c := one(t, v.Raw)
		writeValue(b, &c, 0)
	case t.Kind == column.Varchar && strings.IndexByte(string(v.Raw), 0) >= 0:
		// The SQL text ends at a NUL byte, so it cannot stand inside a literal.
		parts := strings.Split(string(v.Raw), "\x00")
		b.WriteString("CAST((" + quote(parts[0]))
		for _, p := range parts[1:] {
			b.WriteString(" || chr(0) || " + quote(p))
		}
		b.WriteString(") AS VARCHAR)")
	case t.Kind == column.Date && farDate(rawInt(v.Raw)):
		b.WriteString("(CAST('1970-01-01' AS DATE) + CAST('" + strconv.FormatInt(rawInt(v.Raw), 10) + "' AS INTEGER))")
	default:
		b.WriteString("CAST(" + quote(literal(t, v.Raw)) + " AS " + t.String() + ")")
	}
}

// one returns a column of the one value with bytes raw.
func one(t column.Type, raw []byte) column.Column {
	b := column.NewBuilder(t, 1)
	b.AppendRaw(raw)
	return b.Finish()
}

// writeValue prints row i of c.
func writeValue(b *strings.Builder, c *column.Column, i int) {
	switch {
	case c.IsNull(i):
		b.WriteString("CAST(NULL AS " + c.Type.String() + ")")
	case c.Type.Nested():
		b.WriteString("CAST(")
		writeParts(b, c, i)
		b.WriteString(" AS " + c.Type.String() + ")")
	case c.Type.Kind < column.UHugeInt:
		writeConstant(b, c.Type, &Value{Raw: c.Raw(i)})
	default:
		b.WriteString("CAST(" + quote(string(column.AppendText(nil, c, i))) + " AS " + c.Type.String() + ")")
	}
}

func writeParts(b *strings.Builder, c *column.Column, i int) {
	list := func(k *column.Column, from, to int) {
		b.WriteByte('[')
		for e := from; e < to; e++ {
			if e > from {
				b.WriteString(", ")
			}
			writeValue(b, k, e)
		}
		b.WriteByte(']')
	}
	name := func(k int) string { return `"` + strings.ReplaceAll(c.Type.KidName(k), `"`, `""`) + `" := ` }
	switch c.Type.Kind {
	case column.List, column.Array:
		from, to := c.Elements(i)
		list(&c.Kids[0], from, to)
	case column.Map:
		from, to := c.Elements(i)
		b.WriteString(`"map"(`)
		list(&c.Kids[0].Kids[0], from, to)
		b.WriteString(", ")
		list(&c.Kids[0].Kids[1], from, to)
		b.WriteByte(')')
	case column.Union:
		k := 1 + int(c.Kids[0].Data[i])
		b.WriteString("union_value(" + name(k))
		writeValue(b, &c.Kids[k], i)
		b.WriteByte(')')
	case column.Struct:
		b.WriteString("struct_pack(")
		for k := range c.Kids {
			if k > 0 {
				b.WriteString(", ")
			}
			b.WriteString(name(k))
			writeValue(b, &c.Kids[k], i)
		}
		b.WriteByte(')')
	}
}

// farDate reports whether a date is so far from 1970 that DuckDB may not read its text, though it
// holds it.
func farDate(days int64) bool {
	return (days > 1<<30 || days < -1<<30) && days != infDate && days != -infDate
}

func quote(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }

// literal returns the text that DuckDB casts to the value of type t with bytes raw.
func literal(t column.Type, raw []byte) string {
	switch t.Kind {
	case column.Bool:
		return strconv.FormatBool(raw[0] != 0)
	case column.Float:
		return floatLiteral(float64(math.Float32frombits(binary.LittleEndian.Uint32(raw))), 32)
	case column.Double:
		return floatLiteral(math.Float64frombits(binary.LittleEndian.Uint64(raw)), 64)
	case column.HugeInt:
		return int128Of(raw).String()
	case column.Decimal:
		return decimalText(int128Of(raw), int(t.Scale))
	case column.Varchar:
		return string(raw)
	case column.Blob:
		var b strings.Builder
		for _, c := range raw {
			fmt.Fprintf(&b, `\x%02X`, c)
		}
		return b.String()
	case column.UUID:
		h := fmt.Sprintf("%x", raw)
		return h[:8] + "-" + h[8:12] + "-" + h[12:16] + "-" + h[16:20] + "-" + h[20:]
	case column.Interval:
		return fmt.Sprintf("%d months %d days %d microseconds", int32(binary.LittleEndian.Uint32(raw)),
			int32(binary.LittleEndian.Uint32(raw[4:])), int64(binary.LittleEndian.Uint64(raw[8:])))
	case column.UInt8, column.UInt16, column.UInt32, column.UInt64:
		return strconv.FormatUint(rawUint(raw), 10)
	}
	i := rawInt(raw)
	switch t.Kind {
	case column.Date:
		return dateText(i, math.MaxInt32)
	case column.Time:
		return clockText(i, 6)
	case column.TimestampS:
		return timestampText(i, 0)
	case column.TimestampMS:
		return timestampText(i, 3)
	case column.Timestamp:
		return timestampText(i, 6)
	case column.TimestampNS:
		return timestampText(i, 9)
	case column.TimestampTZ:
		if i == math.MaxInt64 || i == -math.MaxInt64 {
			return timestampText(i, 6)
		}
		return timestampText(i, 6) + "+00"
	}
	return strconv.FormatInt(i, 10)
}

func rawUint(raw []byte) uint64 {
	var b [8]byte
	copy(b[:], raw)
	return binary.LittleEndian.Uint64(b[:])
}

func rawInt(raw []byte) int64 {
	shift := 64 - 8*len(raw)
	return int64(rawUint(raw)) << shift >> shift
}

func floatLiteral(f float64, bits int) string {
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
	return strconv.FormatFloat(f, 'g', -1, bits)
}

// decimalText prints an unscaled value with scale digits after the point.
func decimalText(v int128, scale int) string {
	s := v.String()
	if scale == 0 {
		return s
	}
	sign := ""
	if s[0] == '-' {
		sign, s = "-", s[1:]
	}
	if len(s) <= scale {
		s = strings.Repeat("0", scale+1-len(s)) + s
	}
	return sign + s[:len(s)-scale] + "." + s[len(s)-scale:]
}

// dateText prints a date, infinite when days is plus or minus inf.
func dateText(days, inf int64) string {
	switch days {
	case inf:
		return "infinity"
	case -inf:
		return "-infinity"
	}
	y, m, d := civil(days)
	if y <= 0 {
		return fmt.Sprintf("%04d-%02d-%02d (BC)", 1-y, m, d)
	}
	return fmt.Sprintf("%04d-%02d-%02d", y, m, d)
}

var tenTo = [...]int64{1, 10, 100, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9}

// clockText prints the time of day of v, in units of 10^-digits seconds.
func clockText(v int64, digits int) string {
	unit := tenTo[digits]
	s := v / unit
	text := fmt.Sprintf("%02d:%02d:%02d", s/3600, s/60%60, s%60)
	if f := v % unit; f != 0 {
		text += fmt.Sprintf(".%0*d", digits, f)
	}
	return text
}

// timestampText prints a time since 1970 in units of 10^-digits seconds.
func timestampText(v int64, digits int) string {
	switch v {
	case math.MaxInt64:
		return "infinity"
	case -math.MaxInt64:
		return "-infinity"
	}
	perDay := 86400 * tenTo[digits]
	days := floorDiv(v, perDay)
	return dateText(days, math.MaxInt64) + " " + clockText(v-days*perDay, digits)
}
