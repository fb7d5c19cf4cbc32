// Package table shows Arrow record batches to people: the values as SQL prints them, in columns that are aligned
// and fit the terminal, or one record below the other. Widths are counted as terminals do, so wide characters,
// combining marks and emoji keep the columns straight. Nothing of a value reaches the terminal as a control
// sequence.
package table

import (
	"bytes"
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"tidemill/state/column"
)

// Value appends the value at row i as DuckDB casts it to VARCHAR. Whether it is NULL is for the caller to ask.
type Value func(dst []byte, i int) []byte

// ValueOf returns how the values of an array are written. It reads a while the caller holds it.
func ValueOf(a arrow.Array, meta arrow.Metadata) Value {
	t, err := column.FromArrowType(a.DataType(), meta)
	if d, ok := a.DataType().(*arrow.Decimal128Type); ok && d.Scale == 0 && d.Precision == 38 {
		t, err = column.T(column.HugeInt), nil // which may have a digit more
	}
	if err == nil {
		if c, err := column.FromArrow(a, t); err == nil {
			return func(dst []byte, i int) []byte { return column.AppendText(dst, &c, i) }
		}
	}
	switch a := a.(type) {
	case *array.Map: // before the list that it is
		return mapOf(a)
	case array.ListLike:
		return listOf(a)
	case *array.Struct:
		return structOf(a)
	}
	return func(dst []byte, i int) []byte { return append(dst, a.ValueStr(i)...) }
}

// nested is a value within another: text that would be taken for something else is quoted.
func nested(a arrow.Array, meta arrow.Metadata) Value {
	v := ValueOf(a, meta)
	_, text := a.(array.StringLike)
	return func(dst []byte, i int) []byte {
		if a.IsNull(i) {
			return append(dst, "NULL"...)
		}
		n := len(dst)
		dst = v(dst, i)
		if text && needsQuotes(dst[n:]) {
			inner := bytes.ReplaceAll(bytes.ReplaceAll(bytes.Clone(dst[n:]), []byte(`\`), []byte(`\\`)), []byte("'"), []byte(`\'`))
			dst = append(append(append(dst[:n], '\''), inner...), '\'')
		}
		return dst
	}
}

func needsQuotes(b []byte) bool {
	return len(b) == 0 || bytes.EqualFold(b, []byte("null")) || bytes.ContainsAny(b, `,'"[]{}()=:\`) ||
		len(bytes.TrimSpace(b)) != len(b)
}

func listOf(a array.ListLike) Value {
	v := nested(a.ListValues(), arrow.Metadata{})
	return func(dst []byte, i int) []byte {
		from, to := a.ValueOffsets(i)
		dst = append(dst, '[')
		for k := from; k < to; k++ {
			if k > from {
				dst = append(dst, ", "...)
			}
			dst = v(dst, int(k))
		}
		return append(dst, ']')
	}
}

func mapOf(a *array.Map) Value {
	key, item := nested(a.Keys(), arrow.Metadata{}), nested(a.Items(), arrow.Metadata{})
	return func(dst []byte, i int) []byte {
		from, to := a.ValueOffsets(i)
		dst = append(dst, '{')
		for k := from; k < to; k++ {
			if k > from {
				dst = append(dst, ", "...)
			}
			dst = item(append(key(dst, int(k)), '='), int(k))
		}
		return append(dst, '}')
	}
}

func structOf(a *array.Struct) Value {
	t := a.DataType().(*arrow.StructType)
	fields := make([]Value, a.NumField())
	for f := range fields {
		fields[f] = nested(a.Field(f), t.Field(f).Metadata)
	}
	return func(dst []byte, i int) []byte {
		dst = append(dst, '{')
		for f, v := range fields {
			if f > 0 {
				dst = append(dst, ", "...)
			}
			dst = v(fmt.Appendf(dst, "'%s': ", t.Field(f).Name), i)
		}
		return append(dst, '}')
	}
}

// Numeric reports whether values of a type are shown at the right.
func Numeric(t arrow.DataType) bool {
	if d, ok := t.(*arrow.DictionaryType); ok {
		t = d.ValueType
	}
	return arrow.IsInteger(t.ID()) || arrow.IsFloating(t.ID()) || arrow.IsDecimal(t.ID())
}
