package httpd

import (
	"errors"
	"io"
	"net/http"
	"strconv"
	"time"

	"github.com/apache/arrow-go/v18/arrow"

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
func (s *Server) answer(c *call, a *runtime.Answer, f format) error {
	if a.Rows != nil {
		defer a.Rows.Close()
	}
	rows, err := newRowStream(a, f)
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
	out := s.begin(c, a.Commit, f)
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
	*buf = b
	return err
}

// arrowSource is a query's rows as Arrow batches, which the caller releases; the error is io.EOF after the last.
type arrowSource interface {
	Schema() (*arrow.Schema, error)
	NextArrow() (arrow.RecordBatch, error)
}

// newRowStream chooses the encoding. Results with columns of types that package column lacks (LIST, STRUCT)
// come as Arrow batches.
func newRowStream(a *runtime.Answer, f format) (rowStream, error) {
	if a.Rows == nil {
		if f == formatArrow {
			return newArrowRows(a)
		}
		return newJSONRows(fieldNames(a.Fields), &tableSource{cols: a.Cols, n: a.N}, f), nil
	}
	var names []string
	nested := false
	for _, fd := range a.Rows.Fields() {
		if names = append(names, fd.Name); fd.Type.Valid() {
			continue
		}
		nested = true
		if err := checkType(fd.Name, fd.SQLType); err != nil {
			return nil, err
		}
	}
	switch {
	case f == formatArrow:
		return newArrowRows(a)
	case nested:
		return newJSONRows(names, &nestedSource{rows: a.Rows}, f), nil
	}
	return newJSONRows(names, &columnSource{rows: a.Rows}, f), nil
}

func fieldNames(fields []column.Field) []string {
	out := make([]string, len(fields))
	for i, f := range fields {
		out[i] = f.Name
	}
	return out
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

func (b batch) value(dst []byte, col, row int) []byte { return column.AppendJSON(dst, &b[col], row) }

// outStream sends an answer piece by piece, and gives the client its time for each.
type outStream struct {
	c        *call
	control  *http.ResponseController
	patience time.Duration
	deadline time.Time
}

// begin writes the answer's head.
func (s *Server) begin(c *call, commit uint64, f format) *outStream {
	h := c.w.Header()
	h["Content-Type"] = formatTypes[f]
	h["Tidemill-Commit"] = []string{strconv.FormatUint(commit, 10)}
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
