package httpd

import (
	"net/http"
	"slices"
	"strings"

	"tidemill/runtime"
)

// needs is what each call needs. Those that need nothing are for whoever watches; of /sql the statements decide.
var needs = [routes]runtime.Access{
	routeSQL: runtime.ToRead, routeLookup: runtime.ToRead, routeStats: runtime.ToRead, routeMetrics: runtime.ToRead, routeProducer: runtime.ToRead,
	routeAppend: runtime.ToWrite, routeAppendMany: runtime.ToWrite, routeQueries: runtime.ToAdmin,
}

// open are the calls that need no token.
func (r route) open() bool {
	return r == routeHealth || r == routeLive || r == routeReady || r == routeAPI || r == routeUnknown
}

// authorize checks the request's token, and notes what it may do. Without tokens everybody may do everything.
func (s *Server) authorize(c *call) error {
	if s.opts.Tokens == nil || c.route.open() {
		return nil
	}
	header := c.r.Header.Get("Authorization")
	scheme, token, _ := strings.Cut(header, " ")
	if header == "" || !strings.EqualFold(scheme, "Bearer") {
		return unauthorized("there is no token", "")
	}
	access, name, ok := s.opts.Tokens.find(strings.TrimSpace(token))
	if !ok {
		return unauthorized("the token is not known", "invalid_token")
	}
	c.access, c.user = access, name
	if access < needs[c.route] {
		return &Problem{Status: http.StatusForbidden, Slug: "forbidden", SQLState: "42501",
			Detail: "this call is not for a token with " + accessNames[access] + " access", Hint: "use a token for " + accessNames[needs[c.route]]}
	}
	return nil
}

func unauthorized(detail, code string) error {
	challenge := `Bearer realm="tidemill"`
	if code != "" {
		challenge += `, error="` + code + `"`
	}
	return &Problem{Status: http.StatusUnauthorized, Slug: "unauthorized", SQLState: "28000", Detail: detail,
		Hint: "send Authorization: Bearer TOKEN with one that the server's token file has", challenge: challenge}
}

// anyOrigin allows pages of every origin.
const anyOrigin = "*"

// corsHeaders are those that pages may read and send.
const (
	corsExposed = "Tidemill-Commit, Tidemill-Age-Ms, Tidemill-Cache, Retry-After"
	corsAllowed = "Authorization, Content-Type, Content-Encoding, Accept"
)

// cors tells browsers that pages of the allowed origins may read the answer. It reports whether the request is from one.
func (s *Server) cors(c *call) bool {
	origin := c.r.Header.Get("Origin")
	if len(s.opts.CORSOrigins) == 0 || origin == "" {
		return false
	}
	h := c.w.Header()
	h.Set("Vary", "Origin")
	if !s.allowedOrigin(origin) {
		return false
	}
	h.Set("Access-Control-Allow-Origin", origin)
	h.Set("Access-Control-Expose-Headers", corsExposed)
	return true
}

// preflight answers what a browser asks before a page's call, and reports whether the request was that.
func (s *Server) preflight(c *call) bool {
	if !s.cors(c) {
		return false
	}
	h := c.w.Header()
	if c.r.Method != http.MethodOptions || c.r.Header.Get("Access-Control-Request-Method") == "" || c.route == routeUnknown {
		return false
	}
	h.Set("Access-Control-Allow-Methods", strings.Join(methods[c.route], ", "))
	h.Set("Access-Control-Allow-Headers", corsAllowed)
	h.Set("Access-Control-Max-Age", "600")
	c.w.WriteHeader(http.StatusNoContent)
	c.status = http.StatusNoContent
	return true
}

func (s *Server) allowedOrigin(origin string) bool {
	return slices.Contains(s.opts.CORSOrigins, origin) || slices.Contains(s.opts.CORSOrigins, anyOrigin)
}

// foreign reports whether a browser sent a change for a page that may make none.
func (s *Server) foreign(c *call) bool {
	if c.r.Method == http.MethodGet || c.r.Method == http.MethodHead || s.origins.Check(c.r) == nil {
		return false
	}
	return !s.allowedOrigin(c.r.Header.Get("Origin"))
}
