package catalog

import (
	"strings"

	"tidemill/views/plan/token"
)

// ActionKind is what an ALTER does.
type ActionKind string

// The kinds of action.
const (
	RenameRelation ActionKind = "RENAME TO"
	RenameField    ActionKind = "RENAME COLUMN"
	AddField       ActionKind = "ADD COLUMN"
	DropField      ActionKind = "DROP COLUMN"
	SetDefaultTo   ActionKind = "SET DEFAULT"
	DropDefault    ActionKind = "DROP DEFAULT"
	SetNotNullOn   ActionKind = "SET NOT NULL"
	DropNotNull    ActionKind = "DROP NOT NULL"
)

// Action is what follows the name in ALTER.
type Action struct {
	Kind     ActionKind
	Column   string // of all but RENAME TO and ADD COLUMN
	To       string // RENAME: the new name
	IfExists bool   // DROP COLUMN IF EXISTS, ADD COLUMN IF NOT EXISTS
	Text     string // ADD COLUMN: the definition of the column; SET DEFAULT: the expression
	TextAt   int
}

// alter reads what follows ALTER.
func (p *parser) alter() error {
	switch {
	case p.accept("TABLE"):
		p.stmt.DropKind = Table
	case p.accept("MATERIALIZED", "VIEW"), p.accept("VIEW"):
		p.stmt.DropKind = View
	default:
		return p.unsupported("ALTER TABLE and ALTER MATERIALIZED VIEW are there")
	}
	p.stmt.Kind = AlterTable
	p.stmt.IfExists = p.accept("IF", "EXISTS")
	if err := p.name(); err != nil {
		return err
	}
	a := &p.stmt.Action
	var err error
	switch {
	case p.accept("RENAME", "TO"):
		a.Kind = RenameRelation
		a.To, err = p.identifier("the new name")
		return p.last(err)
	case p.accept("RENAME"):
		p.accept("COLUMN")
		a.Kind = RenameField
		if a.Column, err = p.identifier("the name of a column"); err != nil {
			return err
		}
		if !p.accept("TO") {
			return p.expected("TO")
		}
		a.To, err = p.identifier("the new name")
		return p.last(err)
	case p.accept("ADD"):
		p.accept("COLUMN")
		a.Kind = AddField
		a.IfExists = p.accept("IF", "NOT", "EXISTS")
		if p.at("CONSTRAINT") || p.at("PRIMARY") || p.at("CHECK") || p.at("UNIQUE") || p.at("FOREIGN") {
			return p.unsupported("create a table with the constraint, and INSERT INTO it the rows")
		}
		if p.pos >= len(p.toks) {
			return p.expected("a column")
		}
		a.Text, a.TextAt = p.rest(len(p.toks))
		return nil
	case p.accept("DROP"):
		p.accept("COLUMN")
		a.Kind = DropField
		a.IfExists = p.accept("IF", "EXISTS")
		if a.Column, err = p.identifier("the name of a column"); err != nil {
			return err
		}
		p.accept("RESTRICT")
		if p.at("CASCADE") {
			return p.fail("drop the views that use the column first", "DROP COLUMN has no CASCADE")
		}
		return p.end()
	case p.accept("ALTER"):
		p.accept("COLUMN")
		return p.alterColumn()
	}
	return p.unsupported("RENAME TO, RENAME COLUMN, ADD COLUMN, DROP COLUMN and ALTER COLUMN are there")
}

// alterColumn reads what follows ALTER COLUMN.
func (p *parser) alterColumn() (err error) {
	a := &p.stmt.Action
	if a.Column, err = p.identifier("the name of a column"); err != nil {
		return err
	}
	switch {
	case p.accept("SET", "DEFAULT"):
		a.Kind = SetDefaultTo
		if p.pos >= len(p.toks) {
			return p.expected("an expression")
		}
		a.Text, a.TextAt = p.rest(len(p.toks))
		return nil
	case p.accept("DROP", "DEFAULT"):
		a.Kind = DropDefault
	case p.accept("SET", "NOT", "NULL"):
		a.Kind = SetNotNullOn
	case p.accept("DROP", "NOT", "NULL"):
		a.Kind = DropNotNull
	default:
		return p.unsupported("ALTER COLUMN sets and drops DEFAULT and NOT NULL; for another type create a new table and INSERT INTO it a SELECT with the casts")
	}
	return p.end()
}

// comment reads what follows COMMENT ON.
func (p *parser) comment() error {
	p.stmt.Kind = Comment
	switch {
	case p.accept("TABLE"):
		p.stmt.On, p.stmt.DropKind = "TABLE", Table
	case p.accept("MATERIALIZED", "VIEW"), p.accept("VIEW"):
		p.stmt.On, p.stmt.DropKind = "VIEW", View
	case p.accept("SCHEMA"):
		p.stmt.On = "SCHEMA"
	case p.accept("COLUMN"):
		p.stmt.On = "COLUMN"
	default:
		return p.unsupported("comments are on a TABLE, VIEW, COLUMN or SCHEMA")
	}
	var err error
	switch p.stmt.On {
	case "SCHEMA":
		err = p.schema()
	case "COLUMN":
		err = p.columnName()
	default:
		err = p.name()
	}
	if err != nil {
		return err
	}
	if !p.accept("IS") {
		return p.expected("IS")
	}
	if p.accept("NULL") {
		return p.end()
	}
	if p.pos >= len(p.toks) || p.toks[p.pos].Kind != token.String || !strings.HasPrefix(p.peek(), "'") {
		return p.expected("a text in single quotes, or NULL")
	}
	text := p.peek()
	p.stmt.Remark = strings.ReplaceAll(text[1:len(text)-1], "''", "'")
	p.pos++
	return p.end()
}

// columnName reads relation.column, the relation with its schema or not.
func (p *parser) columnName() error {
	p.stmt.NameAt = p.offset()
	var parts []string
	for {
		part, err := p.identifier("relation.column")
		if err != nil {
			return err
		}
		parts = append(parts, part)
		if !p.accept(".") {
			break
		}
	}
	p.stmt.NameEnd = p.toks[p.pos-1].End
	switch len(parts) {
	case 2:
		p.stmt.Name = token.Join("", parts[0])
	case 3:
		p.stmt.Name = token.Join(parts[0], parts[1])
	default:
		return syntaxError(p.sql, p.stmt.NameAt, "write relation.column or schema.relation.column", "the name of a column is expected")
	}
	p.stmt.Column = parts[len(parts)-1]
	return nil
}
