package duck

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"tidemill/state/column"
)

func TestTableNames(t *testing.T) {
	x := openTestExec(t)
	define(t, x, "bid", field("a", column.Int64))
	if err := x.DefineView("v", "SELECT a FROM bid"); err != nil {
		t.Fatal(err)
	}
	for sql, want := range map[string][]string{
		"SELECT * FROM v JOIN bid USING (a)":                               {"bid", "v"},
		"WITH q AS (FROM v) SELECT *, (SELECT max(zz) FROM later) FROM q;": {"later", "v"},
		`SELECT * FROM "Odd Name", main.bid`:                               {"Odd Name", "bid"},
		"SELECT 1":                                                         nil,
		"SELECT * FROM range(3)":                                           nil,
		"SELECT * FROM v UNION FROM bid":                                   {"bid", "v"},
	} {
		got, err := x.TableNames(sql)
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %q %v, want %q", sql, got, err, want)
		}
	}
	_, err := x.TableNames("SELECT ) FROM x")
	wantSQLError(t, err, "42601")
}

func TestStatementKinds(t *testing.T) {
	x := openTestExec(t)
	for sql, want := range map[string][]StatementKind{
		"SELECT ';' ; -- one; comment\n; INSERT INTO t VALUES ($$;$$)":                             {Select, Insert},
		"WITH a(b) AS (SELECT 1), insert AS MATERIALIZED (SELECT 2) INSERT INTO t SELECT * FROM a": {Insert},
		"WITH RECURSIVE r AS (SELECT 1 UNION ALL SELECT * FROM r) SELECT * FROM r":                 {Select},
		"UPDATE t SET a = ';'; DELETE FROM t; FROM t; (SELECT 1); VALUES (1); TABLE t":             {Update, Delete, Select, Select, Select, Select},
		"CREATE OR REPLACE TABLE t (a INT); CREATE VIEW v AS SELECT 1; EXPLAIN SELECT 1":           {CreateTable, CreateView, Explain},
		`SELECT 1 AS "a;""b"; SELECT E'\';' /* ; /* nested ; */ */; DROP TABLE t`:                  {Select, Select, "DROP"},
		"":   nil,
		" ;": nil,
	} {
		parts, err := x.StatementKinds(sql)
		if err != nil {
			t.Errorf("%s: %v", sql, err)
			continue
		}
		var got []StatementKind
		for _, p := range parts {
			got = append(got, p.Kind)
			if _, err := x.StatementKinds(sql[p.From:p.To]); err != nil {
				t.Errorf("piece %q: %v", sql[p.From:p.To], err)
			}
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %v, want %v", sql, got, want)
		}
	}
	_, err := x.StatementKinds("SELECT 1; SELEC 2")
	if e := wantSQLError(t, err, "42601"); e.Position != 10 {
		t.Error(e)
	}
}

// What a stranger may not do, and that nothing of it leaves a trace.
func TestLockDown(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "secret.csv")
	if err := os.WriteFile(file, []byte("a\n1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	x, err := OpenExec(Options{Threads: 2, TempDir: filepath.Join(dir, "spill")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(x.Close)
	define(t, x, "r", field("a", column.Int64))
	snap := tables{"r": {{Cols: []column.Column{ints(1)}, N: 1}}}
	out := filepath.Join(dir, "out")
	for _, sql := range []string{
		"SELECT * FROM '" + file + "'", "SELECT * FROM read_csv('" + file + "')", "SELECT * FROM read_text('" + file + "')",
		"SELECT * FROM glob('" + dir + "/*')", "SELECT * FROM parquet_metadata('" + file + "')", "SELECT * FROM read_blob('http://localhost/x')",
		"COPY (SELECT 1) TO '" + out + "'", "COPY r FROM '" + file + "'", "ATTACH '" + out + "'", "ATTACH ':memory:' AS m2",
		"EXPORT DATABASE '" + out + "'", "INSTALL httpfs", "LOAD httpfs", "SET threads = 9", "SET memory_limit = '9GB'",
		"SET enable_external_access = true", "RESET lock_configuration", "PRAGMA threads = 9", "PRAGMA enable_profiling",
		"CALL enable_logging()", "SELECT * FROM enable_logging()", `SELECT * FROM system.main."enable_logging" /* x */ ()`,
		"SELECT * FROM enable_profiling()", "SELECT * FROM query('SELECT * FROM checkpoint()')", "SELECT * FROM query_table('r')",
		"SELECT * FROM checkpoint()", "FROM force_checkpoint()", "CHECKPOINT", "CREATE SECRET s (TYPE s3)", "SET VARIABLE z = 1",
		"CREATE TABLE t (a INT)", "CREATE VIEW w AS SELECT 1", "DROP VIEW r", "CREATE MACRO f() AS 1", "CREATE SCHEMA s",
		"INSERT INTO r VALUES (1)", "UPDATE r SET a = 1", "DELETE FROM r", "BEGIN", "USE memory", "VACUUM", "ANALYZE",
		"SELECT 1; SELECT 2", "EXPLAIN ANALYZE CREATE TABLE t AS SELECT 1", "EXPLAIN ANALYZE (FORMAT json) CREATE TABLE t AS SELECT 1",
		"EXPLAIN CREATE TABLE t AS SELECT 1", "PREPARE p AS SELECT 1", "EXECUTE p", "SELECT write_log('x')", "SELECT sleep_ms(100000)",
		"SELECT * FROM json_execute_serialized_sql('{}')",
		"FROM checkpoint\u00a0()", "FROM checkpoint\u2003()", "FROM checkpoint\u3000()", "FROM checkpoint\ufeff()", "FROM\u00a0checkpoint()", "FROM\u200bcheckpoint()",
		"FROM U&\"check\\0070oint\"()", "SELECT 'x'.write_log()", "FROM checkpoint--\n()", "FROM Checkpoint /* /* */ */ ()", "FROM \"checkpoint\" ( )",
		"FROM checkpoint\v()", "FROM checkpoint\u2028()", "FROM checkpoint\u0085()", "FROM checkpoint\u180e()", "SELECT * FROM arrow_scan(1, 2, 3)", "SELECT * FROM duckdb_logs()",
		"SELECT * FROM sniff_csv('" + file + "')", "SELECT * FROM tidemill_scratch.nope", "SELECT getenv('PATH')", "",
		"PIVOT r ON a USING count(*)",
	} {
		r, err := x.Query(context.Background(), sql, nil, snap)
		if err == nil {
			_, _, err = r.ReadAll()
			r.Close()
		}
		var e *SQLError
		if !errors.As(err, &e) {
			t.Errorf("%s: %v", sql, err)
		}
	}
	for _, sql := range []string{
		"SELECT * FROM r", "EXPLAIN SELECT * FROM r", "EXPLAIN ANALYZE SELECT * FROM r", "EXPLAIN (FORMAT json) SELECT 1", "DESCRIBE r", "SHOW TABLES", "SUMMARIZE r",
		"WITH a AS (SELECT 1) SELECT * FROM a", "FROM r", "TABLE r", "VALUES (1)", "SELECT * FROM range(3)", "SELECT unnest([1, 2])",
		"SELECT ' enable_logging() '", "SELECT 1 -- checkpoint()", "PIVOT r ON a IN (1) USING count(*)", "SELECT view_name FROM duckdb_views()",
	} {
		r, err := x.Query(context.Background(), sql, nil, snap)
		if err != nil {
			t.Errorf("%s: %v", sql, err)
			continue
		}
		if _, n, err := r.ReadAll(); err != nil || n == 0 {
			t.Errorf("%s: %d rows, %v", sql, n, err)
		}
		r.Close()
	}
	left, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range left {
		if f.Name() != "secret.csv" && f.Name() != "spill" {
			t.Errorf("%s was made", f.Name())
		}
	}
}

// allowedTableFunctions are harmless.
var allowedTableFunctions = strings.Fields(`
	duckdb_columns duckdb_constraints duckdb_databases duckdb_dependencies duckdb_functions duckdb_indexes
	duckdb_keywords duckdb_memory duckdb_schemas duckdb_sequences duckdb_settings duckdb_tables duckdb_types
	duckdb_views generate_series icu_calendar_names json_each json_tree pg_timezone_names pragma_collations
	pragma_database_size pragma_platform pragma_show pragma_table_info pragma_version range repeat repeat_row
	summary test_all_types tidemill_scan tidemill_scan_rowid unnest`)

// Every table function of the library is allowed or denied by name.
func TestGuardKnowsAllTableFunctions(t *testing.T) {
	x := openTestExec(t)
	rows, err := x.setup.rows("SELECT DISTINCT lower(function_name) FROM duckdb_functions() WHERE function_type = 'table'")
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range rows {
		if slices.Contains(allowedTableFunctions, r[0]) == deniedFunctions[strings.ToUpper(r[0])] {
			t.Errorf("table function %s must be either denied in guard.go or allowed here", r[0])
		}
	}
}

func TestQueryErrors(t *testing.T) {
	x := openTestExec(t)
	define(t, x, "r", field("a", column.Int64), field("s", column.Varchar))
	snap := tables{"r": {{Cols: []column.Column{ints(1, 1<<62), column.OfStrings(column.T(column.Varchar), []string{"1", "x"})}, N: 2}}}
	for _, c := range []struct{ sql, state, at string }{
		{"SELECT s::INT FROM r", "22P02", "::INT"},
		{"SELECT a + 9223372036854775807 FROM r", "22003", ""},
		{"SELECT a::TINYINT FROM r", "22003", "::TINYINT"},
		{"SELECT (s || '-')::DATE FROM r", "22007", "::DATE"},
		{"SELECT nope FROM r", "42703", "nope"},
		{"SELECT a FROM nope", "42P01", "nope"},
		{"SELECT ? FROM r", "08P01", ""},
		{"SELECT (SELECT a FROM r)", "22023", ""},
		{"SELECT error('boo')", "22023", ""},
	} {
		r, err := x.Query(context.Background(), c.sql, nil, snap)
		if err == nil {
			_, _, err = r.ReadAll()
			r.Close()
		}
		e := wantSQLError(t, err, c.state)
		if c.at != "" && e.Position != strings.LastIndex(c.sql, c.at) {
			t.Errorf("%s: position %d of %v", c.sql, e.Position, e)
		}
	}
	if _, err := x.Query(context.Background(), "SELECT ?", []any{struct{}{}}, snap); err == nil {
		t.Error("a struct was bound")
	}
	cols, _ := read(t, x, "SELECT $1::DATE, $2 || $1, $3::BLOB, $4 IS NULL", snap, "2020-01-02", "x", []byte("a\x00"), nil)
	if column.Values[int32](&cols[0])[0] != 18263 || cols[1].Str(0) != "x2020-01-02" || cols[2].Str(0) != "a\x00" || cols[3].Data[0] != 1 {
		t.Error("parameters", cols)
	}
}

// A cancelled query ends with its context's error, in every phase, and its connection lives on.
func TestCancel(t *testing.T) {
	x := openTestExec(t)
	endless := "SELECT count(*) FROM range(1000000) a, range(1000000) b WHERE a.range * b.range % 7 = 8"
	check := func(err error) {
		t.Helper()
		wantSQLError(t, err, "57014")
		if !errors.Is(err, context.Canceled) {
			t.Errorf("%v is not the context's error", err)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, err := x.Query(ctx, "SELECT 1", nil, nil)
	check(err)
	for range 3 {
		ctx, cancel := context.WithCancel(context.Background())
		started := make(chan struct{})
		go func() {
			<-started
			cancel()
		}()
		define(t, x, "r", field("a", column.Int64))
		_, err := x.Query(ctx, strings.Replace(endless, "range(1000000) a", "r, range(1000000) a", 1), nil, signal{started})
		check(err)
	}
	ctx, cancel = context.WithCancel(context.Background())
	r, err := x.Query(ctx, "SELECT * FROM range(100000000)", nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := r.NextColumns(); err != nil {
		t.Fatal(err)
	}
	cancel()
	_, _, err = r.ReadAll()
	check(err)
	r.Close()
	if got := int64At(t, x, "SELECT 42", nil); got != 42 {
		t.Fatal(got)
	}
}

// signal closes a channel when the query has begun to ask for rows.
type signal struct{ started chan struct{} }

func (s signal) Relation(string) (Chunks, error) {
	close(s.started)
	return Chunks{{Cols: []column.Column{ints(1)}, N: 1}}, nil
}

func TestExecClosed(t *testing.T) {
	x, err := OpenExec(Options{})
	if err != nil {
		t.Fatal(err)
	}
	r, err := x.Query(context.Background(), "SELECT * FROM range(100000)", nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	x.Close()
	x.Close()
	if _, n, err := r.ReadAll(); err != nil || n != 100000 {
		t.Error(n, err)
	}
	r.Close()
	if _, err := x.Query(context.Background(), "SELECT 1", nil, nil); err != ErrClosed {
		t.Error(err)
	}
	if err := x.DefineRelation("r", nil); err != ErrClosed {
		t.Error(err)
	}
}
