package plan

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"tidemill/views/plan/token"
)

// Error says what in a SELECT cannot be maintained, or what DuckDB said about it.
type Error struct {
	Construct string // in the user's words: "window functions", "LEFT JOIN"; empty for DuckDB's own errors
	Position  int    // byte offset in the SELECT, -1 when it is unknown
	Line, Col int    // of Position, from 1, Col in characters; 0 when it is unknown
	Message   string
	Hint      string

	// find lists keyword phrases, such as "GROUP BY"; the first that occurs in the text is the place
	// of an error whose plan has none.
	find []string
}

// Error returns the message with its place, without the hint.
func (e *Error) Error() string {
	if e.Line == 0 {
		return e.Message
	}
	return fmt.Sprintf("%s (line %d, column %d)", e.Message, e.Line, e.Col)
}

// unsupported is the error of a construct that views do not maintain.
func unsupported(construct, hint string, find ...string) *Error {
	if hint == "" {
		hint = "maintain the parts without it in views, and use it in the query that reads them: ad-hoc queries take all of DuckDB's SQL"
	}
	return &Error{
		Construct: construct, Position: -1, Hint: hint, find: find,
		Message: construct + " cannot be used in a materialized view",
	}
}

// malformed is the error of a plan that is not what this package knows: a version of DuckDB that it
// was not written for, never the user's fault.
func malformed(format string, args ...any) *Error {
	return &Error{
		Position: -1, Message: "plan of DuckDB: " + fmt.Sprintf(format, args...),
		Hint: "this is a defect of Tidemill, please report the statement",
	}
}

// at sets the place when the plan gave one.
func (e *Error) at(pos int) *Error {
	if e.Position < 0 && pos >= 0 {
		e.Position = pos
	}
	return e
}

// locate completes the place in the SELECT that the error is about.
func (e *Error) locate(sql string) {
	if e.Position < 0 || e.Position > len(sql) {
		e.Position = findPhrase(sql, e.find)
	}
	if e.Position < 0 {
		return
	}
	before := sql[:e.Position]
	e.Line = 1 + strings.Count(before, "\n")
	e.Col = 1 + utf8.RuneCountInString(before[strings.LastIndexByte(before, '\n')+1:])
}

// fromComma stands for the first comma between the relations of a FROM.
const fromComma = "FROM ,"

// findComma returns the offset of the comma that fromComma stands for, or -1.
func findComma(sql string, toks []token.Token) int {
	depth, from := 0, -1 // from is the depth of the FROM that we are in
	for _, t := range toks {
		switch {
		case t.Is(sql, "("):
			depth++
		case t.Is(sql, ")"):
			depth--
			if depth < from {
				from = -1
			}
		case t.Is(sql, "FROM"):
			from = depth
		case t.Is(sql, "WHERE"), t.Is(sql, "GROUP"), t.Is(sql, "ORDER"), t.Is(sql, "SELECT"):
			from = -1
		case t.Is(sql, ",") && depth == from:
			return t.Start
		}
	}
	return -1
}

// findPhrase returns the offset of the first of the phrases that occurs in sql, or -1.
func findPhrase(sql string, phrases []string) int {
	toks := token.Scan(sql)
	for _, p := range phrases {
		if p == fromComma {
			return findComma(sql, toks)
		}
		words := strings.Fields(p)
	next:
		for i := range toks {
			if i+len(words) > len(toks) {
				break
			}
			for j, w := range words {
				if !toks[i+j].Is(sql, w) {
					continue next
				}
			}
			return toks[i].Start
		}
	}
	return -1
}
