package server

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net/url"

	"tidemill/runtime/httpd"
)

// secrets are what keeps strangers out.
type secrets struct {
	tokens *httpd.Tokens
	tls    *tls.Config
}

// complete says that an address may be reached by others: they have to show a token, and nobody can listen to it.
func (s *secrets) complete() bool { return s.tokens != nil && s.tls != nil }

// secrets reads the files that the options name.
func (o *Options) secrets() (*secrets, error) {
	s := &secrets{}
	var err error
	if o.TokenFile != "" {
		if s.tokens, err = httpd.ReadTokens(o.TokenFile); err != nil {
			return nil, err
		}
	}
	for _, origin := range o.CORSOrigins {
		u, err := url.Parse(origin)
		if origin != "*" && (err != nil || u.Scheme == "" || u.Host == "" || u.Scheme+"://"+u.Host != origin) {
			return nil, fmt.Errorf("--cors-origin %q: give an origin such as https://app.example, without a path, or *", origin)
		}
	}
	if (o.TLSCert == "") != (o.TLSKey == "") {
		return nil, errors.New("--tls-cert and --tls-key go together: give both files or none")
	}
	if o.TLSCert != "" {
		cert, err := tls.LoadX509KeyPair(o.TLSCert, o.TLSKey)
		if err != nil {
			return nil, fmt.Errorf("--tls-cert %s, --tls-key %s: %w", o.TLSCert, o.TLSKey, err)
		}
		s.tls = &tls.Config{Certificates: []tls.Certificate{cert}, MinVersion: tls.VersionTLS12, NextProtos: []string{"http/1.1"}}
	}
	return s, nil
}
