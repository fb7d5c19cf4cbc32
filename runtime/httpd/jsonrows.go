package httpd

import (
	"strconv"

	"tidemill/state/column"
)

// rowSource gives rows batch by batch.
type rowSource interface {
	// load brings the next batch and returns its rows; the error is io.EOF after the last.
	load() (int, error)
	// value appends a value of the batch as JSON.
	value(dst []byte, col, row int) []byte
	// text appends a value of the batch as text, or reports that it is NULL.
	text(dst []byte, col, row int) (out []byte, null bool)
	close()
}

// outColumn is a column of an answer, with a name that no other has.
type outColumn struct{ name, sqlType string }

// jsonRows writes rows as a JSON array of objects, or as an object a line. With shape=rows a row is an array, and
// the columns are told once.
//
//	[{"id":1,"n":2},
//	{"id":2,"n":null}]
//
//	{"columns":[{"name":"id","type":"BIGINT"},{"name":"n","type":"BIGINT"}],"rows":[
//	[1,2],
//	[2,null]]}
type jsonRows struct {
	source rowSource
	before [][]byte // what stands before each column's value: `{"id":`, `,"n":`
	after  byte     // what stands after the last
	head   []byte   // before the first row
	tail   string   // after the last
	array  bool     // of rows
	any    bool     // a row has been written
	row, n int      // rows of the source's batch that are done, and that there are
}

func newJSONRows(cols []outColumn, source rowSource, f format, asRows bool) *jsonRows {
	j := &jsonRows{source: source, array: f == formatJSON, before: make([][]byte, len(cols)), after: '}', head: []byte{'['}, tail: "]\n"}
	for i, c := range cols {
		b := column.AppendJSONString([]byte{"{,"[min(i, 1)]}, []byte(c.name))
		j.before[i] = append(b, ':')
		if asRows {
			j.before[i] = []byte{"[,"[min(i, 1)]}
		}
	}
	if asRows {
		j.after, j.head, j.tail = ']', columnsHead(cols), "]}\n"
	}
	return j
}

func columnsHead(cols []outColumn) []byte {
	b := []byte(`{"columns":[`)
	for i, c := range cols {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendMember(append(b, '{'), "name", c.name)
		b = append(appendMember(append(b, ','), "type", c.sqlType), '}')
	}
	return append(b, `],"rows":[`...)
}

// unique gives repeated names the endings that DuckDB gives them in a subquery: a, a_1. An object with a
// name twice would lose a value in most readers.
func unique(names []string) []string {
	seen := make(map[string]bool, len(names))
	for _, n := range names {
		seen[n] = true
	}
	if len(seen) == len(names) {
		return names
	}
	out := make([]string, len(names))
	used := make(map[string]bool, len(names))
	for i, n := range names {
		out[i] = n
		for k := 1; used[out[i]] || k > 1 && seen[out[i]]; k++ {
			out[i] = n + "_" + strconv.Itoa(k)
		}
		used[out[i]] = true
	}
	return out
}

// pieceBytes is about how much is encoded before it is sent: a batch of wide rows goes in several pieces.
const pieceBytes = 256 << 10

func (j *jsonRows) next(dst []byte) ([]byte, error) {
	if j.row == j.n {
		var err error
		j.row = 0
		if j.n, err = j.source.load(); err != nil {
			j.n = 0
			return dst, err
		}
	}
	for ; j.row < j.n && len(dst) < pieceBytes; j.row++ {
		switch {
		case !j.array:
		case j.any:
			dst = append(dst, ",\n"...)
		default:
			dst = append(dst, j.head...)
		}
		j.any = true
		for col, before := range j.before {
			dst = j.source.value(append(dst, before...), col, j.row)
		}
		dst = append(dst, j.after)
		if !j.array {
			dst = append(dst, '\n')
		}
	}
	return dst, nil
}

func (j *jsonRows) close() { j.source.close() }

func (j *jsonRows) end(dst []byte) ([]byte, error) {
	if !j.array {
		return dst, nil
	}
	if !j.any {
		dst = append(dst, j.head...)
	}
	return append(dst, j.tail...), nil
}
