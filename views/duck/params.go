package duck

import (
	"encoding/binary"
	"fmt"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"time"

	m "github.com/duckdb/duckdb-go-bindings"

	"tidemill/state/column"
)

// Named is the value of a parameter that the statement names: $name. All of a statement's are named, or none.
type Named struct {
	Name  string // without the dollar, whatever its case
	Value any
}

// Number is a number as SQL would read it in the statement itself: an integer is exact up to HUGEINT, a fraction
// without an exponent is a DECIMAL of up to 38 digits, everything else a DOUBLE.
type Number string

// bindParams binds the values of $1, $2, ... or ?, or of $name when they are Named. Each is nil, bool, any Go
// integer or float, Number, string, []byte or time.Time (bound as TIMESTAMP WITH TIME ZONE); DuckDB casts it to
// what the statement needs. A string is read as a text constant there would be: as the type of what it is compared
// with or inserted into, so that it serves for every type.
func bindParams(stmt m.PreparedStatement, text string, params []any) error {
	names := paramNames(stmt)
	values, err := arrange(names, text, params)
	if err != nil {
		return err
	}
	for i, v := range values {
		if text, ok := v.(string); ok {
			if err := bindText(stmt, m.IdxT(i+1), names[i], text); err != nil {
				return err
			}
			continue
		}
		if !bindParam(stmt, m.IdxT(i+1), v) {
			return refuse("Invalid Input", "42804", text, -1, "give null, a boolean, a number or a text",
				"parameter %s cannot be bound from %s", showName(names[i]), showValue(v))
		}
	}
	return nil
}

func showValue(v any) string {
	if n, ok := v.(Number); ok {
		return "the number " + string(n[:min(len(n), 100)])
	}
	return "a value of its type"
}

// paramNames returns the names of a statement's parameters in DuckDB's order: "1" for $1 and the first ?.
func paramNames(stmt m.PreparedStatement) []string {
	names := make([]string, int(m.NParams(stmt)))
	for i := range names {
		names[i] = m.ParameterName(stmt, m.IdxT(i+1))
	}
	return names
}

// bindText binds a text as a value of the type that the statement needs.
func bindText(stmt m.PreparedStatement, i m.IdxT, name, text string) error {
	var t column.Type
	lt := m.ParamLogicalType(stmt, i)
	ok := lt.Ptr != nil // else the statement does not tell
	if ok {
		t, ok = columnType(lt)
		m.DestroyLogicalType(&lt)
	}
	state := m.StateSuccess
	if !ok || t.Varlen() && t.Kind != column.Blob {
		state = m.BindVarcharLength(stmt, i, text, m.IdxT(len(text)))
	} else {
		raw, err := column.ParseText(t, text)
		if err != nil {
			return refuse("Conversion", "22P02", "", -1, "write the value as SQL does", "parameter %s: %v", showName(name), err)
		}
		b := column.NewBuilder(t, 1)
		b.AppendRaw(raw)
		c := b.Finish()
		v := valueOf(&c)
		state = m.BindValue(stmt, i, v)
		m.DestroyValue(&v)
	}
	if state == m.StateError {
		return refuse("Invalid Input", "42804", "", -1, "", "parameter %s cannot be bound from a text", showName(name))
	}
	return nil
}

// valueOf makes DuckDB's value of a column's first, which the caller destroys.
func valueOf(c *column.Column) m.Value {
	switch c.Type.Kind {
	case column.Bool:
		return m.CreateBool(column.Bit(c.Data, 0))
	case column.Int8:
		return m.CreateInt8(column.Values[int8](c)[0])
	case column.Int16:
		return m.CreateInt16(column.Values[int16](c)[0])
	case column.Int32:
		return m.CreateInt32(column.Values[int32](c)[0])
	case column.Int64:
		return m.CreateInt64(column.Values[int64](c)[0])
	case column.UInt8:
		return m.CreateUInt8(column.Values[uint8](c)[0])
	case column.UInt16:
		return m.CreateUInt16(column.Values[uint16](c)[0])
	case column.UInt32:
		return m.CreateUInt32(column.Values[uint32](c)[0])
	case column.UInt64:
		return m.CreateUInt64(column.Values[uint64](c)[0])
	case column.HugeInt:
		v := column.Values[column.Int128](c)[0]
		return m.CreateHugeInt(m.NewHugeInt(v.Lo, v.Hi))
	case column.Float:
		return m.CreateFloat(column.Values[float32](c)[0])
	case column.Double:
		return m.CreateDouble(column.Values[float64](c)[0])
	case column.Decimal:
		v := column.Values[column.Int128](c)[0]
		return m.CreateDecimal(m.NewDecimal(c.Type.Width, c.Type.Scale, m.NewHugeInt(v.Lo, v.Hi)))
	case column.Blob:
		return m.CreateBlob(c.Bytes(0))
	case column.Date:
		return m.CreateDate(m.NewDate(column.Values[int32](c)[0]))
	case column.Time:
		return m.CreateTime(m.NewTime(column.Values[int64](c)[0]))
	case column.TimestampS:
		return m.CreateTimestampS(m.NewTimestampS(column.Values[int64](c)[0]))
	case column.TimestampMS:
		return m.CreateTimestampMS(m.NewTimestampMS(column.Values[int64](c)[0]))
	case column.Timestamp:
		return m.CreateTimestamp(m.NewTimestamp(column.Values[int64](c)[0]))
	case column.TimestampNS:
		return m.CreateTimestampNS(m.NewTimestampNS(column.Values[int64](c)[0]))
	case column.TimestampTZ:
		return m.CreateTimestampTZ(m.NewTimestamp(column.Values[int64](c)[0]))
	case column.Interval:
		v := column.Values[column.IntervalValue](c)[0]
		return m.CreateInterval(m.NewInterval(v.Months, v.Days, v.Micros))
	case column.UUID:
		v := column.Values[[16]byte](c)[0]
		return m.CreateUUID(m.NewUHugeInt(binary.BigEndian.Uint64(v[8:]), binary.BigEndian.Uint64(v[:8])))
	}
	return m.CreateVarchar(c.Str(0))
}

func showName(name string) string { return "$" + name }

// arrange puts values into the order of the statement's parameters. DuckDB numbers them by their first place in the
// text, so that $2 may stand before $1.
func arrange(names []string, text string, params []any) ([]any, error) {
	if len(params) > 0 {
		if _, ok := params[0].(Named); ok {
			return arrangeNamed(names, text, params)
		}
	}
	if slices.Contains(names, "") { // DuckDB has no name for those behind a gap
		return nil, refuse("Invalid Input", "08P01", text, -1, "number the parameters from $1", "the numbers of the parameters have a gap")
	}
	if len(params) != len(names) {
		return nil, refuse("Invalid Input", "08P01", text, -1, countHint(names),
			"the statement has %s, and values were given for %d", counted(len(names), "parameter"), len(params))
	}
	out := make([]any, len(names))
	for i, name := range names {
		k, err := strconv.Atoi(name)
		if err != nil {
			return nil, refuse("Invalid Input", "08P01", text, -1, "give the values by name, as an object", "parameter %s has a name", showName(name))
		}
		if k < 1 || k > len(params) {
			return nil, refuse("Invalid Input", "08P01", text, -1, "number the parameters from $1 without a gap", "there is no value for parameter %s", showName(name))
		}
		out[i] = params[k-1]
	}
	return out, nil
}

func counted(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

func countHint(names []string) string {
	if len(names) == 0 {
		return "write $1, $2 or $name where the values belong"
	}
	shown := make([]string, len(names))
	for i, n := range names {
		shown[i] = showName(n)
	}
	slices.Sort(shown)
	return "give a value for each of " + strings.Join(shown, ", ")
}

func arrangeNamed(names []string, text string, params []any) ([]any, error) {
	out := make([]any, len(names))
	given := make([]bool, len(names))
	for _, p := range params {
		n, ok := p.(Named)
		if !ok {
			return nil, refuse("Invalid Input", "08P01", text, -1, "name all values or none", "some values are named and some are not")
		}
		i := slices.IndexFunc(names, func(name string) bool { return strings.EqualFold(name, n.Name) })
		if i < 0 || given[i] {
			return nil, refuse("Invalid Input", "08P01", text, -1, countHint(names), "the statement has no parameter %s, or its value is given twice", showName(n.Name))
		}
		out[i], given[i] = n.Value, true
	}
	for i, ok := range given {
		if !ok {
			return nil, refuse("Invalid Input", "08P01", text, -1, countHint(names), "there is no value for parameter %s", showName(names[i]))
		}
	}
	return out, nil
}

func bindParam(stmt m.PreparedStatement, i m.IdxT, v any) bool {
	var s m.State
	switch v := v.(type) {
	case nil:
		s = m.BindNull(stmt, i)
	case bool:
		s = m.BindBoolean(stmt, i, v)
	case int:
		s = m.BindInt64(stmt, i, int64(v))
	case int8:
		s = m.BindInt8(stmt, i, v)
	case int16:
		s = m.BindInt16(stmt, i, v)
	case int32:
		s = m.BindInt32(stmt, i, v)
	case int64:
		s = m.BindInt64(stmt, i, v)
	case uint:
		s = m.BindUInt64(stmt, i, uint64(v))
	case uint8:
		s = m.BindUInt8(stmt, i, v)
	case uint16:
		s = m.BindUInt16(stmt, i, v)
	case uint32:
		s = m.BindUInt32(stmt, i, v)
	case uint64:
		s = m.BindUInt64(stmt, i, v)
	case float32:
		s = m.BindFloat(stmt, i, v)
	case float64:
		s = m.BindDouble(stmt, i, v)
	case Number:
		return bindNumber(stmt, i, string(v))
	case string:
		s = m.BindVarcharLength(stmt, i, v, m.IdxT(len(v)))
	case []byte:
		s = m.BindBlob(stmt, i, v)
	case time.Time:
		ts := m.NewTimestamp(v.UnixMicro())
		s = m.BindTimestampTZ(stmt, i, ts)
	default:
		return false
	}
	return s != m.StateError
}

// maxDigits is what a DECIMAL holds.
const maxDigits = 38

func bindNumber(stmt m.PreparedStatement, i m.IdxT, text string) bool {
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		return m.BindInt64(stmt, i, n) != m.StateError
	}
	if whole, fraction, ok := strings.Cut(text, "."); !strings.ContainsAny(text, "eE") {
		n, isNumber := new(big.Int).SetString(whole+fraction, 10)
		if !isNumber || strings.HasPrefix(fraction, "-") || strings.HasPrefix(fraction, "+") {
			return false
		}
		digits := max(len(new(big.Int).Abs(n).String()), len(fraction))
		switch {
		case ok && digits <= maxDigits:
			d := m.NewDecimal(uint8(digits), uint8(len(fraction)), hugeInt(n))
			return m.BindDecimal(stmt, i, d) != m.StateError
		case !ok && n.BitLen() <= 127:
			return m.BindHugeInt(stmt, i, hugeInt(n)) != m.StateError
		}
	}
	f, err := strconv.ParseFloat(text, 64)
	return err == nil && m.BindDouble(stmt, i, f) != m.StateError
}

// hugeInt returns n, which has at most 127 bits and a sign, in two's complement.
func hugeInt(n *big.Int) m.HugeInt {
	low := new(big.Int).And(n, new(big.Int).SetUint64(^uint64(0))).Uint64()
	high := new(big.Int).Rsh(n, 64).Int64() // rounds down, as two's complement does
	return m.NewHugeInt(low, high)
}
