package plan

import (
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"math"
	"strconv"
	"strings"

	"tidemill/operators/expr"
	"tidemill/state/column"
)

// constant decodes a constant of a type that columns have.
func constant(v *jvalue) (*expr.Expr, error) {
	if v == nil {
		return nil, malformed("a constant without a value")
	}
	t, ok := v.Type.column()
	if !ok {
		return nil, unsupported("a constant of type "+v.Type.name(), "")
	}
	e := &expr.Expr{Kind: expr.Constant, Type: t}
	if v.Null {
		e.Const = &expr.Value{Null: true}
		return e, nil
	}
	var raw []byte
	var err error
	if t.Nested() {
		b := column.NewBuilder(t, 1)
		if err = nestedValue(b, v.Value); err == nil {
			c := b.Finish()
			raw = c.Raw(0)
		}
	} else {
		raw, err = rawValue(t, v.Value)
	}
	if err != nil {
		return nil, malformed("constant %s of type %s: %v", v.Value, t, err)
	}
	e.Const = &expr.Value{Raw: raw}
	return e, nil
}

// rawValue turns a value in JSON into its bytes in a column.
func rawValue(t column.Type, text json.RawMessage) ([]byte, error) {
	le := binary.LittleEndian
	switch t.Kind {
	case column.Bool:
		var b bool
		err := json.Unmarshal(text, &b)
		return []byte{map[bool]byte{true: 1}[b]}, err
	case column.Varchar, column.JSON:
		var s string
		err := json.Unmarshal(text, &s)
		return []byte(s), err
	case column.Blob:
		var s string
		if err := json.Unmarshal(text, &s); err != nil {
			return nil, err
		}
		return unescapeBlob(s)
	case column.Float:
		f, err := parseFloat(text, 32)
		return le.AppendUint32(nil, math.Float32bits(float32(f))), err
	case column.Double:
		f, err := parseFloat(text, 64)
		return le.AppendUint64(nil, math.Float64bits(f)), err
	case column.Interval:
		var v struct {
			Months, Days int32
			Micros       int64
		}
		err := json.Unmarshal(text, &v)
		return le.AppendUint64(le.AppendUint32(le.AppendUint32(nil, uint32(v.Months)), uint32(v.Days)), uint64(v.Micros)), err
	case column.Enum:
		p, err := strconv.ParseUint(string(text), 10, 32)
		if err != nil { // by its label
			var s string
			if err = json.Unmarshal(text, &s); err == nil {
				if p32, ok := t.Place(s); ok {
					p = uint64(p32)
				} else {
					err = strconv.ErrSyntax
				}
			}
		}
		if err == nil && p >= uint64(len(t.Labels())) {
			err = strconv.ErrRange
		}
		return le.AppendUint64(nil, p)[:t.Size()], err
	case column.TimeTZ:
		n, err := strconv.ParseUint(string(text), 10, 64)
		return le.AppendUint64(nil, n), err
	case column.UHugeInt:
		var v struct{ Upper, Lower uint64 }
		if len(text) > 0 && text[0] != '{' {
			n, err := strconv.ParseUint(string(text), 10, 64)
			return le.AppendUint64(le.AppendUint64(nil, n), 0), err
		}
		err := json.Unmarshal(text, &v)
		return le.AppendUint64(le.AppendUint64(nil, v.Lower), v.Upper), err
	case column.BitString:
		return nil, strconv.ErrSyntax // of DuckDB's own bytes in a JSON string, not all are text
	case column.HugeInt, column.Decimal, column.UUID:
		hi, lo, err := parseInt128(text)
		if t.Kind == column.UUID { // DuckDB flips the top bit, so that UUIDs sort as integers
			return binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(nil, uint64(hi)^1<<63), lo), err
		}
		return le.AppendUint64(le.AppendUint64(nil, lo), uint64(hi)), err
	case column.UInt8, column.UInt16, column.UInt32, column.UInt64:
		n, err := strconv.ParseUint(string(text), 10, 8*t.Size())
		return le.AppendUint64(nil, n)[:t.Size()], err
	default: // signed integers, and dates and times, which are integers
		n, err := strconv.ParseInt(string(text), 10, 8*t.Size())
		return le.AppendUint64(nil, uint64(n))[:t.Size()], err
	}
}

// nestedValue appends a value that is not NULL to b, of a nested type: its parts are values with their types.
func nestedValue(b *column.Builder, text json.RawMessage) error {
	var v struct {
		Children []*jvalue `json:"children"`
	}
	if err := json.Unmarshal(text, &v); err != nil {
		return err
	}
	t := b.Type()
	lists := t.Kind == column.List || t.Kind == column.Map || t.Kind == column.Array
	if !lists && len(v.Children) != len(t.Kids()) || t.Kind == column.Array && len(v.Children) != t.Length() {
		return strconv.ErrSyntax
	}
	for i, c := range v.Children {
		kid := b.Kid(0)
		if !lists {
			kid = b.Kid(i)
		}
		switch {
		case c == nil || c.Null:
			kid.AppendNull()
		case kid.Type().Nested():
			if err := nestedValue(kid, c.Value); err != nil {
				return err
			}
		default:
			raw, err := rawValue(kid.Type(), c.Value)
			if err != nil {
				return err
			}
			kid.AppendRaw(raw)
		}
	}
	b.Close()
	return nil
}

// parseInt128 reads a 128-bit integer: a number, or its halves. DECIMALs of up to 18 digits are
// numbers in DuckDB.
func parseInt128(text json.RawMessage) (hi int64, lo uint64, err error) {
	if len(text) > 0 && text[0] != '{' {
		n, err := strconv.ParseInt(string(text), 10, 64)
		return n >> 63, uint64(n), err
	}
	var v struct {
		Upper int64
		Lower uint64
	}
	err = json.Unmarshal(text, &v)
	return v.Upper, v.Lower, err
}

func parseFloat(text json.RawMessage, bits int) (float64, error) {
	return strconv.ParseFloat(strings.Trim(string(text), `"`), bits)
}

// unescapeBlob reads DuckDB's text form of a BLOB, in which \x41 is a byte.
func unescapeBlob(s string) ([]byte, error) {
	out := make([]byte, 0, len(s))
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' {
			out = append(out, s[i])
			continue
		}
		if i+4 > len(s) || s[i+1] != 'x' {
			return nil, strconv.ErrSyntax
		}
		b, err := hex.DecodeString(s[i+2 : i+4])
		if err != nil {
			return nil, err
		}
		out = append(out, b[0])
		i += 3
	}
	return out, nil
}
