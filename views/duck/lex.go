package duck

import "strings"

// tokenKind is the kind of a lexical token.
type tokenKind uint8

const (
	tokWord   tokenKind = iota // an identifier or keyword; text is upper case
	tokQuoted                  // a quoted identifier; text is its name, in upper case too
	tokString                  // a literal
	tokNumber
	tokPunct // one byte
)

// token is a lexical token of SQL text, at text[from:to].
type token struct {
	kind     tokenKind
	text     string
	from, to int
}

func (t token) is(word string) bool        { return t.kind == tokWord && t.text == word }
func (t token) punct(p string) bool        { return t.kind == tokPunct && t.text == p }
func (t token) name() bool                 { return t.kind == tokWord || t.kind == tokQuoted }
func identStart(c byte) bool               { return c|0x20 >= 'a' && c|0x20 <= 'z' || c == '_' || c >= 0x80 }
func identPart(c byte) bool                { return identStart(c) || digit(c) || c == '$' }
func digit(c byte) bool                    { return c >= '0' && c <= '9' }
func space(c byte) bool                    { return c == ' ' || c >= '\t' && c <= '\r' }
func from(s string, i int) string          { return s[min(i, len(s)):] }
func hasAt(s string, i int, p string) bool { return strings.HasPrefix(from(s, i), p) }

// wideSpace returns the length of the Unicode space at i, or 0. DuckDB turns exactly these into plain
// spaces before it parses, so a name ends at one.
func wideSpace(s string, i int) int {
	switch t := from(s, i); {
	case strings.HasPrefix(t, "\u00a0"):
		return 2
	case len(t) >= 3 && t[:3] >= "\u2000" && t[:3] <= "\u200d", strings.HasPrefix(t, "\u202f"),
		strings.HasPrefix(t, "\u205f"), strings.HasPrefix(t, "\u2060"), strings.HasPrefix(t, "\u3000"),
		strings.HasPrefix(t, "\ufeff"):
		return 3
	}
	return 0
}

// lex splits SQL text into tokens, without comments, by the rules of DuckDB's scanner as far as they
// decide where a token ends. It never fails: what DuckDB would refuse (an open quote) runs to the
// end of the text, and DuckDB is asked whether the text parses.
func lex(s string) []token {
	var out []token
	for i := 0; i < len(s); {
		j := skip(s, i)
		if j > i {
			i = j
			continue
		}
		t := next(s, i)
		out = append(out, t)
		i = t.to
	}
	return out
}

// skip returns the place after the white space or the one comment at i, or i. Block comments nest.
func skip(s string, i int) int {
	switch {
	case space(s[i]):
		return i + 1
	case s[i] >= 0x80:
		return i + wideSpace(s, i)
	case hasAt(s, i, "--"):
		if n := strings.IndexByte(s[i:], '\n'); n >= 0 {
			return i + n + 1
		}
		return len(s)
	case hasAt(s, i, "/*"):
		depth := 1
		for i += 2; i < len(s) && depth > 0; {
			switch {
			case hasAt(s, i, "/*"):
				depth++
				i += 2
			case hasAt(s, i, "*/"):
				depth--
				i += 2
			default:
				i++
			}
		}
	}
	return i
}

func next(s string, i int) token {
	c := s[i]
	switch {
	case c == '\'':
		return token{tokString, "", i, quoteEnd(s, i, false)}
	case (c == 'e' || c == 'E') && hasAt(s, i+1, "'"):
		return token{tokString, "", i, quoteEnd(s, i+1, true)}
	case (c == 'x' || c == 'X' || c == 'b' || c == 'B' || c == 'n' || c == 'N') && hasAt(s, i+1, "'"):
		return token{tokString, "", i, quoteEnd(s, i+1, false)}
	case c == '"':
		end := quoteEnd(s, i, false)
		name := strings.ReplaceAll(strings.TrimSuffix(s[i+1:end], `"`), `""`, `"`)
		return token{tokQuoted, strings.ToUpper(name), i, end}
	case c == '$':
		if end := dollarEnd(s, i); end > 0 {
			return token{tokString, "", i, end}
		}
		return token{tokPunct, "$", i, i + 1}
	case identStart(c):
		j := i + 1
		for j < len(s) && identPart(s[j]) && (s[j] < 0x80 || wideSpace(s, j) == 0) {
			j++
		}
		return token{tokWord, strings.ToUpper(s[i:j]), i, j}
	case digit(c):
		j := i + 1
		for j < len(s) && (identPart(s[j]) && s[j] != '$' || s[j] == '.') {
			j++
		}
		return token{tokNumber, s[i:j], i, j}
	}
	return token{tokPunct, s[i : i+1], i, i + 1}
}

// quoteEnd returns the place after the quoted text that opens at i; a doubled quote stands for one.
func quoteEnd(s string, i int, backslash bool) int {
	q := s[i]
	for i++; i < len(s); i++ {
		switch {
		case backslash && s[i] == '\\':
			i++
		case s[i] == q && hasAt(s, i+1, string(q)):
			i++
		case s[i] == q:
			return i + 1
		}
	}
	return len(s)
}

// dollarEnd returns the place after a dollar-quoted text at i, or 0 when there is none: $1 is a
// parameter.
func dollarEnd(s string, i int) int {
	j := i + 1
	for j < len(s) && (identStart(s[j]) || j > i+1 && digit(s[j])) {
		j++
	}
	if j >= len(s) || s[j] != '$' {
		return 0
	}
	tag := s[i : j+1]
	if n := strings.Index(s[j+1:], tag); n >= 0 {
		return j + 1 + n + len(tag)
	}
	return len(s)
}
