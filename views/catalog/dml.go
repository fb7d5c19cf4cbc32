package catalog

import "strings"

// This file reads INSERT, DELETE and UPDATE, and WITH in front of them.

func upper(s string) string { return strings.ToUpper(s) }

func (p *parser) insert() error {
	p.stmt.OrReplace = p.accept("OR", "REPLACE")
	p.stmt.OrIgnore = !p.stmt.OrReplace && p.accept("OR", "IGNORE")
	if !p.accept("INTO") {
		return p.expected("INTO")
	}
	p.stmt.Kind = Insert
	if err := p.name(); err != nil {
		return err
	}
	if i := p.find("RETURNING"); i >= 0 {
		return p.returning(i)
	}
	end := len(p.toks)
	if i := p.find("ON", "CONFLICT"); i >= 0 && p.ignores(i) {
		p.stmt.OrIgnore, end = true, i
	} else if i := max(p.find("ON", "CONFLICT", "("), p.find("ON", "CONFLICT", "DO")); i >= 0 {
		return syntaxError(p.sql, p.toks[i].Start, "write ON CONFLICT DO NOTHING, or leave it out: INSERT INTO a table with a primary key replaces the rows of the same key", "this ON CONFLICT is not supported")
	}
	if p.pos >= end {
		return p.expected("VALUES or a SELECT")
	}
	p.stmt.Tail, p.stmt.TailAt = p.rest(end)
	return nil
}

// ignores reports whether ON CONFLICT at token i is DO NOTHING to the end, for all keys.
func (p *parser) ignores(i int) bool {
	start := p.pos
	defer func() { p.pos = start }()
	p.pos = i + 2
	return p.accept("DO", "NOTHING") && p.pos == len(p.toks)
}

// returning refuses RETURNING at token i.
func (p *parser) returning(i int) error {
	return syntaxError(p.sql, p.toks[i].Start, "leave it out and SELECT the rows afterwards: the answer has their count and the commit", "RETURNING is not supported")
}

// transaction reads what may follow BEGIN, COMMIT and ROLLBACK.
func (p *parser) transaction(kind StatementKind) error {
	p.stmt.Kind = kind
	if !p.accept("TRANSACTION") {
		p.accept("WORK")
	}
	return p.end()
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
	return p.from("USING")
}

// from reads "USING relations" or "FROM relations" up to WHERE, when it is there, and the rest.
func (p *parser) from(word string) error {
	if p.accept(word) {
		end := p.find("WHERE")
		if end < 0 {
			if end = p.find("RETURNING"); end < 0 {
				end = len(p.toks)
			}
		}
		if end <= p.pos {
			return p.expected("a relation")
		}
		p.stmt.From, p.stmt.FromAt = p.rest(end)
		p.pos = end
	}
	return p.where()
}

// where reads "WHERE condition", or nothing, to the end.
func (p *parser) where() error {
	if i := p.find("RETURNING"); i >= 0 {
		return p.returning(i)
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
	return p.from("FROM")
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
