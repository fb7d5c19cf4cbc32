package httpd

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"
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
	rel      *catalog.Relation // nil when the rows name their tables
	form     bodyForm
	encoding string
	producer string
	seq      uint64
	prev     *uint64
	reading  decode.Reading
	csv      decode.CSVForm
	csvGiven bool // some parameter says that the body is CSV
	bad      []*decode.BadRow
	stream   bool
	linger   time.Duration
}

// append answers POST /append/{table}, and POST /append for rows that name their tables.
func (s *Server) append(c *call, escaped string, one bool) error {
	var a appendTo
	if one {
		if err := s.appendTarget(&a, escaped); err != nil {
			return err
		}
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
	if a.stream {
		return s.appendStream(c, &a)
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
	return a.answer(c, s.opts.Patience, res)
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
	a.rel, err = runtime.Appendable(s.engine.Catalog(), name)
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
	return s.admitBytes(c, n)
}

// admitBytes reserves n bytes, and waits a while for them.
func (s *Server) admitBytes(c *call, n int64) (func(), error) {
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
	req := runtime.AppendRequest{Producer: a.producer, Seq: a.seq, Prev: a.prev, KeepBad: a.reading.OnError == decode.OnErrorRow}
	if a.producer != "" {
		// Seeded by the table: the same bytes for another table are another append.
		seed := uint64(0)
		if a.rel != nil {
			seed = uint64(a.rel.ID)
		}
		req.Hash = xxh3.HashSeed(body, seed)
	}
	if a.form == formArrow && plain {
		if cap(body) > 2*len(body) {
			body = bytes.Clone(body) // the columns would keep all of the buffer
		} else {
			pooled = nil // handed over
		}
	}
	parts, err := s.decodeParts(a, body)
	if err != nil {
		return runtime.AppendResult{}, err
	}
	rows := 0
	for i := range parts {
		rows += parts[i].N + len(parts[i].Bad)
		for k := range parts[i].Bad {
			a.bad = append(a.bad, &parts[i].Bad[k])
		}
	}
	slices.SortFunc(a.bad, func(x, y *decode.BadRow) int { return cmp.Compare(x.Row, y.Row) })
	if len(parts) == 0 || rows == 0 && a.producer == "" {
		return runtime.AppendResult{Commit: s.engine.Commit()}, nil
	}
	p := &parts[0]
	req.Relation, req.Version, req.Cols, req.N, req.Deleted, req.Bad, req.More = p.Relation, p.Version, p.Cols, p.N, p.Deleted, p.Bad, parts[1:]
	return s.engine.Append(c.r.Context(), req)
}

// decodeParts decodes a body into the rows of each table. Of Arrow it takes the body over.
func (s *Server) decodeParts(a *appendTo, body []byte) ([]runtime.TableRows, error) {
	if a.rel == nil {
		return s.decodeTables(a, body)
	}
	var rows *decode.Rows
	var err error
	switch decoders := s.decodersOf(a.rel); a.form {
	case formArrow:
		rows, err = decoders.decodeArrow(body, a.reading)
	case formCSV:
		rows, err = decoders.decodeCSV(body, a.reading, a.csv)
	default:
		rows, err = decoders.decodeJSON(body, a.reading)
	}
	if err != nil {
		return nil, err
	}
	return []runtime.TableRows{partOf(a.rel, rows)}, nil
}

func partOf(rel *catalog.Relation, rows *decode.Rows) runtime.TableRows {
	runtime.FillDefaults(rel, rows)
	return runtime.TableRows{Relation: rel.ID, Version: rel.Version, Cols: rows.Cols, N: rows.N, Deleted: rows.Deleted, Bad: rows.Bad}
}

// decodeTables decodes a body whose rows name their tables, all of one catalog.
func (s *Server) decodeTables(a *appendTo, body []byte) ([]runtime.TableRows, error) {
	cat := s.engine.Catalog()
	used := map[*catalog.Relation]*decode.NDJSON{}
	rels := map[string]*catalog.Relation{}
	tables, err := decode.DecodeTables(body, a.reading, 0, func(name string) (*decode.NDJSON, error) {
		rel, err := runtime.Appendable(cat, name)
		if errors.Is(err, catalog.ErrUnknownRelation) {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		if used[rel] == nil {
			used[rel] = s.decodersOf(rel).ndjson.Get().(*decode.NDJSON)
		}
		rels[name] = rel
		return used[rel], nil
	})
	for rel, d := range used {
		s.decodersOf(rel).ndjson.Put(d)
	}
	if err != nil {
		return nil, err
	}
	parts := make([]runtime.TableRows, len(tables))
	for i, t := range tables {
		parts[i] = partOf(rels[t.Table], t.Rows)
	}
	if len(parts) == 0 && a.producer != "" {
		return nil, badRequest("the body has no row", "a seq is used up by rows: send some, or go on without it")
	}
	return parts, nil
}

// about completes a problem with the table that it is about.
func (a *appendTo) about(p *Problem) *Problem {
	if a.rel != nil && p.Table == "" && (p.Row != 0 || p.Column != "" || p.Slug == "bad-body" || p.Slug == "schema-changed") {
		p.Table = a.rel.Name
	}
	return p
}

var typeJSON = []string{"application/json"}

// answer writes {"commit":N,"accepted":n,"duplicate":false}, with rejected and the first rejects when bad rows are
// kept.
func (a *appendTo) answer(c *call, patience time.Duration, res runtime.AppendResult) error {
	buf := getBuffer()
	defer putBuffer(buf)
	*buf = append(a.appendAnswer(*buf, res), "}\n"...)
	c.w.Header()["Content-Type"] = typeJSON
	c.keepPace(patience)
	_, _ = c.w.Write(*buf) // whoever is gone repeats the append
	return nil
}

// shownBad is how many rejected rows an answer shows; all are in the rejects.
const shownBad = 10

// appendAnswer appends the answer without its closing brace.
func (a *appendTo) appendAnswer(b []byte, res runtime.AppendResult) []byte {
	b = append(b, `{"commit":`...)
	if res.Commit == 0 && res.Duplicate {
		b = append(b, "null"...)
	} else {
		b = strconv.AppendUint(b, res.Commit, 10)
	}
	b = strconv.AppendInt(append(b, `,"accepted":`...), int64(res.Accepted), 10)
	if a.reading.OnError == decode.OnErrorRow {
		b = strconv.AppendInt(append(b, `,"rejected":`...), int64(res.Rejected), 10)
	}
	b = strconv.AppendBool(append(b, `,"duplicate":`...), res.Duplicate)
	for i, bad := range a.bad[:min(len(a.bad), shownBad)] {
		b = append(b, []string{`,"rejects":[{"row":`, `,{"row":`}[min(i, 1)]...)
		b = strconv.AppendInt(b, int64(bad.Row), 10)
		if bad.Offset >= 0 {
			b = strconv.AppendInt(append(b, `,"position":`...), int64(bad.Offset), 10)
		}
		for _, m := range [...]struct{ name, value string }{{"table", bad.Table}, {"column", bad.Column}, {"value", bad.Value}, {"reason", bad.Reason}} {
			if m.value != "" {
				b = appendMember(append(b, ','), m.name, m.value)
			}
		}
		b = append(b, '}')
	}
	if len(a.bad) > 0 {
		b = append(b, ']')
	}
	return b
}

// keepPace gives the client the full time to take a small answer that was long in the making.
func (c *call) keepPace(patience time.Duration) {
	if now := time.Now(); now.Sub(c.start) > patience/2 {
		_ = http.NewResponseController(c.w).SetWriteDeadline(now.Add(patience))
	}
}
