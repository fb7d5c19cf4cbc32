package decode

import (
	"bytes"
	"fmt"
)

// TableRows is the rows of a body for one table.
type TableRows struct {
	Table string // as the body names it first
	*Rows
}

// DecodeTables reads a body of rows for several tables, an object a line or an array of objects:
//
//	{"table": "events", "row": {"id": 1}}
//	{"table": "users", "row": {"id": 7, "name": "ann"}}
//
// open returns the decoder of a table, nil when there is no such table; it is called once for each name that the
// body has, and names that are one table to it give the same decoder. The result has the tables in the order in which
// they come. Rows are counted over all tables. maxBytes bounds what all of them take; 0 means DefaultMaxBytes.
//
// An object that names no table is an error whatever Reading says. Errors are *RowError with their Table,
// open's, or wrap ErrTooLarge.
func DecodeTables(body []byte, how Reading, maxBytes int64, open func(table string) (*NDJSON, error)) ([]TableRows, error) {
	if len(body) > maxText-16 {
		return nil, fmt.Errorf("%w: %d bytes of JSON in one body, and the limit is 2 GiB", ErrTooLarge, len(body))
	}
	m := tables{open: open, how: how, byName: map[string]*NDJSON{}, names: map[*NDJSON]string{}}
	m.budget.reset(&Options{MaxBytes: maxBytes})
	i := skipSpace(body, 0)
	m.array = i < len(body) && body[i] == '['
	if err := m.read(body, i); err != nil {
		for _, d := range m.order {
			clear(d.cols)
		}
		return nil, err
	}
	out := make([]TableRows, len(m.order))
	for k, d := range m.order {
		out[k] = TableRows{m.names[d], d.finish()}
	}
	return out, nil
}

// tables is a body for several tables being read.
type tables struct {
	open   func(table string) (*NDJSON, error)
	how    Reading
	array  bool
	number int // of the object, from 1
	budget budget
	byName map[string]*NDJSON
	names  map[*NDJSON]string
	order  []*NDJSON
	text   []byte // an unescaped name
}

func (m *tables) read(b []byte, i int) error {
	if m.array {
		if i = skipSpace(b, i+1); i < len(b) && b[i] == ']' {
			return m.tail(b, i+1)
		}
	}
	for i < len(b) || m.array {
		m.number++
		end, err := m.object(b, i)
		if err != nil {
			return err
		}
		at := skipSpace(b, end)
		switch {
		case !m.array && at < len(b) && bytes.IndexByte(b[end:at], '\n') < 0:
			return m.fail(at, "only one object a line: text follows the row")
		case !m.array:
			i = at
		case at >= len(b):
			return m.fail(at, "the array of rows is not closed: the body is cut short")
		case b[at] == ']':
			return m.tail(b, at+1)
		case b[at] != ',':
			return m.fail(at, "rows of an array are separated by commas")
		default:
			i = skipSpace(b, at+1)
		}
	}
	return nil
}

func (m *tables) tail(b []byte, i int) error {
	if i = skipSpace(b, i); i < len(b) {
		return m.fail(i, "text follows the array of rows")
	}
	return nil
}

func (m *tables) fail(at int, reason string) error {
	return &RowError{Row: max(m.number, 1), Offset: at, Reason: reason}
}

const wantEnvelope = `each object is {"table": "name", "row": {...}}`

// object reads the object at b[i:] and returns the place after it.
func (m *tables) object(b []byte, i int) (int, error) {
	if i >= len(b) || b[i] != '{' {
		return 0, m.fail(i, wantEnvelope)
	}
	start, name, row, rowEnd := i, []byte(nil), -1, 0
	for i++; ; i++ {
		i = skipSpace(b, i)
		key, at, reason := m.str(b, i)
		if reason != "" {
			return 0, m.fail(min(i, len(b)), wantEnvelope)
		}
		isTable, isRow := string(key) == "table", string(key) == "row"
		at = skipSpace(b, at)
		if at >= len(b) || b[at] != ':' || !isTable && !isRow || isTable && name != nil || isRow && row >= 0 {
			return 0, m.fail(min(i, len(b)), wantEnvelope)
		}
		at = skipSpace(b, at+1)
		if isTable {
			text, end, reason := m.str(b, at)
			if reason != "" {
				return 0, m.fail(min(at, len(b)), "the table's name: "+reason)
			}
			name, i = append([]byte{}, text...), end
		} else {
			row, rowEnd = at, elementEnd(b, at)
			i = rowEnd
		}
		if i = skipSpace(b, i); i >= len(b) {
			return 0, m.fail(i, cutShort)
		}
		if b[i] == '}' {
			break
		}
		if b[i] != ',' {
			return 0, m.fail(i, wantEnvelope)
		}
	}
	if name == nil || row < 0 {
		return 0, m.fail(start, wantEnvelope)
	}
	return i + 1, m.take(b, start, i+1, string(name), row, rowEnd)
}

func (m *tables) str(b []byte, i int) (s []byte, end int, reason string) {
	if i >= len(b) {
		return nil, 0, cutShort
	}
	if b[i] != '"' {
		return nil, 0, wantString
	}
	m.text, end, reason = unquote(m.text[:0], b, i+1, plainEnd(b, i+1))
	return m.text, end, reason
}

// take reads the row at b[row:end], of the object at b[start:after].
func (m *tables) take(b []byte, start, after int, name string, row, end int) error {
	d, ok := m.byName[name]
	if !ok {
		var err error
		if d, err = m.open(name); err != nil {
			return err
		}
		if d == nil {
			e := m.fail(start, "there is no such table").(*RowError)
			e.Table, e.Value = shorten([]byte(name)), shorten(b[start:after])
			return e
		}
		m.byName[name] = d
		if _, known := m.names[d]; !known {
			m.names[d] = name
			m.order = append(m.order, d)
			d.Reading = m.how
			if err := d.begin(b, &m.budget); err != nil {
				return err
			}
		}
	}
	d.number = m.number - 1
	at, err := d.row(b[:end], row)
	if at = skipSpace(b[:end], at); err == nil && at < end {
		err = d.takeBack(d.failAt(b[:end], m.number, at, "", "text follows the row"))
	}
	if err != nil {
		if _, err = d.reject(b, start, after, err); err != nil {
			if e, ok := err.(*RowError); ok {
				e.Table = m.names[d]
			}
			return err
		}
		d.bad[len(d.bad)-1].Table = m.names[d]
	}
	return nil
}
