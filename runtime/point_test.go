package runtime

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"tidemill/state/column"
)

// TestPointReads: a query by key is answered by a lookup once its shape is known, and what it answers is what DuckDB does.
func TestPointReads(t *testing.T) {
	e, plain := openCached(t, Options{ResultCache: -1}), openCached(t, Options{ResultCache: -1})
	for _, x := range []*Engine{e, plain} {
		for _, sql := range []string{
			"CREATE TABLE kv (id INTEGER PRIMARY KEY, name VARCHAR, d DECIMAL(9,2), h HUGEINT)",
			`CREATE TABLE two (a VARCHAR, b BIGINT, "order" VARCHAR, PRIMARY KEY (a, b))`,
			"CREATE MATERIALIZED VIEW v AS SELECT name, count(*) AS n, sum(d) AS s FROM kv GROUP BY name",
			"INSERT INTO kv VALUES (1, 'a', 1.5, 1), (-2, 'b', NULL, 2), (3, 'a', 2, 3)",
			"INSERT INTO two VALUES ('x', 1, 'o'), ('it''s', 2, NULL)",
		} {
			if _, err := x.Execute(context.Background(), sql); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, c := range []struct {
		sql  string
		fast bool // the second query of the shape is a lookup
	}{
		{"SELECT * FROM two WHERE a = 'x' AND b = %d", true}, {"SELECT b, a FROM two WHERE b = %d AND a = 'x'", true},
		{"SELECT id, name, d FROM kv WHERE id = %d", true}, {"select NAME, id from KV where ID = %d", true}, {"SELECT id FROM kv WHERE id = -%d", true},
		{"SELECT n, s FROM v WHERE name = 'a'", true},
		{"SELECT name, n FROM v WHERE name = 'a'", true},
		{"SELECT * FROM kv WHERE id = %d", false},                                                           // HUGEINT
		{"SELECT id FROM kv WHERE id = '%d'", false},                                                        // converted
		{"SELECT id FROM kv WHERE id = %d.0", false}, {"SELECT id FROM kv WHERE id = 99999999999%d", false}, // out of range
		{"SELECT id FROM kv WHERE name = 'a%d'", false}, {"SELECT id FROM kv WHERE id = %d AND id = 1", false},
		{"SELECT a FROM two WHERE a = 'it''s' AND b = %d", false}, {"SELECT id AS x FROM kv WHERE id = %d", false},
		{"SELECT id FROM kv WHERE id = %d LIMIT 1", false}, {"SELECT order FROM two WHERE a = 'x' AND b = %d", false}, {"SELECT nope FROM kv WHERE id = %d", false},
	} {
		for i := 1; i <= 3; i++ {
			sql := strings.ReplaceAll(c.sql, "%d", fmt.Sprint(i))
			before := e.stats.lookups.Load()
			got, want := tryAsk(e, sql), tryAsk(plain, "SELECT * FROM ("+sql+")")
			if got != want {
				t.Errorf("%s: %s, want %s", sql, got, want)
			}
			if fast := e.stats.lookups.Load() > before; fast != (c.fast && i > 1) {
				t.Errorf("%s, query %d: by lookup is %v", sql, i, fast)
			}
		}
	}
	// A change is seen at once, and a definition forgets the shapes.
	for i, step := range []struct{ sql, want string }{
		{"UPDATE kv SET name = 'z' WHERE id = 1", ""}, {"SELECT id, name, d FROM kv WHERE id = 1", "[1 z 1.50]"}, {"DELETE FROM kv WHERE id = 1", ""},
		{"SELECT id, name, d FROM kv WHERE id = 1", "[]"}, {"DROP MATERIALIZED VIEW v", ""}, {"DROP TABLE kv", ""},
		{"CREATE TABLE kv (id BIGINT PRIMARY KEY, name BIGINT, d BIGINT)", ""}, {"INSERT INTO kv VALUES (1, 5, 6)", ""},
		{"SELECT id, name, d FROM kv WHERE id = 1", "[1 5 6]"}, {"SELECT id, name, d FROM kv WHERE id = 1", "[1 5 6]"},
	} {
		if got := tryAsk(e, step.sql); step.want != "" && got != step.want {
			t.Errorf("step %d, %s: %s, want %s", i, step.sql, got, step.want)
		}
	}
}

// tryAsk shows all of a query's rows, or the kind of its error.
func tryAsk(e *Engine, sql string) string {
	a, err := e.Execute(context.Background(), sql)
	if err != nil {
		return "an error"
	}
	cols, n := a.Cols, a.N
	if a.Rows != nil {
		defer a.Rows.Close()
		if cols, n, err = a.Rows.ReadAll(); err != nil {
			return "an error"
		}
	}
	out := "["
	for i := range n {
		for c := range cols {
			if i+c > 0 {
				out += " "
			}
			if cols[c].IsNull(i) {
				out += "NULL"
			} else {
				out += string(column.AppendText(nil, &cols[c], i))
			}
		}
	}
	return out + "]"
}
