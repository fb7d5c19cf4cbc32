package shell

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"tidemill/cmd/tidemill/internal/client"
	"tidemill/cmd/tidemill/internal/server"
)

// open returns a session on a directory of its own, and what it prints.
func open(t *testing.T) (*Session, *strings.Builder) {
	t.Helper()
	l, err := server.OpenLocal(server.Options{Dir: t.TempDir(), Memory: 1 << 30})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
	out := &strings.Builder{}
	return New(Options{Client: client.NewOver(l.Dial), Where: "test", Out: out, Err: out, Format: FormatTable, Tags: true}), out
}

const schemaScript = `
CREATE TABLE events (id BIGINT, region VARCHAR, amount BIGINT);
CREATE MATERIALIZED VIEW by_region AS SELECT region, count(*) AS n, sum(amount) AS total FROM events GROUP BY region;
INSERT INTO events VALUES (1, 'north', 10), (2, 'south', 5), (3, 'north', NULL);
`

func TestSession(t *testing.T) {
	s, out := open(t)
	if err := s.Run(t.Context(), schemaScript); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	file := filepath.Join(t.TempDir(), "out.json")
	for _, c := range []struct{ in, want string }{
		{"", "CREATE TABLE (commit 1)\nCREATE MATERIALIZED VIEW (commit 2)\nINSERT 3 (commit 3)\n"},
		{"SELECT * FROM by_region ORDER BY region", " region | n | total\n--------+---+-------\n north  | 2 |    10\n south  | 1 |     5\n2 rows\n"},
		{"\\x\nSELECT id FROM events WHERE id = 3;\n\\x", "expanded display is on\n-[ record 1 ]---------\nid | 3\n1 row\nexpanded display is off\n"},
		{"\\format json\nSELECT id, amount FROM events WHERE id = 3;\n\\format table", "[{\"id\":3,\"amount\":null}]\n"},
		{`\d by_region`, "view by_region: 2 groups"},
		{`\d`, " by_region | view  |      |      2 |"},
		{`\dt events`, " amount      | BIGINT      | YES"},
		{`\d nothing`, `there is no relation nothing: \d lists them`},
		{`\nothing`, `unknown command \nothing: \? lists them`},
		{"\\maxrows 1\nSELECT * FROM events;\n\\maxrows 0", "3 rows (1 shown)"},
		{`\maxrows many`, `\maxrows takes a number of rows`},
		{"\\timing on\nSELECT 1 AS one;\n\\timing off", "Time: "},
		{`\conninfo`, "test, commit 3, 2 relations\n"},
		{`\?`, `\copy TABLE from FILE`},
		{"\\copy (SELECT id FROM events ORDER BY id) to '" + file + "'", "wrote 31 B to " + file},
		{"\\copy events from '" + file + "'", "appended 3 rows to events"},
		{"SELECT count(*) AS n FROM events", " 6\n"},
		{"SELECT\n  nope FROM events", "line 2:   nope FROM events\n          ^\n"},
		{"DROP TABLE events CASCADE", "DROP TABLE (commit 5)\n"},
	} {
		if c.in != "" {
			out.Reset()
			_ = s.Run(t.Context(), c.in) // what is wrong is printed
		}
		if !strings.Contains(out.String(), c.want) {
			t.Errorf("%s\nprinted\n%s\nwithout\n%s", c.in, out, c.want)
		}
	}
	if text, err := os.ReadFile(file); err != nil || !strings.HasPrefix(string(text), `[{"id":1}`) {
		t.Errorf("the file has %q, error %v", text, err)
	}
}

// TestStop: a script ends at its first error, or goes on and fails at its end.
func TestStop(t *testing.T) {
	s, out := open(t)
	script := "SELECT 1 AS a;\nSELECT nope;\nSELECT 2 AS b;\n"
	if err := s.Run(t.Context(), script); !errors.Is(err, ErrFailed) || strings.Contains(out.String(), " b\n") {
		t.Errorf("error %v, printed\n%s", err, out)
	}
	out.Reset()
	if err := s.Run(t.Context(), "\\set ON_ERROR_STOP off\n"+script); !errors.Is(err, ErrFailed) || !strings.Contains(out.String(), " b\n") {
		t.Errorf("error %v, printed\n%s", err, out)
	}
	out.Reset()
	if err := s.Run(t.Context(), "SELECT 1;\n\\q\nSELECT nope;"); err != nil || strings.Contains(out.String(), "error") {
		t.Errorf("after \\q: error %v, printed\n%s", err, out)
	}
}

// TestGone: a server that is not there is another kind of failure than SQL.
func TestGone(t *testing.T) {
	out := &strings.Builder{}
	s := New(Options{Client: client.New("http://127.0.0.1:1"), Where: "127.0.0.1:1", Out: out, Err: out, Format: FormatTable})
	err := s.Run(t.Context(), "SELECT 1; SELECT 2;")
	if conn, ok := errors.AsType[*ConnError](err); !ok || conn.Where != "127.0.0.1:1" || out.String() != "" {
		t.Errorf("error %v, printed %q", err, out)
	}
}

// TestInterrupt: a query that is cancelled says so, and the next one runs.
func TestInterrupt(t *testing.T) {
	s, out := open(t)
	var cancel context.CancelFunc
	s.Interrupt = func(ctx context.Context) (context.Context, context.CancelFunc) {
		ctx, cancel = context.WithCancel(ctx)
		return ctx, cancel
	}
	s.Out = writerFunc(func(p []byte) (int, error) { // the first rows are there: the query runs
		cancel()
		return len(p), nil
	})
	err := s.Run(t.Context(), "SELECT i, repeat('x', 100) AS x FROM range(1000000000) r(i)")
	if !errors.Is(err, ErrFailed) || out.String() != "cancelled\n" {
		t.Fatalf("error %v, printed %q", err, out)
	}
	s.Out = out
	if err := s.Run(t.Context(), "SELECT 42 AS n"); err != nil || !regexp.MustCompile(`42\n1 row`).MatchString(out.String()) {
		t.Errorf("error %v, printed %q", err, out)
	}
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }
