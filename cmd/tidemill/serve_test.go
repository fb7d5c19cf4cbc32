package main

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"tidemill/cmd/tidemill/internal/client"
)

// TestStopUnderLoad: SIGTERM while producers append ends the process with 0, and what it acknowledged is
// there at the next start, in the table and in its view.
func TestStopUnderLoad(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	args := []string{"serve", "--dir", dir, "--addr", "127.0.0.1:0"}
	server := start(t, args...)
	c := client.New(server.url())
	defer c.Close()
	for _, sql := range []string{"CREATE TABLE t (p BIGINT, i BIGINT)",
		"CREATE MATERIALIZED VIEW v AS SELECT p, count(*) AS n, max(i) AS last FROM t GROUP BY p"} {
		if _, err := c.SQL(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
	const producers, enough = 8, 200
	var acked [producers]int64
	var total atomic.Int64
	var wg sync.WaitGroup
	loaded := make(chan struct{})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	for p := range producers {
		wg.Go(func() {
			for seq := 1; ; seq++ {
				body := fmt.Appendf(nil, `{"p":%d,"i":%d}`, p, seq)
				if _, err := c.Append(ctx, "t", fmt.Sprintf("p%d", p), seq, body, client.TypeNDJSON); err != nil {
					return // the server is gone
				}
				acked[p] = int64(seq)
				if total.Add(1) == enough {
					close(loaded)
				}
			}
		})
	}
	<-loaded
	if err := server.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	code := server.wait()
	cancel()
	wg.Wait()
	if code != 0 {
		t.Fatalf("exit code %d:\n%s", code, server.said())
	}
	for _, line := range []string{"msg=serving version=", "msg=stopping signal=terminated", "msg=stopped dir="} {
		if strings.Count(server.said(), line) != 1 {
			t.Errorf("the log should have one %s:\n%s", line, server.said())
		}
	}

	again := start(t, args...)
	c = client.New(again.url())
	defer c.Close()
	for p, want := range acked {
		rows, err := c.Lookup(t.Context(), "v", fmt.Sprint(p))
		if err != nil || len(rows) != 1 {
			t.Fatalf("producer %d: %v, error %v", p, rows, err)
		}
		// One more may have been on its way when the server ended.
		if n := rows[0].Int("n"); n != rows[0].Int("last") || n < want || n > want+1 {
			t.Errorf("producer %d has %d rows, the last %d, and %d are acknowledged", p, n, rows[0].Int("last"), want)
		}
	}
	if err := again.cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if code := again.wait(); code != 0 {
		t.Errorf("exit code after SIGINT is %d:\n%s", code, again.said())
	}
}

// TestSecondSignal: a process that waits for a slow client ends at once when it is told again.
func TestSecondSignal(t *testing.T) {
	server := start(t, "serve", "--dir", t.TempDir(), "--addr", "127.0.0.1:0")
	url := server.url()
	c := client.New(url)
	defer c.Close()
	if _, err := c.SQL(t.Context(), "CREATE TABLE t (i BIGINT)"); err != nil {
		t.Fatal(err)
	}
	conn, err := net.Dial("tcp", strings.TrimPrefix(url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	// The server asks for the body when the request is being answered, so it runs when that has come.
	if _, err := conn.Write([]byte("POST /append/t HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\nExpect: 100-continue\r\n\r\n")); err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Read(make([]byte, 100)); err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{"msg=stopping", "msg=\"stopped at once\""} {
		if err := server.cmd.Process.Signal(syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		server.waitFor(line)
	}
	if code := server.wait(); code != 1 {
		t.Errorf("exit code %d:\n%s", code, server.said())
	}
}

// TestRefusedStarts: what cannot be served is said plainly, with 1 as the exit code, 2 for a wrong command line.
func TestRefusedStarts(t *testing.T) {
	dir, foreign := t.TempDir(), t.TempDir()
	if err := os.WriteFile(filepath.Join(foreign, "letter.txt"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	start(t, "serve", "--dir", dir, "--addr", "127.0.0.1:0").url()
	for _, c := range []struct {
		args []string
		want string
		code int
	}{
		{[]string{"--dir", dir, "--addr", "127.0.0.1:0"}, "directory " + dir + " is in use by another process: one server has a directory at a time", 1},
		{[]string{"--dir", foreign, "--addr", "127.0.0.1:0"}, "it holds letter.txt", 1},
		{[]string{"--addr", "127.0.0.1:0"}, "--dir is missing: directory that holds everything; it is made when it is not there (or set TIDEMILL_DIR)", 1},
		{[]string{"--dir", filepath.Join(foreign, "no"), "--addr", "0.0.0.0:0"}, "add --insecure", 1},
		{[]string{"--dir", filepath.Join(foreign, "no"), "--addr", "127.0.0.1:0", "--pprof", "0.0.0.0:0"}, "profiles are shown to this machine only", 1},
		{[]string{"--dir", dir, "--log-level", "loud"}, `--log-level "loud"`, 1},
		{[]string{"--dir", dir, "--memory", "much"}, `"much" is not a size`, 2},
		{[]string{"--dir", dir, "--colour"}, "unknown flag: --colour", 2},
		{[]string{"--dir", dir, "more"}, `unknown command "more"`, 2},
	} {
		p := start(t, append([]string{"serve"}, c.args...)...)
		if code := p.wait(); code != c.code || !strings.Contains(p.said(), c.want) {
			t.Errorf("%v: exit code %d, expected %d with %q:\n%s", c.args, code, c.code, c.want, p.said())
		}
	}
	if left, err := os.ReadDir(foreign); err != nil || len(left) != 1 {
		t.Errorf("refused starts left %v, error %v", left, err)
	}
}
