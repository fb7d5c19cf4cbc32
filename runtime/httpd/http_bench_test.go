package httpd

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"testing"

	"tidemill/state/column"
)

// drive sends one request over and over on a connection per goroutine, with a client that costs next to
// nothing, so that what is measured is the server.
func drive(b *testing.B, addr, request string) {
	b.Helper()
	b.ReportAllocs()
	b.ResetTimer()
	b.RunParallel(func(pb *testing.PB) {
		c, err := net.Dial("tcp", addr)
		if err != nil {
			b.Error(err)
			return
		}
		defer c.Close()
		r := bufio.NewReader(c)
		for pb.Next() {
			if _, err := io.WriteString(c, request); err != nil {
				b.Error(err)
				return
			}
			n := 0
			for first := true; ; first = false {
				line, err := r.ReadSlice('\n')
				if err != nil || first && string(line) != "HTTP/1.1 200 OK\r\n" {
					b.Errorf("%q: %v", line, err)
					return
				}
				if len(line) == 2 {
					break
				}
				if rest, ok := bytes.CutPrefix(line, []byte("Content-Length: ")); ok {
					n = 0
					for _, d := range bytes.TrimSpace(rest) {
						n = 10*n + int(d-'0')
					}
				}
			}
			if _, err := r.Discard(n); err != nil {
				b.Error(err)
				return
			}
		}
	})
}

const constantAnswer = `[{"id":4711,"name":"user4711","amount":711,"ts":1760000004711}]` + "\n"

// floor serves a constant: what net/http itself costs.
func floor(b *testing.B) string {
	b.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	s := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		_, _ = io.WriteString(w, constantAnswer)
	})}
	go s.Serve(l) //nolint:errcheck // it ends with Close
	b.Cleanup(func() { s.Close() })
	return l.Addr().String()
}

const lookupRequest = "GET /lookup/kv/4711 HTTP/1.1\r\nHost: 127.0.0.1\r\nUser-Agent: Go-http-client/1.1\r\nAccept-Encoding: gzip\r\n\r\n"

func BenchmarkLookupFloor(b *testing.B) { drive(b, floor(b), lookupRequest) }

// BenchmarkLookup is the server's own share: the engine's answer is there at once.
func BenchmarkLookup(b *testing.B) {
	e := newFake(b)
	fields := []column.Field{{Name: "id", Type: column.T(column.Int64)}, {Name: "name", Type: column.T(column.Varchar)},
		{Name: "amount", Type: column.T(column.Int64)}, {Name: "ts", Type: column.T(column.Int64)}}
	cols := []column.Column{column.Of(fields[0].Type, []int64{4711}, nil), column.OfStrings(fields[1].Type, []string{"user4711"}),
		column.Of(fields[2].Type, []int64{711}, nil), column.Of(fields[3].Type, []int64{1760000004711}, nil)}
	e.lookup = func(string, []string) ([]column.Field, []column.Column, error) { return fields, cols, nil }
	_, addr := serve(b, e, Options{})
	drive(b, addr, lookupRequest)
}

func appendRequest(rows int) string {
	body := ""
	for i := range rows {
		body += fmt.Sprintf(`{"id": %d, "name": "user%d"}`+"\n", i, i)
	}
	return fmt.Sprintf("POST /append/kv?producer=p0&seq=12 HTTP/1.1\r\nHost: 127.0.0.1\r\nUser-Agent: Go-http-client/1.1\r\nContent-Type: application/x-ndjson\r\nContent-Length: %d\r\nAccept-Encoding: gzip\r\n\r\n%s", len(body), body)
}

func BenchmarkAppendFloor1(b *testing.B)    { drive(b, floor(b), appendRequest(1)) }
func BenchmarkAppendFloor1000(b *testing.B) { drive(b, floor(b), appendRequest(1000)) }

// BenchmarkAppend is reading, decoding and answering; the engine takes the rows at once.
func BenchmarkAppend1(b *testing.B) {
	_, addr := serve(b, newFake(b), Options{})
	drive(b, addr, appendRequest(1))
}

func BenchmarkAppend1000(b *testing.B) {
	_, addr := serve(b, newFake(b), Options{})
	drive(b, addr, appendRequest(1000))
}
