package httpd

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"tidemill/runtime"
	"tidemill/runtime/decode"
)

// dialogue is a stream that a test speaks: it writes rows and reads lines.
type dialogue struct {
	t   *testing.T
	w   *io.PipeWriter
	res *http.Response
	in  *bufio.Scanner
}

func client(version string) *http.Client {
	t := &http.Transport{Protocols: new(http.Protocols)}
	t.Protocols.SetHTTP1(version == "HTTP/1.1")
	t.Protocols.SetUnencryptedHTTP2(version == "HTTP/2.0")
	return &http.Client{Transport: t}
}

func stream1(t *testing.T, c *http.Client, addr, query, contentType string) *dialogue {
	t.Helper()
	r, w := io.Pipe()
	req, err := http.NewRequest("POST", "http://"+addr+"/append/kv?stream=1"+query, r)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", contentType)
	res, err := c.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { res.Body.Close(); w.Close(); c.CloseIdleConnections() })
	if res.StatusCode != http.StatusOK {
		t.Fatalf("got %d: %s", res.StatusCode, body(t, res))
	}
	return &dialogue{t, w, res, bufio.NewScanner(res.Body)}
}

func (d *dialogue) say(s string) {
	d.t.Helper()
	if _, err := io.WriteString(d.w, s); err != nil {
		d.t.Fatal(err)
	}
}

// hear reads lines until one ends as wanted, so many rows dealt with, and returns them.
func (d *dialogue) hear(rows int) string {
	d.t.Helper()
	var all []string
	for d.in.Scan() {
		all = append(all, d.in.Text())
		if strings.HasSuffix(d.in.Text(), fmt.Sprintf(`"rows":%d}`, rows)) {
			return strings.Join(all, "\n")
		}
	}
	d.t.Fatalf("the answer ended (%v) before %d rows: %s", d.in.Err(), rows, strings.Join(all, "\n"))
	return ""
}

// ended reads the rest of the answer, which has one line more.
func (d *dialogue) ended(want ...string) {
	d.t.Helper()
	if !d.in.Scan() {
		d.t.Fatal("no last line")
	}
	last := d.in.Text()
	for _, w := range want {
		if !strings.Contains(last, w) {
			d.t.Errorf("the last line is %s, without %s", last, w)
		}
	}
	if !json.Valid([]byte(last)) {
		d.t.Errorf("no JSON: %s", last)
	}
	if d.in.Scan() || d.in.Err() != nil {
		d.t.Errorf("after the last line: %s, %v", d.in.Text(), d.in.Err())
	}
}

func kvEngine(t *testing.T) *runtime.Engine {
	e := openEngine(t)
	if _, err := e.Execute(context.Background(), "CREATE TABLE kv (id BIGINT PRIMARY KEY, name VARCHAR)"); err != nil {
		t.Fatal(err)
	}
	return e
}

// TestStream speaks with a real engine: every row is acknowledged while the stream goes on, by both versions of HTTP.
func TestStream(t *testing.T) {
	_, addr := serve(t, kvEngine(t), Options{})
	for i, version := range []string{"HTTP/1.1", "HTTP/2.0"} {
		c, p := client(version), fmt.Sprint("p", i)
		d := stream1(t, c, addr, "&producer="+p+"&seq=1", "application/x-ndjson")
		if d.res.Proto != version {
			t.Errorf("the protocol is %s", d.res.Proto)
		}
		for n := 1; n <= 5; n++ {
			d.say(fmt.Sprintf("{\"id\": %d,", n))
			d.say(" \"name\": \"x\"}\n\n")
			d.hear(n)
		}
		d.say("{\"id\": 6}\n{\"id\": 7}") // the last line needs no end
		d.w.Close()
		d.hear(7)
		d.ended(`{"done":true,"rows":7}`)

		// What was applied is known, wherever the client begins again; a gap is not.
		d = stream1(t, c, addr, "&linger_ms=0&producer="+p+"&seq=6", "application/x-ndjson")
		d.say("{\"id\": 6}\n{\"id\": 7}\n{\"id\": 8}\n")
		if got := d.hear(3); !strings.Contains(got, `"duplicate":true,"rows":2}`) || !strings.Contains(got, `"accepted":1,"duplicate":false,"rows":3}`) {
			t.Errorf("resumed: %s", got)
		}
		d.say("{\"id\": 9}\n{\"id\": \"x\"}\n{\"id\": 10}\n")
		d.hear(4)
		d.ended(`{"error":{"type":"urn:tidemill:bad-row"`, `"row":5`, `"column":"id"`, `"rows":4}`)

		d = stream1(t, c, addr, "&on_error=row&producer="+p+"&seq=10", "application/x-ndjson")
		d.say("{\"id\": \"x\"}\n")
		if got := d.hear(1); !strings.Contains(got, `"accepted":0,"rejected":1,"duplicate":false,"rejects":[{"row":1,`) {
			t.Errorf("rejected: %s", got)
		}
		d.w.Close()
		d.ended("done")
		res, err := c.Post("http://"+addr+"/append/kv?stream=1&producer="+p+"&seq=12", "", strings.NewReader("{}"))
		if err != nil {
			t.Fatal(err)
		}
		if got := body(t, res); res.StatusCode != 409 || !strings.Contains(got, `"expected":11`) {
			t.Errorf("a gap: %d %s", res.StatusCode, got)
		}
	}
	if res, err := http.Get("http://" + addr + "/lookup/kv/9"); err != nil || body(t, res) != "[{\"id\":9,\"name\":null}]\n" {
		t.Error("row 9 is not there")
	}
}

// TestStreamArrow: batches are acknowledged one by one, a bad one ends the stream with those before it committed.
func TestStreamArrow(t *testing.T) {
	_, addr := serve(t, kvEngine(t), Options{})
	for i, version := range []string{"HTTP/1.1", "HTTP/2.0"} {
		c, p := client(version), fmt.Sprint("a", i)
		first := arrowOf(t, "id int64, name utf8\n[{\"id\": 1, \"name\": \"a\"}, {\"id\": 2, \"name\": null}]")
		second := arrowOf(t, "id int64, name utf8\n[{\"id\": 3, \"name\": \"c\"}]")
		schema, _, err := decode.ArrowMessage(second[:500]) // which both have, and then a batch and the end mark
		if err != nil {
			t.Fatal(err)
		}
		whole := append(first[:len(first)-8:len(first)-8], second[schema:]...)
		d := stream1(t, c, addr, "&producer="+p+"&seq=1", typeArrow)
		for k := range whole { // byte by byte
			d.say(string(whole[k : k+1]))
		}
		d.hear(3)
		d.w.Close()
		d.ended(`{"done":true,"rows":3}`)

		d = stream1(t, c, addr, "&producer="+p+"&seq=3", typeArrow)
		d.say(string(whole))
		if got := d.hear(3); !strings.Contains(got, `"accepted":1,"duplicate":true,"rows":1}`) {
			t.Errorf("resumed: %s", got)
		}
		d.w.Close()
		d.ended("done")

		d = stream1(t, c, addr, "", typeArrow)
		d.say(string(whole[:len(whole)-8]) + "nonsense")
		d.hear(3)
		d.ended("error", "bad-body", `"rows":3}`)
	}
}

// TestStreamPace: silence between rows is as long as the client likes, within a row it is not.
func TestStreamPace(t *testing.T) {
	e := newFake(t)
	_, addr := serve(t, e, Options{Patience: impatient})
	d := stream1(t, client("HTTP/1.1"), addr, "", "application/x-ndjson")
	d.say("{\"id\": 1}\n")
	d.hear(1)
	stalled := stream1(t, client("HTTP/1.1"), addr, "", "application/x-ndjson")
	stalled.say("{\"id\": 1}\n{\"id\"")
	stalled.hear(1)
	stalled.ended("slow-body", `"rows":1}`) // after patience, so the first has been silent for longer
	d.say("{\"id\": 2}\n")
	d.hear(2)
	d.w.Close()
	d.ended("done")
}

// TestStreamUnread: a client that takes no answers ends its stream, and its memory is given back.
func TestStreamUnread(t *testing.T) {
	e := newFake(t)
	ended := make(chan struct{}, 1)
	e.admit = func(context.Context, int64) (func(), error) { return func() { ended <- struct{}{} }, nil }
	_, addr := serve(t, e, Options{Patience: impatient})
	c := dial(t, addr)
	if _, err := io.WriteString(c, "POST /append/kv?stream=1&on_error=row&linger_ms=0 HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	line := "{\"id\": \"" + strings.Repeat("x", 200) + "\"}\n"
	chunk := fmt.Sprintf("%x\r\n%s\r\n", 40*len(line), strings.Repeat(line, 40))
	go func() {
		for {
			if _, err := io.WriteString(c, chunk); err != nil {
				return
			}
		}
	}()
	<-ended
}

// TestStreamFails: what the engine refuses ends the stream with its reason, and so does a shutdown.
func TestStreamFails(t *testing.T) {
	e := newFake(t)
	var full atomic.Bool
	e.append = func(_ context.Context, req runtime.AppendRequest) (runtime.AppendResult, error) {
		if full.Load() {
			return runtime.AppendResult{}, fmt.Errorf("commit 8: %w", runtime.ErrDiskFull)
		}
		return runtime.AppendResult{Commit: 7, Accepted: req.N}, nil
	}
	s, addr := serve(t, e, Options{})
	d := stream1(t, client("HTTP/1.1"), addr, "", "application/x-ndjson")
	d.say("{\"id\": 1}\n")
	d.hear(1)
	full.Store(true)
	d.say("{\"id\": 2}\n")
	d.ended("disk-full", `"status":507`, `"rows":1}`)
	full.Store(false)
	for _, version := range []string{"HTTP/1.1", "HTTP/2.0"} {
		d = stream1(t, client(version), addr, "", "application/x-ndjson")
		d.say("{\"id\": 1}\n")
		d.hear(1)
		defer d.ended("closing", `"rows":1}`)
	}
	if err := s.Shutdown(context.Background()); err != nil && !errors.Is(err, http.ErrServerClosed) {
		t.Error(err)
	}
}
