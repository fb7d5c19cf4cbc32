package decode

import (
	"math"

	"tidemill/state/column"
)

const (
	cutShort     = "the body ends inside the row"
	wantInteger  = "an integer is wanted"
	wantNumber   = "a number is wanted"
	wantString   = "a string is wanted"
	wantBool     = "true or false is wanted"
	wantTime     = `a string such as "2026-01-02T03:04:05Z" is wanted: numbers are not taken for times unless epoch names their unit`
	badNumber    = "that is not a JSON number"
	outOfRange   = "the value is out of the type's range"
	notNull      = "the column is NOT NULL"
	nestedValues = "objects and arrays are only taken for nested types and JSON"
)

// value reads the value at b[i:] into row d.n of c and returns the place after it, or what is wrong
// with it. What follows the value is the caller's to check.
func (d *NDJSON) value(c *target, b []byte, i int) (int, string) {
	if i >= len(b) {
		return 0, cutShort
	}
	switch c.field.Type.Kind {
	case column.Int64:
		if v, end, ok := int64At(b, i); ok {
			le.PutUint64(c.data[d.n*8:], uint64(v))
			return end, ""
		}
	case column.Varchar:
		if b[i] == '"' {
			return d.text(c, b, i)
		}
	case column.Double:
		if v, end, ok := float64At(b, i); ok {
			le.PutUint64(c.data[d.n*8:], math.Float64bits(v))
			return end, ""
		}
	}
	return d.rareValue(c, b, i)
}

// rareValue reads what value does not: null, and every type and form that is less common.
func (d *NDJSON) rareValue(c *target, b []byte, i int) (int, string) {
	if c.nested != nil {
		if b[i] == 'n' && c.field.NotNull { // a row that turns out to be deleted may do this
			d.nullCol, d.nullAt = c.col, i
		}
		return d.nested(c, b, i)
	}
	switch b[i] {
	case ' ', '\t', '\r', '\n': // more blanks than the row before had here
		return d.value(c, b, skipSpace(b, i))
	case 'n':
		if !hasPrefix(b, i, "null") {
			return 0, want(c.field.Type)
		}
		if c.key {
			return 0, notNull
		}
		if c.field.NotNull { // a row that turns out to be deleted may do this
			d.nullCol, d.nullAt = c.col, i
		}
		c.setNull(d.n, d.room)
		return i + 4, ""
	}
	if c.field.Type.Kind == column.JSON {
		return d.json(c, b, i)
	}
	switch b[i] {
	case '{', '[':
		return 0, nestedValues
	}
	switch k := c.field.Type.Kind; {
	case k == column.Bool:
		if hasPrefix(b, i, "true") {
			c.data[d.n] = 1
			return i + 4, ""
		}
		if hasPrefix(b, i, "false") {
			return i + 5, ""
		}
		return 0, wantBool
	case b[i] == '"' && (c.field.Type.Integer() || k == column.Decimal):
		return d.parsed(c, b, i)
	case k == column.UHugeInt:
		return d.unsigned(c, b, i)
	case c.field.Type.Integer():
		return d.integer(c, b, i)
	case k == column.Double, k == column.Float:
		return d.float(c, b, i)
	case k == column.Decimal:
		return d.decimal(c, b, i)
	case b[i] != '"' && isTimestamp(k) && d.Reading.Epoch != 0:
		return d.epoch(c, b, i)
	case b[i] != '"':
		return 0, want(c.field.Type)
	}
	return d.parsed(c, b, i)
}

// want says what JSON a type is written as.
func want(t column.Type) string {
	switch k := t.Kind; {
	case k == column.Bool:
		return wantBool
	case t.Integer():
		return wantInteger
	case t.Floating(), k == column.Decimal:
		return wantNumber
	case isTimestamp(k):
		return wantTime
	}
	return wantString
}

// parsed reads a value that is written as a string.
func (d *NDJSON) parsed(c *target, b []byte, i int) (int, string) {
	s, end, reason := d.str(b, i)
	if reason != "" {
		return 0, reason
	}
	if reason = d.fromText(c, s); reason != "" && c.field.Type.Integer() {
		reason = wantInteger
	}
	return end, reason
}
