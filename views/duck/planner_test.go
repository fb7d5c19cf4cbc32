package duck

import (
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"

	"tidemill/state/column"
)

func openTestPlanner(t testing.TB) *Planner {
	t.Helper()
	p, err := OpenPlanner()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	if err := p.Define(`odd "name"`, []column.Field{{Name: `a "b"`, Type: column.T(column.Int64), NotNull: true}}); err != nil {
		t.Fatal(err)
	}
	if err := p.Define("bid", []column.Field{field("auction", column.Int64), field("price", column.Int64), field("url", column.Varchar), field("ts", column.Timestamp)}); err != nil {
		t.Fatal(err)
	}
	return p
}

func TestPlan(t *testing.T) {
	p := openTestPlanner(t)
	for _, sql := range []string{
		`SELECT "a ""b""" FROM "odd ""name"""`,
		"SELECT auction, count(*), sum(price) FROM bid WHERE price > 10 GROUP BY auction;",
		"WITH c AS (SELECT * FROM bid) SELECT DISTINCT url FROM c -- the end",
		"FROM bid",
		"VALUES (1), (2)",
	} {
		for _, optimize := range []bool{true, false} {
			out, err := p.Plan(sql, optimize)
			if err != nil {
				t.Fatalf("%s: %v", sql, err)
			}
			var plan struct {
				Plans []struct {
					Type string `json:"type"`
				} `json:"plans"`
			}
			if err := json.Unmarshal(out, &plan); err != nil || len(plan.Plans) != 1 || !strings.HasPrefix(plan.Plans[0].Type, "LOGICAL_") {
				t.Fatalf("%s: %v: %s", sql, err, out)
			}
		}
	}
	if err := p.Drop("bid"); err != nil {
		t.Fatal(err)
	}
	_, err := p.Plan("SELECT * FROM bid", true)
	wantSQLError(t, err, "42P01")
}

func TestPlanErrors(t *testing.T) {
	p := openTestPlanner(t)
	for _, c := range []struct {
		sql, kind, state, at string
	}{
		{"SELECT nope FROM bid", "Binder", "42703", "nope"},
		{"SELECT 'ä', 'ö',\n  nope FROM bid", "Binder", "42703", "nope"},
		{"SELECT * FROM nope", "Catalog", "42P01", "nope"},
		{"SELECT nope(price) FROM bid", "Catalog", "42883", "nope"},
		{"SELECT price FRM bid x y", "Parser", "42601", "bid"},
		{"SELECT price FROM bid GROUP BY auction", "Binder", "42803", "price"},
		{"SELECT 1; SELECT 2", "Parser", "42601", "SELECT 2"},
		{"INSERT INTO bid VALUES (1, 2, 'x', now())", "Parser", "42601", "INSERT"},
		{"DROP TABLE bid", "Parser", "42601", "DROP"},
		{"SELECT b.auction FROM bid b, bid c WHERE auction = 1", "Binder", "42702", "auction = 1"},
		{"SELECT url + 1 + interval 1 day FROM bid", "Binder", "42883", ""},
		{"SELECT * FROM read_csv('/etc/passwd')", "Permission", "42501", ""},
		{"", "Parser", "42601", ""},
		{"SELECT 1\x00", "Parser", "42601", "\x00"},
	} {
		for _, optimize := range []bool{true, false} {
			_, err := p.Plan(c.sql, optimize)
			e := wantSQLError(t, err, c.state)
			if e.Kind != c.kind {
				t.Errorf("%s: kind %s, want %s", c.sql, e.Kind, c.kind)
			}
			if c.at != "" && e.Position != strings.LastIndex(c.sql, c.at) {
				t.Errorf("%s: position %d, want %d (%v)", c.sql, e.Position, strings.LastIndex(c.sql, c.at), e)
			}
			if strings.Contains(e.Message, "\n") || strings.Contains(e.Message, "{") {
				t.Errorf("%s: message %q", c.sql, e.Message)
			}
		}
	}
	_, err := p.Plan("SELECT 'ä', 'ö',\n  nope FROM bid", true)
	if e := wantSQLError(t, err, "42703"); e.Line != 2 || e.Column != 3 || !strings.Contains(e.Hint, "Candidate bindings") {
		t.Errorf("line %d column %d hint %q", e.Line, e.Column, e.Hint)
	}
}

func TestColumns(t *testing.T) {
	p := openTestPlanner(t)
	got, err := p.Columns("SELECT auction AS a, price::DECIMAL(9,2) AS d, ts::TIMESTAMPTZ AS z, sum(price) FROM bid GROUP BY ALL")
	want := []column.Field{field("a", column.Int64), {Name: "d", Type: column.DecimalOf(9, 2)},
		field("z", column.TimestampTZ), field("sum(price)", column.HugeInt)}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Fatalf("%v %v", got, err)
	}
	_, err = p.Columns("SELECT 1, [price::BIGNUM] AS l FROM bid")
	if e := wantSQLError(t, err, "0A000"); !strings.Contains(e.Message, "column l has type BIGNUM[]") {
		t.Error(e)
	}
}

func TestVolatileFunctions(t *testing.T) {
	p := openTestPlanner(t)
	got, err := p.VolatileFunctions()
	if err != nil || got["random"] != "VOLATILE" || got["now"] != "CONSISTENT_WITHIN_QUERY" || got["abs"] != "" {
		t.Fatal(got, err)
	}
}

func TestCreateTable(t *testing.T) {
	p := openTestPlanner(t)
	got, err := p.CreateTable(`CREATE TABLE IF NOT EXISTS bid ( -- a comment
		"Id" BIGINT, b VARCHAR NOT NULL DEFAULT 'it''s', price DECIMAL(9, 2) DEFAULT 1 + 1,
		ts TIMESTAMP DEFAULT now(), PRIMARY KEY (b, "Id"))`)
	if err != nil {
		t.Fatal(err)
	}
	if got.Name != "bid" || !got.IfNotExists || got.OrReplace || !reflect.DeepEqual(got.PrimaryKey, []int{1, 0}) {
		t.Errorf("%+v", got)
	}
	want := []column.Field{{Name: "Id", Type: column.T(column.Int64), NotNull: true}, {Name: "b", Type: column.T(column.Varchar), NotNull: true},
		{Name: "price", Type: column.DecimalOf(9, 2)}, field("ts", column.Timestamp)}
	if !reflect.DeepEqual(got.Fields, want) {
		t.Errorf("fields %+v", got.Fields)
	}
	if d := got.Defaults; d[0] != "" || d[1] != "'it''s'" || d[2] != "(1 + 1)" || !strings.Contains(d[3], "now") {
		t.Errorf("defaults %q", d)
	}
	if again, err := p.CreateTable("CREATE OR REPLACE TABLE bid (x UUID)"); err != nil || !again.OrReplace {
		t.Errorf("the first one was not rolled back: %v", err)
	}
	if cols, err := p.Columns("SELECT * FROM bid"); err != nil || len(cols) != 4 {
		t.Errorf("the relation of that name was touched: %v %v", cols, err)
	}
}

func TestCreateTableRefusals(t *testing.T) {
	p := openTestPlanner(t)
	for _, c := range []struct{ ddl, state, message, at string }{
		{"CREATE TABLE t (a INT CHECK (a > 0))", "0A000", "CHECK", "CHECK"},
		{"CREATE TABLE t (a INT UNIQUE)", "0A000", "UNIQUE", "UNIQUE"},
		{"CREATE TABLE t (a INT REFERENCES bid (x))", "0A000", "FOREIGN KEY", "REFERENCES"},
		{"CREATE TABLE t (a INT, FOREIGN KEY (a) REFERENCES bid (x))", "0A000", "FOREIGN KEY", "FOREIGN"},
		{"CREATE TABLE t (a INT, b INT AS (a + 1))", "0A000", "generated", ""},
		{"CREATE TABLE t (a INT, b INT GENERATED ALWAYS AS (a + 1))", "0A000", "generated", "GENERATED"},
		{"CREATE TABLE t (a VARCHAR COLLATE NOCASE)", "0A000", "COLLATE", "COLLATE"},
		{"CREATE TABLE t (a INT, b BIGNUM[])", "0A000", "column b has type BIGNUM[]", "b"},
		{"CREATE TEMP TABLE t (a INT)", "0A000", "temporary", "TEMP"},
		{"CREATE TABLE t AS SELECT 1", "0A000", "CREATE TABLE AS", "AS SEL"},
		{"CREATE TABLE main.t (a INT)", "0A000", "schema", ""},
		{"CREATE TABLE t (a INT, a INT)", "42701", "a", ""},
		{"CREATE TABLE t (a NOSUCH)", "42704", "NOSUCH", "NOSUCH"},
		{"CREATE TABLE t (a INT", "42601", "", ""},
		{"CREATE TABLE t (a INT); DROP TABLE bid", "42601", "one CREATE TABLE", ""},
		{"DROP TABLE bid", "42601", "one CREATE TABLE", ""},
	} {
		_, err := p.CreateTable(c.ddl)
		var e *SQLError
		if !errors.As(err, &e) {
			t.Errorf("%s: %v", c.ddl, err)
			continue
		}
		if e.SQLState != c.state || !strings.Contains(e.Message, c.message) {
			t.Errorf("%s: %s %v", c.ddl, e.SQLState, e)
		}
		if c.at != "" && (e.Position < 0 || !strings.HasPrefix(c.ddl[e.Position:], c.at)) {
			t.Errorf("%s: position %d", c.ddl, e.Position)
		}
	}
	if _, err := p.CreateTable("CREATE TABLE t (a INT)"); err != nil {
		t.Error(err)
	}
}

func TestPlannerClosed(t *testing.T) {
	p, err := OpenPlanner()
	if err != nil {
		t.Fatal(err)
	}
	p.Close()
	p.Close()
	if _, err := p.Plan("SELECT 1", true); err != ErrClosed {
		t.Error(err)
	}
	if err := p.Define("t", nil); err != ErrClosed {
		t.Error(err)
	}
}
