package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"testing"

	"tidemill/cmd/tidemill/internal/client"
	"tidemill/cmd/tidemill/internal/server"
)

func openServer(t *testing.T) *server.Server {
	t.Helper()
	s, err := server.Open(server.Options{Dir: t.TempDir(), Addr: "127.0.0.1:0", Memory: 256 << 20})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// little is every scenario in a blink.
func little(url string, out, figures io.Writer) Options {
	return Options{URL: url, Seconds: 0.02, Rows: 10_000, Keys: 300, Batch: 1500, Producers: 3, Clients: []int{2}, Out: out, JSON: figures}
}

func all(t *testing.T, but string) (out []*Scenario) {
	t.Helper()
	for i := range Scenarios {
		if s := &Scenarios[i]; s.Name != but {
			out = append(out, s)
		}
	}
	return out
}

// TestShared runs the scenarios against one server, twice: their answers are right, and nothing stays behind.
func TestShared(t *testing.T) {
	s := openServer(t)
	var out, figures bytes.Buffer
	o := little(s.URL(), &out, &figures)
	for range 2 {
		if err := Run(t.Context(), o, all(t, "footprint")); err != nil {
			t.Fatalf("%v\n%s", err, &out)
		}
	}
	seen := map[string]int{}
	for d := json.NewDecoder(&figures); d.More(); {
		var f Figure
		if err := d.Decode(&f); err != nil {
			t.Fatal(err)
		}
		if !f.Right || f.Rate <= 0 || f.Case == "" {
			t.Errorf("figure %+v", f)
		}
		seen[f.Scenario]++
	}
	for _, s := range all(t, "footprint") {
		if seen[s.Name] == 0 {
			t.Errorf("%s has no figure", s.Name)
		}
	}
	if left := s.Engine.Catalog().Relations(); len(left) > 0 {
		t.Errorf("%d relations stay behind", len(left))
	}
}

// TestWrong puts a server in between that changes one digit of the answers to queries: every scenario notices.
func TestWrong(t *testing.T) {
	s := openServer(t)
	at, err := url.Parse(s.URL())
	if err != nil {
		t.Fatal(err)
	}
	proxy := httputil.NewSingleHostReverseProxy(at)
	proxy.ModifyResponse = func(res *http.Response) error {
		text, err := io.ReadAll(res.Body)
		if err != nil {
			return err
		}
		// The probe before each case is the one that stays.
		if res.Request.URL.Path == "/sql" && !bytes.Contains(text, []byte(`"x":`)) {
			if i := bytes.IndexAny(text, "123456789"); i >= 0 {
				text[i] = "0987612345"[text[i]-'0']
			}
		}
		res.Body = io.NopCloser(bytes.NewReader(text))
		return nil
	}
	proxy.ErrorLog = log.New(io.Discard, "", 0) // readers that a wrong answer ended
	between := httptest.NewServer(proxy)
	defer between.Close()
	for _, scenario := range all(t, "footprint") {
		var out bytes.Buffer
		err := Run(t.Context(), little(between.URL, &out, nil), []*Scenario{scenario})
		if !errors.Is(err, ErrWrong) || !strings.Contains(out.String(), "WRONG: ") {
			t.Errorf("%s: error %v\n%s", scenario.Name, err, &out)
		}
	}
}

// TestTotals: the comparison of agg and live finds each kind of difference.
func TestTotals(t *testing.T) {
	s := openServer(t)
	c := client.New(s.URL())
	defer c.Close()
	tg := &target{Client: c}
	if _, err := c.SQL(t.Context(), "CREATE TABLE totals (user_id BIGINT, n BIGINT, s DOUBLE)"); err != nil {
		t.Fatal(err)
	}
	want := newTotals(3)
	want.add(1, 2)   // 2 rows of 0.01
	want.add(5, 1)   // 0.05 for key 2
	want.add(100, 3) // 3 of 1 for key 1
	for _, k := range []struct{ rows, wrong string }{
		{"(1, 5, 3.02), (2, 1, 0.05)", ""},
		{"(1, 5, 3.02)", "1 groups instead of 2"},
		{"(1, 5, 3.02), (2, 2, 0.05)", "group 2 has n 2"},
		{"(1, 5, 3.03), (2, 1, 0.05)", "group 1 has n 5 and s 3.03"},
		{"(1, 5, 3.02), (2, 1, 0.05), (2, 1, 0.05)", "group 2 is there twice"},
		{"(1, 5, 3.02), (2, 1, 0.05), (3, 1, 0.05)", "group 3 is there twice or should not be"},
		{"(1, 5, NULL), (2, 1, 0.05)", "group 1 has n 5 and s NULL"},
	} {
		if _, err := c.SQL(t.Context(), "DELETE FROM totals; INSERT INTO totals VALUES "+k.rows); err != nil {
			t.Fatal(err)
		}
		wrong, err := want.compare(t.Context(), tg)
		if err != nil || (wrong == nil) != (k.wrong == "") || wrong != nil && !strings.Contains(wrong.Error(), k.wrong) {
			t.Errorf("%s: %v, error %v; expected %q", k.rows, wrong, err, k.wrong)
		}
	}
}

// TestTogether: the first error ends the other workers, and is the one that is told.
func TestTogether(t *testing.T) {
	broken := errors.New("broken")
	err := together(t.Context(), 4, func(ctx context.Context, w int) error {
		if w == 2 {
			return broken
		}
		<-ctx.Done()
		return ctx.Err()
	})
	if err != broken {
		t.Errorf("error is %v", err)
	}
}

func TestGrouped(t *testing.T) {
	for n, want := range map[int64]string{0: "0", 999: "999", 1000: "1,000", 1234567: "1,234,567"} {
		if got := grouped(n); got != want {
			t.Errorf("%d is written %s", n, got)
		}
	}
}
