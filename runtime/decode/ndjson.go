package decode

import (
	"fmt"

	"tidemill/state/column"
)

// NDJSON reads rows written as one JSON object a line, or as one JSON array of objects, into the
// columns of a table in one pass:
//
//	{"id": 1, "user_id": "u5"}        id       1, 2
//	{"id": 2, "user_id": "u6"}   =>   user_id  u5, u6
//
// It knows the table's types, so no value is parsed twice, and it predicts the next key: what stood
// between the last two values in the row before (`, "user_id": `) is compared as one literal of up
// to 16 bytes with two loads. An unexpected key costs a map look-up and is expected from then on.
//
// Blank lines are skipped, lines may end in CR LF, and the last one needs no end. An object may
// span lines, but no two objects share a line. An NDJSON is not safe for concurrent use.
type NDJSON struct {
	filler

	// next has the literal expected after each column's value; entry 0 is for the row's start, entry
	// i+1 for what follows column i, the last one for what follows DeletedField.
	next    []literal
	scratch []byte // an unescaped string
	nullAt  int    // where this row set nullCol to null
}

// literal is what is expected between two values.
type literal struct {
	col    int // of the value that follows
	n      int // its length, 0 when nothing is expected
	w0, w1 uint64
	m0, m1 uint64
	text   []byte // the literal itself, compared when n > 16 and near the body's end
}

// NewNDJSON returns a decoder for a table's fields.
func NewNDJSON(fields []column.Field, opt Options) *NDJSON {
	d := &NDJSON{filler: newFiller(fields, opt), next: make([]literal, len(fields)+2)}
	d.minRow = 3
	for _, f := range fields {
		d.minRow += len(f.Name) + 5
	}
	return d
}

// Decode reads a body. The columns have buffers of their own, sized to the body and handed over to
// the caller: body may be reused at once, and the decoder keeps nothing of either. Errors are
// *RowError, or wrap ErrTooLarge.
func (d *NDJSON) Decode(body []byte) (*Rows, error) {
	if len(body) > maxText-16 {
		return nil, fmt.Errorf("%w: %d bytes of JSON in one body, and the limit is 2 GiB", ErrTooLarge, len(body))
	}
	if err := d.begin(body, nil); err != nil {
		return nil, err
	}
	return d.end(d.rows(body))
}

// rows reads the whole body.
func (d *NDJSON) rows(b []byte) error {
	i := skipSpace(b, 0)
	if i < len(b) && b[i] == '[' {
		return d.array(b, i+1)
	}
	for i < len(b) {
		at := i
		var err error
		if i, err = d.row(b, i); err != nil {
			if i, err = d.reject(b, at, lineEnd(b, at), err); err != nil {
				return err
			}
			i = skipSpace(b, i)
			continue
		}
		// The next row starts right after the line's end, nearly always.
		if i+1 < len(b) && b[i] == '\n' && b[i+1] == '{' {
			i++
			continue
		}
		for i < len(b) && (b[i] == ' ' || b[i] == '\t' || b[i] == '\r') {
			i++
		}
		if i < len(b) && b[i] != '\n' {
			err = d.takeBack(d.failAt(b, d.number, i, "", "only one object a line: text follows the row"))
			if i, err = d.reject(b, at, lineEnd(b, i), err); err != nil {
				return err
			}
		}
		i = skipSpace(b, i)
	}
	return nil
}

// array reads the rest of a JSON array of rows.
func (d *NDJSON) array(b []byte, i int) error {
	i = skipSpace(b, i)
	if i < len(b) && b[i] == ']' {
		return d.tail(b, i+1)
	}
	for {
		at := i
		var err error
		if i, err = d.row(b, i); err != nil {
			if i, err = d.reject(b, at, elementEnd(b, at), err); err != nil {
				return err
			}
		}
		i = skipSpace(b, i)
		switch {
		case i >= len(b):
			return d.failAt(b, d.number, i, "", "the array of rows is not closed: the body is cut short")
		case b[i] == ',':
			i = skipSpace(b, i+1)
		case b[i] == ']':
			return d.tail(b, i+1)
		default:
			return d.failAt(b, d.number, i, "", "rows of an array are separated by commas")
		}
	}
}

func (d *NDJSON) tail(b []byte, i int) error {
	if i = skipSpace(b, i); i < len(b) {
		return d.failAt(b, max(d.number, 1), i, "", "text follows the array of rows")
	}
	return nil
}

// row reads the object at b[i:] and returns the place after it.
func (d *NDJSON) row(b []byte, i int) (int, error) {
	if d.n == d.room {
		if err := d.grow(); err != nil {
			return 0, err
		}
	}
	d.number++
	start, row := i, d.number
	given, after := 0, 0
	for {
		s := &d.next[after]
		if i+16 <= len(b) && le.Uint64(b[i:])&s.m0 == s.w0 && le.Uint64(b[i+8:])&s.m1 == s.w1 && uint(s.n-1) < 16 {
			i += s.n
		} else if s.n > 0 && len(b)-i > s.n && string(b[i:i+s.n]) == string(s.text) {
			i += s.n
		} else {
			at, err := d.key(b, i, after)
			if err != nil {
				return 0, err
			}
			if d.next[after].n == 0 { // the object ends here
				i = at
				break
			}
			i = at
		}
		col := s.col
		after = col + 1
		if col == len(d.cols) {
			var err error
			if i, err = d.readDeleted(b, i); err != nil {
				return 0, err
			}
		} else {
			c := &d.cols[col]
			if c.row == row {
				return 0, d.fail(b, i, col, "the field is given twice")
			}
			c.row = row
			given++
			end, reason := d.value(c, b, i)
			if reason != "" {
				return 0, d.failValue(b, skipSpace(b, i), col, reason)
			}
			i = end
		}
		if i < len(b) && b[i] == '}' {
			i++
			break
		}
	}
	if given != len(d.cols) || d.gone || d.nullCol >= 0 {
		if err := d.endRow(b, start, i); err != nil {
			return 0, err
		}
	}
	d.n++
	return i, nil
}

// endRow settles a row that left out columns, was deleted, or set a NOT NULL column to null.
func (d *NDJSON) endRow(b []byte, start, end int) error {
	if d.nullCol >= 0 && !d.gone {
		return d.failValue(b, d.nullAt, d.nullCol, notNull)
	}
	if col, reason := d.settle(); reason != "" {
		return d.missing(b, start, end, col, reason)
	}
	return nil
}

// readDeleted reads the value of DeletedField.
func (d *NDJSON) readDeleted(b []byte, i int) (int, error) {
	if d.goneRow == d.number {
		return 0, d.failAt(b, d.number, i, DeletedField, "the field is given twice")
	}
	d.goneRow = d.number
	i = skipSpace(b, i)
	switch {
	case hasPrefix(b, i, "true"):
		d.markGone()
		return i + 4, nil
	case hasPrefix(b, i, "false"):
		return i + 5, nil
	}
	e := d.failAt(b, d.number, i, DeletedField, "must be true or false")
	e.Value = shorten(valueAt(b, i))
	return 0, e
}

func hasPrefix(b []byte, i int, s string) bool {
	return len(b)-i >= len(s) && string(b[i:i+len(s)]) == s
}

func skipSpace(b []byte, i int) int {
	for i < len(b) && (b[i] == ' ' || b[i] == '\n' || b[i] == '\r' || b[i] == '\t') {
		i++
	}
	return i
}
