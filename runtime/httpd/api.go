package httpd

import (
	_ "embed"
	"net/http"
)

// apiText describes the interface for programs; a test holds it against the server.
//
//go:embed openapi.yaml
var apiText []byte

var typeYAML = []string{"application/yaml"}

// api answers GET /openapi.yaml.
func (s *Server) api(c *call) error {
	c.keepPace(s.opts.Patience)
	h := c.w.Header()
	h["Content-Type"] = typeYAML
	h["Cache-Control"] = noStore
	if c.r.Method != http.MethodHead {
		_, _ = c.w.Write(apiText)
	}
	return nil
}
