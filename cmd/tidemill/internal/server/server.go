// Package server is a running Tidemill: an engine on its directory and the servers in front of it, opened
// and closed as one. The order of both is here and nowhere else:
//
//  1. the address is judged and taken, so that a refused start has touched nothing;
//  2. the directory is opened, and its log replayed: who connects meanwhile waits;
//  3. requests are answered.
//
// Closing goes backwards: no new connections, the requests that run are answered, the engine saves its
// state and lets the directory go.
package server

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"time"

	"tidemill/runtime"
	"tidemill/runtime/httpd"
)

// Options say where a server lives and who may reach it. Dir is required.
type Options struct {
	Dir  string
	Addr string // host and port; port 0 takes a free one, "" is httpd.DefaultAddr
	// Memory is the engine's bound in bytes; 0 is the engine's default.
	Memory int64
	// MaxBodyBytes bounds an append's body; 0 is the server's default.
	MaxBodyBytes int64
	// Insecure allows addresses that other machines can reach without tokens and TLS.
	Insecure bool
	// TokenFile names the file of the tokens that requests must have; "" lets everybody in.
	TokenFile string
	// TLSCert and TLSKey name the PEM files of the certificate, with its chain, and its key; both or none.
	TLSCert, TLSKey string
	// CORSOrigins are the origins whose pages may call from a browser.
	CORSOrigins []string
	// StatementTimeout ends statements that say no timeout of their own; 0 is never.
	StatementTimeout time.Duration
	// SlowQuery logs statements that take so long; 0 logs none.
	SlowQuery time.Duration
	// ResultCache bounds the answers that are kept, in bytes; 0 is the engine's default, below 0 none.
	ResultCache int64
	// Pprof is a loopback address for Go's profiles; "" is none.
	Pprof string
	// Logger gets what an operator should know; nil discards it.
	Logger *slog.Logger
}

// drainTime is how long requests that run may take when a server closes. Orchestrators kill after 30 seconds,
// and the engine needs the rest for saving its state.
const drainTime = 20 * time.Second

// Server answers requests until it is closed.
type Server struct {
	Engine *runtime.Engine
	// OpenTime is what opening the directory took.
	OpenTime time.Duration

	logger  *slog.Logger
	http    *httpd.Server
	addr    net.Addr
	tls     bool
	profile *profiles
	served  chan error
}

// Open starts a server. Errors are *AddrError, those of runtime.Open, or name the address that is taken.
func Open(o Options) (_ *Server, err error) {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Addr == "" {
		o.Addr = httpd.DefaultAddr
	}
	secrets, err := o.secrets()
	if err != nil {
		return nil, err
	}
	listener, err := listen("--addr", o.Addr, o.Insecure || secrets.complete())
	if err != nil {
		return nil, err
	}
	s := &Server{logger: o.Logger, tls: secrets.tls != nil, addr: listener.Addr(), served: make(chan error, 1)}
	defer func() {
		if err != nil {
			listener.Close()
			err = errors.Join(err, s.release())
		}
	}()
	if o.Pprof != "" {
		if s.profile, err = openProfiles(o.Pprof); err != nil {
			return nil, err
		}
	}
	begun := time.Now()
	if s.Engine, err = runtime.Open(runtime.Options{Dir: o.Dir, Memory: o.Memory, ResultCache: o.ResultCache, SlowQuery: o.SlowQuery, Logger: o.Logger, Warm: true}); err != nil {
		return nil, err
	}
	s.OpenTime = time.Since(begun)
	if s.http, err = httpd.New(s.Engine, httpd.Options{Addr: s.Addr(), MaxBodyBytes: o.MaxBodyBytes, Logger: o.Logger,
		Tokens: secrets.tokens, TLS: secrets.tls, CORSOrigins: o.CORSOrigins, StatementTimeout: o.StatementTimeout}); err != nil {
		return nil, err
	}
	go func() { s.served <- s.http.Serve(listener) }()
	return s, nil
}

// Addr returns the address that is listened on, with its port.
func (s *Server) Addr() string { return s.addr.String() }

// URL returns what paths stand behind.
func (s *Server) URL() string {
	if s.tls {
		return "https://" + s.Addr()
	}
	return "http://" + s.Addr()
}

// Failed is readable once the server has stopped by itself; Close is still to be called.
func (s *Server) Failed() <-chan error { return s.served }

// Close answers the requests that run, saves the engine's state and releases the directory.
func (s *Server) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), drainTime)
	defer cancel()
	err := s.http.Shutdown(ctx)
	if errors.Is(err, context.DeadlineExceeded) {
		s.logger.Warn("requests were cut off", "after", drainTime)
		err = nil
	}
	if err != nil {
		err = fmt.Errorf("stop answering: %w", err)
	}
	return errors.Join(err, s.release())
}

// release closes what Open has opened behind the listener.
func (s *Server) release() error {
	var errs []error
	if s.Engine != nil {
		errs = append(errs, s.Engine.Close())
	}
	if s.profile != nil {
		errs = append(errs, s.profile.close())
	}
	return errors.Join(errs...)
}
