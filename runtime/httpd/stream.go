package httpd

import (
	"errors"
	"io"
	"net/http"
	"strconv"
	"time"

	"tidemill/runtime"
	"tidemill/state/column"
)

// rowStream is an answer's rows on their way to the client: each call of next appends a batch in its
// encoding, and the error is io.EOF after the last.
type rowStream interface {
	next(dst []byte) ([]byte, error)
	// end appends what follows the last batch.
	end(dst []byte) ([]byte, error)
	// close releases what is held; the caller closes the answer's rows afterwards.
	close()
}

// answer writes what a statement gave. Until it has something to send, errors are returned and c.started
// stays false; afterwards they break the connection. It closes the rows.
func (s *Server) answer(c *call, a *runtime.Answer, q *sqlRequest) error {
	if a.Rows != nil {
		defer a.Rows.Close()
	}
	var limit *rowLimit
	if q.limited {
		limit = &rowLimit{left: q.limit}
	}
	rows, err := newRowStream(a, q, limit)
	if err != nil {
		return err
	}
	defer rows.close()
	buf := getBuffer()
	defer putBuffer(buf)
	b, err := rows.next(*buf)
	if err != nil && !errors.Is(err, io.EOF) {
		*buf = b[:0]
		return err
	}
	out := s.begin(c, a, q.format)
	if limit != nil {
		c.w.Header()["Trailer"] = truncatedTrailer
	}
	for err == nil {
		if err = out.send(b, true); err != nil {
			break
		}
		b, err = rows.next(b[:0])
	}
	if errors.Is(err, io.EOF) {
		if b, err = rows.end(b); err == nil {
			err = out.send(b, false)
		}
	}
	if limit != nil {
		c.w.Header()[headerTruncated] = []string{strconv.FormatBool(limit.cut)}
	}
	*buf = b
	return err
}

// headerTruncated follows an answer with limit_rows, as a trailer: whether there were more rows.
const headerTruncated = "Tidemill-Truncated"

var truncatedTrailer = []string{headerTruncated}

// newRowStream chooses the encoding. Results with columns of types that package column lacks (LIST, STRUCT)
// come as Arrow batches.
func newRowStream(a *runtime.Answer, q *sqlRequest, limit *rowLimit) (rowStream, error) {
	cols, nested, err := columnsOf(a)
	if err != nil {
		return nil, err
	}
	if q.format == formatArrow || q.format == formatParquet {
		rows, err := arrowSourceOf(a)
		if err != nil {
			return nil, err
		}
		if limit != nil {
			rows = &limitedArrow{rows, limit}
		}
		if q.format == formatParquet {
			return newParquetRows(rows)
		}
		return newArrowRows(rows)
	}
	var source rowSource
	switch {
	case a.Rows == nil:
		source = &tableSource{cols: a.Cols, n: a.N}
	case nested:
		source = &nestedSource{rows: a.Rows}
	default:
		source = &columnSource{rows: a.Rows}
	}
	if limit != nil {
		source = &limitedSource{source, limit}
	}
	if q.format == formatCSV {
		return newCSVRows(cols, source), nil
	}
	return newJSONRows(cols, source, q.format, q.asRows), nil
}

// columnsOf describes the answer's columns; nested says that some are of types that package column lacks.
func columnsOf(a *runtime.Answer) (cols []outColumn, nested bool, err error) {
	var names, types []string
	if a.Rows == nil {
		for _, f := range a.Fields {
			names, types = append(names, f.Name), append(types, f.Type.String())
		}
	} else {
		for _, f := range a.Rows.Fields() {
			names, types = append(names, f.Name), append(types, f.SQLType)
			if f.Type.Valid() {
				continue
			}
			nested = true
			if err := checkType(f.Name, f.SQLType); err != nil {
				return nil, false, err
			}
		}
	}
	cols = make([]outColumn, len(names))
	for i, name := range unique(names) {
		cols[i] = outColumn{name, types[i]}
	}
	return cols, nested, nil
}

// tableSource gives a table that is all there, once.
type tableSource struct {
	cols []column.Column
	n    int
	done bool
	batch
}

func (t *tableSource) load() (int, error) {
	if t.done || t.n == 0 {
		return 0, io.EOF
	}
	t.done = true
	t.batch = t.cols
	return t.n, nil
}

func (t *tableSource) close() {}

// columnSource gives a query's rows.
type columnSource struct {
	rows *runtime.Rows
	batch
}

func (q *columnSource) load() (n int, err error) {
	q.batch, n, err = q.rows.NextColumns()
	return n, err
}

func (q *columnSource) close() {}

// batch is rows as columns.
type batch []column.Column

func (b batch) text(dst []byte, col, row int) ([]byte, bool) {
	if b[col].IsNull(row) {
		return dst, true
	}
	if b[col].Type.Nested() { // as bodies of CSV are read
		return column.AppendJSON(dst, &b[col], row), false
	}
	return column.AppendText(dst, &b[col], row), false
}

func (b batch) value(dst []byte, col, row int) []byte { return column.AppendJSON(dst, &b[col], row) }

// outStream sends an answer piece by piece, and gives the client its time for each.
type outStream struct {
	c        *call
	control  *http.ResponseController
	patience time.Duration
	deadline time.Time
}

var (
	cacheNames = [...][]string{runtime.Computed: {"miss"}, runtime.FromCache: {"hit"}, runtime.FromStale: {"stale"}}
	zeroAge    = []string{"0"}
)

// begin writes the answer's head.
func (s *Server) begin(c *call, a *runtime.Answer, f format) *outStream {
	h := c.w.Header()
	h["Content-Type"] = formatTypes[f]
	h["Tidemill-Commit"] = []string{strconv.FormatUint(a.Commit, 10)}
	if a.From != runtime.NoQuery {
		h["Tidemill-Cache"] = cacheNames[a.From]
		h["Tidemill-Age-Ms"] = zeroAge
		if a.Age > 0 {
			h["Tidemill-Age-Ms"] = []string{strconv.FormatInt(int64((a.Age+time.Millisecond-1)/time.Millisecond), 10)}
		}
	}
	h["Cache-Control"] = noStore
	return &outStream{c: c, control: http.NewResponseController(c.w), patience: s.opts.Patience}
}

// flushFrom is how many bytes are worth a packet of their own while more may follow.
const flushFrom = 16 << 10

// send writes b. With more to follow, larger pieces are pushed out at once: the first rows of a long answer
// arrive while the last are still being made.
func (o *outStream) send(b []byte, more bool) error {
	o.c.started = true
	if now := time.Now(); o.deadline.Sub(now) < o.patience/2 {
		o.deadline = now.Add(o.patience)
		_ = o.control.SetWriteDeadline(o.deadline)
	}
	if _, err := o.c.w.Write(b); err != nil {
		return err
	}
	if more && len(b) >= flushFrom {
		return o.control.Flush()
	}
	return nil
}
