package httpd

import (
	"net/http"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"tidemill/runtime"
)

// call is one request on its way through the server.
type call struct {
	w       http.ResponseWriter
	r       *http.Request
	route   route
	start   time.Time
	status  int
	access  runtime.Access
	user    string // the token's name; "" without tokens
	started bool   // bytes of the answer are out: a later error can only break the connection
}

// route is what a path asks for.
type route int

const (
	routeUnknown route = iota
	routeSQL
	routeAppend
	routeAppendMany
	routeLookup
	routeHealth
	routeLive
	routeReady
	routeMetrics
	routeStats
	routeProducer
	routeQueries
	routeAPI
	routes
)

// routeNames are the values of the label "call".
var routeNames = [routes]string{"unknown", "sql", "append", "append", "lookup", "healthz", "livez", "readyz", "metrics", "stats", "producers", "queries", "openapi"}

// methods are what each call takes.
var methods = [routes][]string{
	routeSQL: {http.MethodGet, http.MethodPost}, routeAppend: {http.MethodPost}, routeAppendMany: {http.MethodPost}, routeLookup: readMethods, routeHealth: readMethods,
	routeLive: readMethods, routeReady: readMethods, routeMetrics: readMethods, routeStats: readMethods, routeProducer: readMethods,
	routeQueries: {http.MethodGet, http.MethodHead, http.MethodDelete}, routeAPI: readMethods,
}

var readMethods = []string{http.MethodGet, http.MethodHead}

const (
	appendPrefix   = "/append/"
	lookupPrefix   = "/lookup/"
	queriesPrefix  = "/queries/"
	producerPrefix = "/producers/"
)

// routeOf finds the call of a path as it was sent.
func routeOf(path string) route {
	switch {
	case strings.HasPrefix(path, lookupPrefix):
		return routeLookup
	case strings.HasPrefix(path, queriesPrefix):
		return routeQueries
	case strings.HasPrefix(path, appendPrefix):
		return routeAppend
	case strings.HasPrefix(path, producerPrefix):
		return routeProducer
	}
	switch path {
	case "/append":
		return routeAppendMany
	case "/sql":
		return routeSQL
	case "/healthz":
		return routeHealth
	case "/queries":
		return routeQueries
	case "/openapi.yaml":
		return routeAPI
	case "/livez":
		return routeLive
	case "/readyz":
		return routeReady
	case "/metrics":
		return routeMetrics
	case "/stats":
		return routeStats
	}
	return routeUnknown
}

// scrapeTimeout is for the figures and their reader together: they are collected between commits.
const scrapeTimeout = 60 * time.Second

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	path := r.URL.EscapedPath()
	c := call{w: w, r: r, route: routeOf(path), start: time.Now(), status: http.StatusOK}
	defer s.end(&c)
	if err := s.dispatch(&c, path); err != nil {
		s.refuse(&c, err)
	}
}

// dispatch checks the method and answers, or returns why not.
func (s *Server) dispatch(c *call, path string) error {
	if s.preflight(c) {
		return nil
	}
	if c.route == routeUnknown {
		return unknownPath(path)
	}
	if allowed := methods[c.route]; !slices.Contains(allowed, c.r.Method) {
		return wrongMethod(c.r.Method, strings.Join(allowed, ", "))
	}
	if s.foreign(c) {
		return crossOrigin()
	}
	if err := s.authorize(c); err != nil {
		return err
	}
	switch c.route {
	case routeLookup:
		return s.lookup(c, path[len(lookupPrefix):])
	case routeAppend:
		return s.append(c, path[len(appendPrefix):], true)
	case routeAppendMany:
		return s.append(c, "", false)
	case routeSQL:
		return s.sql(c)
	case routeMetrics:
		_ = http.NewResponseController(c.w).SetWriteDeadline(c.start.Add(scrapeTimeout))
		s.scrape.ServeHTTP(c.w, c.r)
		return nil
	case routeQueries:
		return s.queries(c, strings.TrimPrefix(strings.TrimPrefix(path, "/queries"), "/"))
	case routeAPI:
		return s.api(c)
	case routeStats:
		return s.stats(c)
	case routeProducer:
		return s.producer(c, path[len(producerPrefix):])
	}
	return s.health(c)
}

// end counts the request, and turns a panic into a 500 for this request alone.
func (s *Server) end(c *call) {
	p := recover()
	if p != nil {
		s.panicked(c, p)
	}
	s.metrics.observe(c)
	if p != nil && (c.started || p == http.ErrAbortHandler) {
		panic(http.ErrAbortHandler) // closes the connection, which is how a client learns
	}
}

func (s *Server) panicked(c *call, p any) {
	if p == http.ErrAbortHandler {
		c.status = statusBroken
		return
	}
	s.opts.Logger.Error("panic in a request", "method", c.r.Method, "path", c.r.URL.Path, "panic", p, "stack", string(debug.Stack()))
	if c.started {
		c.status = statusBroken
		return
	}
	s.refuse(c, errPanicked)
}

// statusBroken counts an answer that broke off; it is never sent.
const statusBroken = 599
