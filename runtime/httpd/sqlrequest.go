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
	"time"
	"unicode/utf8"

	"tidemill/runtime"
)

// sqlRequest is what a call of /sql asks for.
type sqlRequest struct {
	text     string
	params   []any
	format   format
	asRows   bool          // shape=rows
	timeout  time.Duration // 0 for none
	maxAge   time.Duration // of the answer, by stale_ms and max_age_ms
	aged     bool          // one of these was given
	limit    uint64        // rows; none without limited
	limited  bool
	hasQuery bool // text came in the query string
}

// sqlParams are the parameters of /sql, by their place in readSQLParams.
var sqlParams = []string{"format", "shape", "timeout_ms", "limit_rows", "stale_ms", "max_age_ms", "q", "params"}

// maxTimeout bounds what timeout_ms may say: a day.
const maxTimeout = 24 * time.Hour

// readSQLParams reads the query string and Accept.
func (q *sqlRequest) readSQLParams(r *http.Request) error {
	known := sqlParams
	if r.Method == http.MethodPost {
		known = known[:len(known)-2] // q and params are in its body
	}
	chosen := false
	for p := (params{rest: r.URL.RawQuery}); ; {
		i, v, ok, err := p.next(known...)
		if err != nil {
			return err
		}
		if !ok {
			break
		}
		switch name := known[i]; name {
		case "format":
			if q.format, chosen = formatNames[v]; !chosen {
				return badRequest("format is %q", "formats are json, ndjson, csv, arrow and parquet", cut(v))
			}
		case "shape":
			if v != "rows" && v != "objects" {
				return badRequest("shape is %q", "shapes are objects and rows", cut(v))
			}
			q.asRows = v == "rows"
		case "q":
			q.text, q.hasQuery = v, true
		case "params":
			if q.params, err = paramsOf(json.RawMessage(v)); err != nil {
				return err
			}
		default:
			if err := q.readNumber(name, v); err != nil {
				return err
			}
		}
	}
	if !chosen {
		var err error
		if q.format, err = acceptedFormat(r.Header["Accept"]); err != nil {
			return err
		}
	}
	if q.asRows && q.format != formatJSON && q.format != formatNDJSON {
		return badRequest("shape=rows does not go with this format", "it is for json and ndjson")
	}
	return nil
}

func (q *sqlRequest) readNumber(name, v string) error {
	low := uint64(0)
	if name == "timeout_ms" {
		low = 1
	}
	n, err := number(name, v, low)
	if err != nil {
		return err
	}
	switch name {
	case "timeout_ms":
		q.timeout = maxTimeout
		if n < uint64(maxTimeout/time.Millisecond) {
			q.timeout = time.Duration(n) * time.Millisecond
		}
	case "stale_ms", "max_age_ms": // of both the smaller counts
		age := maxTimeout
		if n < uint64(maxTimeout/time.Millisecond) {
			age = time.Duration(n) * time.Millisecond
		}
		if !q.aged || age < q.maxAge {
			q.maxAge, q.aged = age, true
		}
	case "limit_rows":
		q.limit, q.limited = n, true
	}
	return nil
}

// readSQLBody reads the statements from the body: the text itself, or JSON {"sql": "...", "params": ...}.
func (s *Server) readSQLBody(c *call, q *sqlRequest) error {
	media := c.r.Header.Get("Content-Type")
	if media != "" && media != "text/plain" {
		parsed, params, err := mime.ParseMediaType(media)
		if err != nil || !sqlMedia(parsed) || params["charset"] != "" && !strings.EqualFold(params["charset"], "utf-8") {
			return &Problem{Status: http.StatusUnsupportedMediaType, Slug: "unknown-type", SQLState: "0A000",
				Detail: "SQL of type " + cut(media) + " is not read here", Hint: `send text/plain in UTF-8, or application/json with {"sql": "..."}`}
		}
		media = parsed
	}
	if enc := c.r.Header.Get("Content-Encoding"); enc != "" && enc != "identity" {
		return &Problem{Status: http.StatusUnsupportedMediaType, Slug: "unknown-encoding", SQLState: "0A000",
			Detail: "SQL with Content-Encoding " + cut(enc) + " is not read here", Hint: "send it without"}
	}
	buf := getBuffer()
	defer putBuffer(buf)
	body, err := s.readBody(c, *buf, s.opts.MaxSQLBytes)
	if err != nil {
		return err
	}
	*buf = body
	if media == "application/json" {
		return q.readJSON(body)
	}
	q.text = string(body)
	return nil
}

// checkText refuses a text that is none.
func (q *sqlRequest) checkText() error {
	if !utf8.ValidString(q.text) {
		return badRequest("the statement is not UTF-8", "send it in UTF-8")
	}
	if i := strings.IndexByte(q.text, 0); i >= 0 {
		return badRequest("the statement has a NUL character at byte %d", "leave it out", i)
	}
	return nil
}

func sqlMedia(media string) bool {
	switch media {
	// curl -d names the form type, whatever it sends.
	case "text/plain", "application/sql", "application/json", "application/x-www-form-urlencoded", "application/octet-stream":
		return true
	}
	return false
}

func (q *sqlRequest) readJSON(body []byte) error {
	var req struct {
		SQL    *string         `json:"sql"`
		Params json.RawMessage `json:"params"`
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
		err = fmt.Errorf("%s where an object or a text is wanted", e.Value)
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		err = errors.New("it ends too early")
	}
	if err == nil && req.SQL == nil {
		err = errors.New(`there is no "sql"`)
	}
	if err != nil {
		return badRequest("the JSON body cannot be read: %v", `send {"sql": "SELECT $1", "params": [1]}`, err)
	}
	q.text = *req.SQL
	q.params, err = paramsOf(req.Params)
	return err
}

// maxParams bounds the values of one statement.
const maxParams = 65535

// paramsOf reads the values of parameters: an array by place, or an object by name.
func paramsOf(text json.RawMessage) ([]any, error) {
	if len(text) == 0 || string(text) == "null" {
		return nil, nil
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	open, err := d.Token()
	object := open == json.Delim('{')
	if err != nil || !object && open != json.Delim('[') {
		return nil, badParams("params are neither an array nor an object")
	}
	var out []any
	seen := map[string]bool{}
	for d.More() {
		name := ""
		if object {
			key, err := d.Token()
			if err != nil {
				return nil, unreadable(err)
			}
			if name = strings.TrimPrefix(key.(string), "$"); seen[strings.ToLower(name)] {
				return nil, badParams("parameter %s is given twice", cut(name))
			}
			seen[strings.ToLower(name)] = true
		}
		v, err := paramValue(d)
		if err != nil {
			return nil, err
		}
		if object {
			v = runtime.Named{Name: name, Value: v}
		}
		if out = append(out, v); len(out) > maxParams {
			return nil, badParams("there are more than %d params", maxParams)
		}
	}
	if _, err := d.Token(); err != nil {
		return nil, unreadable(err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, badParams("text follows params")
	}
	return out, nil
}

// paramValue reads one value. Numbers keep their digits.
func paramValue(d *json.Decoder) (any, error) {
	t, err := d.Token()
	if err != nil {
		return nil, unreadable(err)
	}
	switch t := t.(type) {
	case json.Number:
		return runtime.Number(t), nil
	case json.Delim:
		return nil, badParams("a value of params is an array or an object")
	}
	return t, nil
}

func unreadable(err error) error {
	if errors.Is(err, io.EOF) {
		return badParams("params end too early")
	}
	return badParams("params cannot be read: %v", err)
}

func badParams(format string, args ...any) error {
	return badRequest(format, `send "params": [1, "x", null] for $1, $2, $3, or {"name": 1} for $name; values are null, booleans, numbers and text`, args...)
}
