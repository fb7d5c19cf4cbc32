package shell

import (
	"slices"
	"strings"
	"testing"
)

// shop is a server for completion.
type shop struct{}

func (shop) Relations() []relation {
	return []relation{{"events", "table"}, {"by_region", "view"}, {"Odd name", "table"}}
}

func (shop) Columns(rel string) []columnName {
	return map[string][]columnName{
		"events":    {{"id", "BIGINT"}, {"region", "VARCHAR"}, {"order", "BIGINT"}},
		"by_region": {{"region", "VARCHAR"}, {"total", "HUGEINT"}},
	}[rel]
}

func (shop) Functions() []string { return []string{"count", "coalesce", "sum"} }

func TestComplete(t *testing.T) {
	for _, c := range []struct {
		text, word string
		want, not  string // comma-separated
	}{
		{"", "", "SELECT,CREATE,INSERT", "events"},
		{"sel", "sel", "select", "SELECT"},
		{"SEL", "SEL", "SELECT", "select"},
		{"SELECT * FROM ", "", `events,by_region,"Odd name"`, "SELECT,id"},
		{"select * from by", "by", "by_region", "events,by"},
		{"SELECT 1; UPDATE ev", "ev", "events", ""},
		{"SELECT re", "re", "recursive", "region"},
		{"SELECT * FROM events WHERE ", "", `id,region,"order",AND,events`, "total"},
		{"SELECT * FROM events WHERE re", "re", "region", ""},
		{"SELECT e.re", "re", "", "region"},
		{"SELECT * FROM events e JOIN by_region AS b ON e.re", "re", "region", "recursive"},
		{"SELECT * FROM events e JOIN by_region AS b ON b.", "", "region,total", "id,AND"},
		{"SELECT * FROM events WHERE co", "co", "count(,coalesce(", ""},
		{"SELECT count(i", "i", "in,interval", ""},
		{"SELECT 'from ev", "ev", "", "events"},
		{"SELECT 1 -- from ev", "ev", "", "events"},
		{"CREATE TABLE t (a BIG", "BIG", "BIGINT", ""},
		{"DROP TABLE ev", "ev", "events", ""},
		{"CREATE MATERIALIZED VIEW v AS SELECT * FROM ev", "ev", "events", ""},
		{`\`, `\`, `\d,\timing,\q,\copy`, "SELECT"},
		{`\ti`, `\ti`, `\timing`, `\d`},
		{`\d by`, "by", "by_region", "events"},
		{`\timing o`, "o", "on,off", "events"},
		{`\copy ev`, "ev", "events", ""},
		{`\copy events f`, "f", "from", "to"},
		{`\copy events from complete_t`, "complete_t", "complete_test.go", ""},
		{`\i comp`, "comp", "complete.go,complete_test.go", "copy.go"},
	} {
		word, found := Complete(c.text, shop{})
		if word != c.word {
			t.Errorf("%q: the word is %q instead of %q", c.text, word, c.word)
		}
		var got []string
		for _, f := range found {
			got = append(got, f.Text)
		}
		for _, w := range strings.Split(c.want, ",") {
			if c.want != "" && !slices.Contains(got, w) {
				t.Errorf("%q: %s is not offered, but %q", c.text, w, got)
			}
		}
		for _, n := range strings.Split(c.not, ",") {
			if c.not != "" && slices.Contains(got, n) {
				t.Errorf("%q: %s is offered", c.text, n)
			}
		}
	}
}

func TestWhole(t *testing.T) {
	for text, want := range map[string]bool{
		"": true, "  ": true, `\d`: true, "SELECT 1": false, "SELECT 1;": true, "SELECT ';": false, "SELECT ';';": true,
		"SELECT 1; SELECT 2": false, "SELECT 1; -- done": true, "SELECT 1 /* ; */": false, "SELECT $$a;$$;": true,
	} {
		if complete(text) != want {
			t.Errorf("complete(%q) is %v", text, !want)
		}
	}
}

func TestSplit(t *testing.T) {
	var got []string
	script := "-- a comment; with a semicolon\nSELECT 1;SELECT\n ';' ;\n\\d t\n  \\x on\n;;\nSELECT '\n\\not a command\n' ; \n  SELECT 2 -- the last"
	err := split(strings.NewReader(script), func(piece string) error {
		got = append(got, piece)
		return nil
	})
	want := []string{"-- a comment; with a semicolon\nSELECT 1;", "SELECT\n ';' ;", `\d t`, `\x on`, "SELECT '\n\\not a command\n' ;", "SELECT 2 -- the last"}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("got %q, error %v", got, err)
	}
}

func TestParseCopy(t *testing.T) {
	for args, want := range map[string]copyCommand{
		"t from 'a b.csv'":                  {"t", true, "a b.csv"},
		"t FROM x.parquet":                  {"t", true, "x.parquet"},
		"t to x.csv":                        {"t", false, "x.csv"},
		"(SELECT a FROM t WHERE 1) to x.gz": {"SELECT a FROM t WHERE 1", false, "x.gz"},
	} {
		if got, err := parseCopy(args); err != nil || got != want {
			t.Errorf("%s: got %+v, error %v", args, got, err)
		}
	}
	for _, args := range []string{"", "t", "t from", "from x", "(SELECT 1) from x"} {
		if got, err := parseCopy(args); err == nil {
			t.Errorf("%q is read as %+v", args, got)
		}
	}
}

func TestHighlight(t *testing.T) {
	got := highlight([]rune("select 'a' + 1 from t"))
	want := colorKeyword + "select" + colorEnd + " " + colorString + "'a'" + colorEnd + " + " + colorNumber + "1" + colorEnd + " " + colorKeyword + "from" + colorEnd + " t"
	if got != want {
		t.Errorf("got %q", got)
	}
}
