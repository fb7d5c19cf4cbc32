package duck

import (
	"strconv"
	"strings"

	"tidemill/state/column"
)

// TableInfo is what a CREATE TABLE says.
type TableInfo struct {
	Name   string
	Fields []column.Field
	// PrimaryKey has the key's columns in the key's order, as indexes into Fields; all are NOT NULL.
	PrimaryKey []int
	// Defaults has the SQL text of each column's DEFAULT, "" without one.
	Defaults    []string
	IfNotExists bool
	OrReplace   bool
}

// refusedWords are reserved words that begin what a table of ours cannot have.
var refusedWords = map[string]string{
	"CHECK":      "CHECK constraints are not supported",
	"UNIQUE":     "UNIQUE constraints are not supported",
	"REFERENCES": "FOREIGN KEY constraints are not supported",
	"FOREIGN":    "FOREIGN KEY constraints are not supported",
	"COLLATE":    "COLLATE on a column is not supported",
}

var refusedHints = map[string]string{
	"CHECK": "filter in a view", "UNIQUE": "declare the columns as PRIMARY KEY, or use SELECT DISTINCT in a view",
	"REFERENCES": "join in a view", "FOREIGN": "join in a view", "COLLATE": "use lower() or collate in the query",
}

// CreateTable reads a user's CREATE TABLE: it runs in a scratch schema, what came of it is read back
// from DuckDB's catalog, and it is rolled back. Constraints and types that we do not keep are
// refused by name.
func (p *Planner) CreateTable(ddl string) (*TableInfo, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.in == nil {
		return nil, ErrClosed
	}
	info, err := p.checkCreateTable(ddl)
	if err != nil {
		return nil, err
	}
	c := p.scratch
	if err := c.exec("BEGIN"); err != nil {
		return nil, err
	}
	defer func() { _ = c.exec("ROLLBACK") }()
	if err := c.exec(ddl); err != nil {
		return nil, err
	}
	if err := p.readTable(info, ddl); err != nil {
		return nil, err
	}
	return info, nil
}

// checkCreateTable looks at the text alone: that it is one plain CREATE TABLE.
func (p *Planner) checkCreateTable(ddl string) (*TableInfo, error) {
	parts := splitStatements(ddl)
	if err := p.scratch.checkParses(ddl, len(parts)); err != nil {
		return nil, err
	}
	if len(parts) != 1 || parts[0].Kind != CreateTable {
		return nil, refuse("Parser", "42601", ddl, 0, "", "one CREATE TABLE statement is expected")
	}
	info := &TableInfo{}
	depth := 0
	toks := lex(ddl)
	for i, t := range toks {
		switch {
		case t.punct("("):
			depth++
		case t.punct(")"):
			depth--
		case t.kind != tokWord:
		case depth == 0 && (t.text == "TEMP" || t.text == "TEMPORARY") && i < 4:
			return nil, refuse("Not Implemented", "0A000", ddl, t.from, "", "temporary tables are not supported")
		case depth == 0 && t.text == "REPLACE" && i < 3:
			info.OrReplace = true
		case depth == 0 && t.text == "EXISTS":
			info.IfNotExists = true
		case depth == 0 && t.text == "AS":
			return nil, refuse("Not Implemented", "0A000", ddl, t.from,
				"create the table with its columns, then INSERT INTO it, or create a materialized view",
				"CREATE TABLE AS is not supported")
		case depth == 1 && refusedWords[t.text] != "":
			return nil, refuse("Not Implemented", "0A000", ddl, t.from, refusedHints[t.text], "%s", refusedWords[t.text])
		}
	}
	return info, nil
}

// readTable reads the one table of the scratch schema back.
func (p *Planner) readTable(info *TableInfo, ddl string) error {
	tables, err := p.scratch.rows("SELECT table_name, sql FROM duckdb_tables() WHERE schema_name = '" + scratchSchema + "'")
	if err != nil {
		return err
	}
	if len(tables) != 1 {
		return refuse("Not Implemented", "0A000", ddl, -1, "write the table's name alone", "a table cannot be put in a schema")
	}
	info.Name = tables[0][0]
	if err := p.readColumns(info, ddl); err != nil {
		return err
	}
	for toks := lex(tables[0][1]); len(toks) > 2; toks = toks[1:] {
		if toks[0].is("GENERATED") && toks[1].is("ALWAYS") {
			return refuse("Not Implemented", "0A000", ddl, wordAt(ddl, "GENERATED"),
				"compute it in a view", "generated columns are not supported")
		}
	}
	return p.readKey(info, ddl)
}

func (p *Planner) readColumns(info *TableInfo, ddl string) error {
	rows, err := p.scratch.rows("SELECT column_name, data_type, is_nullable::VARCHAR, coalesce(column_default, '') FROM duckdb_columns() "+
		"WHERE schema_name = '"+scratchSchema+"' AND table_name = ? ORDER BY column_index", info.Name)
	if err != nil {
		return err
	}
	for _, r := range rows {
		t, err := column.ParseType(r[1])
		if err != nil {
			return refuse("Not Implemented", "0A000", ddl, wordAt(ddl, strings.ToUpper(r[0])),
				"use a scalar type, or VARCHAR for nested values", "column %s has type %s, which is not supported", r[0], r[1])
		}
		info.Fields = append(info.Fields, column.Field{Name: r[0], Type: t, NotNull: r[2] == "false"})
		info.Defaults = append(info.Defaults, r[3])
	}
	return nil
}

func (p *Planner) readKey(info *TableInfo, ddl string) error {
	rows, err := p.scratch.rows("SELECT constraint_type, array_to_string(constraint_column_indexes, ',') FROM duckdb_constraints() "+
		"WHERE schema_name = '"+scratchSchema+"' AND table_name = ?", info.Name)
	if err != nil {
		return err
	}
	for _, r := range rows {
		switch r[0] {
		case "NOT NULL":
		case "PRIMARY KEY":
			for _, s := range strings.Split(r[1], ",") {
				i, err := strconv.Atoi(s)
				if err != nil || i < 0 || i >= len(info.Fields) {
					return refuse("Internal", "XX000", ddl, -1, "", "primary key column %q is not known", s)
				}
				info.PrimaryKey = append(info.PrimaryKey, i)
				info.Fields[i].NotNull = true
			}
		default:
			return refuse("Not Implemented", "0A000", ddl, -1, "", "%s constraints are not supported", r[0])
		}
	}
	return nil
}

// wordAt returns where a word or quoted name, in upper case, stands in a text, or -1.
func wordAt(text, upper string) int {
	for _, t := range lex(text) {
		if t.name() && t.text == upper {
			return t.from
		}
	}
	return -1
}
