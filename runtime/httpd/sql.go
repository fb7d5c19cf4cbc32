package httpd

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strings"
	"unicode/utf8"

	"tidemill/runtime"
	"tidemill/views/catalog"
)

// sql answers POST /sql: all statements of the body in order, with the answer of the last.
func (s *Server) sql(c *call) error {
	f, err := sqlFormat(c.r)
	if err != nil {
		return err
	}
	text, err := s.sqlText(c)
	if err != nil {
		return err
	}
	units := catalog.Units(text)
	if len(units) == 0 {
		return &Problem{Status: http.StatusBadRequest, Slug: "bad-sql", SQLState: "42601",
			Detail: "the body has no statement", Hint: "send SQL text, such as SELECT 1"}
	}
	for i, unit := range units {
		statement := text[unit.Start:unit.End]
		answer, err := s.engine.Execute(c.r.Context(), statement)
		if err == nil && i == len(units)-1 {
			// The first rows may fail as the statement itself may: the answer begins when they are there.
			err = s.answer(c, answer, f)
		} else if err == nil {
			discard(answer)
		}
		if err != nil {
			if c.started {
				return err
			}
			return s.statementError(err, text, i, units)
		}
	}
	return nil
}

// sqlFormat reads the query string and Accept. stale_ms and max_age_ms say how old an answer may be; every
// answer is of the newest commit, so any bound is kept.
func sqlFormat(r *http.Request) (format, error) {
	var f format
	chosen := false
	for p := (params{rest: r.URL.RawQuery}); ; {
		i, v, ok, err := p.next("format", "stale_ms", "max_age_ms")
		if err != nil {
			return 0, err
		}
		if !ok {
			break
		}
		switch i {
		case 0:
			if f, chosen = formatNames[v]; !chosen {
				return 0, badRequest("format is %q", "formats are json, ndjson and arrow", cut(v))
			}
		default:
			if _, err := number([...]string{1: "stale_ms", 2: "max_age_ms"}[i], v, 0); err != nil {
				return 0, err
			}
		}
	}
	if chosen {
		return f, nil
	}
	return acceptedFormat(r.Header["Accept"])
}

// sqlText reads the statements from the body: the text itself, or JSON {"sql": "..."}.
func (s *Server) sqlText(c *call) (string, error) {
	media := c.r.Header.Get("Content-Type")
	if media != "" && media != "text/plain" {
		parsed, params, err := mime.ParseMediaType(media)
		if err != nil || !sqlMedia(parsed) || params["charset"] != "" && !strings.EqualFold(params["charset"], "utf-8") {
			return "", &Problem{Status: http.StatusUnsupportedMediaType, Slug: "unknown-type", SQLState: "0A000",
				Detail: "SQL of type " + cut(media) + " is not read here", Hint: `send text/plain in UTF-8, or application/json with {"sql": "..."}`}
		}
		media = parsed
	}
	if enc := c.r.Header.Get("Content-Encoding"); enc != "" && enc != "identity" {
		return "", &Problem{Status: http.StatusUnsupportedMediaType, Slug: "unknown-encoding", SQLState: "0A000",
			Detail: "SQL with Content-Encoding " + cut(enc) + " is not read here", Hint: "send it without"}
	}
	buf := getBuffer()
	defer putBuffer(buf)
	body, err := s.readBody(c, *buf, s.opts.MaxSQLBytes)
	if err != nil {
		return "", err
	}
	*buf = body
	text := ""
	if media == "application/json" {
		if text, err = sqlOfJSON(body); err != nil {
			return "", err
		}
	} else {
		text = string(body)
	}
	if !utf8.ValidString(text) {
		return "", badRequest("the statement is not UTF-8", "send it in UTF-8")
	}
	if i := strings.IndexByte(text, 0); i >= 0 {
		return "", badRequest("the statement has a NUL character at byte %d", "leave it out", i)
	}
	return text, nil
}

func sqlMedia(media string) bool {
	switch media {
	// curl -d names the form type, whatever it sends.
	case "text/plain", "application/sql", "application/json", "application/x-www-form-urlencoded", "application/octet-stream":
		return true
	}
	return false
}

func sqlOfJSON(body []byte) (string, error) {
	var req struct {
		SQL *string `json:"sql"`
	}
	d := json.NewDecoder(bytes.NewReader(body))
	d.DisallowUnknownFields()
	err := d.Decode(&req)
	if err == nil {
		if _, more := d.Token(); !errors.Is(more, io.EOF) {
			err = errors.New("text follows the object")
		}
	}
	if e, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		err = fmt.Errorf("a %s stands where text is wanted", e.Value)
	}
	if err == nil && req.SQL == nil {
		err = errors.New(`there is no "sql"`)
	}
	if err != nil {
		return "", badRequest("the JSON body cannot be read: %v", `send {"sql": "SELECT 1"}`, err)
	}
	return *req.SQL, nil
}

// discard drops the answer of a statement that is not the last.
func discard(a *runtime.Answer) {
	if a.Rows != nil {
		a.Rows.Close()
	}
}

// statementError completes the error of unit i with its place in the whole text, and says what became of the others.
func (s *Server) statementError(err error, text string, i int, units []catalog.Unit) error {
	p := s.translate(err)
	p.locate(text, units[i].Start)
	last := units[len(units)-1]
	if total := last.First + last.Statements - 1; total > 1 {
		p.Statement = units[i].First
		if e, ok := errors.AsType[*runtime.BlockError](err); ok {
			p.Statement += e.Statement - 1
			p.Hint = strings.TrimPrefix(p.Hint+"; nothing of its transaction was applied", "; ")
		}
		p.Detail = fmt.Sprintf("statement %d of %d: %s", p.Statement, total, p.Detail)
		if i > 0 {
			p.Hint = strings.TrimPrefix(p.Hint+"; the statements before it were carried out", "; ")
			if units[i].Statements > 1 {
				p.Hint = strings.Replace(p.Hint, "the statements before it were", "the statements before BEGIN were", 1)
			}
		}
	}
	return p
}
