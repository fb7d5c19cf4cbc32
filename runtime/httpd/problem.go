package httpd

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"tidemill/state/column"
)

// Problem is a refusal as it is sent: application/problem+json (RFC 9457). It is also the error that this
// package makes itself.
type Problem struct {
	Status   int
	Slug     string // the last part of the type, stable for programs
	Detail   string
	Hint     string
	SQLState string

	Table, Column, Value string
	Row                  int // from 1
	Position             int // byte in the body or the statement text, from 0, when Placed
	Placed               bool
	Line, LineColumn     int    // of Position in SQL, from 1, LineColumn in characters
	Statement            int    // of several, from 1
	Expected             uint64 // seq
	Dependents           []string

	challenge  string        // header of 401
	Allow      string        // header of 405
	RetryAfter time.Duration // header, when the same request may succeed later
	closes     bool          // the connection: what is left of the body is not read
}

// Error returns the detail.
func (p *Problem) Error() string { return p.Detail }

// problemTypes is what the slugs stand before.
const problemTypes = "urn:tidemill:"

func (p *Problem) append(b []byte) []byte {
	b = appendMember(append(b, '{'), "type", problemTypes+p.Slug)
	b = appendMember(append(b, ','), "title", http.StatusText(p.Status))
	b = strconv.AppendInt(append(b, `,"status":`...), int64(p.Status), 10)
	for _, m := range [...]struct{ name, value string }{{"detail", p.Detail}, {"hint", p.Hint}, {"sqlstate", p.SQLState},
		{"table", p.Table}, {"column", p.Column}, {"value", p.Value}} {
		if m.value != "" {
			b = appendMember(append(b, ','), m.name, m.value)
		}
	}
	for _, m := range [...]struct {
		name  string
		value uint64
	}{{"statement", uint64(p.Statement)}, {"row", uint64(p.Row)}, {"line", uint64(p.Line)}, {"line_column", uint64(p.LineColumn)}, {"expected", p.Expected}} {
		if m.value != 0 {
			b = strconv.AppendUint(append(append(append(b, `,"`...), m.name...), `":`...), m.value, 10)
		}
	}
	if p.Placed {
		b = strconv.AppendInt(append(b, `,"position":`...), int64(p.Position), 10)
	}
	for i, d := range p.Dependents {
		b = append(b, []string{`,"dependents":[`, `,`}[min(i, 1)]...)
		b = column.AppendJSONString(b, []byte(d))
	}
	if len(p.Dependents) > 0 {
		b = append(b, ']')
	}
	return append(b, "}\n"...)
}

func appendMember(b []byte, name, value string) []byte {
	b = append(append(append(b, '"'), name...), `":`...)
	return column.AppendJSONString(b, []byte(value))
}

var typeProblem = []string{"application/problem+json"}

// refuse answers with err. After the answer has started it can only break the connection.
func (s *Server) refuse(c *call, err error) {
	if c.started {
		c.status = statusBroken
		s.opts.Logger.Warn("an answer broke off", "method", c.r.Method, "path", c.r.URL.Path, "error", err)
		panic(http.ErrAbortHandler)
	}
	p := s.translate(err)
	c.status = p.Status
	if p.Status == http.StatusInternalServerError || p.Status == http.StatusInsufficientStorage {
		s.opts.Logger.Warn("request refused", "method", c.r.Method, "path", c.r.URL.Path, "status", p.Status, "error", err)
	}
	control := http.NewResponseController(c.w)
	now := time.Now()
	if c.r.ContentLength != 0 {
		// net/http reads what is left of a body before it answers; not for longer than this.
		_ = control.SetReadDeadline(now.Add(s.opts.Patience))
	}
	_ = control.SetWriteDeadline(now.Add(2 * s.opts.Patience))
	h := c.w.Header()
	clear(h) // of what the call had in mind to answer
	h["Content-Type"] = typeProblem
	h["Cache-Control"] = noStore
	s.cors(c)
	if p.challenge != "" {
		h.Set("WWW-Authenticate", p.challenge)
	}
	if p.Allow != "" {
		h.Set("Allow", p.Allow)
	}
	if p.RetryAfter > 0 {
		h.Set("Retry-After", strconv.Itoa(int((p.RetryAfter+time.Second-1)/time.Second)))
	}
	if p.closes {
		h.Set("Connection", "close")
	}
	c.w.WriteHeader(p.Status)
	if c.r.Method != http.MethodHead {
		_, _ = c.w.Write(p.append(nil)) // a client that is gone needs no answer
	}
}

var noStore = []string{"no-store"}

func badRequest(format, hint string, args ...any) error {
	return &Problem{Status: http.StatusBadRequest, Slug: "bad-request", SQLState: "08P01", Detail: fmt.Sprintf(format, args...), Hint: hint}
}

func unknownPath(path string) error {
	return &Problem{Status: http.StatusNotFound, Slug: "unknown-path", Detail: "there is nothing at " + cut(path),
		Hint: "calls are GET and POST /sql, POST /append/{table}, POST /append, GET /lookup/{relation}/{key}, GET /healthz, /livez, /readyz, /metrics, /stats, /queries, /openapi.yaml, /producers/{producer}"}
}

func wrongMethod(method, allow string) error {
	hint := "use " + strings.ReplaceAll(allow, ", ", " or ")
	if allow == "POST" && method == http.MethodGet {
		hint += ": a statement or rows go into the body"
	}
	return &Problem{Status: http.StatusMethodNotAllowed, Slug: "wrong-method", Allow: allow,
		Detail: "this path does not take " + cut(method), Hint: hint}
}

func crossOrigin() error {
	return &Problem{Status: http.StatusForbidden, Slug: "cross-origin", SQLState: "42501",
		Detail: "a browser sent this for a page of another origin", Hint: "such pages may not change anything here"}
}

var errPanicked = &Problem{Status: http.StatusInternalServerError, Slug: "internal", SQLState: "XX000",
	Detail: "this request ran into a defect of Tidemill; other requests go on", Hint: "the server's log has the details: please report them"}
