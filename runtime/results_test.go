package runtime

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"tidemill/state/column"
	"tidemill/views/plan/token"
)

// ask runs a statement and shows its answer: where it came from, of which commit, and its first column.
func ask(t *testing.T, e *Engine, s Statement) string {
	t.Helper()
	a, err := e.Run(context.Background(), s)
	if err != nil {
		t.Fatalf("%s: %v", s.SQL, err)
	}
	if a.Rows == nil {
		return fmt.Sprintf("%d @%d", a.From, a.Commit)
	}
	defer a.Rows.Close()
	cols, n, err := a.Rows.ReadAll()
	if err != nil {
		t.Fatalf("%s: %v", s.SQL, err)
	}
	var values []string
	for i := range n {
		if cols[0].IsNull(i) {
			values = append(values, "NULL")
			continue
		}
		values = append(values, string(column.AppendText(nil, &cols[0], i)))
	}
	from := map[Origin]string{Computed: "miss", FromCache: "hit", FromStale: "stale"}[a.From]
	if a.Age > 0 {
		from += " " + a.Age.String()
	}
	return fmt.Sprintf("%s @%d: %s", from, a.Commit, strings.Join(values, " "))
}

// testClock is an engine's clock that a test moves.
type testClock struct {
	mu  sync.Mutex
	now time.Time
}

func (c *testClock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *testClock) add(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

func openCached(t *testing.T, o Options) *Engine {
	t.Helper()
	o.Dir = t.TempDir()
	e, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	})
	return e
}

// settle waits for the refreshes that run.
func settle(e *Engine) { e.results.running.Wait() }

// TestResultCache walks through what makes an answer right, stale and forgotten.
func TestResultCache(t *testing.T) {
	clock := &testClock{now: time.Unix(1_800_000_000, 0)}
	e := openCached(t, Options{Now: clock.Now})
	for _, step := range []struct {
		sql  string
		old  time.Duration
		want string // "" for statements that are no queries
		then func()
	}{
		{sql: "CREATE TABLE t (k BIGINT, x BIGINT)"},
		{sql: "CREATE TABLE other (k BIGINT)"},
		{sql: "CREATE MATERIALIZED VIEW v AS SELECT k, sum(x) AS s FROM t GROUP BY k"},
		{sql: "CREATE MATERIALIZED VIEW w AS SELECT s FROM v WHERE s > 0"},
		{sql: "INSERT INTO t VALUES (1, 10)"},
		{sql: "SELECT sum(s) FROM w", want: "miss @5: 10"},
		{sql: "SELECT sum(s) FROM w", want: "hit @5: 10"},
		{sql: " select sum(s) FROM w", want: "miss @5: 10"}, // the case is kept: it may be in a name
		{sql: "SELECT  sum(s) -- again\n FROM w ;", want: "hit @5: 10"},
		{sql: "INSERT INTO other VALUES (1)"},
		{sql: "SELECT sum(s) FROM w", want: "hit @6: 10"}, // of the newest commit, which changed nothing of it
		{sql: "INSERT INTO t VALUES (1, 5)", then: func() { clock.add(30 * time.Millisecond) }},
		{sql: "SELECT sum(s) FROM w", old: 10 * time.Millisecond, want: "miss @7: 15"},
		{sql: "SELECT sum(s) FROM w", want: "hit @7: 15"},
		{sql: "UPDATE t SET x = 7 WHERE x = 5", then: func() { clock.add(30 * time.Millisecond) }},
		{sql: "SELECT sum(s) FROM w", old: time.Second, want: "stale 30ms @7: 15"},
		{sql: "SELECT sum(s) FROM w", old: time.Second, want: "stale 30ms @7: 15", then: func() { clock.add(600 * time.Millisecond) }},
		{sql: "SELECT sum(s) FROM w", old: time.Second, want: "stale 630ms @7: 15", then: func() { settle(e) }}, // and refreshed
		{sql: "SELECT sum(s) FROM w", old: time.Second, want: "hit @8: 17"},
		{sql: "DELETE FROM t"},
		{sql: "SELECT sum(s) FROM w", want: "miss @9: NULL"},
		{sql: "DROP MATERIALIZED VIEW w"},
		{sql: "CREATE MATERIALIZED VIEW w AS SELECT count(*) AS s FROM other"},
		{sql: "SELECT sum(s) FROM w", old: time.Hour, want: "miss @11: 1"}, // of another view by that name
		{sql: "SELECT random() >= 0", want: "miss @11: true"},
		{sql: "SELECT random() >= 0", want: "miss @11: true"},
		{sql: "SELECT now() IS NULL", old: time.Second, want: "miss @11: false", then: func() { clock.add(100 * time.Millisecond) }},
		{sql: "SELECT now() IS NULL", old: time.Second, want: "stale 100ms @11: false"},
		{sql: "SELECT now() IS NULL", want: "miss @11: false"},
		{sql: "SELECT count(*) > 0 FROM duckdb_settings()", want: "miss @11: true"},
		{sql: "SELECT count(*) > 0 FROM duckdb_settings()", want: "miss @11: true"},
		{sql: "SELECT 1", want: "miss @11: 1"},
		{sql: "SELECT 1", want: "hit @11: 1"},
	} {
		got := ask(t, e, Statement{SQL: step.sql, MaxAge: step.old})
		if step.want != "" && got != step.want {
			t.Errorf("%s: %s, want %s", step.sql, got, step.want)
		}
		if step.then != nil {
			step.then()
		}
	}
	if n := len(e.results.right); n > 2 {
		t.Errorf("%d tables are watched", n)
	}
}

// TestResultCacheParams: the values of parameters are part of the question.
func TestResultCacheParams(t *testing.T) {
	e := openCached(t, Options{})
	for _, c := range []struct {
		params []any
		want   string
	}{
		{[]any{"a", "b"}, "miss @0: ab"}, {[]any{"ab", ""}, "miss @0: ab"}, {[]any{"", "ab"}, "miss @0: ab"}, {[]any{"a", "b"}, "hit @0: ab"},
		{[]any{int64(1), "2"}, "miss @0: 12"}, {[]any{"1", "2"}, "miss @0: 12"}, {[]any{Number("1"), "2"}, "miss @0: 12"},
	} {
		if got := ask(t, e, Statement{SQL: "SELECT $1::VARCHAR || $2", Params: c.params}); got != c.want {
			t.Errorf("%v: %s, want %s", c.params, got, c.want)
		}
	}
	if got := ask(t, e, Statement{SQL: "SELECT $a", Params: []any{Named{Name: "a", Value: "x"}}}); got != "miss @0: x" {
		t.Error(got)
	}
	if got := ask(t, e, Statement{SQL: "SELECT $a", Params: []any{Named{Name: "A", Value: "x"}}}); got != "hit @0: x" {
		t.Error(got)
	}
}

// TestResultCacheBudget: the cache stays within its bytes, keeps what was used last, and lets large answers through.
func TestResultCacheBudget(t *testing.T) {
	e := openCached(t, Options{ResultCache: 64 << 10})
	large := "SELECT count(*) FROM (SELECT i FROM range(100000) r(i)) -- counted is small"
	if got := ask(t, e, Statement{SQL: large}); got != "miss @0: 100000" {
		t.Error(got)
	}
	for range 2 {
		a, err := e.Execute(context.Background(), "SELECT i FROM range(100000) r(i)")
		if err != nil {
			t.Fatal(err)
		}
		cols, n, err := a.Rows.ReadAll()
		a.Rows.Close()
		if err != nil || n != 100000 || a.From != Computed || string(column.AppendText(nil, &cols[0], 99999)) != "99999" {
			t.Errorf("%d rows, from %d, %v", n, a.From, err)
		}
	}
	for i := range 200 {
		ask(t, e, Statement{SQL: fmt.Sprintf("SELECT %d", i)})
		if bytes, _ := e.results.memory(); bytes > 64<<10 {
			t.Fatalf("%d bytes are kept", bytes)
		}
	}
	if got := ask(t, e, Statement{SQL: "SELECT 199"}); got != "hit @0: 199" {
		t.Error(got)
	}
	if got := ask(t, e, Statement{SQL: "SELECT 0"}); got != "miss @0: 0" {
		t.Error(got)
	}
	if s := e.Stats().ResultCache; s.Evicted == 0 || s.Hits == 0 || s.Misses == 0 {
		t.Errorf("stats are %+v", s)
	}
	off := openCached(t, Options{ResultCache: -1})
	for range 2 {
		if got := ask(t, off, Statement{SQL: "SELECT 1"}); got != "miss @0: 1" {
			t.Error(got)
		}
	}
}

// TestOneComputation: those who ask the same at once get one computation's answer, and it ends when all have left.
func TestOneComputation(t *testing.T) {
	e := openCached(t, Options{})
	before := e.stats.queries.Load()
	const slow = "SELECT count(*) FROM range(20000000) a(i) WHERE i % 7 = 3"
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			if got := ask(t, e, Statement{SQL: slow}); !strings.HasSuffix(got, "2857143") {
				t.Error(got)
			}
		})
	}
	wg.Wait()
	if n := e.stats.queries.Load() - before; n != 1 {
		t.Errorf("%d computations", n)
	}
	const endless = "SELECT count(*) FROM range(100000000000) a(i) WHERE i % 7 = 3"
	ctx, cancel := context.WithCancel(context.Background())
	for range 3 {
		wg.Go(func() {
			if _, err := e.Run(ctx, Statement{SQL: endless}); !errors.Is(err, context.Canceled) {
				t.Errorf("it ended with %v", err)
			}
		})
	}
	for e.stats.queries.Load() < before+2 { // it has begun
		if _, err := e.Execute(context.Background(), "SHOW TABLES"); err != nil {
			t.Fatal(err)
		}
	}
	cancel()
	wg.Wait()
	settle(e) // would not end if the query went on
	if _, entries := e.results.memory(); entries != 1 {
		t.Errorf("%d entries", entries)
	}
}

// TestNormalise: which texts are one question.
func TestNormalise(t *testing.T) {
	for _, c := range []struct {
		a, b string
		same bool
	}{
		{"SELECT 1", "  SELECT\t1 ; ", true},
		{"SELECT 1 -- x\n", "SELECT /* y */ 1", true},
		{"SELECT a.b", "SELECT a . b", false},
		{"SELECT x'ab'", "SELECT x 'ab'", false},
		{"SELECT 'a'\n'b'", "SELECT 'a' 'b'", false},
		{"SELECT 'a'\n'b'", "SELECT 'a'  \n 'b'", true},
		{"SELECT 'a  b'", "SELECT 'a b'", false},
		{"SELECT \"A\"", "SELECT \"a\"", false},
		{"SELECT a<=b", "SELECT a< =b", false},
		{"SELECT - -1", "SELECT --1", false},
	} {
		ka, kb := normalise(c.a, token.Scan(c.a), nil), normalise(c.b, token.Scan(c.b), nil)
		if (ka == kb) != c.same {
			t.Errorf("%q is %q, %q is %q", c.a, ka, c.b, kb)
		}
	}
}

// TestVolatileFunctions asks DuckDB for its functions whose value changes by itself: each is known here.
func TestVolatileFunctions(t *testing.T) {
	e := openCached(t, Options{})
	a, err := e.Execute(context.Background(), "SELECT DISTINCT lower(function_name) FROM duckdb_functions() WHERE stability IN ('VOLATILE', 'CONSISTENT_WITHIN_QUERY')")
	if err != nil {
		t.Fatal(err)
	}
	defer a.Rows.Close()
	cols, n, err := a.Rows.ReadAll()
	if err != nil || n < 5 {
		t.Fatalf("%d functions, %v", n, err)
	}
	for i := range n {
		sql := "SELECT " + cols[0].Str(i) + "(1)"
		if !isVolatile(sql, token.Scan(sql)) {
			t.Errorf("%s is not known as volatile", cols[0].Str(i))
		}
	}
	for sql, want := range map[string]bool{
		"SELECT current_date": true, "SELECT CURRENT_TIMESTAMP": true, "SELECT * FROM t USING SAMPLE 10%": true, "SELECT * FROM t TABLESAMPLE 10%": true,
		"SELECT x.random()": true, "SELECT \"random\"()": true, "SELECT age(ts) FROM t": true, "EXPLAIN SELECT 1": true, "SELECT localtime": true,
		"SELECT age, version, now FROM t": false, "SELECT 'now()'": false, "SELECT count(*) FROM t": false,
	} {
		if isVolatile(sql, token.Scan(sql)) != want {
			t.Errorf("%s: want %v", sql, want)
		}
	}
}
