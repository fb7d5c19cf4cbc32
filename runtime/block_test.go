package runtime

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"tidemill/state/column"
	"tidemill/views/duck"
)

// refused runs a statement that must fail, and returns its error.
func refused(t *testing.T, e *Engine, sql string) error {
	t.Helper()
	a, err := e.Execute(context.Background(), sql)
	if err == nil {
		if a.Rows != nil {
			_, _, err = a.Rows.ReadAll()
			a.Rows.Close()
		}
		if err == nil {
			t.Fatalf("%s: not refused", sql)
		}
	}
	return err
}

func expectState(t *testing.T, e *Engine, sql, state string) {
	t.Helper()
	err := refused(t, e, sql)
	got := fmt.Sprintf("%T", err)
	var se *duck.SQLError
	var ce *ConflictError
	var te *TransactionError
	var ue *UnsupportedError
	switch {
	case errors.As(err, &se):
		got = se.SQLState
	case errors.As(err, &ce):
		got = ce.State
	case errors.As(err, &te):
		got = "25000"
	case errors.As(err, &ue):
		got = "0A000"
	}
	if got != state {
		t.Errorf("%s: %s (%v), want %s", sql, got, err, state)
	}
}

func TestChanges(t *testing.T) {
	dir := t.TempDir()
	e := openTest(t, Options{Dir: dir})
	for _, q := range []string{
		"CREATE TABLE k (a BIGINT, b VARCHAR, n BIGINT, PRIMARY KEY (a, b))",
		"CREATE TABLE bag (x BIGINT, y VARCHAR)",
		"CREATE MATERIALIZED VIEW s AS SELECT b, sum(n) AS n, count(*) AS c FROM k GROUP BY b",
		"CREATE MATERIALIZED VIEW sums AS SELECT y, sum(x) AS x FROM bag GROUP BY y",
		"INSERT INTO k VALUES (1, 'x', 10), (2, 'x', 20), (3, 'y', 30)",
		"INSERT INTO bag SELECT n, b FROM k",
		"INSERT OR REPLACE INTO k VALUES (1, 'x', 11), (4, 'y', 40)",
		"INSERT OR IGNORE INTO k VALUES (1, 'x', 99), (5, 'y', 50), (5, 'y', 51)",
		"INSERT INTO k VALUES (6, 'y', 60) ON CONFLICT DO NOTHING",
	} {
		show(t, e, q)
	}
	check := func(sql, want string) {
		t.Helper()
		expect(t, e, sql, want)
	}
	check("SELECT * FROM k ORDER BY ALL", "1 \"x\" 11\n2 \"x\" 20\n3 \"y\" 30\n4 \"y\" 40\n5 \"y\" 50\n6 \"y\" 60")
	check("SELECT * FROM s ORDER BY ALL", "\"x\" 31 2\n\"y\" 180 4")
	show(t, e, "UPDATE k SET a = a + 1 WHERE b = 'y'") // keys move over each other
	show(t, e, "UPDATE k SET b = 'z', n = bag.x + k.n FROM bag WHERE k.a = 2 AND bag.x = 20")
	check("SELECT * FROM k ORDER BY ALL", "1 \"x\" 11\n2 \"z\" 40\n4 \"y\" 30\n5 \"y\" 40\n6 \"y\" 50\n7 \"y\" 60")
	check("SELECT * FROM s ORDER BY ALL", "\"x\" 11 1\n\"y\" 180 4\n\"z\" 40 1")
	expectState(t, e, "UPDATE k SET a = 4 WHERE b = 'y'", "23505")
	expectState(t, e, "UPDATE k SET a = 4, b = 'y' WHERE b = 'x'", "23505")
	expectState(t, e, "UPDATE k SET n = bag.x FROM bag WHERE k.a = 1", "21000")
	expectState(t, e, "INSERT OR REPLACE INTO bag VALUES (1, 'q')", "0A000")
	check("DELETE FROM k USING bag WHERE bag.x + 10 = k.n OR bag.x = k.n", "3 "+fmt.Sprint(e.Commit()+1))
	check("SELECT * FROM k ORDER BY ALL", "1 \"x\" 11\n6 \"y\" 50\n7 \"y\" 60")
	check("DELETE FROM bag WHERE x > (SELECT min(n) FROM k) AND y IN (SELECT b FROM k)", "2 "+fmt.Sprint(e.Commit()+1))
	check("SELECT * FROM sums", "\"x\" 10")
	show(t, e, "CREATE TABLE copied AS SELECT a, n, n AS N, b FROM k WITH DATA")
	check("SELECT * FROM copied ORDER BY ALL", "1 11 11 \"x\"\n6 50 50 \"y\"\n7 60 60 \"y\"")
	show(t, e, "CREATE TABLE named (p, q) AS SELECT a, n, b FROM k WITH NO DATA")
	check("SELECT count(*) FROM named", "0")
	check("DESCRIBE named", "\"p\" \"BIGINT\" \"YES\" \"\" \"\"\n\"q\" \"BIGINT\" \"YES\" \"\" \"\"\n\"b\" \"VARCHAR\" \"YES\" \"\" \"\"")
	show(t, e, "TRUNCATE k")
	show(t, e, "TRUNCATE TABLE copied")
	check("SELECT * FROM s", "")
	check("SELECT count(*) FROM copied", "0")
	show(t, e, "INSERT INTO k VALUES (1, 'x', 1)")
	again := func() {
		t.Helper()
		check("SELECT * FROM k", "1 \"x\" 1")
		check("SELECT * FROM s", "\"x\" 1 1")
		check("SELECT * FROM sums", "\"x\" 10")
		check("SELECT count(*) FROM copied", "0")
	}
	again()
	for range 2 {
		if err := e.Close(); err != nil {
			t.Fatal(err)
		}
		e = openTest(t, Options{Dir: dir})
		again()
	}
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestNullKey(t *testing.T) {
	e := openTest(t, Options{Dir: t.TempDir()})
	defer e.Close()
	for _, q := range []string{
		"CREATE TABLE t (a BIGINT, b VARCHAR, n BIGINT)",
		"CREATE MATERIALIZED VIEW one AS SELECT a, count(*) AS n FROM t GROUP BY a",
		"CREATE MATERIALIZED VIEW two AS SELECT b, a, count(*) AS n FROM t GROUP BY a, b",
		"INSERT INTO t VALUES (NULL, NULL, 1), (NULL, '', 1), (NULL, '', 1), (7, NULL, 1)",
	} {
		show(t, e, q)
	}
	for _, c := range []struct {
		view       string
		key, nulls []string
		want       int64
	}{{"one", []string{""}, []string{"A"}, 3}, {"two", []string{"", ""}, []string{"a", "b"}, 1}, {"two", []string{"", ""}, []string{"a"}, 2}, {"two", []string{"", "7"}, []string{"b"}, 1}} {
		_, cols, err := e.LookupRow(c.view, c.key, c.nulls...)
		if err != nil || cols == nil {
			t.Fatalf("%v: %v %v", c, cols, err)
		}
		if got := column.Values[int64](&cols[len(cols)-1])[0]; got != c.want {
			t.Errorf("%v: %d", c, got)
		}
	}
	for _, nulls := range []string{"n", "b"} {
		var ke *KeyError
		if _, _, err := e.LookupRow("two", []string{"x", ""}, nulls); !errors.As(err, &ke) {
			t.Errorf("null=%s: %v", nulls, err)
		}
	}
}

func TestTransaction(t *testing.T) {
	dir := t.TempDir()
	e := openTest(t, Options{Dir: dir})
	for _, q := range []string{
		"CREATE TABLE k (id BIGINT PRIMARY KEY, n BIGINT)",
		"CREATE TABLE bag (x BIGINT)",
		"CREATE MATERIALIZED VIEW total AS SELECT sum(n) AS n FROM k",
		"CREATE MATERIALIZED VIEW plus AS SELECT x + 1 AS x FROM bag",
		"INSERT INTO k VALUES (1, 10), (2, 20)",
		"INSERT INTO bag VALUES (1), (2), (3)",
	} {
		show(t, e, q)
	}
	before := e.Commit()
	expect(t, e, `BEGIN;
		INSERT INTO k SELECT id + 10, n FROM k;
		DELETE FROM k WHERE id = 2;
		UPDATE k SET n = n + (SELECT count(*) FROM k) WHERE id > 10;
		INSERT INTO k VALUES (2, 5), (12, 1);
		UPDATE k SET id = 13 WHERE id = 12;
		DELETE FROM bag WHERE x = 2;
		INSERT INTO bag SELECT x * 10 FROM bag;
		UPDATE bag SET x = x + 1 WHERE x >= 10;
		DELETE FROM bag WHERE x = 31;
		SELECT * FROM plus;
		COMMIT`, fmt.Sprintf("14 %d", before+1))
	check := func() {
		t.Helper()
		expect(t, e, "SELECT * FROM k ORDER BY id", "1 10\n2 5\n11 13\n13 1")
		expect(t, e, "SELECT * FROM bag ORDER BY x", "1\n3\n11")
		expect(t, e, "SELECT * FROM plus ORDER BY x", "2\n4\n12")
		expect(t, e, "SELECT * FROM total", "29")
	}
	check()
	for _, c := range [][2]string{
		{"BEGIN; DELETE FROM k; INSERT INTO bag VALUES ('x'::BIGINT); COMMIT", "22P02"},
		{"BEGIN; DELETE FROM k; SELECT * FROM total; COMMIT", "25000"},
		{"BEGIN; TRUNCATE k; INSERT INTO k VALUES (1, 1); UPDATE k SET id = 2; SELECT error('no') FROM k WHERE id = 2; COMMIT", "22023"},
		{"BEGIN; DELETE FROM k; CREATE TABLE z (a INT); COMMIT", "25000"},
		{"BEGIN; DELETE FROM k; BEGIN; COMMIT", "25000"},
		{"BEGIN; DELETE FROM k", "25000"},
		{"BEGIN", "25000"}, {"COMMIT", "25000"}, {"ROLLBACK", "25000"},
		{"BEGIN; DELETE FROM k; VACUUM; COMMIT", "0A000"},
		{"BEGIN; DELETE FROM nothing; COMMIT", "*runtime.BlockError"},
	} {
		expectState(t, e, c[0], c[1])
	}
	expect(t, e, "BEGIN; TRUNCATE bag; DELETE FROM k; ROLLBACK", fmt.Sprintf("0 %d", before+1))
	expect(t, e, "BEGIN; SELECT * FROM total; INSERT INTO k SELECT 99, n FROM total WHERE false; COMMIT", fmt.Sprintf("0 %d", before+1))
	if e.Commit() != before+1 {
		t.Errorf("commit %d, want %d", e.Commit(), before+1)
	}
	check()
	show(t, e, "BEGIN; TRUNCATE bag; INSERT INTO bag VALUES (1), (3), (5); UPDATE bag SET x = 11 WHERE x = 5; COMMIT")
	check()
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	e = openTest(t, Options{Dir: dir})
	check()
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
}
