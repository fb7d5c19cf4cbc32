package decode

import (
	"bytes"
	"fmt"
	"unicode/utf8"

	"tidemill/state/column"
)

// CSVForm says how a CSV body is written.
type CSVForm struct {
	// NoHeader says that the first record is a row; else it names the columns.
	NoHeader bool
	// Columns names the columns of the fields, in their order, in place of a header (which is then skipped) or
	// where there is none. Without either the fields are the table's columns in their order.
	Columns   []string
	Delimiter byte // 0 is a comma
	// Quote encloses fields that hold delimiters, quotes (doubled) and line ends; 0 is the double quote.
	Quote byte
	// Null is what stands for NULL when it is not quoted: the empty field, unless it is set.
	Null string
}

// NoQuote is a Quote that no field can have, since it is no byte of UTF-8.
const NoQuote = 0xff

// CSV reads rows written as comma-separated values (RFC 4180, with the freedoms of CSVForm) into the columns
// of a table in one pass:
//
//	id,user_id
//	1,u5           =>   id       1, 2
//	2,"u6"              user_id  u5, u6
//
// Fields are values as state/column prints and parses them; nothing is trimmed. An unquoted empty field is NULL, a
// quoted one is the empty text. Lines end in LF or CR LF; empty lines are skipped; a byte order mark is too.
// Every record has as many fields as the header. A CSV is not safe for concurrent use.
type CSV struct {
	filler
	// Form says how the next bodies are written. It may be set before each.
	Form CSVForm

	delim, quote byte
	null         []byte
	layout       []int // the column of each field; len(fields) for DeletedField
	names        []string
	spans        []span // the fields of the record being read
	scratch      []byte
}

// span is a field: b[at:end], without its quotes.
type span struct {
	at, end int
	quoted  bool
	escaped bool // it holds doubled quotes
}

// NewCSV returns a decoder for a table's fields.
func NewCSV(fields []column.Field, opt Options) *CSV { return &CSV{filler: newFiller(fields, opt)} }

// Decode reads a body. The columns have buffers of their own; body may be reused at once. Errors are
// *RowError, or wrap ErrTooLarge.
func (d *CSV) Decode(body []byte) (*Rows, error) {
	if len(body) > maxText-16 {
		return nil, fmt.Errorf("%w: %d bytes of CSV in one body, and the limit is 2 GiB", ErrTooLarge, len(body))
	}
	d.delim, d.quote, d.null = d.Form.Delimiter, d.Form.Quote, []byte(d.Form.Null)
	if d.delim == 0 {
		d.delim = ','
	}
	if d.quote == 0 {
		d.quote = '"'
	}
	i := 0
	if bytes.HasPrefix(body, []byte("\xef\xbb\xbf")) {
		i = 3
	}
	i, err := d.header(body, i)
	if err != nil {
		return nil, err
	}
	d.minRow = max(1, len(d.layout))
	if err := d.begin(body[i:], nil); err != nil {
		return nil, err
	}
	return d.end(d.rows(body, i))
}

// header finds the columns of the fields and returns the place of the first row.
func (d *CSV) header(b []byte, i int) (int, error) {
	d.layout, d.names = d.layout[:0], d.names[:0]
	d.number = 0
	var places []int
	if !d.Form.NoHeader {
		for i < len(b) && emptyLine(b, i) {
			i = lineEnd(b, i)
		}
		if i == len(b) {
			return i, nil
		}
		end, e := d.record(b, i)
		if e != nil {
			return 0, e
		}
		for _, s := range d.spans {
			places = append(places, s.at)
			d.names = append(d.names, string(d.content(b, s)))
		}
		i = end
	}
	switch {
	case d.Form.Columns != nil:
		d.names, places = append(d.names[:0], d.Form.Columns...), nil
	case d.Form.NoHeader:
		for _, f := range d.fields {
			d.names = append(d.names, f.Name)
		}
	}
	for k, name := range d.names {
		at := 0
		if places != nil {
			at = places[k]
		}
		col, ok := d.byName[name]
		e := &RowError{Offset: at, Column: shorten([]byte(name)), Reason: "the table has no such column"}
		switch {
		case !ok && name == DeletedField:
			e.Reason = "only tables with a primary key take rows with this field"
			return 0, e
		case !ok:
			return 0, e
		}
		for _, have := range d.layout {
			if have == col {
				e.Reason = "the column is named twice"
				return 0, e
			}
		}
		d.layout = append(d.layout, col)
	}
	return i, nil
}

func emptyLine(b []byte, i int) bool {
	return b[i] == '\n' || b[i] == '\r' && (i+1 == len(b) || b[i+1] == '\n')
}

// rows reads all records.
func (d *CSV) rows(b []byte, i int) error {
	for i < len(b) {
		if emptyLine(b, i) {
			i = lineEnd(b, i)
			continue
		}
		if d.n == d.room {
			if err := d.grow(); err != nil {
				return err
			}
		}
		d.number++
		end, e := d.record(b, i)
		if e == nil {
			e = d.row(b, i, end)
		} else {
			end = lineEnd(b, i) // where the record really ends nobody knows
		}
		if e != nil {
			next, err := d.reject(b, i, end, e)
			if err != nil {
				return err
			}
			end = next
		}
		i = end
	}
	return nil
}

// record finds the fields of the record at b[i:] and returns the place of the next one.
func (d *CSV) record(b []byte, i int) (int, *RowError) {
	d.spans = d.spans[:0]
	for {
		s := span{at: i}
		if i < len(b) && b[i] == d.quote {
			end, escaped := d.quoted(b, i+1)
			if end < 0 {
				return 0, d.wrong(b, i, "the quote is not closed")
			}
			s = span{at: i + 1, end: end, quoted: true, escaped: escaped}
			if i = end + 1; i < len(b) && b[i] != d.delim && b[i] != '\n' && b[i] != '\r' {
				return 0, d.wrong(b, s.at-1, "text follows the closing quote: a quote inside is written twice")
			}
		} else {
			for i < len(b) && b[i] != d.delim && b[i] != '\n' {
				if b[i] == d.quote {
					return 0, d.wrong(b, s.at, "a quote stands inside a field that does not begin with one")
				}
				i++
			}
			s.end = i
			if (i == len(b) || b[i] == '\n') && i > s.at && b[i-1] == '\r' {
				s.end--
			}
		}
		d.spans = append(d.spans, s)
		if i < len(b) && b[i] == '\r' && (i+1 == len(b) || b[i+1] == '\n') {
			i++
		}
		switch {
		case i >= len(b):
			return len(b), nil
		case b[i] == '\n':
			return i + 1, nil
		case b[i] != d.delim:
			return 0, d.wrong(b, s.at, "a carriage return stands alone")
		}
		i++
	}
}

// quoted returns the place of the closing quote of the field whose content starts at b[i:], or -1.
func (d *CSV) quoted(b []byte, i int) (end int, escaped bool) {
	for {
		n := bytes.IndexByte(b[i:], d.quote)
		if n < 0 {
			return -1, false
		}
		if i += n; i+1 == len(b) || b[i+1] != d.quote {
			return i, escaped
		}
		escaped = true
		i += 2
	}
}

// content returns a field's text, which aliases b or d.scratch and holds until the next call.
func (d *CSV) content(b []byte, s span) []byte {
	if !s.escaped {
		return b[s.at:s.end]
	}
	d.scratch = d.scratch[:0]
	for i := s.at; i < s.end; i++ {
		d.scratch = append(d.scratch, b[i])
		if b[i] == d.quote {
			i++
		}
	}
	return d.scratch
}

// row takes the record whose fields have been found.
func (d *CSV) row(b []byte, start, end int) *RowError {
	if len(d.spans) != len(d.layout) {
		e := d.wrong(b, start, fmt.Sprintf("%d fields, and there are %d columns", len(d.spans), len(d.layout)))
		e.Value = shorten(bytes.TrimRight(b[start:end], "\r\n"))
		return e
	}
	for k, s := range d.spans {
		col := d.layout[k]
		text := d.content(b, s)
		null := !s.quoted && bytes.Equal(text, d.null)
		reason := ""
		switch {
		case col == len(d.fields):
			reason = d.deletedText(text, null)
		case null:
			reason = d.setNull(&d.cols[col])
		default:
			d.cols[col].row = d.number
			reason = d.fromText(&d.cols[col], text)
		}
		if reason != "" {
			e := d.wrong(b, s.at, reason)
			e.Column, e.Value = d.name(col), shorten(b[s.at:s.end])
			return e
		}
	}
	if d.nullCol >= 0 && !d.gone {
		return &RowError{Row: d.number, Offset: start, Column: d.fields[d.nullCol].Name, Reason: notNull}
	}
	if len(d.layout) != len(d.fields) || d.gone {
		if col, reason := d.settle(); reason != "" {
			return &RowError{Row: d.number, Offset: start, Column: d.fields[col].Name, Reason: reason}
		}
	}
	d.n++
	return nil
}

// setNull makes row d.n of c NULL; whether it may be is known at the row's end.
func (d *CSV) setNull(c *target) string {
	c.row = d.number
	if c.key {
		return notNull
	}
	if c.field.NotNull {
		d.nullCol = c.col
	}
	c.setNull(d.n, d.room)
	return ""
}

func (d *CSV) deletedText(text []byte, null bool) string {
	switch s := string(text); {
	case s == "true" || s == "True" || s == "1":
		d.markGone()
	case null || s == "false" || s == "False" || s == "0":
	default:
		return "must be true or false"
	}
	return ""
}

// wrong makes the error of the record being read, at a place in the body.
func (d *CSV) wrong(b []byte, at int, reason string) *RowError {
	end := min(len(b), at+40)
	if n := bytes.IndexByte(b[at:end], '\n'); n >= 0 {
		end = at + n
	}
	for end < len(b) && end > at && !utf8.RuneStart(b[end]) {
		end--
	}
	return &RowError{Row: d.number, Offset: at, Value: shorten(b[at:end]), Reason: reason}
}
