package duck

import (
	"strings"

	m "github.com/duckdb/duckdb-go-bindings"
)

// StatementKind is what a statement does, as far as its first words tell.
type StatementKind string

// The kinds that callers tell apart. Any other statement's kind is its first word in upper case,
// such as DROP, SET or COPY.
const (
	Select      StatementKind = "SELECT" // also VALUES, FROM, TABLE, DESCRIBE, SHOW, SUMMARIZE, PIVOT
	Insert      StatementKind = "INSERT"
	Update      StatementKind = "UPDATE"
	Delete      StatementKind = "DELETE"
	CreateTable StatementKind = "CREATE TABLE"
	CreateView  StatementKind = "CREATE VIEW"
	Explain     StatementKind = "EXPLAIN"
)

// Statement is one statement of a text: sql[From:To], without the semicolon and the white space
// around it.
type Statement struct {
	Kind     StatementKind
	From, To int
}

// splitStatements cuts a text at its semicolons and names the pieces. It does not check that they
// parse.
func splitStatements(sql string) []Statement {
	var out []Statement
	toks := lex(sql)
	for start, i := 0, 0; i <= len(toks); i++ {
		if i < len(toks) && !toks[i].punct(";") {
			continue
		}
		if piece := toks[start:i]; len(piece) > 0 {
			out = append(out, Statement{kindOf(piece), piece[0].from, piece[len(piece)-1].to})
		}
		start = i + 1
	}
	return out
}

var selectWords = map[string]bool{
	"SELECT": true, "VALUES": true, "FROM": true, "TABLE": true, "DESCRIBE": true, "DESC": true, "SHOW": true,
	"SUMMARIZE": true, "PIVOT": true, "PIVOT_WIDER": true, "UNPIVOT": true, "PIVOT_LONGER": true,
}

func kindOf(toks []token) StatementKind {
	first := toks[0]
	switch {
	case first.punct("("):
		return Select
	case first.kind != tokWord:
		return StatementKind("UNKNOWN")
	case first.text == "WITH":
		return kindOf(afterCTEs(toks))
	case selectWords[first.text]:
		return Select
	case first.text == "CREATE":
		return createKind(toks[1:])
	}
	return StatementKind(first.text)
}

// afterCTEs returns the tokens after WITH [RECURSIVE] name [(...)] AS ... (...), ...: the statement
// that the common table expressions are for. A name can be any word, so it is the shape that counts:
// the first word after a list's closing parenthesis, unless AS, USING, or MATERIALIZED goes on.
func afterCTEs(toks []token) []token {
	depth := 0
	for i := 1; i < len(toks); i++ {
		switch t := toks[i]; {
		case t.punct("("):
			depth++
		case t.punct(")"):
			depth--
			if depth == 0 && i+1 < len(toks) && !toks[i+1].punct(",") && !toks[i+1].is("AS") && !toks[i+1].is("USING") {
				return toks[i+1:]
			}
		}
	}
	return toks[len(toks)-1:]
}

func createKind(toks []token) StatementKind {
	for i, t := range toks {
		switch t.text {
		case "OR", "REPLACE", "TEMP", "TEMPORARY", "LOCAL", "GLOBAL", "UNLOGGED", "PERSISTENT", "RECURSIVE":
			continue
		case "TABLE":
			return CreateTable
		case "VIEW":
			return CreateView
		}
		if i < 6 {
			return StatementKind("CREATE " + t.text)
		}
	}
	return StatementKind("CREATE")
}

// checkParses asks DuckDB whether a text parses, and compares its count of statements with want.
// DuckDB turns a PIVOT without an IN list into several, so it may count more.
func (c *conn) checkParses(sql string, want int) error {
	if i := strings.IndexByte(sql, 0); i >= 0 {
		return refuse("Parser", "42601", sql, i, "", "the statement holds a NUL byte")
	}
	var ex m.ExtractedStatements
	n := int(m.ExtractStatements(c.c, sql, &ex))
	defer m.DestroyExtracted(&ex)
	if msg := m.ExtractStatementsError(ex); msg != "" {
		return parseError(msg, sql)
	}
	if n < want {
		return refuse("Parser", "42601", sql, -1, "send the statements one by one",
			"the text splits into %d statements, DuckDB finds %d", want, n)
	}
	return nil
}
