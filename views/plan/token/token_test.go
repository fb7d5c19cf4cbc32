package token

import (
	"fmt"
	"strings"
	"testing"
)

func render(sql string) string {
	names := map[Kind]string{Word: "w", Quoted: "q", String: "s", Number: "n", Op: "o", Open: "open"}
	var b strings.Builder
	for _, t := range Scan(sql) {
		fmt.Fprintf(&b, "%s[%s]", names[t.Kind], t.Text(sql))
	}
	return b.String()
}

func TestScan(t *testing.T) {
	for _, c := range []struct{ sql, want string }{
		{"", ""},
		{" \t\n", ""},
		{"SELECT a_1,b$2", "w[SELECT]w[a_1]o[,]w[b$2]"},
		{"'it''s' x", "s['it''s']w[x]"},
		{`'a\' x`, `s['a\']w[x]`},
		{`E'a\' x' y`, `s[E'a\' x']w[y]`},
		{`"a""b".c`, `q["a""b"]o[.]w[c]`},
		{"$$a;b$$ c", "s[$$a;b$$]w[c]"},
		{"$t$a$$b$t$ c", "s[$t$a$$b$t$]w[c]"},
		{"$1 + 2", "o[$]n[1]o[+]n[2]"},
		{"a -- ; 'x\nb", "w[a]w[b]"},
		{"a /* b /* c */ d */ e", "w[a]w[e]"},
		{"a /* b /* c */ d", "w[a]open[/* b /* c */ d]"},
		{"'abc", "open['abc]"},
		{`"abc`, `open["abc]`},
		{"$x$abc", "open[$x$abc]"},
		{"1.5e-3+x", "n[1.5e-3]o[+]w[x]"},
		{"1-2", "n[1]o[-]n[2]"},
		{".5", "n[.5]"},
		{"t.5", "w[t]n[.5]"},
		{"größe = 1", "w[größe]o[=]n[1]"},
		{"a\u00a0b", "w[a]w[b]"},
	} {
		if got := render(c.sql); got != c.want {
			t.Errorf("%q: got %s, want %s", c.sql, got, c.want)
		}
	}
}

// FuzzScan checks that tokens are in order, do not overlap, are not empty, and leave out no
// quotes.
func FuzzScan(f *testing.F) {
	for _, s := range []string{"select 'a''b' -- x\n", `E'\'' "q""" $a$ $$ $a$ /* /* */ */ 1e-5`, "'", "$a", "/*"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, sql string) {
		end := 0
		for _, tok := range Scan(sql) {
			if tok.Start < end || tok.End <= tok.Start || tok.End > len(sql) {
				t.Fatalf("token %+v after %d in %q", tok, end, sql)
			}
			if gap := sql[end:tok.Start]; strings.ContainsAny(gap, "'\"$") && !strings.Contains(gap, "--") && !strings.Contains(gap, "/*") {
				t.Fatalf("gap %q in %q", gap, sql)
			}
			end = tok.End
			_, _ = tok.Name(sql) // must not panic
		}
	})
}
