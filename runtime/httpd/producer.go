package httpd

import (
	"net/http"
	"strconv"
)

// producer answers GET /producers/{producer}: {"producer":"web1","last":17,"commit":42}.
func (s *Server) producer(c *call, escaped string) error {
	name, err := unescapePath(escaped)
	if err != nil {
		return err
	}
	if name == "" || len(name) > maxProducer {
		return badRequest("the path names no producer", "ask for /producers/{producer}, with a name of 1 to 255 bytes")
	}
	if c.r.URL.RawQuery != "" {
		p := params{rest: c.r.URL.RawQuery}
		if _, _, _, err := p.next(); err != nil {
			return err
		}
	}
	state, err := s.engine.Producer(c.r.Context(), name)
	if err != nil {
		return err
	}
	b := appendMember([]byte{'{'}, "producer", name)
	b = strconv.AppendUint(append(b, `,"last":`...), state.Last, 10)
	b = append(b, `,"commit":`...)
	if state.Commit == 0 {
		b = append(b, "null"...)
	} else {
		b = strconv.AppendUint(b, state.Commit, 10)
	}
	h := c.w.Header()
	h["Content-Type"] = typeJSON
	h["Cache-Control"] = noStore
	c.keepPace(s.opts.Patience)
	if c.r.Method != http.MethodHead {
		_, _ = c.w.Write(append(b, "}\n"...))
	}
	return nil
}
