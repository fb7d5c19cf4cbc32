package catalog

import "strings"

// This file reads INSERT, DELETE and UPDATE, and WITH in front of them.

func upper(s string) string { return strings.ToUpper(s) }

func (p *parser) insert() error {
	if p.accept("OR", "REPLACE") || p.accept("OR", "IGNORE") {
		return p.unsupported("INSERT INTO a table with a primary key replaces the rows of the same key")
	}
	if !p.accept("INTO") {
		return p.expected("INTO")
	}
	p.stmt.Kind = Insert
	if err := p.name(); err != nil {
		return err
	}
	if i := p.find("RETURNING"); i >= 0 {
		return syntaxError(p.sql, p.toks[i].Start, "", "RETURNING is not supported")
	}
	if i := max(p.find("ON", "CONFLICT", "("), p.find("ON", "CONFLICT", "DO")); i >= 0 {
		return syntaxError(p.sql, p.toks[i].Start, "INSERT INTO a table with a primary key replaces the rows of the same key", "ON CONFLICT is not supported")
	}
	if p.pos >= len(p.toks) {
		return p.expected("VALUES or a SELECT")
	}
	p.stmt.Tail, p.stmt.TailAt = p.rest(len(p.toks))
	return nil
}

// find returns the first token from here on, outside all parentheses, that begins the words, or -1.
func (p *parser) find(words ...string) int {
	depth, start := 0, p.pos
	defer func() { p.pos = start }()
	for ; p.pos < len(p.toks); p.pos++ {
		if depth == 0 && p.at(words...) {
			return p.pos
		}
		depth += nesting(p.peek())
	}
	return -1
}

// nesting tells by how much a token deepens the nesting.
func nesting(text string) int {
	switch text {
	case "(", "[", "{":
		return 1
	case ")", "]", "}":
		return -1
	default:
		return 0
	}
}

// alias reads the alias of a DELETE's or UPDATE's relation, when there is one.
func (p *parser) alias() error {
	if !p.accept("AS") && (p.pos >= len(p.toks) || reserved[upper(p.peek())] || nesting(p.peek()) != 0) {
		return nil
	}
	var err error
	p.stmt.Alias, err = p.identifier("an alias")
	return err
}

func (p *parser) delete() error {
	p.stmt.Kind = Delete
	if err := p.name(); err != nil {
		return err
	}
	if err := p.alias(); err != nil {
		return err
	}
	if p.at("USING") {
		return p.fail("write WHERE key IN (SELECT ...)", "DELETE with USING is not supported")
	}
	return p.where()
}

// where reads "WHERE condition", or nothing, to the end.
func (p *parser) where() error {
	if i := p.find("RETURNING"); i >= 0 {
		return syntaxError(p.sql, p.toks[i].Start, "", "RETURNING is not supported")
	}
	if p.pos >= len(p.toks) {
		return nil
	}
	if !p.accept("WHERE") {
		return p.expected("WHERE")
	}
	if p.pos >= len(p.toks) {
		return p.expected("a condition")
	}
	p.stmt.Where, p.stmt.WhereAt = p.rest(len(p.toks))
	return nil
}

func (p *parser) update() error {
	p.stmt.Kind = Update
	if err := p.name(); err != nil {
		return err
	}
	if err := p.alias(); err != nil {
		return err
	}
	if !p.accept("SET") {
		return p.expected("SET")
	}
	for {
		if err := p.assignment(); err != nil {
			return err
		}
		if !p.accept(",") {
			break
		}
	}
	if p.at("FROM") {
		return p.fail("use a scalar subquery in SET, or WHERE key IN (SELECT ...)", "UPDATE with FROM is not supported")
	}
	return p.where()
}

// assignment reads "column = expression", the expression up to a comma, WHERE, FROM or RETURNING
// that is not inside it.
func (p *parser) assignment() error {
	a := Assignment{ColumnAt: p.offset()}
	if p.at("(") {
		return p.fail("write one assignment for each column", "SET of several columns at once is not supported")
	}
	var err error
	if a.Column, err = p.identifier("the name of a column"); err != nil {
		return err
	}
	if p.at(".") {
		return p.fail("write only the column's name", "a column in SET has no relation's name")
	}
	if !p.accept("=") {
		return p.expected("=")
	}
	end, depth := p.pos, 0
	for ; end < len(p.toks); end++ {
		t := p.toks[end]
		if depth == 0 && (t.Is(p.sql, ",") || t.Is(p.sql, "WHERE") || t.Is(p.sql, "RETURNING") ||
			t.Is(p.sql, "FROM") && !p.toks[end-1].Is(p.sql, "DISTINCT")) {
			break
		}
		depth += nesting(t.Text(p.sql))
	}
	if end == p.pos {
		return p.expected("an expression")
	}
	a.Expr, a.ExprAt = p.rest(end)
	p.stmt.Set = append(p.stmt.Set, a)
	p.pos = end
	return nil
}

// with tells a query with CTEs from a change with CTEs.
func (p *parser) with() error {
	for _, word := range []string{"INSERT", "UPDATE", "DELETE"} {
		if i := p.find(word); i > 0 && p.toks[i-1].Is(p.sql, ")") {
			return p.unsupported("put the WITH into the SELECT or the subquery of the " + word)
		}
	}
	p.stmt.Kind = Query
	return nil
}
