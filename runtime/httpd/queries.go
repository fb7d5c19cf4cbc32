package httpd

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"

	"tidemill/runtime"
)

// Queries tells what runs and ends it.
type Queries interface {
	Queries() []runtime.QueryInfo
	CancelQuery(id uint64) error
}

// queries answers GET /queries and DELETE /queries/{id}.
func (s *Server) queries(c *call, id string) error {
	c.keepPace(s.opts.Patience)
	h := c.w.Header()
	h["Cache-Control"] = noStore
	if c.r.Method == http.MethodDelete {
		n, err := strconv.ParseUint(id, 10, 64)
		if err != nil {
			return badRequest("the path names no query", "GET /queries lists what runs; DELETE /queries/{id} ends one")
		}
		if err := s.engine.CancelQuery(n); err != nil {
			return err
		}
		c.status = http.StatusNoContent
		c.w.WriteHeader(c.status)
		return nil
	}
	if id != "" {
		return wrongMethod(c.r.Method, http.MethodDelete)
	}
	b, err := json.Marshal(s.engine.Queries())
	if err != nil {
		return fmt.Errorf("encode queries: %w", err)
	}
	h["Content-Type"] = typeJSON
	if c.r.Method != http.MethodHead {
		_, _ = c.w.Write(append(b, '\n'))
	}
	return nil
}
