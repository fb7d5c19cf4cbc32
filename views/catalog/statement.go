package catalog

import (
	"strconv"
	"strings"

	"tidemill/views/plan/token"
)

// StatementKind is what a statement does.
type StatementKind string

// The kinds of statement. A Query goes to DuckDB as it is; Unsupported is everything else.
const (
	CreateView  StatementKind = "CREATE MATERIALIZED VIEW"
	ExplainNew  StatementKind = "EXPLAIN CREATE MATERIALIZED VIEW"
	ExplainView StatementKind = "EXPLAIN MATERIALIZED VIEW"
	CreateTable StatementKind = "CREATE TABLE"
	Drop        StatementKind = "DROP"
	MakeSchema  StatementKind = "CREATE SCHEMA"
	DropSchema  StatementKind = "DROP SCHEMA"
	AlterTable  StatementKind = "ALTER"
	Comment     StatementKind = "COMMENT ON"
	CreateAs    StatementKind = "CREATE TABLE AS"
	Insert      StatementKind = "INSERT"
	Truncate    StatementKind = "TRUNCATE"
	Begin       StatementKind = "BEGIN"
	Commit      StatementKind = "COMMIT"
	Rollback    StatementKind = "ROLLBACK"
	Delete      StatementKind = "DELETE"
	Update      StatementKind = "UPDATE"
	Checkpoint  StatementKind = "CHECKPOINT"
	CancelQuery StatementKind = "CANCEL QUERY"
	ShowTables  StatementKind = "SHOW TABLES"
	Describe    StatementKind = "DESCRIBE"
	Query       StatementKind = "QUERY"
	Unsupported StatementKind = "UNSUPPORTED"
)

// Span is a piece of a text, from Start up to End.
type Span struct{ Start, End int }

// Statement is one statement, read as far as this package needs. All offsets are into the text that
// was parsed. Which fields are set depends on the Kind.
type Statement struct {
	Kind StatementKind
	Span Span   // the statement without white space, comments and the semicolon around it
	Text string // the text of Span

	Name    string // the relation, as token.Join writes it; of CREATE and DROP SCHEMA the schema
	NameAt  int
	NameEnd int    // of the text of the name
	Alias   string // DELETE, UPDATE; empty when there is none

	OrReplace   bool // CREATE, INSERT
	OrIgnore    bool // INSERT OR IGNORE, ON CONFLICT DO NOTHING
	IfNotExists bool // CREATE
	IfExists    bool // DROP
	Cascade     bool // DROP
	DropKind    Kind // DROP; View for DROP VIEW and DROP MATERIALIZED VIEW

	Columns  []string // CREATE MATERIALIZED VIEW v (a, b), CREATE TABLE t (a, b) AS; nil when there are none
	Select   string   // CREATE ... AS: the SELECT, to be given to DuckDB untouched
	SelectAt int
	NoData   bool // CREATE TABLE ... AS ... WITH NO DATA

	Tail   string // INSERT: what follows the name, such as "(a, b) VALUES (1, 2)"
	TailAt int

	Set     []Assignment // UPDATE
	From    string       // DELETE ... USING, UPDATE ... FROM: the other relations, or empty
	FromAt  int
	Where   string // DELETE, UPDATE: the condition, empty for all rows
	WhereAt int

	QueryID uint64 // CANCEL QUERY
	Action  Action // ALTER
	On      string // COMMENT ON: TABLE, VIEW, COLUMN or SCHEMA
	Column  string // COMMENT ON COLUMN
	Remark  string // COMMENT ON: the text; empty for NULL

	Words string // Unsupported: its first words, in upper case
	Hint  string // Unsupported: what to do instead, or empty
}

// Assignment is "column = expression" of an UPDATE.
type Assignment struct {
	Column   string
	ColumnAt int
	Expr     string // as it stands, DEFAULT included
	ExprAt   int
}

// Unit is what is run as one: a statement, or those from BEGIN to COMMIT or ROLLBACK.
type Unit struct {
	Span
	First, Statements int // the number of its first statement in the text, from 1, and how many it has
}

// Units is Split with each transaction as one piece. One that is not ended reaches to the end of the text.
func Units(sql string) []Unit {
	var out []Unit
	spans := Split(sql)
	for i := 0; i < len(spans); i++ {
		u := Unit{Span: spans[i], First: i + 1, Statements: 1}
		if begins(sql[u.Start:u.End], "BEGIN", "START") {
			for i+1 < len(spans) {
				i++
				u.End, u.Statements = spans[i].End, u.Statements+1
				if begins(sql[spans[i].Start:spans[i].End], "COMMIT", "END", "ROLLBACK", "ABORT") {
					break
				}
			}
		}
		out = append(out, u)
	}
	return out
}

func begins(sql string, words ...string) bool {
	toks := token.Scan(sql)
	for _, w := range words {
		if toks[0].Is(sql, w) {
			return true
		}
	}
	return false
}

// Split cuts a text into its statements. Semicolons in strings, quoted names and comments do not
// count, and pieces without a token are left out. It does not fail: what is not closed runs to the
// end, and Parse says so.
func Split(sql string) []Span {
	var out []Span
	cur := Span{-1, 0}
	for _, t := range token.Scan(sql) {
		if t.Is(sql, ";") {
			if cur.Start >= 0 {
				out = append(out, cur)
			}
			cur.Start = -1
			continue
		}
		if cur.Start < 0 {
			cur.Start = t.Start
		}
		cur.End = t.End
	}
	if cur.Start >= 0 {
		out = append(out, cur)
	}
	return out
}

// Parse reads one statement. The error is a *SyntaxError: the text is empty, holds more than one
// statement or something that is not closed, or is one of our own statements written wrongly.
// DuckDB's part of a statement is not checked.
func Parse(sql string) (Statement, error) {
	toks := token.Scan(sql)
	for len(toks) > 0 && toks[len(toks)-1].Is(sql, ";") {
		toks = toks[:len(toks)-1]
	}
	for len(toks) > 0 && toks[0].Is(sql, ";") {
		toks = toks[1:]
	}
	if len(toks) == 0 {
		return Statement{}, syntaxError(sql, 0, "", "a statement is expected")
	}
	for _, t := range toks {
		if t.Kind == token.Open {
			return Statement{}, syntaxError(sql, t.Start, "", "%s is not closed", openName(t.Text(sql)))
		}
		if t.Is(sql, ";") {
			return Statement{}, syntaxError(sql, t.Start, "send the statements one by one", "one statement is expected")
		}
	}
	p := &parser{sql: sql, toks: toks}
	p.stmt.Span = Span{toks[0].Start, toks[len(toks)-1].End}
	p.stmt.Text = sql[p.stmt.Span.Start:p.stmt.Span.End]
	if err := p.statement(); err != nil {
		return Statement{}, err
	}
	return p.stmt, nil
}

func openName(text string) string {
	switch {
	case strings.HasPrefix(text, "/*"):
		return "a comment"
	case strings.HasPrefix(text, `"`):
		return "a quoted name"
	default:
		return "a string"
	}
}

type parser struct {
	sql  string
	toks []token.Token
	pos  int
	stmt Statement
}

// queries are the words that begin a statement for DuckDB.
var queries = map[string]bool{
	"SELECT": true, "VALUES": true, "FROM": true, "TABLE": true, "SUMMARIZE": true, "PIVOT": true,
	"UNPIVOT": true, "PIVOT_WIDER": true, "PIVOT_LONGER": true, "(": true,
}

func (p *parser) statement() error {
	switch {
	case p.accept("CREATE"):
		return p.create()
	case p.accept("EXPLAIN"):
		return p.explain()
	case p.accept("DROP"):
		return p.drop()
	case p.accept("ALTER"):
		return p.alter()
	case p.accept("COMMENT", "ON"):
		return p.comment()
	case p.accept("INSERT"):
		return p.insert()
	case p.accept("DELETE", "FROM"):
		return p.delete()
	case p.accept("TRUNCATE"):
		p.accept("TABLE")
		p.stmt.Kind = Truncate
		return p.last(p.name())
	case p.accept("UPDATE"):
		return p.update()
	case p.accept("WITH"):
		return p.with()
	case p.accept("DESCRIBE"), p.accept("DESC"), p.accept("SHOW"):
		return p.describe()
	case p.accept("BEGIN"), p.accept("START", "TRANSACTION"):
		return p.transaction(Begin)
	case p.accept("COMMIT"), p.accept("END"):
		return p.transaction(Commit)
	case p.accept("ROLLBACK"), p.accept("ABORT"):
		return p.transaction(Rollback)
	case p.accept("CANCEL", "QUERY"):
		return p.cancelQuery()
	case p.accept("CHECKPOINT"):
		p.stmt.Kind = Checkpoint
		return p.end()
	}
	if word := strings.ToUpper(p.peek()); queries[word] && p.toks[p.pos].Kind != token.Quoted {
		p.stmt.Kind = Query
		return nil
	}
	return p.unsupported("")
}

// cancelQuery reads the number of a query.
func (p *parser) cancelQuery() error {
	p.stmt.Kind = CancelQuery
	id, err := strconv.ParseUint(p.peek(), 10, 64)
	if err != nil {
		return p.expected("the number of a query")
	}
	p.pos++
	p.stmt.QueryID = id
	return p.end()
}

// peek returns the text of the next token, empty at the end.
func (p *parser) peek() string {
	if p.pos >= len(p.toks) {
		return ""
	}
	return p.toks[p.pos].Text(p.sql)
}

// at reports whether the next tokens are the words.
func (p *parser) at(words ...string) bool {
	for i, w := range words {
		if p.pos+i >= len(p.toks) || !p.toks[p.pos+i].Is(p.sql, w) {
			return false
		}
	}
	return true
}

// accept moves past the words when they are next.
func (p *parser) accept(words ...string) bool {
	if !p.at(words...) {
		return false
	}
	p.pos += len(words)
	return true
}

// offset returns the place of the next token, or of the end.
func (p *parser) offset() int {
	if p.pos >= len(p.toks) {
		return p.stmt.Span.End
	}
	return p.toks[p.pos].Start
}

// rest returns the text from the next token up to the token end, which is not part of it.
func (p *parser) rest(end int) (text string, at int) {
	at = p.offset()
	if end <= p.pos {
		return "", at
	}
	return p.sql[at:p.toks[end-1].End], at
}

func (p *parser) fail(hint, format string, args ...any) error {
	return syntaxError(p.sql, p.offset(), hint, format, args...)
}

func (p *parser) expected(what string) error {
	if p.pos >= len(p.toks) {
		return p.fail("", "%s is expected at the end", what)
	}
	return p.fail("", "%s is expected, not %s", what, p.peek())
}

func (p *parser) end() error { return p.last(nil) }

// last returns err, or an error when tokens are left.
func (p *parser) last(err error) error {
	if err == nil && p.pos < len(p.toks) {
		return p.expected("the end of the statement")
	}
	return err
}

// unsupported makes the statement one that there is not.
func (p *parser) unsupported(hint string) error {
	p.stmt.Kind = Unsupported
	p.stmt.Hint = hint
	var words []string
	for _, t := range p.toks {
		if t.Kind != token.Word || len(words) == 3 {
			break
		}
		word := strings.ToUpper(t.Text(p.sql))
		if len(words) > 0 && !leading[word] {
			break
		}
		words = append(words, word)
	}
	if p.stmt.Words = strings.Join(words, " "); len(words) == 0 {
		p.stmt.Words = p.toks[0].Text(p.sql)
	}
	return nil
}

// leading are words that tell more of a statement after its first.
var leading = map[string]bool{
	"TABLE": true, "VIEW": true, "INDEX": true, "UNIQUE": true, "SCHEMA": true, "SEQUENCE": true, "TYPE": true,
	"MACRO": true, "FUNCTION": true, "TEMP": true, "TEMPORARY": true, "SECRET": true, "OR": true, "REPLACE": true,
	"DATABASE": true, "INTO": true, "TRANSACTION": true, "MATERIALIZED": true, "IGNORE": true, "RECURSIVE": true,
	"SOURCE": true, "SINK": true, "TRIGGER": true,
}

// reserved are words that are no names unless they are quoted: in front of a forgotten name they
// would be taken for it.
var reserved = map[string]bool{
	"AS": true, "SELECT": true, "SET": true, "WHERE": true, "FROM": true, "ON": true, "USING": true, "WITH": true,
	"INTO": true, "TABLE": true, "CREATE": true, "AND": true, "OR": true, "NOT": true, "NULL": true, "CASE": true,
	"RETURNING": true, "ORDER": true, "GROUP": true, "LIMIT": true, "UNION": true, "DEFAULT": true,
}

// identifier reads one name.
func (p *parser) identifier(what string) (string, error) {
	if p.pos < len(p.toks) {
		t := p.toks[p.pos]
		name, ok := t.Name(p.sql)
		if ok && name != "" && !(t.Kind == token.Word && reserved[strings.ToUpper(name)]) {
			p.pos++
			return name, nil
		}
	}
	return "", p.expected(what)
}

// name reads the relation's name, with its schema before it or not.
func (p *parser) name() (err error) {
	p.stmt.NameAt = p.offset()
	p.stmt.Name, err = p.qualified("the name of a relation", 2)
	p.stmt.NameEnd = p.toks[max(p.pos-1, 0)].End
	return err
}

// qualified reads up to so many names with dots between them; main as the first of two is left out.
func (p *parser) qualified(what string, most int) (string, error) {
	at := p.offset()
	var parts []string
	for {
		part, err := p.identifier(what)
		if err != nil {
			return "", err
		}
		parts = append(parts, part)
		if !p.accept(".") {
			break
		}
	}
	switch len(parts) {
	case 1:
		return token.Join("", parts[0]), nil
	case 2:
		if most >= 2 {
			return token.Join(parts[0], parts[1]), nil
		}
	}
	return "", syntaxError(p.sql, at, "write at most schema.name", "the name has too many parts")
}
