package server

import (
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tidemill/runtime"
)

// TestListen: which addresses are taken, with and without --insecure.
func TestListen(t *testing.T) {
	for _, c := range []struct {
		addr             string
		secure, insecure bool // whether it is taken
	}{
		{"127.0.0.1:0", true, true},
		{"127.9.9.9:0", true, true},
		{"localhost:0", true, true},
		{"0.0.0.0:0", false, true},
		{":0", false, true},
		{"127.0.0.1", false, false},
		{"127.0.0.1:70000", false, false},
		{"", false, true},
	} {
		for _, insecure := range []bool{false, true} {
			l, err := listen("--addr", c.addr, insecure)
			want := c.secure
			if insecure {
				want = c.insecure
			}
			if (err == nil) != want {
				t.Errorf("%q, insecure %v: error %v", c.addr, insecure, err)
			}
			if err == nil {
				l.Close()
			}
		}
	}
	var refused *AddrError
	if _, err := listen("--addr", ":0", false); !errors.As(err, &refused) || !strings.Contains(err.Error(), "add --insecure") {
		t.Errorf("refusal is %v", err)
	}
}

// TestServer opens, answers, keeps others out, and closes; then the same directory opens again.
func TestServer(t *testing.T) {
	dir := t.TempDir()
	for range 2 {
		s, err := Open(Options{Dir: dir, Addr: "127.0.0.1:0", Memory: 256 << 20, Pprof: "127.0.0.1:0"})
		if err != nil {
			t.Fatal(err)
		}
		if !s.Loopback() {
			t.Errorf("%s is not loopback", s.Addr())
		}
		if got := get(t, s.URL()+"/readyz"); got == "" {
			t.Error("it is not ready")
		}
		if got := get(t, "http://"+s.profile.addr+"/debug/pprof/goroutine?debug=1"); !strings.Contains(got, "goroutine profile") {
			t.Errorf("profile is %.100s", got)
		}
		if _, err := Open(Options{Dir: dir, Addr: "127.0.0.1:0"}); !errors.Is(err, runtime.ErrLocked) {
			t.Errorf("a second server: %v", err)
		}
		if _, err := Open(Options{Dir: filepath.Join(dir, "x"), Addr: s.Addr()}); err == nil || !strings.Contains(err.Error(), s.Addr()) {
			t.Errorf("a second server on the address: %v", err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// TestRefused: an address that is refused leaves no directory.
func TestRefused(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	var refused *AddrError
	if _, err := Open(Options{Dir: dir, Addr: "0.0.0.0:0"}); !errors.As(err, &refused) {
		t.Errorf("error is %v", err)
	}
	if _, err := Open(Options{Dir: dir, Addr: "127.0.0.1:0", Pprof: "0.0.0.0:0", Insecure: true}); !errors.As(err, &refused) || refused.Flag != "--pprof" {
		t.Errorf("error is %v", err)
	}
	if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the directory was made: %v", err)
	}
}

func get(t *testing.T, url string) string {
	t.Helper()
	res, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != http.StatusOK {
		t.Fatalf("%s: %s %s %v", url, res.Status, text, err)
	}
	return string(text)
}
