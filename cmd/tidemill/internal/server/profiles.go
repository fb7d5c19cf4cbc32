package server

import (
	"fmt"
	"net"
	"net/http"
	"net/http/pprof"
	"time"
)

// profiles serves Go's profiles on a loopback address of their own: they show memory contents, so no flag
// opens them to other machines.
type profiles struct {
	addr string
	http http.Server
}

func openProfiles(addr string) (*profiles, error) {
	tcp, err := resolve("--pprof", addr)
	if err != nil {
		return nil, err
	}
	if !tcp.IP.IsLoopback() {
		return nil, &AddrError{Flag: "--pprof", Addr: addr}
	}
	l, err := net.ListenTCP("tcp", tcp)
	if err != nil {
		return nil, fmt.Errorf("--pprof %s: %w", addr, err)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("/debug/pprof/", pprof.Index)
	mux.HandleFunc("/debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("/debug/pprof/symbol", pprof.Symbol)
	mux.HandleFunc("/debug/pprof/trace", pprof.Trace)
	p := &profiles{addr: l.Addr().String(), http: http.Server{Handler: mux, ReadHeaderTimeout: 5 * time.Second}}
	go p.http.Serve(l) // ends by close; a profile that breaks off is no reason to stop
	return p, nil
}

func (p *profiles) close() error { return p.http.Close() }
