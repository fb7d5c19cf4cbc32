package httpd

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"
)

// TestConcurrent has producers, readers and definitions at once, and then counts: every acknowledged row is
// there once, and each read saw the view equal to its table.
func TestConcurrent(t *testing.T) {
	_, addr := serve(t, openEngine(t), Options{})
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 32}}
	t.Cleanup(client.CloseIdleConnections)
	do := func(method, path, body string) (int, string) {
		req, err := http.NewRequest(method, "http://"+addr+path, strings.NewReader(body))
		if err != nil {
			t.Error(err)
			return 0, ""
		}
		res, err := client.Do(req)
		if err != nil {
			t.Error(err)
			return 0, ""
		}
		defer res.Body.Close()
		b, err := io.ReadAll(res.Body)
		if err != nil {
			t.Error(err)
		}
		return res.StatusCode, string(b)
	}
	ok := func(method, path, body string) string {
		status, got := do(method, path, body)
		if status != http.StatusOK {
			t.Errorf("%s %s %s: %d %s", method, path, body, status, got)
		}
		return got
	}
	ok("POST", "/sql", "CREATE TABLE t (id BIGINT, k BIGINT); CREATE MATERIALIZED VIEW v AS SELECT k, count(*) AS n FROM t GROUP BY k")
	const producers, appends = 6, 30
	var writers, readers sync.WaitGroup
	done := make(chan struct{})
	for p := range producers {
		writers.Go(func() {
			for seq := 1; seq <= appends; seq++ {
				path := fmt.Sprintf("/append/t?producer=p%d&seq=%d", p, seq)
				rows := fmt.Sprintf(`{"id": %d, "k": %d}`+"\n"+`{"id": %d, "k": 9}`, seq, seq%5, -seq)
				ok("POST", path, rows)
				if seq%7 == 0 && !strings.Contains(ok("POST", path, rows), `"duplicate":true`) {
					t.Errorf("%s: a repeat was taken", path)
				}
			}
		})
	}
	loop := func(f func(i int)) {
		readers.Go(func() {
			for i := 0; ; i++ {
				select {
				case <-done:
					return
				default:
					f(i)
				}
			}
		})
	}
	loop(func(int) {
		var got []struct{ T, V int }
		text := ok("POST", "/sql", "SELECT (SELECT count(*) FROM t) AS t, (SELECT coalesce(sum(n), 0) FROM v)::BIGINT AS v")
		if err := json.Unmarshal([]byte(text), &got); err != nil || len(got) != 1 || got[0].T != got[0].V {
			t.Errorf("a reader saw %s (%v)", text, err)
		}
	})
	loop(func(i int) { ok("GET", fmt.Sprintf("/lookup/v/%d", i%12), "") })
	loop(func(int) { ok("GET", "/metrics", ""); ok("GET", "/stats", "") })
	loop(func(i int) {
		ok("POST", "/sql", fmt.Sprintf("CREATE TABLE x%d (id BIGINT PRIMARY KEY)", i))
		ok("POST", fmt.Sprintf("/append/x%d", i), `{"id": 1}`)
		ok("POST", "/sql", fmt.Sprintf("DROP TABLE x%d", i))
	})
	writers.Wait()
	close(done)
	readers.Wait()
	want := fmt.Sprintf(`[{"n":%d,"u":%d}]`+"\n", 2*producers*appends, 2*appends)
	if got := ok("POST", "/sql", "SELECT count(*) AS n, count(DISTINCT id) AS u FROM t"); got != want {
		t.Errorf("got %s want %s", got, want)
	}
}

// TestDrain: Shutdown waits for the request that runs, and takes no more.
func TestDrain(t *testing.T) {
	e := newFake(t)
	entered, leave := make(chan struct{}), make(chan struct{})
	e.append = blockingAppend(entered, leave)
	s, addr := serve(t, e, Options{})
	answered := make(chan int, 1)
	go func() {
		res, err := http.Post("http://"+addr+"/append/kv", "", strings.NewReader(`{"id": 1}`))
		if err != nil {
			answered <- 0
			return
		}
		res.Body.Close()
		answered <- res.StatusCode
	}()
	<-entered
	down := make(chan error, 1)
	go func() { down <- s.Shutdown(t.Context()) }()
	select {
	case err := <-down:
		t.Fatalf("shut down with a request running: %v", err)
	case <-time.After(20 * time.Millisecond):
	}
	close(leave)
	if got := <-answered; got != http.StatusOK {
		t.Errorf("the running request got %d", got)
	}
	if err := <-down; err != nil {
		t.Error(err)
	}
	if _, err := http.Get("http://" + addr + "/livez"); err == nil {
		t.Error("still listening")
	}
}
