package duck

import (
	"strings"

	sqltoken "tidemill/views/plan/token"
)

// tokenKind is the kind of a lexical token.
type tokenKind uint8

const (
	tokWord   tokenKind = iota // an identifier or keyword; text is upper case
	tokQuoted                  // a quoted identifier; text is its name, in upper case too
	tokString                  // a literal
	tokNumber
	tokPunct // one byte
)

// token is a token of package token with its text at hand: sql[from:to].
type token struct {
	kind     tokenKind
	text     string
	from, to int
}

func (t token) is(word string) bool { return t.kind == tokWord && t.text == word }
func (t token) punct(p string) bool { return t.kind == tokPunct && t.text == p }
func (t token) name() bool          { return t.kind == tokWord || t.kind == tokQuoted }

// lex splits SQL text into tokens, without comments. It never fails: what DuckDB would refuse (an open quote) runs to the
// end of the text, and DuckDB is asked whether the text parses.
func lex(s string) []token {
	var out []token
	for _, t := range sqltoken.Scan(s) {
		d := token{from: t.Start, to: t.End}
		switch t.Kind {
		case sqltoken.Word:
			d.kind, d.text = tokWord, strings.ToUpper(t.Text(s))
		case sqltoken.Quoted:
			name, _ := t.Name(s)
			d.kind, d.text = tokQuoted, strings.ToUpper(name)
		case sqltoken.Number:
			d.kind, d.text = tokNumber, t.Text(s)
		case sqltoken.Op:
			d.kind, d.text = tokPunct, t.Text(s)
		case sqltoken.Open:
			switch text := t.Text(s); {
			case strings.HasPrefix(text, "/*"):
				continue
			case text[0] == '"':
				d.kind, d.text = tokQuoted, strings.ToUpper(text[1:])
			default:
				d.kind = tokString
			}
		default:
			d.kind = tokString
		}
		out = append(out, d)
	}
	return out
}
