package catalog

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
)

// TestStatements runs testdata/statements: parse shows what a statement is read as, split how a text
// is cut.
func TestStatements(t *testing.T) {
	datadriven.RunTest(t, "testdata/statements", func(t *testing.T, d *datadriven.TestData) string {
		switch d.Cmd {
		case "split":
			var b strings.Builder
			for _, s := range Split(d.Input) {
				fmt.Fprintf(&b, "%d-%d: %q\n", s.Start, s.End, d.Input[s.Start:s.End])
			}
			return b.String()
		case "parse":
			s, err := Parse(d.Input)
			var e *SyntaxError
			if errors.As(err, &e) {
				out := "error: " + e.Error() + "\n"
				if e.Hint != "" {
					out += "hint: " + e.Hint + "\n"
				}
				return out
			}
			return show(&s)
		default:
			t.Fatalf("unknown command %s", d.Cmd)
			return ""
		}
	})
}

func show(s *Statement) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s", s.Kind)
	for _, f := range []struct {
		name string
		on   bool
	}{{"or replace", s.OrReplace}, {"if not exists", s.IfNotExists}, {"if exists", s.IfExists}, {"cascade", s.Cascade}} {
		if f.on {
			b.WriteString(" (" + f.name + ")")
		}
	}
	b.WriteByte('\n')
	line := func(name, text string, at int) {
		if text != "" {
			fmt.Fprintf(&b, "%s: %q at %d\n", name, text, at)
		}
	}
	line("name", s.Name, s.NameAt)
	if s.Alias != "" {
		fmt.Fprintf(&b, "alias: %q\n", s.Alias)
	}
	if s.DropKind != "" {
		fmt.Fprintf(&b, "kind: %s\n", s.DropKind)
	}
	if s.Columns != nil {
		fmt.Fprintf(&b, "columns: %q\n", s.Columns)
	}
	line("select", s.Select, s.SelectAt)
	line("tail", s.Tail, s.TailAt)
	for _, a := range s.Set {
		fmt.Fprintf(&b, "set: %q at %d = %q at %d\n", a.Column, a.ColumnAt, a.Expr, a.ExprAt)
	}
	line("where", s.Where, s.WhereAt)
	if s.Kind == Unsupported {
		fmt.Fprintf(&b, "words: %q\nhint: %s\n", s.Words, s.Hint)
	}
	return b.String()
}

// FuzzParse checks that Parse and Split never panic, that every offset points at its text, and that
// each piece of Split is one statement to Parse.
func FuzzParse(f *testing.F) {
	for _, s := range []string{
		"CREATE MATERIALIZED VIEW IF NOT EXISTS v (a, \"b c\") AS SELECT 1; ", "UPDATE t AS x SET a = b IS DISTINCT FROM c, d = f(1, 2) WHERE e",
		"INSERT INTO t (a) VALUES ('x;y')", "DELETE FROM t WHERE a = $$;$$", "DROP MATERIALIZED VIEW IF EXISTS v CASCADE", "EXPLAIN MATERIALIZED VIEW v",
		"/* ; /* */ */ WITH c AS (SELECT 1) INSERT INTO t FROM c", "SHOW TABLES;;", "'", "DESCRIBE \"\"",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, sql string) {
		for _, p := range Split(sql) {
			piece := sql[p.Start:p.End]
			s, err := Parse(piece)
			var e *SyntaxError
			if errors.As(err, &e) {
				if e.Position < 0 || e.Position > len(piece) || e.Line < 1 || e.Col < 1 {
					t.Fatalf("%q: place %+v", piece, e)
				}
				if e.Message == "one statement is expected" {
					t.Fatalf("%q is a piece of Split and two statements", piece)
				}
				continue
			}
			if err != nil {
				t.Fatalf("%q: %T", piece, err)
			}
			checkText(t, piece, s.Select, s.SelectAt)
			checkText(t, piece, s.Tail, s.TailAt)
			checkText(t, piece, s.Where, s.WhereAt)
			for _, a := range s.Set {
				checkText(t, piece, a.Expr, a.ExprAt)
			}
			if s.Kind == "" || s.Text != piece {
				t.Fatalf("%q: kind %q, text %q", piece, s.Kind, s.Text)
			}
		}
		Parse(sql)
	})
}

func checkText(t *testing.T, sql, text string, at int) {
	t.Helper()
	if text != "" && (at < 0 || at+len(text) > len(sql) || sql[at:at+len(text)] != text) {
		t.Fatalf("%q is not at %d of %q", text, at, sql)
	}
}
