package httpd

import (
	"encoding/json"
	"fmt"
	"net/http"
)

var typeText = []string{"text/plain; charset=utf-8"}

// health answers the three probes: /livez whether the process answers at all; /readyz and /healthz whether
// the engine takes changes and the server is not about to end.
func (s *Server) health(c *call) error {
	if c.route != routeLive {
		if err := s.engine.Err(); err != nil {
			return err
		}
		if s.draining.Load() {
			p := closing
			p.Detail = "the server is shutting down"
			return &p
		}
	}
	h := c.w.Header()
	h["Content-Type"] = typeText
	h["Cache-Control"] = noStore
	_, _ = c.w.Write(okText)
	return nil
}

var okText = []byte("ok\n")

// stats answers GET /stats.
func (s *Server) stats(c *call) error {
	st := s.engine.Stats()
	b, err := json.MarshalIndent(&st, "", "  ")
	if err != nil {
		return fmt.Errorf("encode stats: %w", err)
	}
	h := c.w.Header()
	h["Content-Type"] = typeJSON
	h["Cache-Control"] = noStore
	c.keepPace(s.opts.Patience)
	if c.r.Method != http.MethodHead {
		_, _ = c.w.Write(append(b, '\n'))
	}
	return nil
}
