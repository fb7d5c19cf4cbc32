package httpd

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/zeebo/xxh3"

	"tidemill/runtime"
	"tidemill/runtime/decode"
	"tidemill/views/catalog"
)

// appendTo is an append before its rows are known.
type appendTo struct {
	rel      *catalog.Relation
	form     bodyForm
	encoding string
	producer string
	seq      uint64
	prev     *uint64
	reading  decode.Reading
	csv      decode.CSVForm
	csvGiven bool // some parameter says that the body is CSV
}

// append answers POST /append/{table}.
func (s *Server) append(c *call, escaped string) error {
	var a appendTo
	if err := s.appendTarget(&a, escaped); err != nil {
		return err
	}
	if err := a.readParams(c.r.URL.RawQuery); err != nil {
		return err
	}
	if err := a.readForm(c.r.Header.Get("Content-Type")); err != nil {
		return err
	}
	if a.encoding = c.r.Header.Get("Content-Encoding"); strings.EqualFold(strings.TrimSpace(a.encoding), "identity") {
		a.encoding = "" // so that only bodies as they came count as plain
	}
	if c.r.ContentLength > s.opts.MaxBodyBytes {
		return tooLarge(s.opts.MaxBodyBytes)
	}
	release, err := s.admit(c, a.encoding)
	if err != nil {
		return err
	}
	defer release()
	res, err := s.appendBody(c, &a)
	if err != nil {
		return a.about(s.translate(err))
	}
	return answerAppend(c, s.opts.Patience, res)
}

func (s *Server) appendTarget(a *appendTo, escaped string) error {
	name := escaped
	if strings.IndexByte(escaped, '%') >= 0 {
		var err error
		if name, err = url.PathUnescape(escaped); err != nil {
			return badRequest("the table's name is malformed: %v", "percent-encode it", err)
		}
	}
	var err error
	a.rel, err = s.engine.Catalog().LookupTable(name)
	return err
}

// gone is a context that has ended: with it Admit does not wait, and no timer is made for those who need not.
var gone = func() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}()

// admit reserves memory for the body: twice its length, since its columns live beside it, and more for a
// compressed one, whose real size shows only when the memory is already used.
func (s *Server) admit(c *call, encoding string) (func(), error) {
	n := 2 * c.r.ContentLength
	switch {
	case n < 0:
		n = s.opts.MaxBodyBytes / 4 // not known beforehand
	case encoding != "":
		n = min(10*n, 2*s.opts.MaxBodyBytes)
	}
	release, err := s.engine.Admit(gone, n)
	if !errors.Is(err, runtime.ErrBusy) {
		return release, err
	}
	ctx, cancel := context.WithTimeout(c.r.Context(), s.opts.AdmitWait)
	defer cancel()
	return s.engine.Admit(ctx, n)
}

// appendBody reads, decodes and appends the body.
func (s *Server) appendBody(c *call, a *appendTo) (runtime.AppendResult, error) {
	pooled := getBuffer()
	defer func() {
		if pooled != nil {
			putBuffer(pooled)
		}
	}()
	plain := a.encoding == ""
	if plain && a.form == formArrow {
		*pooled = nil // the columns will alias the body: it gets memory of its own
	}
	body, err := s.readBody(c, *pooled, s.opts.MaxBodyBytes)
	if err != nil {
		return runtime.AppendResult{}, err
	}
	*pooled = body
	if !plain {
		if body, err = decode.Uncompress(a.encoding, body, s.limits()); err != nil {
			return runtime.AppendResult{}, err
		}
	}
	if len(bytes.TrimSpace(body[:min(len(body), 64)])) == 0 && len(bytes.TrimSpace(body)) == 0 {
		return runtime.AppendResult{}, badRequest("the body is empty", "send at least one row, an empty JSON array or an Arrow stream without rows")
	}
	if a.form == formUnknown {
		if a.form, err = a.sniff(body); err == nil {
			err = a.checkForm()
		}
		if err != nil {
			return runtime.AppendResult{}, err
		}
	}
	req := runtime.AppendRequest{Relation: a.rel.ID, Version: a.rel.Version, Producer: a.producer, Seq: a.seq, Prev: a.prev}
	if a.producer != "" {
		// Seeded by the table: the same bytes for another table are another append.
		req.Hash = xxh3.HashSeed(body, uint64(a.rel.ID))
	}
	var rows *decode.Rows
	switch decoders := s.decodersOf(a.rel); a.form {
	case formArrow:
		switch {
		case !plain:
		case cap(body) > 2*len(body):
			body = bytes.Clone(body) // the columns would keep all of the buffer
		default:
			pooled = nil // handed over
		}
		rows, err = decoders.decodeArrow(body)
	case formCSV:
		rows, err = decoders.decodeCSV(body, a.reading, a.csv)
	default:
		rows, err = decoders.decodeJSON(body, a.reading)
	}
	if err != nil {
		return runtime.AppendResult{}, err
	}
	if rows.N == 0 && a.producer == "" {
		return runtime.AppendResult{Commit: s.engine.Commit()}, nil
	}
	runtime.FillDefaults(a.rel, rows)
	req.Cols, req.N, req.Deleted = rows.Cols, rows.N, rows.Deleted
	return s.engine.Append(c.r.Context(), req)
}

// about completes a problem with the table that it is about.
func (a *appendTo) about(p *Problem) *Problem {
	if p.Table == "" && (p.Row != 0 || p.Column != "" || p.Slug == "bad-body" || p.Slug == "schema-changed") {
		p.Table = a.rel.Name
	}
	return p
}

var typeJSON = []string{"application/json"}

// answerAppend writes {"commit":N,"accepted":n,"duplicate":false}.
func answerAppend(c *call, patience time.Duration, res runtime.AppendResult) error {
	buf := getBuffer()
	defer putBuffer(buf)
	b := append(*buf, `{"commit":`...)
	if res.Commit == 0 && res.Duplicate {
		b = append(b, "null"...)
	} else {
		b = strconv.AppendUint(b, res.Commit, 10)
	}
	b = strconv.AppendInt(append(b, `,"accepted":`...), int64(res.Accepted), 10)
	b = strconv.AppendBool(append(b, `,"duplicate":`...), res.Duplicate)
	b = append(b, "}\n"...)
	*buf = b
	c.w.Header()["Content-Type"] = typeJSON
	c.keepPace(patience)
	_, _ = c.w.Write(b) // whoever is gone repeats the append
	return nil
}

// keepPace gives the client the full time to take a small answer that was long in the making.
func (c *call) keepPace(patience time.Duration) {
	if now := time.Now(); now.Sub(c.start) > patience/2 {
		_ = http.NewResponseController(c.w).SetWriteDeadline(now.Add(patience))
	}
}
