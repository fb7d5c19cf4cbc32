package kill

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// build makes the program.
func build(t *testing.T) string {
	t.Helper()
	bin := filepath.Join(t.TempDir(), "tidemill")
	cmd := exec.Command("go", "build", "-o", bin, "./cmd/tidemill")
	cmd.Dir = "../../.."
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, out)
	}
	return bin
}

// freeAddr returns an address that nobody listens on.
func freeAddr(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// server is one run of the program.
type server struct {
	cmd    *exec.Cmd
	url    string
	client *http.Client
	ready  chan time.Duration // gets how long the start took
	gone   chan struct{}      // closed when the program has ended
	output bytes.Buffer       // complete when gone is closed
}

func start(bin, dir, addr, memory string) (*server, error) {
	s := &server{cmd: exec.Command(bin, "serve", "--dir", dir, "--addr", addr, "--memory", memory), url: "http://" + addr,
		client: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 32}}, ready: make(chan time.Duration, 1), gone: make(chan struct{})}
	s.cmd.Env = append(os.Environ(), "GOMEMLIMIT=256MiB") // the caches are to be small, not Go's heap
	out, err := s.cmd.StderrPipe()
	if err != nil {
		return nil, err
	}
	begun := time.Now()
	if err := s.cmd.Start(); err != nil {
		return nil, err
	}
	go func() {
		lines := bufio.NewScanner(out)
		for lines.Scan() {
			fmt.Fprintln(&s.output, lines.Text())
			if strings.Contains(lines.Text(), "msg=serving") {
				s.ready <- time.Since(begun)
			}
		}
		s.cmd.Wait()
		close(s.gone)
	}()
	return s, nil
}

// wait returns when the program answers.
func (s *server) wait() (time.Duration, error) {
	select {
	case d := <-s.ready:
		return d, nil
	case <-s.gone:
		return 0, fmt.Errorf("the program has ended:\n%s", s.output.String())
	}
}

// kill is kill -9.
func (s *server) kill() {
	s.cmd.Process.Kill()
	<-s.gone
	s.client.CloseIdleConnections()
}

// refusedError is an answer that says no.
type refusedError struct {
	status int
	body   string
}

func (e *refusedError) Error() string { return fmt.Sprintf("status %d: %s", e.status, e.body) }

func (s *server) post(path, kind string, body []byte, answer any) error {
	resp, err := s.client.Post(s.url+path, kind, bytes.NewReader(body))
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		return err
	}
	if resp.StatusCode != http.StatusOK {
		return &refusedError{resp.StatusCode, string(b)}
	}
	return json.Unmarshal(b, answer)
}

// sql runs a statement.
func (s *server) sql(q string, answer any) error {
	if err := s.post("/sql", "text/plain", []byte(q), answer); err != nil {
		return fmt.Errorf("%.300s: %w", q, err)
	}
	return nil
}

// checkpointing reports whether a checkpoint is on its way to disk, and how many entries caches have dropped.
func (s *server) checkpointing() (running bool, evicted int64, err error) {
	resp, err := s.client.Get(s.url + "/stats")
	if err != nil {
		return false, 0, err
	}
	defer resp.Body.Close()
	var a struct {
		Checkpointing bool  `json:"checkpointing"`
		Evicted       int64 `json:"entries_evicted"`
	}
	err = json.NewDecoder(resp.Body).Decode(&a)
	return a.Checkpointing, a.Evicted, err
}

// append sends one append.
func (s *server) append(p *producer, seq uint64) (duplicate bool, err error) {
	var a struct {
		Commit    uint64 `json:"commit"`
		Accepted  int    `json:"accepted"`
		Duplicate bool   `json:"duplicate"`
	}
	err = s.post(fmt.Sprintf("/append/%s?producer=%s&seq=%d", p.table, p.name(), seq), "application/x-ndjson", p.body(seq), &a)
	return a.Duplicate, err
}
