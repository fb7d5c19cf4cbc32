package duck

import (
	"strings"
	"testing"
)

func TestLex(t *testing.T) {
	for sql, want := range map[string]string{
		`a "B""c" 'x''y' 1.5e3 $1 $$ ; $$ $t$ $$ $t$ e'\'' x'00'`: `A "B"C" S # $ # S S S S`,
		"a--x\nb/* /* */ */c":        "A B C",
		"naïve\u00a0x\u3000(\ufeff1": "NAÏVE X ( #",
		"'open":                      "S",
		`"open`:                      `"OPEN"`,
		"/* open":                    "",
		"a;b":                        "A ; B",
		"::>=":                       ": : > =",
	} {
		var got []string
		for _, k := range lex(sql) {
			switch k.kind {
			case tokString:
				got = append(got, "S")
			case tokNumber:
				got = append(got, "#")
			case tokQuoted:
				got = append(got, `"`+k.text+`"`)
			default:
				got = append(got, k.text)
			}
		}
		if g := strings.Join(got, " "); g != want {
			t.Errorf("%s: %s, want %s", sql, g, want)
		}
	}
}

// FuzzLex: tokens are in order, not empty, within the text, and what lies between them is white
// space or comments.
func FuzzLex(f *testing.F) {
	for _, s := range []string{"SELECT 1", "'a", "$$", "$a$ x $a$", "/*/*", "e'\\", "\u00a0", "\"", "\xe2\x80", "1.a$"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		at := 0
		for _, k := range lex(s) {
			if k.from < at || k.to <= k.from || k.to > len(s) {
				t.Fatalf("token %+v after %d", k, at)
			}
			if between := s[at:k.from]; strings.TrimSpace(between) != "" && len(lex(between)) > 0 {
				t.Fatalf("%q was passed over", between)
			}
			at = k.to
		}
		for _, p := range splitStatements(s) {
			if p.From >= p.To || p.Kind == "" && !strings.Contains(s, "\"\"") {
				t.Fatalf("piece %+v", p)
			}
		}
	})
}
