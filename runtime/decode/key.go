package decode

import (
	"fmt"
)

// key reads what stands between two values: at the start of a row `{"id": `, later `, "id": `. It
// expects that literal at this place from then on, and returns the place of the value. At the end of
// the object it returns the place after it and leaves nothing expected (a literal with n = 0).
func (d *NDJSON) key(b []byte, i, after int) (int, error) {
	from := i
	d.next[after].n = 0
	if after == 0 {
		if i >= len(b) || b[i] != '{' {
			e := d.failAt(b, d.number, i, "", "a row is a JSON object")
			e.Value = shorten(valueAt(b, i))
			return 0, e
		}
		i = skipSpace(b, i+1)
		if i < len(b) && b[i] == '}' {
			return i + 1, nil
		}
	} else {
		i = skipSpace(b, i)
		switch {
		case i >= len(b):
			return 0, d.cut(i)
		case b[i] == '}':
			return i + 1, nil
		case b[i] != ',':
			return 0, d.failAt(b, d.number, i, d.name(after-1), "a comma or the end of the object must follow the value")
		}
		i = skipSpace(b, i+1)
	}
	if i >= len(b) {
		return 0, d.cut(i)
	}
	if b[i] != '"' {
		return 0, d.failAt(b, d.number, i, "", "a field name in double quotes must follow")
	}
	at := i
	name, i, reason := d.str(b, i)
	if reason != "" {
		return 0, d.failAt(b, d.number, at, "", "field name: "+reason)
	}
	col, ok := d.byName[string(name)]
	if !ok {
		reason := "the table has no such column"
		if string(name) == DeletedField {
			reason = "only tables with a primary key take rows with this field"
		}
		return 0, d.failAt(b, d.number, at, shorten(name), reason)
	}
	i = skipSpace(b, i)
	if i >= len(b) {
		return 0, d.cut(i)
	}
	if b[i] != ':' {
		return 0, d.failAt(b, d.number, i, d.name(col), "a colon must follow the field name")
	}
	i = skipSpace(b, i+1)
	if i >= len(b) {
		return 0, d.cut(i)
	}
	d.next[after].expect(b[from:i], col)
	return i, nil
}

// expect makes s the literal, before a value of column col.
func (l *literal) expect(s []byte, col int) {
	var w, m [16]byte
	for k := range copy(w[:], s) {
		m[k] = 0xff
	}
	*l = literal{
		col: col, n: len(s),
		w0: le.Uint64(w[:]), w1: le.Uint64(w[8:]),
		m0: le.Uint64(m[:]), m1: le.Uint64(m[8:]),
		text: append(l.text[:0], s...),
	}
}

func (d *filler) name(col int) string {
	if col < len(d.fields) {
		return d.fields[col].Name
	}
	return DeletedField
}

func (d *NDJSON) cut(i int) error {
	return &RowError{Row: d.number, Offset: i, Reason: "the body ends inside the row"}
}

// failAt makes the error of a row at a place in the body.
func (d *NDJSON) failAt(b []byte, row, i int, col, reason string) *RowError {
	e := &RowError{Row: row, Offset: min(i, len(b)), Column: col, Reason: reason}
	if i < len(b) && col == "" {
		e.Value = shorten(b[i:min(len(b), i+40)])
	}
	return e
}

func (d *NDJSON) fail(b []byte, i, col int, reason string) error {
	return d.failAt(b, d.number, i, d.fields[col].Name, reason)
}

// failValue makes the error of a value that starts at b[i].
func (d *NDJSON) failValue(b []byte, i, col int, reason string) error {
	if i >= len(b) || reason == cutShort {
		return &RowError{Row: d.number, Offset: len(b), Column: d.fields[col].Name, Reason: cutShort}
	}
	return &RowError{
		Row: d.number, Offset: i, Column: d.fields[col].Name, Value: shorten(valueAt(b, i)),
		Reason: fmt.Sprintf("%s is %s: %s", d.fields[col].Name, d.fields[col].Type, reason),
	}
}

// missing makes the error of a row that left out a column.
func (d *NDJSON) missing(b []byte, start, end, col int, reason string) error {
	return &RowError{Row: d.number, Offset: start, Column: d.fields[col].Name, Value: shorten(b[start:end]), Reason: reason}
}

// valueAt returns the bytes of the value at b[i:], for an error: a string to its closing quote,
// anything else to the next separator.
func valueAt(b []byte, i int) []byte {
	if i >= len(b) {
		return nil
	}
	j := i + 1
	if b[i] == '"' {
		for ; j < len(b) && j-i <= maxShown; j++ {
			if b[j] == '\\' {
				j++
			} else if b[j] == '"' {
				return b[i : j+1]
			}
		}
	} else {
		for j < len(b) && j-i <= maxShown && b[j] != ',' && b[j] != '}' && b[j] != ']' && b[j] != '\n' && b[j] != '\r' {
			j++
		}
	}
	return b[i:min(j, len(b))]
}
