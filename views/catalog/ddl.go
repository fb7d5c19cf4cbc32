package catalog

// This file reads CREATE, DROP, EXPLAIN, DESCRIBE and SHOW.

func (p *parser) create() error {
	p.stmt.OrReplace = p.accept("OR", "REPLACE")
	switch {
	case p.accept("MATERIALIZED", "VIEW"):
		p.stmt.Kind = CreateView
		return p.createView()
	case p.accept("TABLE"):
		return p.createTable()
	case p.at("VIEW"):
		return p.unsupported("use CREATE MATERIALIZED VIEW")
	case p.at("TEMP"), p.at("TEMPORARY"):
		return p.unsupported("every table is durable: use CREATE TABLE")
	default:
		return p.unsupported("")
	}
}

// createView reads what follows CREATE MATERIALIZED VIEW.
func (p *parser) createView() error {
	p.stmt.IfNotExists = p.accept("IF", "NOT", "EXISTS")
	if err := p.name(); err != nil {
		return err
	}
	if p.accept("(") {
		for {
			c, err := p.identifier("the name of a column")
			if err != nil {
				return err
			}
			p.stmt.Columns = append(p.stmt.Columns, c)
			if p.accept(")") {
				break
			}
			if !p.accept(",") {
				return p.expected("a comma or a parenthesis")
			}
		}
	}
	if !p.accept("AS") {
		return p.expected("AS with a SELECT")
	}
	if p.pos >= len(p.toks) {
		return p.expected("a SELECT")
	}
	p.stmt.Select, p.stmt.SelectAt = p.rest(len(p.toks))
	return nil
}

// createTable reads the name; the columns are DuckDB's to read.
func (p *parser) createTable() error {
	p.stmt.Kind = CreateTable
	p.stmt.IfNotExists = p.accept("IF", "NOT", "EXISTS")
	if err := p.name(); err != nil {
		return err
	}
	switch {
	case p.at("AS"):
		p.stmt = Statement{Span: p.stmt.Span, Text: p.stmt.Text}
		return p.unsupported("create the table with its columns, then INSERT INTO it the SELECT; or create a materialized view")
	case !p.at("("):
		return p.expected("a list of columns")
	}
	return nil
}

func (p *parser) explain() error {
	switch {
	case p.accept("CREATE", "MATERIALIZED", "VIEW"):
		p.stmt.Kind = ExplainNew
		return p.createView()
	case p.accept("MATERIALIZED", "VIEW"):
		p.stmt.Kind = ExplainView
		return p.last(p.name())
	case p.at("INSERT"), p.at("UPDATE"), p.at("DELETE"), p.at("CREATE"), p.at("DROP"):
		return p.unsupported("EXPLAIN takes a SELECT, MATERIALIZED VIEW or CREATE MATERIALIZED VIEW")
	}
	p.stmt.Kind = Query
	return nil
}

func (p *parser) drop() error {
	switch {
	case p.accept("TABLE"):
		p.stmt.DropKind = Table
	case p.accept("VIEW"), p.accept("MATERIALIZED", "VIEW"):
		p.stmt.DropKind = View
	default:
		return p.unsupported("")
	}
	p.stmt.Kind = Drop
	p.stmt.IfExists = p.accept("IF", "EXISTS")
	if err := p.name(); err != nil {
		return err
	}
	if p.at(",") {
		return p.fail("", "one relation can be dropped at a time")
	}
	if p.stmt.Cascade = p.accept("CASCADE"); !p.stmt.Cascade {
		p.accept("RESTRICT")
	}
	return p.end()
}

// describe reads what follows DESCRIBE or SHOW.
func (p *parser) describe() error {
	if p.accept("TABLES") || p.accept("ALL", "TABLES") {
		p.stmt.Kind = ShowTables
		return p.end()
	}
	if p.pos == len(p.toks) {
		p.stmt.Kind = ShowTables
		return nil
	}
	if queries[upper(p.peek())] || p.at("WITH") {
		p.stmt.Kind = Query
		return nil
	}
	p.stmt.Kind = Describe
	return p.last(p.name())
}
