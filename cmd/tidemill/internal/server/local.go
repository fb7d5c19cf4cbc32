package server

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"sync"

	"tidemill/runtime"
	"tidemill/runtime/httpd"
)

// Local is a directory opened in this process for this process alone: the same interface as a server's, over
// connections in memory. No port is taken.
type Local struct {
	Engine *runtime.Engine

	http     *httpd.Server
	listener *pipes
	served   chan error
}

// OpenLocal opens a directory; of the options, those about addresses mean nothing here. Errors are those of
// runtime.Open.
func OpenLocal(o Options) (*Local, error) {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	engine, err := runtime.Open(runtime.Options{Dir: o.Dir, Memory: o.Memory, Logger: o.Logger})
	if err != nil {
		return nil, err
	}
	l := &Local{Engine: engine, listener: newPipes(), served: make(chan error, 1)}
	if l.http, err = httpd.New(engine, httpd.Options{MaxBodyBytes: o.MaxBodyBytes, Logger: o.Logger}); err != nil {
		return nil, errors.Join(err, engine.Close())
	}
	go func() { l.served <- l.http.Serve(l.listener) }()
	return l, nil
}

// Dial connects to the engine. It fails once Close has been called.
func (l *Local) Dial(ctx context.Context) (net.Conn, error) { return l.listener.dial(ctx) }

// Close answers the requests that run, saves the engine's state and releases the directory.
func (l *Local) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), drainTime)
	defer cancel()
	err := l.http.Shutdown(ctx)
	if errors.Is(err, context.DeadlineExceeded) {
		err = nil
	}
	return errors.Join(err, <-l.served, l.Engine.Close())
}

// pipes is a net.Listener whose connections are pipes in memory.
type pipes struct {
	conns  chan net.Conn
	done   chan struct{}
	closed sync.Once
}

func newPipes() *pipes { return &pipes{conns: make(chan net.Conn), done: make(chan struct{})} }

func (p *pipes) dial(ctx context.Context) (net.Conn, error) {
	near, far := net.Pipe()
	select {
	case p.conns <- far:
		return near, nil
	case <-p.done:
		return nil, net.ErrClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Accept implements net.Listener.
func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.done:
		return nil, net.ErrClosed
	}
}

// Close implements net.Listener.
func (p *pipes) Close() error {
	p.closed.Do(func() { close(p.done) })
	return nil
}

// Addr implements net.Listener.
func (p *pipes) Addr() net.Addr { return pipeAddr{} }

type pipeAddr struct{}

// Network implements net.Addr.
func (pipeAddr) Network() string { return "memory" }

// String implements net.Addr.
func (pipeAddr) String() string { return "memory" }
