package httpd

import (
	"bytes"
	"context"
	"errors"
	"mime"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/zeebo/xxh3"

	"tidemill/runtime"
	"tidemill/runtime/decode"
	"tidemill/views/catalog"
)

// bodyForm is how an append's rows are written.
type bodyForm int

const (
	formUnknown bodyForm = iota // decided by the first bytes
	formJSON                    // NDJSON or a JSON array: the decoder tells them apart
	formArrow
)

const typeArrow = "application/vnd.apache.arrow.stream"

// formOf reads a Content-Type. What curl sends when it is told nothing counts as nothing.
func formOf(contentType string) (bodyForm, error) {
	switch contentType {
	case "application/x-ndjson", "application/json":
		return formJSON, nil
	case typeArrow:
		return formArrow, nil
	case "":
		return formUnknown, nil
	}
	media, _, err := mime.ParseMediaType(contentType)
	if err != nil {
		return 0, unsupportedBody(contentType)
	}
	switch media {
	case "application/x-ndjson", "application/jsonl", "application/ndjson", "application/json":
		return formJSON, nil
	case typeArrow:
		return formArrow, nil
	case "application/x-www-form-urlencoded", "application/octet-stream":
		return formUnknown, nil
	}
	return 0, unsupportedBody(contentType)
}

func unsupportedBody(contentType string) error {
	return &Problem{Status: http.StatusUnsupportedMediaType, Slug: "unknown-type", SQLState: "0A000",
		Detail: "bodies of type " + cut(contentType) + " are not read here",
		Hint:   "send application/x-ndjson, application/json (an array of objects) or " + typeArrow}
}

// sniff decides the form by the first bytes.
func sniff(body []byte) (bodyForm, error) {
	if bytes.HasPrefix(body, []byte{0xff, 0xff, 0xff, 0xff}) || bytes.HasPrefix(body, []byte("ARROW1")) {
		return formArrow, nil
	}
	if b := bytes.TrimLeft(body, " \t\r\n"); len(b) > 0 && (b[0] == '{' || b[0] == '[') {
		return formJSON, nil
	}
	return 0, &Problem{Status: http.StatusBadRequest, Slug: "bad-body", SQLState: "22P02", Placed: true,
		Detail: "the body is neither JSON nor an Arrow stream by its first bytes",
		Hint:   "send NDJSON, a JSON array of objects or an Arrow IPC stream"}
}

// appendTo is an append before its rows are known.
type appendTo struct {
	rel      *catalog.Relation
	form     bodyForm
	encoding string
	producer string
	seq      uint64
	prev     *uint64
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
	var err error
	if a.form, err = formOf(c.r.Header.Get("Content-Type")); err != nil {
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

// maxProducer bounds a producer's name: it is kept, and stands in every log record.
const maxProducer = 255

func (a *appendTo) readParams(query string) error {
	var prev uint64
	hasPrev := false
	for p := (params{rest: query}); ; {
		i, v, ok, err := p.next("producer", "seq", "prev")
		if err != nil {
			return err
		}
		if !ok {
			break
		}
		switch i {
		case 0:
			if v == "" || len(v) > maxProducer || !utf8.ValidString(v) || strings.ContainsFunc(v, func(r rune) bool { return r < ' ' || r == 0x7f }) {
				return badRequest("producer is %q", "give a name of 1 to 255 bytes of UTF-8 without control characters", cut(v))
			}
			a.producer = v
		case 1:
			a.seq, err = number("seq", v, 1)
		case 2:
			prev, err = number("prev", v, 0)
			hasPrev = true
		}
		if err != nil {
			return err
		}
	}
	switch {
	case a.producer == "" && (a.seq != 0 || hasPrev):
		return badRequest("seq and prev mean nothing without a producer", "name the producer that counts")
	case a.producer != "" && a.seq == 0:
		return badRequest("producer %s sends no seq", "count its appends from 1: seq=1, seq=2, and so on", cut(a.producer))
	case hasPrev && prev >= a.seq:
		return badRequest("prev is %d and seq is %d", "prev is the producer's last seq, so it is below the new one", prev, a.seq)
	case hasPrev:
		a.prev = &prev
	}
	return nil
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
		if a.form, err = sniff(body); err != nil {
			return runtime.AppendResult{}, err
		}
	}
	req := runtime.AppendRequest{Relation: a.rel.ID, Version: a.rel.Version, Producer: a.producer, Seq: a.seq, Prev: a.prev}
	if a.producer != "" {
		// Seeded by the table: the same bytes for another table are another append.
		req.Hash = xxh3.HashSeed(body, uint64(a.rel.ID))
	}
	var rows *decode.Rows
	if decoders := s.decodersOf(a.rel); a.form == formArrow {
		switch {
		case !plain:
		case cap(body) > 2*len(body):
			body = bytes.Clone(body) // the columns would keep all of the buffer
		default:
			pooled = nil // handed over
		}
		rows, err = decoders.decodeArrow(body)
	} else {
		rows, err = decoders.decodeJSON(body)
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
