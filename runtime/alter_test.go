package runtime

import (
	"errors"
	"strings"
	"testing"

	"tidemill/views/catalog"
)

// dependents runs a statement that must be refused for the sake of others, and returns their names.
func dependents(t *testing.T, e *Engine, sql string) string {
	t.Helper()
	err := refused(t, e, sql)
	var de *catalog.DependentsError
	if !errors.As(err, &de) {
		t.Fatalf("%s: %v", sql, err)
	}
	return strings.Join(de.Dependents, " ")
}

func runAll(t *testing.T, e *Engine, stmts ...string) {
	t.Helper()
	for _, q := range stmts {
		show(t, e, q)
	}
}

func TestAlter(t *testing.T) {
	dir := t.TempDir()
	e := openTest(t, Options{Dir: dir})
	runAll(t, e,
		"CREATE TABLE t (a BIGINT, id BIGINT PRIMARY KEY, b VARCHAR, c BIGINT)",
		"CREATE MATERIALIZED VIEW v AS SELECT b, sum(c) AS c FROM t GROUP BY b",
		"CREATE MATERIALIZED VIEW w AS SELECT id, c FROM t",
		"INSERT INTO t VALUES (1, 1, 'x', 10), (2, 2, 'y', 20), (3, 3, 'y', 30)",
		"CHECKPOINT",
		"INSERT INTO t VALUES (4, 4, 'x', 40)",
		"ALTER TABLE t ADD COLUMN d VARCHAR DEFAULT 'new'",
		"ALTER TABLE t DROP COLUMN a",
		"INSERT INTO t (id, b, c) VALUES (5, 'z', 50)",
		"UPDATE t SET d = 'old', c = 21 WHERE id = 2",
		"ALTER TABLE t RENAME COLUMN d TO e",
	)
	check := func() {
		t.Helper()
		expect(t, e, "SELECT * FROM t ORDER BY id", "1 \"x\" 10 \"new\"\n2 \"y\" 21 \"old\"\n3 \"y\" 30 \"new\"\n4 \"x\" 40 \"new\"\n5 \"z\" 50 \"new\"")
		expect(t, e, "SELECT * FROM v ORDER BY b", "\"x\" 50\n\"y\" 51\n\"z\" 50")
		expect(t, e, "SELECT * FROM w ORDER BY id", "1 10\n2 21\n3 30\n4 40\n5 50")
		if _, row, err := e.LookupRow("w", []string{"3"}); err != nil || row == nil {
			t.Errorf("lookup: %v %v", row, err)
		}
	}
	check()
	if got := dependents(t, e, "ALTER TABLE t DROP COLUMN c"); got != "v w" {
		t.Errorf("c is used by %s", got)
	}
	if got := dependents(t, e, "ALTER TABLE t RENAME COLUMN b TO x"); got != "v" {
		t.Errorf("b is used by %s", got)
	}
	if got := dependents(t, e, "ALTER TABLE t RENAME TO u"); got != "v w" {
		t.Errorf("t is followed by %s", got)
	}
	expectState(t, e, "ALTER TABLE t DROP COLUMN id", "0A000")
	expectState(t, e, "ALTER TABLE t ADD COLUMN f INT NOT NULL", "0A000")
	refused(t, e, "ALTER TABLE t ADD COLUMN b INT")
	refused(t, e, "ALTER TABLE t ADD COLUMN f INT, g INT")
	refused(t, e, "ALTER TABLE t DROP COLUMN nothing")
	runAll(t, e, "ALTER TABLE IF EXISTS nothing DROP COLUMN x", "ALTER TABLE t DROP COLUMN IF EXISTS nothing", "ALTER TABLE t ADD COLUMN IF NOT EXISTS b INT",
		"ALTER MATERIALIZED VIEW w RENAME TO \"W x\"", "ALTER MATERIALIZED VIEW \"W x\" RENAME TO w",
		"COMMENT ON TABLE t IS 'it''s a table'", "COMMENT ON COLUMN t.b IS 'a column'")
	for range 2 {
		check()
		if err := e.Close(); err != nil {
			t.Fatal(err)
		}
		e = openTest(t, Options{Dir: dir})
	}
	check()
	if rel, err := e.Catalog().Lookup("t"); err != nil || rel.Comment != "it's a table" || rel.Comments[1] != "a column" {
		t.Errorf("comments: %+v %v", rel, err)
	}
	runAll(t, e, "ALTER TABLE t ALTER COLUMN c SET DEFAULT 7", "INSERT INTO t (id) VALUES (6)", "ALTER TABLE t ALTER c DROP DEFAULT", "INSERT INTO t (id) VALUES (7)")
	expect(t, e, "SELECT id, c, e FROM t WHERE id > 5 ORDER BY id", "6 7 \"new\"\n7 null \"new\"")
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestReplace(t *testing.T) {
	dir := t.TempDir()
	e := openTest(t, Options{Dir: dir})
	runAll(t, e,
		"CREATE TABLE t (a BIGINT, b VARCHAR)",
		"INSERT INTO t VALUES (1, 'x'), (2, 'y'), (3, 'y')",
		"CREATE MATERIALIZED VIEW u AS SELECT a, b FROM t WHERE a > 1",
		"CREATE MATERIALIZED VIEW v AS SELECT b, count(*) AS n FROM u GROUP BY b",
		"CREATE MATERIALIZED VIEW w (m) AS SELECT max(n) FROM v",
		"CREATE OR REPLACE MATERIALIZED VIEW u AS SELECT a + 1 AS a, b FROM t",
	)
	check := func() {
		t.Helper()
		expect(t, e, "SELECT * FROM v ORDER BY b", "\"x\" 1\n\"y\" 2")
		expect(t, e, "SELECT m FROM w", "2")
		expect(t, e, "SELECT sum(a)::BIGINT FROM u", "9")
	}
	check()
	if got := dependents(t, e, "CREATE OR REPLACE MATERIALIZED VIEW u AS SELECT a FROM t"); got != "v" {
		t.Errorf("breaks %s", got)
	}
	if got := dependents(t, e, "CREATE OR REPLACE MATERIALIZED VIEW u AS SELECT n AS a, b FROM v"); got != "v" {
		t.Errorf("cycle through %s", got)
	}
	if got := dependents(t, e, "CREATE OR REPLACE MATERIALIZED VIEW u AS SELECT * FROM u"); got != "u" {
		t.Errorf("cycle through %s", got)
	}
	refused(t, e, "CREATE OR REPLACE TABLE u (a BIGINT)")
	check()
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	e = openTest(t, Options{Dir: dir})
	check()
	runAll(t, e, "CREATE OR REPLACE TABLE t (b VARCHAR, z BIGINT, a BIGINT)", "INSERT INTO t VALUES ('q', 1, 2)")
	expect(t, e, "SELECT * FROM v", "\"q\" 1")
	if got := dependents(t, e, "CREATE OR REPLACE TABLE t AS SELECT 'x' AS b, 1 AS a"); got != "u v w" {
		t.Errorf("followed by %s", got)
	}
	runAll(t, e, "CREATE TABLE free AS SELECT 1 AS a", "CREATE OR REPLACE TABLE free AS SELECT a + 1 AS b FROM free")
	expect(t, e, "SELECT b FROM free", "2")
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestSchemas(t *testing.T) {
	dir := t.TempDir()
	e := openTest(t, Options{Dir: dir})
	refused(t, e, "CREATE TABLE s.t (a BIGINT)")
	runAll(t, e,
		"CREATE SCHEMA s", "CREATE SCHEMA IF NOT EXISTS s", `CREATE SCHEMA "S 2"`,
		"CREATE TABLE s.t (a BIGINT PRIMARY KEY, b VARCHAR DEFAULT 'd')",
		"CREATE TABLE t (a BIGINT)",
		`CREATE TABLE "s.t" (x BIGINT)`,
		`CREATE TABLE "S 2"."T.1" ("A b" BIGINT, n BIGINT)`,
		"INSERT INTO s.t (a) VALUES (1), (2)", "INSERT INTO main.t VALUES (7)", `INSERT INTO "s.t" VALUES (8)`, `INSERT INTO "S 2"."T.1" SELECT a, a * 2 FROM s.t`,
		"CREATE MATERIALIZED VIEW s.v AS SELECT b, count(*) AS n FROM s.t GROUP BY b",
		"CREATE MATERIALIZED VIEW v AS SELECT v.n, v.n * 2 AS m FROM s.v AS v WHERE v.n < 0 UNION ALL SELECT n, \"A b\" FROM \"S 2\".\"T.1\"",
		"UPDATE s.t SET b = 'e' WHERE t.a = 2", "DELETE FROM s.t WHERE a = 9",
		"COMMENT ON SCHEMA s IS 'mine'",
	)
	check := func() {
		t.Helper()
		expect(t, e, "SELECT * FROM s.v ORDER BY b", "\"d\" 1\n\"e\" 1")
		expect(t, e, "SELECT m FROM v ORDER BY m", "1\n2")
		expect(t, e, "SELECT (SELECT a FROM t), (SELECT x FROM \"s.t\"), (SELECT sum(n)::BIGINT FROM s.v)", "7 8 2")
		for _, name := range []string{"s.t", `"s".t`, "S.T"} {
			if _, row, err := e.LookupRow(name, []string{"1"}); err != nil || row == nil {
				t.Errorf("lookup in %s: %v %v", name, row, err)
			}
		}
	}
	check()
	refused(t, e, "CREATE SCHEMA s")
	refused(t, e, "CREATE SCHEMA information_schema")
	if got := dependents(t, e, "DROP SCHEMA s"); got != "s.t s.v" {
		t.Errorf("s holds %s", got)
	}
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	e = openTest(t, Options{Dir: dir})
	check()
	runAll(t, e, "DROP SCHEMA s CASCADE", "DROP SCHEMA IF EXISTS s")
	refused(t, e, "SELECT * FROM s.t")
	expect(t, e, "SELECT x FROM \"s.t\"", "8")
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
}
