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
	case p.accept("SCHEMA"):
		p.stmt.Kind = MakeSchema
		p.stmt.IfNotExists = p.accept("IF", "NOT", "EXISTS")
		return p.last(p.schema())
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
	if p.at("(") {
		if err := p.columns(); err != nil {
			return err
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

// createTable reads the name; the columns are DuckDB's to read. CREATE TABLE AS is ours.
func (p *parser) createTable() error {
	p.stmt.Kind = CreateTable
	p.stmt.IfNotExists = p.accept("IF", "NOT", "EXISTS")
	if err := p.name(); err != nil {
		return err
	}
	if p.at("(") {
		start := p.pos
		for depth := 0; p.pos < len(p.toks); p.pos++ {
			if depth += nesting(p.peek()); depth == 0 {
				break
			}
		}
		p.pos++
		as := p.at("AS")
		p.pos = start
		if !as {
			return nil
		}
		if err := p.columns(); err != nil {
			return err
		}
	}
	if !p.accept("AS") {
		return p.expected("a list of columns, or AS with a SELECT")
	}
	p.stmt.Kind = CreateAs
	end := len(p.toks)
	word := func(back int, w string) bool { return end-back > p.pos && p.toks[end-back].Is(p.sql, w) }
	switch {
	case word(1, "DATA") && word(2, "NO") && word(3, "WITH"):
		p.stmt.NoData, end = true, end-3
	case word(1, "DATA") && word(2, "WITH"):
		end -= 2
	}
	if p.pos >= end {
		return p.expected("a SELECT")
	}
	p.stmt.Select, p.stmt.SelectAt = p.rest(end)
	return nil
}

// columns reads a list of names in parentheses.
func (p *parser) columns() error {
	if !p.accept("(") {
		return p.expected("a parenthesis")
	}
	for {
		c, err := p.identifier("the name of a column")
		if err != nil {
			return err
		}
		p.stmt.Columns = append(p.stmt.Columns, c)
		if p.accept(")") {
			return nil
		}
		if !p.accept(",") {
			return p.expected("a comma or a parenthesis")
		}
	}
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
	case p.accept("SCHEMA"):
		p.stmt.Kind = DropSchema
		p.stmt.IfExists = p.accept("IF", "EXISTS")
		if err := p.schema(); err != nil {
			return err
		}
		return p.cascade()
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
	return p.cascade()
}

// cascade reads CASCADE, RESTRICT or nothing to the end.
func (p *parser) cascade() error {
	if p.stmt.Cascade = p.accept("CASCADE"); !p.stmt.Cascade {
		p.accept("RESTRICT")
	}
	return p.end()
}

// schema reads a schema's name.
func (p *parser) schema() (err error) {
	p.stmt.NameAt = p.offset()
	p.stmt.Name, err = p.identifier("the name of a schema")
	p.stmt.NameEnd = p.toks[max(p.pos-1, 0)].End
	return err
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
