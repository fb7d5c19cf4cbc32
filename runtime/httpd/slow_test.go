package httpd

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"tidemill/runtime"
	"tidemill/state/column"
)

// impatient is a server's patience in these tests: long against a packet on loopback, short for a test.
const impatient = 150 * time.Millisecond

func dial(t *testing.T, addr string) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// speak writes a request as it stands and returns the answer.
func speak(t *testing.T, c net.Conn, request string) *http.Response {
	t.Helper()
	if _, err := io.WriteString(c, request); err != nil {
		t.Fatal(err)
	}
	res, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { res.Body.Close() })
	return res
}

func body(t *testing.T, res *http.Response) string {
	t.Helper()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// TestStalledBody: a client that announces a body and sends half of it is told so, and its memory is given
// back.
func TestStalledBody(t *testing.T) {
	e := newFake(t)
	_, addr := serve(t, e, Options{Patience: impatient})
	for _, head := range []string{"Content-Length: 100\r\n\r\n{\"id\": 1", "Transfer-Encoding: chunked\r\n\r\n5\r\n{\"id\""} {
		res := speak(t, dial(t, addr), "POST /append/kv HTTP/1.1\r\nHost: x\r\n"+head)
		if res.StatusCode != http.StatusRequestTimeout || !res.Close || !strings.Contains(body(t, res), "stalled after") {
			t.Errorf("%s: got %d", head, res.StatusCode)
		}
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.released != 2 {
		t.Errorf("memory was given back %d times of 2", e.released)
	}
}

// TestTrickle: bytes that come, but too slowly, do not keep a request alive.
func TestTrickle(t *testing.T) {
	_, addr := serve(t, newFake(t), Options{Patience: impatient})
	c := dial(t, addr)
	if _, err := io.WriteString(c, "POST /append/kv HTTP/1.1\r\nHost: x\r\nContent-Length: 100000\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	var stop sync.WaitGroup
	ctx, cancel := context.WithCancel(context.Background())
	stop.Go(func() {
		tick := time.NewTicker(impatient / 10)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
				if _, err := c.Write([]byte{' '}); err != nil {
					return
				}
			}
		}
	})
	res, err := http.ReadResponse(bufio.NewReader(c), nil)
	cancel()
	stop.Wait()
	if err != nil || res.StatusCode != http.StatusRequestTimeout {
		t.Fatalf("got %v, %v", res, err)
	}
}

// TestUnreadBodyStalls: refusing before the body is read does not wait for it.
func TestUnreadBodyStalls(t *testing.T) {
	_, addr := serve(t, newFake(t), Options{Patience: impatient})
	res := speak(t, dial(t, addr), "POST /append/nosuch HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n")
	if res.StatusCode != http.StatusNotFound {
		t.Errorf("got %d", res.StatusCode)
	}
	res = speak(t, dial(t, addr), "POST /append/kv HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999999\r\n\r\n")
	if res.StatusCode != http.StatusRequestEntityTooLarge || !res.Close {
		t.Errorf("got %d, close %v", res.StatusCode, res.Close)
	}
}

// TestPatienceIsPerRequest: a deadline of one request is gone in the next on its connection, and does not end
// one that takes longer by the engine's doing.
func TestPatienceIsPerRequest(t *testing.T) {
	e := newFake(t)
	e.append = func(ctx context.Context, req runtime.AppendRequest) (runtime.AppendResult, error) {
		select {
		case <-time.After(3 * impatient):
		case <-ctx.Done():
			return runtime.AppendResult{}, ctx.Err()
		}
		return runtime.AppendResult{Commit: 8, Accepted: req.N}, nil
	}
	_, addr := serve(t, e, Options{Patience: impatient})
	c := dial(t, addr)
	for range 2 {
		res := speak(t, c, "POST /append/kv HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n{\"id\": 1}")
		if got := body(t, res); res.StatusCode != http.StatusOK || got != `{"commit":8,"accepted":1,"duplicate":false}`+"\n" {
			t.Fatalf("got %d %s", res.StatusCode, got)
		}
	}
}

// TestReaderThatDoesNotRead: a client that asks for much and reads nothing is cut off, and its query ends.
func TestReaderThatDoesNotRead(t *testing.T) {
	e := newFake(t)
	query := openEngine(t).Execute
	ended := make(chan error, 1)
	e.execute = func(ctx context.Context, sql string) (*runtime.Answer, error) {
		context.AfterFunc(ctx, func() { ended <- context.Cause(ctx) })
		return query(ctx, sql)
	}
	s, err := New(e, Options{Patience: impatient})
	if err != nil {
		t.Fatal(err)
	}
	s.http.WriteTimeout = impatient
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go s.Serve(l) //nolint:errcheck // it ends with Close below
	t.Cleanup(func() { s.http.Close() })
	c := dial(t, l.Addr().String())
	sql := "SELECT i, repeat('x', 1000) AS pad FROM range(10000000) r(i)"
	if _, err := fmt.Fprintf(c, "POST /sql HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n%s", len(sql), sql); err != nil {
		t.Fatal(err)
	}
	<-ended // net/http ends the context when the request is over
	res, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(io.Discard, res.Body); err == nil {
		t.Error("an answer that was cut off looks whole")
	}
}

// TestAnswerBreaksOff: an error after the first rows breaks the connection, in each format.
func TestAnswerBreaksOff(t *testing.T) {
	e := newFake(t)
	e.execute = openEngine(t).Execute
	_, addr := serve(t, e, Options{})
	sql := "SELECT CASE WHEN i < 2900000 THEN i ELSE error('boom' || i)::BIGINT END AS x FROM range(3000000) r(i)"
	for _, f := range []string{"json", "ndjson", "arrow"} {
		res, err := http.Post("http://"+addr+"/sql?format="+f, "", strings.NewReader(sql))
		if err != nil {
			t.Fatal(err)
		}
		n, err := io.Copy(io.Discard, res.Body)
		res.Body.Close()
		if res.StatusCode != http.StatusOK || !errors.Is(err, io.ErrUnexpectedEOF) || n == 0 {
			t.Errorf("%s: status %d, %d bytes, %v", f, res.StatusCode, n, err)
		}
	}
}

// TestPanic: a panic ends one request, with a 500, and the server goes on.
func TestPanic(t *testing.T) {
	e := newFake(t)
	e.execute = func(context.Context, string) (*runtime.Answer, error) { panic("a bug") }
	var log strings.Builder
	_, addr := serve(t, e, Options{Logger: slog.New(slog.NewTextHandler(&log, nil))})
	c := dial(t, addr)
	res := speak(t, c, "POST /sql HTTP/1.1\r\nHost: x\r\nContent-Length: 8\r\n\r\nSELECT 1")
	if res.StatusCode != http.StatusInternalServerError || !strings.Contains(body(t, res), "defect of Tidemill") {
		t.Errorf("got %d", res.StatusCode)
	}
	if res := speak(t, c, "GET /livez HTTP/1.1\r\nHost: x\r\n\r\n"); res.StatusCode != http.StatusOK {
		t.Errorf("after it: %d", res.StatusCode)
	}
	if !strings.Contains(log.String(), "a bug") || !strings.Contains(log.String(), "fake_test.go") {
		t.Errorf("log: %s", log.String())
	}
}

// TestPressure has the answers that need an engine in trouble.
func TestPressure(t *testing.T) {
	e := newFake(t)
	_, addr := serve(t, e, Options{AdmitWait: time.Millisecond})
	post := func() *http.Response {
		res, err := http.Post("http://"+addr+"/append/kv", "", strings.NewReader(`{"id": 1}`))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { res.Body.Close() })
		return res
	}
	e.admit = func(ctx context.Context, _ int64) (func(), error) {
		<-ctx.Done()
		return nil, fmt.Errorf("%w: all is taken", runtime.ErrBusy)
	}
	if res := post(); res.StatusCode != 503 || res.Header.Get("Retry-After") != "1" {
		t.Errorf("busy: %d, Retry-After %q", res.StatusCode, res.Header.Get("Retry-After"))
	}
	e.admit = nil
	for err, status := range map[error]int{runtime.ErrDiskFull: 507, runtime.ErrClosed: 503, &runtime.FailedError{Cause: os.ErrInvalid}: 503, runtime.ErrSchemaChanged: 409} {
		e.append = func(context.Context, runtime.AppendRequest) (runtime.AppendResult, error) {
			return runtime.AppendResult{}, err
		}
		if res := post(); res.StatusCode != status {
			t.Errorf("%v: %d", err, res.StatusCode)
		}
	}
	e.append = func(context.Context, runtime.AppendRequest) (runtime.AppendResult, error) {
		return runtime.AppendResult{Duplicate: true}, nil
	}
	if got := body(t, post()); got != `{"commit":null,"accepted":0,"duplicate":true}`+"\n" {
		t.Errorf("forgotten repeat: %s", got)
	}
}

// TestProbes: a stopped engine and a server that drains are alive and not ready.
func TestProbes(t *testing.T) {
	e := newFake(t)
	s, addr := serve(t, e, Options{})
	status := func(path string) int {
		res, err := http.Get("http://" + addr + path)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		return res.StatusCode
	}
	check := func(when string, live, ready int) {
		t.Helper()
		if l, r, h := status("/livez"), status("/readyz"), status("/healthz"); l != live || r != ready || h != ready {
			t.Errorf("%s: livez %d, readyz %d, healthz %d", when, l, r, h)
		}
	}
	check("running", 200, 200)
	e.fail(&runtime.FailedError{Cause: os.ErrInvalid})
	check("failed", 200, 503)
	e.fail(nil)
	s.draining.Store(true)
	check("draining", 200, 503)
}

// TestMetrics: every collector of the list in HTTP.md is there, and counts.
func TestMetrics(t *testing.T) {
	e := newFake(t)
	e.lookup = func(string, []string) ([]column.Field, []column.Column, error) { return nil, nil, nil }
	_, addr := serve(t, e, Options{})
	for _, p := range []string{"/lookup/kv/1", "/nothing", "/stats"} {
		res, err := http.Get("http://" + addr + p)
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
	}
	res, err := http.Get("http://" + addr + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	got := body(t, res)
	doc, err := os.ReadFile("HTTP.md")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.SplitSeq(got, "\n") {
		if name, ok := strings.CutPrefix(line, "# TYPE "); ok {
			name, _, _ = strings.Cut(name, " ")
			if !strings.Contains(string(doc), "`"+name) {
				t.Errorf("HTTP.md does not list %s", name)
			}
		}
	}
	for _, want := range []string{`tidemill_http_requests_total{call="lookup",code="2xx"} 1`, `tidemill_http_requests_total{call="unknown",code="4xx"} 1`,
		"tidemill_commit 7", `tidemill_relation_rows{kind="table",relation="kv"} 3`, `tidemill_memory_bytes{part="caches"} 1`, `tidemill_memory_share_bytes{account="queries"} 2`} {
		if !strings.Contains(got, want+"\n") {
			t.Errorf("no %s in\n%s", want, got)
		}
	}
}

// TestGarbage: what is not HTTP is answered by net/http, and the server goes on.
func TestGarbage(t *testing.T) {
	_, addr := serve(t, newFake(t), Options{})
	for _, c := range []struct {
		request string
		status  int
	}{
		{"nonsense\r\n\r\n", 400},
		{"GET /lookup/kv/%zz HTTP/1.1\r\nHost: x\r\n\r\n", 400},
		{"GET /livez HTTP/1.1\r\n\r\n", 400}, // no Host
		{"GET /livez HTTP/1.1\r\nHost: x\r\nPad: " + strings.Repeat("x", 80<<10) + "\r\n\r\n", 431},
		{"OPTIONS * HTTP/1.1\r\nHost: x\r\n\r\n", 404},
		{"POST /append/kv HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", 400},
		{"POST /append/kv HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", 400},
		{"GET http://other/livez HTTP/1.1\r\nHost: x\r\n\r\n", 200},
		{"POST /append/kv HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 99999999999\r\n\r\n", 413},
	} {
		if res := speak(t, dial(t, addr), c.request); res.StatusCode != c.status {
			t.Errorf("%.60q: %d, want %d", c.request, res.StatusCode, c.status)
		}
	}
}

// TestUpperCaseIdentity: an Arrow body keeps its memory to itself whatever way its encoding is written. The
// buffers of the bodies that follow must not show through the columns of the first.
func TestUpperCaseIdentity(t *testing.T) {
	e := newFake(t)
	var kept []runtime.AppendRequest
	e.append = func(_ context.Context, req runtime.AppendRequest) (runtime.AppendResult, error) {
		kept = append(kept, req)
		return runtime.AppendResult{Commit: 8, Accepted: req.N}, nil
	}
	_, addr := serve(t, e, Options{})
	for _, header := range []string{"", "Content-Encoding: Identity\r\n", "Content-Type: " + typeArrow + "\r\n"} {
		for i := range 4 {
			b := arrowOf(t, fmt.Sprintf("id int64\n[{\"id\": %d}]", len(kept)))
			res := speak(t, dial(t, addr), fmt.Sprintf("POST /append/kv HTTP/1.1\r\nHost: x\r\n%sContent-Length: %d\r\n\r\n%s", header, len(b), b))
			if res.StatusCode != http.StatusOK {
				t.Fatalf("%q %d: %d", header, i, res.StatusCode)
			}
		}
	}
	for i, req := range kept {
		if got := column.Values[int64](&req.Cols[0])[0]; got != int64(i) {
			t.Errorf("row %d has become %d", i, got)
		}
	}
}
