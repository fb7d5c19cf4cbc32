// Package token splits SQL text into tokens with their byte offsets, as DuckDB's lexer does: enough
// to find where a statement ends, where a view's SELECT begins and where a keyword stands, and no
// more. It never fails: an unterminated string or comment is one last token that says so.
//
// The tokens of a text do not overlap, are in order, and leave out only white space and comments.
package token

import (
	"strings"
	"unicode/utf8"
)

// Kind tells what a token is.
type Kind uint8

// The kinds of token.
const (
	Word   Kind = iota + 1 // a keyword or a name without quotes
	Quoted                 // "a name"
	String                 // 'text', E'text', X'00' or $tag$text$tag$
	Number                 // starts with a digit, or with a dot and a digit
	Op                     // one character of punctuation
	Open                   // an unterminated string, quoted name or comment, to the end of the text
)

// Token is a piece of the text, from Start up to End.
type Token struct {
	Kind       Kind
	Start, End int
}

// Text returns the token's part of sql, the text that it was scanned from.
func (t Token) Text(sql string) string { return sql[t.Start:t.End] }

// Is reports whether the token is the keyword or the punctuation s; s is upper case.
func (t Token) Is(sql, s string) bool {
	return (t.Kind == Word || t.Kind == Op) && strings.EqualFold(t.Text(sql), s)
}

// Name returns the name that a Word or Quoted token stands for: the case is kept, as DuckDB keeps
// it, and quotes are taken off. It is not ok for other kinds.
func (t Token) Name(sql string) (name string, ok bool) {
	switch t.Kind {
	case Word:
		return t.Text(sql), true
	case Quoted:
		s := t.Text(sql)
		return strings.ReplaceAll(s[1:len(s)-1], `""`, `"`), true
	default:
		return "", false
	}
}

// Scan returns the tokens of sql.
func Scan(sql string) []Token {
	var toks []Token
	s := scanner{sql: sql}
	for {
		t, ok := s.next()
		if !ok {
			return toks
		}
		toks = append(toks, t)
	}
}

type scanner struct {
	sql string
	pos int
}

func (s *scanner) next() (Token, bool) {
	if t, open := s.skipSpace(); open {
		return t, true
	}
	if s.pos >= len(s.sql) {
		return Token{}, false
	}
	start, c := s.pos, s.sql[s.pos]
	switch {
	case c == '\'':
		return s.quoted(start, s.pos, '\'', String, false), true
	case c == '"':
		return s.quoted(start, s.pos, '"', Quoted, false), true
	case (c == 'e' || c == 'E') && s.at(1) == '\'':
		return s.quoted(start, s.pos+1, '\'', String, true), true
	case strings.IndexByte("xXbBnN", c) >= 0 && s.at(1) == '\'':
		return s.quoted(start, s.pos+1, '\'', String, false), true
	case c == '$':
		if t, ok := s.dollar(); ok {
			return t, true
		}
	case wordStart(c):
		for s.pos < len(s.sql) && wordPart(s.sql[s.pos]) && s.spaceLen() == 0 {
			s.pos++
		}
		return Token{Word, start, s.pos}, true
	case digit(c), c == '.' && digit(s.at(1)):
		s.number()
		return Token{Number, start, s.pos}, true
	}
	s.pos++
	return Token{Op, start, s.pos}, true
}

// at returns the byte i places ahead, or 0 past the end.
func (s *scanner) at(i int) byte {
	if s.pos+i < len(s.sql) {
		return s.sql[s.pos+i]
	}
	return 0
}

// skipSpace moves past white space and comments. A comment that does not end is returned as a token.
func (s *scanner) skipSpace() (t Token, open bool) {
	for s.pos < len(s.sql) {
		switch {
		case s.spaceLen() > 0:
			s.pos += s.spaceLen()
		case s.at(0) == '-' && s.at(1) == '-':
			for s.pos < len(s.sql) && s.sql[s.pos] != '\n' && s.sql[s.pos] != '\r' {
				s.pos++
			}
		case s.at(0) == '/' && s.at(1) == '*':
			start := s.pos
			if !s.blockComment() {
				return Token{Open, start, len(s.sql)}, true
			}
		default:
			return Token{}, false
		}
	}
	return Token{}, false
}

// blockComment moves past a comment, in which others may be nested.
func (s *scanner) blockComment() (closed bool) {
	depth := 0
	for s.pos < len(s.sql) {
		switch {
		case s.at(0) == '/' && s.at(1) == '*':
			depth++
			s.pos += 2
		case s.at(0) == '*' && s.at(1) == '/':
			depth--
			s.pos += 2
			if depth == 0 {
				return true
			}
		default:
			s.pos++
		}
	}
	return false
}

// spaceLen returns the bytes of the white space character at the position, or 0. DuckDB takes the
// Unicode spaces for plain ones.
func (s *scanner) spaceLen() int {
	switch c := s.sql[s.pos]; {
	case c == ' ' || c >= '\t' && c <= '\r':
		return 1
	case c < utf8.RuneSelf:
		return 0
	}
	r, n := utf8.DecodeRuneInString(s.sql[s.pos:])
	switch {
	case r == 0xA0, r >= 0x2000 && r <= 0x200D, r == 0x202F, r == 0x205F, r == 0x2060, r == 0x3000, r == 0xFEFF:
		return n
	default:
		return 0
	}
}

// quoted reads from the quote at open to its end; a doubled quote is part of the text.
func (s *scanner) quoted(start, open int, quote byte, kind Kind, escapes bool) Token {
	for s.pos = open + 1; s.pos < len(s.sql); s.pos++ {
		switch c := s.sql[s.pos]; {
		case escapes && c == '\\':
			s.pos++
		case c == quote && s.at(1) == quote:
			s.pos++
		case c == quote:
			s.pos++
			return Token{kind, start, s.pos}
		}
	}
	s.pos = len(s.sql)
	return Token{Open, start, s.pos}
}

// dollar reads a $tag$text$tag$ string. It is not ok when the dollar starts something else.
func (s *scanner) dollar() (Token, bool) {
	start, i := s.pos, s.pos+1
	for i < len(s.sql) && wordPart(s.sql[i]) && s.sql[i] != '$' {
		i++
	}
	if i >= len(s.sql) || s.sql[i] != '$' || digit(s.at(1)) {
		return Token{}, false
	}
	tag := s.sql[start : i+1]
	end := strings.Index(s.sql[i+1:], tag)
	if end < 0 {
		s.pos = len(s.sql)
		return Token{Open, start, s.pos}, true
	}
	s.pos = i + 1 + end + len(tag)
	return Token{String, start, s.pos}, true
}

func (s *scanner) number() {
	for s.pos < len(s.sql) {
		c := s.sql[s.pos]
		if (c == '+' || c == '-') && (s.sql[s.pos-1]|0x20) == 'e' && s.pos > 1 && digit(s.sql[s.pos-2]) && digit(s.at(1)) {
			s.pos++
			continue
		}
		if c != '.' && (c >= utf8.RuneSelf || !wordPart(c)) {
			return
		}
		s.pos++
	}
}

func digit(c byte) bool { return c >= '0' && c <= '9' }

func wordStart(c byte) bool {
	return c == '_' || c|0x20 >= 'a' && c|0x20 <= 'z' || c >= utf8.RuneSelf
}

func wordPart(c byte) bool { return wordStart(c) || digit(c) || c == '$' }
