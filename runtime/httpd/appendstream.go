package httpd

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"strconv"
	"time"

	"github.com/zeebo/xxh3"

	"tidemill/runtime"
	"tidemill/runtime/decode"
)

const (
	// streamBatch is how many bytes of rows one commit of a stream takes at least, if they are there: beyond,
	// a larger commit is no cheaper for each row, and its acknowledgement comes later.
	streamBatch = 1 << 20
	// streamMemory is what a stream may hold beside the rows of its next commit.
	streamMemory = 1 << 20
	// defaultLinger is how long a commit waits for more rows than the first that came. Rows that come while
	// one commit runs share the next anyway, so this is for senders that write a row at a time.
	defaultLinger = 2 * time.Millisecond
	maxLinger     = time.Second
)

// stream is an append that goes on: rows come in, a line for each commit goes out.
//
//	reader:   body -> lines or Arrow messages -> frames
//	stream:   frames -> a batch -> decode -> Append -> acknowledgement
//
// It holds a batch, the frames of the next and no more: while a commit runs, or its acknowledgement is not taken, the
// reader stands still, and so does the client.
type stream struct {
	s       *Server
	c       *call
	a       *appendTo
	control *http.ResponseController
	reader  *frameReader
	arrow   *decode.ArrowStream // nil for lines

	rows uint64 // dealt with: accepted and rejected in commits, or known from before
	skip uint64 // rows of the producer that were applied before the stream began
	err  error  // why the body has ended
	line []byte
}

// appendStream answers POST /append/{table}?stream=1.
func (s *Server) appendStream(c *call, a *appendTo) error {
	st := &stream{s: s, c: c, a: a, control: http.NewResponseController(c.w)}
	if err := st.check(); err != nil {
		return err
	}
	release, err := s.admitBytes(c, streamMemory)
	if err != nil {
		return err
	}
	defer release()
	if err := st.resume(); err != nil {
		return err
	}
	if err := st.control.EnableFullDuplex(); err != nil {
		return badRequest("this connection cannot answer while it reads: %v", "send the rows in separate appends", err)
	}
	if a.form == formArrow {
		st.arrow = decode.NewArrowStream(a.rel.Fields, runtime.DecodeOptions(a.rel), a.reading)
	}
	c.w.Header()["Content-Type"] = typeNDJSON
	c.w.Header()["Cache-Control"] = noStore
	c.started = true
	c.w.WriteHeader(http.StatusOK)
	if st.send() != nil {
		return nil
	}
	st.reader = newFrameReader(s, c, a.form == formArrow)
	go st.reader.run()
	defer st.reader.stop()
	st.run()
	return nil
}

var typeNDJSON = []string{"application/x-ndjson"}

// check refuses what a stream cannot be.
func (st *stream) check() error {
	a := st.a
	if a.form == formUnknown {
		a.form = formJSON
	}
	switch {
	case a.rel == nil:
		return badRequest("a stream is for one table", "send it to /append/{table}?stream=1")
	case a.form == formCSV:
		return badRequest("a stream is NDJSON or Arrow, and the body is CSV", "send CSV without stream=1, in bodies of some thousand rows")
	case a.encoding != "":
		return badRequest("a stream is sent without Content-Encoding, and this one has %s", "send it as it is, or compress Arrow buffers", cut(a.encoding))
	case a.prev != nil:
		return badRequest("prev means nothing in a stream", "seq is the number of the stream's first row, and says what came before")
	case a.producer != "" && a.form == formArrow && a.reading.OnError == decode.OnErrorRow:
		return badRequest("an Arrow stream of a producer cannot leave rows out", "send it with on_error=all, or as NDJSON")
	}
	if a.reading.OnError == decode.OnErrorAll {
		a.reading.OnError = decode.OnErrorStop // the rows before the first bad one are committed
	}
	return nil
}

// resume finds out how many rows of the stream are known already.
func (st *stream) resume() error {
	a := st.a
	if a.producer == "" {
		return nil
	}
	state, err := st.s.engine.Producer(st.c.r.Context(), a.producer)
	if err != nil {
		return err
	}
	if a.seq > state.Last+1 {
		return &runtime.SeqError{Producer: a.producer, Seq: a.seq, Last: state.Last}
	}
	st.skip = state.Last + 1 - a.seq
	return nil
}

// run goes on until the body, the client, the server or a row ends the stream.
func (st *stream) run() {
	for st.err == nil {
		batch := st.gather()
		err := st.commit(batch)
		for _, f := range batch {
			f.release()
		}
		if err != nil {
			st.fail(err)
			return
		}
	}
	if !errors.Is(st.err, io.EOF) {
		st.fail(st.err)
		return
	}
	st.line = strconv.AppendUint(append(st.line[:0], `{"done":true,"rows":`...), st.rows, 10)
	st.line = append(st.line, "}\n"...)
	_ = st.send() // a client that is gone knows the acknowledgements that it has read
}

// gather waits for a frame and takes what comes within the linger, up to a batch. It sets err at the body's end.
func (st *stream) gather() (batch []frame) {
	size := 0
	var timer <-chan time.Time
	for size < streamBatch {
		select {
		case f := <-st.reader.frames:
			if f.err != nil {
				st.err = f.err
				return batch
			}
			batch = append(batch, f)
			size += len(f.data)
			if timer == nil {
				t := time.NewTimer(st.a.linger)
				defer t.Stop()
				timer = t.C
			}
		case <-timer:
			return batch
		case <-st.s.closing:
			st.err = runtime.ErrClosed
			return batch
		}
	}
	return batch
}

// commit makes a batch a commit and acknowledges it. The error is what ends the stream.
func (st *stream) commit(batch []frame) error {
	if len(batch) == 0 {
		return nil
	}
	rows, hash, bad := st.decode(batch)
	before := st.rows
	if rows != nil && rows.N+len(rows.Bad) > 0 {
		if err := st.append(rows, hash); err != nil {
			return err
		}
	}
	if e, ok := errors.AsType[*decode.RowError](bad); ok {
		e.Row += int(before) // counted from the stream's first row
		e.Offset = -1
	}
	return bad
}

// decode returns the rows of a batch that are new, and what is wrong with the row after them.
func (st *stream) decode(batch []frame) (*decode.Rows, uint64, error) {
	if st.arrow != nil {
		return st.decodeArrow(batch)
	}
	body := batch[0].data
	if len(batch) > 1 {
		body = nil
		for _, f := range batch {
			body = append(body, f.data...)
		}
	}
	body, known := skipLines(body, st.skip)
	if err := st.repeated(known); err != nil {
		return nil, 0, err
	}
	rows, err := st.s.decodersOf(st.a.rel).decodeJSON(body, st.a.reading)
	return rows, xxh3.HashSeed(body, uint64(st.a.rel.ID)), err
}

// skipLines leaves out the first n lines that are not blank.
func skipLines(b []byte, n uint64) (rest []byte, skipped uint64) {
	for skipped < n && len(b) > 0 {
		line, after, _ := bytes.Cut(b, []byte{'\n'})
		if b = after; len(bytes.TrimSpace(line)) > 0 {
			skipped++
		}
	}
	return b, skipped
}

func (st *stream) decodeArrow(batch []frame) (*decode.Rows, uint64, error) {
	var bad error
	hash := xxh3.New()
	for _, f := range batch {
		_, _ = hash.Write(f.data)
		if _, bad = st.arrow.Add(f.data); bad != nil {
			break
		}
	}
	rows, err := st.arrow.Take()
	if err != nil {
		return nil, 0, errors.Join(bad, err)
	}
	known := min(st.skip, uint64(rows.N))
	if known > 0 {
		rows = rows.From(int(known))
	}
	if err := st.repeated(known); err != nil {
		return nil, 0, err
	}
	return rows, hash.Sum64(), bad
}

// repeated acknowledges rows that were applied before the stream began.
func (st *stream) repeated(n uint64) error {
	if n == 0 {
		return nil
	}
	st.skip -= n
	st.rows += n
	return st.acknowledge(runtime.AppendResult{Accepted: int(n), Duplicate: true})
}

// append commits rows and acknowledges them. A producer's seq counts its rows.
func (st *stream) append(rows *decode.Rows, hash uint64) error {
	a := st.a
	a.bad = a.bad[:0]
	for i := range rows.Bad {
		rows.Bad[i].Row += int(st.rows)
		a.bad = append(a.bad, &rows.Bad[i])
	}
	p := partOf(a.rel, rows)
	req := runtime.AppendRequest{Relation: p.Relation, Version: p.Version, Cols: p.Cols, N: p.N, Deleted: p.Deleted, Bad: p.Bad,
		KeepBad: a.reading.OnError == decode.OnErrorRow}
	n := uint64(p.N + len(p.Bad))
	if a.producer != "" {
		prev := a.seq - 1 + st.rows
		req.Producer, req.Prev, req.Seq, req.Hash = a.producer, &prev, prev+n, hash
	}
	// A read that fails ends the request's context, while rows that came before it are still on their way.
	res, err := st.s.engine.Append(context.WithoutCancel(st.c.r.Context()), req)
	if err != nil {
		return err
	}
	st.rows += n
	return st.acknowledge(res)
}

// acknowledge writes the line of a commit.
func (st *stream) acknowledge(res runtime.AppendResult) error {
	st.line = st.a.appendAnswer(st.line[:0], res)
	st.line = strconv.AppendUint(append(st.line, `,"rows":`...), st.rows, 10)
	st.line = append(st.line, "}\n"...)
	return st.send()
}

// fail writes the line that ends a stream: what is wrong, and how many of its rows are committed.
func (st *stream) fail(err error) {
	p := st.a.about(st.s.translate(err))
	p.Hint += "; the rows up to rows are committed, those after are not"
	st.line = p.append(append(st.line[:0], `{"error":`...))
	st.line = append(bytes.TrimRight(st.line, "\n"), `,"rows":`...)
	st.line = append(strconv.AppendUint(st.line, st.rows, 10), "}\n"...)
	st.c.status = p.Status
	_ = st.send() // a client that is gone knows the acknowledgements that it has read
}

// send writes the line and flushes it. A client that does not take it in time ends its stream.
func (st *stream) send() error {
	_ = st.control.SetWriteDeadline(time.Now().Add(st.s.opts.Patience))
	if len(st.line) > 0 {
		if _, err := st.c.w.Write(st.line); err != nil {
			return &Problem{Status: statusBroken, Slug: "broken-answer", Detail: "the client takes no answers: " + err.Error()}
		}
	}
	if err := st.control.Flush(); err != nil {
		return &Problem{Status: statusBroken, Slug: "broken-answer", Detail: "the client takes no answers: " + err.Error()}
	}
	return nil
}
