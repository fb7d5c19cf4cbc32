package server

import (
	"fmt"
	"net"
)

// AddrError says that an address may not be listened on.
type AddrError struct {
	Flag, Addr string
	Insecure   bool // would allow it
}

// Error names the address and what to do.
func (e *AddrError) Error() string {
	if e.Insecure {
		return fmt.Sprintf("%s %s can be reached from other machines, and whoever reaches it may read and change everything: "+
			"give --token-file, --tls-cert and --tls-key, use a loopback address such as 127.0.0.1:8080, or add --insecure if the network in front of it keeps strangers out", e.Flag, e.Addr)
	}
	return fmt.Sprintf("%s %s is not a loopback address: profiles are shown to this machine only, on one such as 127.0.0.1:6060", e.Flag, e.Addr)
}

// listen takes an address. One that is not loopback is refused unless open is set. The name is resolved
// once, so what was judged is what is taken.
func listen(flag, addr string, open bool) (net.Listener, error) {
	tcp, err := resolve(flag, addr)
	if err != nil {
		return nil, err
	}
	if !open && !tcp.IP.IsLoopback() {
		return nil, &AddrError{Flag: flag, Addr: addr, Insecure: true}
	}
	l, err := net.ListenTCP("tcp", tcp)
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", flag, addr, err)
	}
	return l, nil
}

func resolve(flag, addr string) (*net.TCPAddr, error) {
	tcp, err := net.ResolveTCPAddr("tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("%s %q: %w; give HOST:PORT, such as 127.0.0.1:8080", flag, addr, err)
	}
	return tcp, nil
}

// Loopback reports whether only this machine can reach the server.
func (s *Server) Loopback() bool {
	tcp, ok := s.addr.(*net.TCPAddr)
	return ok && tcp.IP.IsLoopback()
}
