package httpd

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"sort"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/cockroachdb/datadriven"
	"github.com/klauspost/compress/zstd"

	"tidemill/runtime"
)

var _ Engine = (*runtime.Engine)(nil)

// serve starts a server on a port of its own and returns its address.
func serve(t testing.TB, e Engine, o Options) (*Server, string) {
	t.Helper()
	s, err := New(e, o)
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- s.Serve(l) }()
	t.Cleanup(func() {
		if err := s.Shutdown(context.Background()); err != nil {
			t.Errorf("shutdown: %v", err)
		}
		if err := <-served; err != nil {
			t.Errorf("serve: %v", err)
		}
	})
	return s, l.Addr().String()
}

func openEngine(t testing.TB) *runtime.Engine {
	t.Helper()
	e, err := runtime.Open(runtime.Options{Dir: t.TempDir(), Memory: 1 << 30})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Close(); err != nil {
			t.Errorf("close engine: %v", err)
		}
	})
	return e
}

// TestTranscripts plays the files in testdata against a real engine. A request is written as HTTP writes it;
// the arguments of the command say how its body is encoded:
//
//	request [arrow] [gzip|zstd] [hex] [cut=BYTES] [repeat=TIMES] [quiet]
func TestTranscripts(t *testing.T) {
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		_, addr := serve(t, openEngine(t), Options{MaxBodyBytes: 1 << 20, MaxSQLBytes: 64 << 10})
		client := &http.Client{Transport: &http.Transport{DisableCompression: true}}
		t.Cleanup(client.CloseIdleConnections)
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			if d.Cmd != "request" {
				d.Fatalf(t, "unknown command %s", d.Cmd)
			}
			res, err := client.Do(readRequest(t, d, addr))
			if err != nil {
				return "error: " + err.Error()
			}
			defer res.Body.Close()
			return showResponse(t, d, res)
		})
	})
}

// readRequest reads the request line, headers and body of a transcript.
func readRequest(t *testing.T, d *datadriven.TestData, addr string) *http.Request {
	t.Helper()
	head, body, _ := strings.Cut(d.Input, "\n\n")
	lines := strings.Split(head, "\n")
	method, target, ok := strings.Cut(lines[0], " ")
	if !ok {
		d.Fatalf(t, "request line %q", lines[0])
	}
	var raw io.Reader
	if method != "GET" && method != "HEAD" || body != "" {
		raw = bytes.NewReader(encodeBody(t, d, body))
	}
	req, err := http.NewRequest(method, "http://"+addr+target, raw)
	if err != nil {
		d.Fatalf(t, "%v", err)
	}
	for _, l := range lines[1:] {
		name, value, _ := strings.Cut(l, ": ")
		req.Header.Add(name, value)
	}
	return req
}

func encodeBody(t *testing.T, d *datadriven.TestData, text string) []byte {
	t.Helper()
	b := []byte(text)
	times := 1
	d.MaybeScanArgs(t, "repeat", &times)
	b = bytes.Repeat(b, times)
	if d.HasArg("hex") {
		var err error
		if b, err = hex.DecodeString(strings.Join(strings.Fields(string(b)), "")); err != nil {
			d.Fatalf(t, "%v", err)
		}
	}
	if d.HasArg("arrow") {
		b = arrowOf(t, string(b))
	}
	if d.HasArg("gzip") {
		var z bytes.Buffer
		w := gzip.NewWriter(&z)
		mustWrite(t, w, b)
		b = z.Bytes()
	}
	if d.HasArg("zstd") {
		var z bytes.Buffer
		w, err := zstd.NewWriter(&z)
		if err != nil {
			t.Fatal(err)
		}
		mustWrite(t, w, b)
		b = z.Bytes()
	}
	cut := len(b)
	d.MaybeScanArgs(t, "cut", &cut)
	return b[:min(cut, len(b))]
}

func mustWrite(t *testing.T, w io.WriteCloser, b []byte) {
	t.Helper()
	if _, err := w.Write(b); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
}

var arrowTypes = map[string]arrow.DataType{"int64": arrow.PrimitiveTypes.Int64, "int32": arrow.PrimitiveTypes.Int32, "utf8": arrow.BinaryTypes.String,
	"float64": arrow.PrimitiveTypes.Float64, "bool": arrow.FixedWidthTypes.Boolean}

// arrowOf makes a stream of a line "name type, name type" and a JSON array of objects.
func arrowOf(t testing.TB, text string) []byte {
	t.Helper()
	head, rows, _ := strings.Cut(text, "\n")
	var fields []arrow.Field
	for f := range strings.SplitSeq(head, ", ") {
		name, typ, _ := strings.Cut(f, " ")
		fields = append(fields, arrow.Field{Name: name, Type: arrowTypes[typ], Nullable: true})
	}
	schema := arrow.NewSchema(fields, nil)
	rec, _, err := array.RecordFromJSON(memory.DefaultAllocator, schema, strings.NewReader(rows))
	if err != nil {
		t.Fatal(err)
	}
	var buf bytes.Buffer
	w := ipc.NewWriter(&buf, ipc.WithSchema(schema))
	if err := w.Write(rec); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

// shownHeaders are those that a transcript shows.
var shownHeaders = []string{"Content-Type", "Tidemill-Commit", "Tidemill-Cache", "Allow", "Retry-After", "Connection", "Cache-Control"}

func showResponse(t *testing.T, d *datadriven.TestData, res *http.Response) string {
	t.Helper()
	var out strings.Builder
	fmt.Fprintln(&out, res.StatusCode, http.StatusText(res.StatusCode))
	if !d.HasArg("quiet") {
		for _, h := range shownHeaders {
			if v := res.Header.Get(h); v != "" {
				fmt.Fprintf(&out, "%s: %s\n", h, v)
			}
		}
	}
	body, err := io.ReadAll(res.Body)
	switch {
	case err != nil:
		fmt.Fprintf(&out, "body broke off: %v\n", err)
	case res.Header.Get("Content-Type") == typeArrow:
		out.WriteString(showArrow(t, body))
	case res.Header.Get("Content-Type") == typeProblem[0]:
		out.WriteString(showProblem(t, body))
	case d.HasArg("lines"):
		out.WriteString(countLines(body))
	default:
		out.Write(body)
	}
	return out.String()
}

func countLines(body []byte) string {
	lines := strings.Split(strings.TrimSpace(string(body)), "\n")
	sort.Strings(lines)
	return fmt.Sprintf("%d lines, from %s\n", len(lines), lines[0])
}

// showProblem checks that a problem is valid JSON and shows a member a line.
func showProblem(t *testing.T, body []byte) string {
	t.Helper()
	var whole map[string]any
	if err := json.Unmarshal(body, &whole); err != nil {
		t.Fatalf("problem is not JSON: %v\n%s", err, body)
	}
	for _, must := range []string{"type", "title", "status", "detail"} {
		if whole[must] == nil {
			t.Errorf("problem has no %s: %s", must, body)
		}
	}
	var out strings.Builder
	dec := json.NewDecoder(bytes.NewReader(body))
	dec.UseNumber()
	if _, err := dec.Token(); err != nil {
		t.Fatal(err)
	}
	for dec.More() {
		name, err := dec.Token()
		if err != nil {
			t.Fatal(err)
		}
		var value json.RawMessage
		if err := dec.Decode(&value); err != nil {
			t.Fatal(err)
		}
		if name != "title" && name != "status" {
			fmt.Fprintf(&out, "  %s: %s\n", name, value)
		}
	}
	return out.String()
}

func showArrow(t *testing.T, body []byte) string {
	t.Helper()
	r, err := ipc.NewReader(bufio.NewReader(bytes.NewReader(body)))
	if err != nil {
		return "not arrow: " + err.Error() + "\n"
	}
	defer r.Release()
	var out strings.Builder
	fmt.Fprintln(&out, r.Schema())
	for r.Next() {
		b, err := r.RecordBatch().MarshalJSON()
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&out, "%s\n", bytes.TrimSpace(b))
	}
	if err := r.Err(); err != nil {
		fmt.Fprintln(&out, "stream broke off:", err)
	}
	return out.String()
}
