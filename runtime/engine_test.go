package runtime

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"tidemill/state/column"
)

// openTest opens an engine over dir, closed when the test ends.
func openTest(t *testing.T, o Options) *Engine {
	t.Helper()
	e, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// show runs a statement and returns its rows, a line each, columns separated by blanks.
func show(t *testing.T, e *Engine, sql string) string {
	t.Helper()
	a, err := e.Execute(context.Background(), sql)
	if err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	var lines []string
	add := func(cols []column.Column, n int) {
		for i := range n {
			var b []byte
			for c := range cols {
				if c > 0 {
					b = append(b, ' ')
				}
				b = column.AppendJSON(b, &cols[c], i)
			}
			lines = append(lines, string(b))
		}
	}
	if a.Rows == nil {
		add(a.Cols, a.N)
		return strings.Join(lines, "\n")
	}
	defer a.Rows.Close()
	for {
		cols, n, err := a.Rows.NextColumns()
		if errors.Is(err, io.EOF) {
			return strings.Join(lines, "\n")
		}
		if err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
		add(cols, n)
	}
}

func expect(t *testing.T, e *Engine, sql, want string) {
	t.Helper()
	if got := show(t, e, sql); got != want {
		t.Errorf("%s\n got %s\nwant %s", sql, got, want)
	}
}

func TestFlow(t *testing.T) {
	dir := t.TempDir()
	e := openTest(t, Options{Dir: dir})
	for _, q := range []string{
		"CREATE TABLE events (id BIGINT, user_id VARCHAR, region VARCHAR, amount BIGINT, kind VARCHAR DEFAULT 'sale')",
		"INSERT INTO events VALUES (1, 'u1', 'r1', 5, 'sale'), (2, 'u2', 'r1', 7, 'test')",
		"CREATE MATERIALIZED VIEW silver AS SELECT id, user_id, region, amount, amount * 2 AS doubled FROM events WHERE kind <> 'test' AND amount > 0",
		"CREATE MATERIALIZED VIEW gold AS SELECT region, user_id, count(*) AS n, sum(amount) AS total FROM silver GROUP BY region, user_id",
		"CREATE MATERIALIZED VIEW platinum AS SELECT region, sum(n) AS n, sum(total) AS total, max(total) AS top FROM gold GROUP BY region",
		"INSERT INTO events (id, user_id, region, amount) VALUES (3, 'u1', 'r1', 10), (4, NULL, 'r2', 1)",
	} {
		show(t, e, q)
	}
	check := func() {
		t.Helper()
		expect(t, e, "SELECT id, doubled FROM silver ORDER BY id", "1 10\n3 20\n4 2")
		expect(t, e, "SELECT * FROM gold ORDER BY ALL", "\"r1\" \"u1\" 2 15\n\"r2\" null 1 1")
		expect(t, e, "SELECT * FROM platinum ORDER BY ALL", "\"r1\" 2 15 15\n\"r2\" 1 1 1")
		_, row, err := e.LookupRow("gold", []string{"r1", "u1"})
		if err != nil || row == nil {
			t.Fatalf("lookup: %v %v", row, err)
		}
		if got := fmt.Sprintf("%s %s", column.AppendJSON(nil, &row[2], 0), column.AppendJSON(nil, &row[3], 0)); got != "2 15" {
			t.Errorf("lookup gives %s", got)
		}
	}
	check()
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	e = openTest(t, Options{Dir: dir})
	check()
	show(t, e, "DELETE FROM events WHERE id = 3")
	expect(t, e, "SELECT * FROM platinum ORDER BY ALL", "\"r1\" 1 5 5\n\"r2\" 1 1 1")
	show(t, e, "UPDATE events SET amount = amount + 1 WHERE region = 'r2'")
	expect(t, e, "SELECT * FROM platinum ORDER BY ALL", "\"r1\" 1 5 5\n\"r2\" 1 2 2")
	if got := show(t, e, "EXPLAIN MATERIALIZED VIEW platinum"); !strings.Contains(got, "a row per group, 2 in memory") {
		t.Errorf("EXPLAIN gives %s", got)
	}
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
}
