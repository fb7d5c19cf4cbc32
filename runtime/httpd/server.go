package httpd

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"tidemill/runtime"
	"tidemill/state/column"
	"tidemill/views/catalog"
)

// Writer is what POST /append needs of an engine.
type Writer interface {
	// Admit reserves memory for a body; the error is runtime.ErrBusy when ctx ends first.
	Admit(ctx context.Context, bytes int64) (release func(), err error)
	Append(ctx context.Context, req runtime.AppendRequest) (runtime.AppendResult, error)
}

// Reader is what POST /sql and GET /lookup need of an engine.
type Reader interface {
	Run(ctx context.Context, s runtime.Statement) (*runtime.Answer, error)
	LookupRow(relation string, key []string, nulls ...string) ([]column.Field, []column.Column, error)
}

// Producers tells how far a producer has come.
type Producers interface {
	Producer(ctx context.Context, name string) (runtime.ProducerState, error)
}

// Status is what an engine tells about itself.
type Status interface {
	Catalog() *catalog.Catalog
	Commit() uint64
	Stats() runtime.Stats
	Err() error
}

// Engine is what the server needs of *runtime.Engine.
type Engine interface {
	Writer
	Reader
	Producers
	Queries
	Status
}

// Options are a server's settings; the zero value has the defaults.
type Options struct {
	Addr string // where ListenAndServe listens; "" is DefaultAddr
	// MaxBodyBytes bounds the body of an append, as sent and uncompressed; 0 is DefaultMaxBodyBytes.
	MaxBodyBytes int64
	// MaxSQLBytes bounds the body of POST /sql; 0 is DefaultMaxSQLBytes.
	MaxSQLBytes int64
	// AdmitWait is how long an append waits for memory before it is answered with 503; 0 is DefaultAdmitWait.
	AdmitWait time.Duration
	// Patience is how long a client may send nothing of a body, or take nothing of an answer, before the
	// request is ended; 0 is DefaultPatience. A body must also come at MinBodyRate on the whole.
	Patience time.Duration
	// StatementTimeout ends statements of /sql that do not say a timeout_ms of their own; 0 is never.
	StatementTimeout time.Duration
	// Tokens are those that requests must have; nil lets everybody do everything.
	Tokens *Tokens
	// CORSOrigins are the origins whose pages may call from a browser, such as https://app.example; * is every one.
	CORSOrigins []string
	// TLS encrypts connections; nil is none.
	TLS *tls.Config
	// Logger gets panics and answers that broke off; nil discards them.
	Logger *slog.Logger
	// Registry gets the server's and the engine's collectors, and is what /metrics shows; nil is one of the
	// server's own. Nothing goes to Prometheus's global registry.
	Registry *prometheus.Registry
}

// Defaults of Options.
const (
	DefaultAddr         = "127.0.0.1:8080"
	DefaultMaxBodyBytes = 64 << 20
	DefaultMaxSQLBytes  = 4 << 20
	DefaultAdmitWait    = 5 * time.Second
	DefaultPatience     = 10 * time.Second
)

const (
	// MinBodyRate is how many bytes of a body must come each second, once Patience is over.
	MinBodyRate = 1 << 10
	// headerTimeout and idleTimeout bound what a connection without a request may cost, maxHeaderBytes what
	// its headers may.
	headerTimeout  = 5 * time.Second
	idleTimeout    = 60 * time.Second
	maxHeaderBytes = 64 << 10
)

func (o *Options) fill() {
	if o.Addr == "" {
		o.Addr = DefaultAddr
	}
	if o.MaxBodyBytes == 0 {
		o.MaxBodyBytes = DefaultMaxBodyBytes
	}
	if o.MaxSQLBytes == 0 {
		o.MaxSQLBytes = DefaultMaxSQLBytes
	}
	if o.AdmitWait == 0 {
		o.AdmitWait = DefaultAdmitWait
	}
	if o.Patience == 0 {
		o.Patience = DefaultPatience
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Registry == nil {
		o.Registry = prometheus.NewRegistry()
	}
}

// Server answers HTTP requests for one engine. It is an http.Handler, safe for concurrent use; it does not
// own the engine.
type Server struct {
	engine   Engine
	opts     Options
	http     http.Server
	metrics  *metrics
	scrape   http.Handler
	decoders sync.Map // relation id to *tableDecoders
	draining atomic.Bool
	closing  chan struct{} // closed when the server shuts down: streams end
	origins  http.CrossOriginProtection
}

// New returns a server for the engine. It fails when the registry has collectors of the same names.
func New(engine Engine, opts Options) (*Server, error) {
	opts.fill()
	s := &Server{engine: engine, opts: opts, closing: make(chan struct{})}
	var err error
	if s.metrics, err = newMetrics(opts.Registry, engine); err != nil {
		return nil, fmt.Errorf("register metrics: %w", err)
	}
	s.scrape = scrapeHandler(opts.Registry)
	s.http = http.Server{
		Handler:           s,
		ReadHeaderTimeout: headerTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeaderBytes,
		// Set anew for each request; answers that take longer move it on as they are read (stream.go).
		WriteTimeout:                 max(opts.Patience, headerTimeout),
		DisableGeneralOptionsHandler: true,
		ErrorLog:                     slog.NewLogLogger(opts.Logger.Handler(), slog.LevelWarn),
	}
	// HTTP/2 without TLS, for clients that begin with it.
	s.http.Protocols = new(http.Protocols)
	s.http.Protocols.SetHTTP1(true)
	s.http.Protocols.SetUnencryptedHTTP2(true)
	return s, nil
}

// ListenAndServe listens on Options.Addr and serves until Shutdown; then it returns nil.
func (s *Server) ListenAndServe() error {
	l, err := net.Listen("tcp", s.opts.Addr)
	if err != nil {
		return err
	}
	return s.Serve(l)
}

// Serve accepts connections on l, which it closes, until Shutdown; then it returns nil.
func (s *Server) Serve(l net.Listener) error {
	if s.opts.TLS != nil {
		l = tls.NewListener(l, s.opts.TLS)
	}
	if err := s.http.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// Shutdown stops listening, turns /readyz to 503 and waits for the requests that run. When ctx ends first
// their connections are closed and its error is returned.
func (s *Server) Shutdown(ctx context.Context) error {
	if !s.draining.Swap(true) {
		close(s.closing)
	}
	err := s.http.Shutdown(ctx)
	if err != nil {
		err = errors.Join(err, s.http.Close())
	}
	return err
}
