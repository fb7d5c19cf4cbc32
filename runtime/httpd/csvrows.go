package httpd

import "bytes"

// csvRows writes rows as CSV (RFC 4180): a line of names, then a line for each row. NULL is an empty field, an
// empty text is "".
//
//	id,name
//	1,"a ""b"", c"
//	2,
type csvRows struct {
	source rowSource
	cols   []outColumn
	headed bool
	text   []byte // of one value
	row, n int
}

func newCSVRows(cols []outColumn, source rowSource) *csvRows {
	return &csvRows{source: source, cols: cols}
}

func (r *csvRows) next(dst []byte) ([]byte, error) {
	if r.row == r.n {
		var err error
		r.row = 0
		if r.n, err = r.source.load(); err != nil {
			r.n = 0
			return dst, err
		}
	}
	dst = r.head(dst)
	for ; r.row < r.n && len(dst) < pieceBytes; r.row++ {
		for col := range r.cols {
			if col > 0 {
				dst = append(dst, ',')
			}
			text, null := r.source.text(r.text[:0], col, r.row)
			r.text = text
			if !null {
				dst = appendCSV(dst, text)
			}
		}
		dst = append(dst, '\n')
	}
	return dst, nil
}

// head appends the line of names before the first row.
func (r *csvRows) head(dst []byte) []byte {
	if r.headed {
		return dst
	}
	r.headed = true
	for i, c := range r.cols {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = appendCSV(dst, []byte(c.name))
	}
	return append(dst, '\n')
}

func (r *csvRows) end(dst []byte) ([]byte, error) { return r.head(dst), nil }

func (r *csvRows) close() { r.source.close() }

// appendCSV appends a value, in quotes where it needs them.
func appendCSV(dst, text []byte) []byte {
	if len(text) > 0 && !bytes.ContainsAny(text, ",\"\r\n") && text[0] != ' ' && text[len(text)-1] != ' ' {
		return append(dst, text...)
	}
	dst = append(dst, '"')
	for _, b := range text {
		if b == '"' {
			dst = append(dst, '"')
		}
		dst = append(dst, b)
	}
	return append(dst, '"')
}
