package duck

import (
	"context"
	"fmt"

	m "github.com/duckdb/duckdb-go-bindings"

	"tidemill/state/column"
)

// InsertTarget is the table that an INSERT is for.
type InsertTarget struct {
	Name   string
	Fields []column.Field
	// Defaults has the SQL text of each column's DEFAULT, "" for NULL; it may be nil.
	Defaults []string
}

// InsertRows returns the rows that an INSERT would insert, with defaults filled in and values cast.
// tail is the statement after the table's name: an optional column list and VALUES, SELECT or
// DEFAULT VALUES; it may read relations, through snap. It runs against an empty table of that
// shape and is rolled back. A NULL in a NOT NULL column is an *SQLError with SQLSTATE 23502. Keys
// are not checked.
func (x *Exec) InsertRows(ctx context.Context, t InsertTarget, tail string, params []any, snap Snapshots) ([]column.Column, int, error) {
	prefix := "INSERT INTO " + scratchSchema + "." + QuoteIdent(t.Name) + " "
	sql := prefix + tail
	if err := checkCalls(tail); err != nil {
		return nil, 0, err
	}
	parts := splitStatements(sql)
	if len(parts) != 1 {
		return nil, 0, refuse("Parser", "42601", tail, -1, "", "one INSERT is expected, not %d statements", len(parts))
	}
	for _, tok := range lex(tail) {
		if tok.is("RETURNING") {
			return nil, 0, refuse("Not Implemented", "0A000", tail, tok.from, "", "RETURNING is not supported")
		}
	}
	sql = sql[:parts[0].To] + "\nRETURNING *"
	if err := x.defineScratch(t); err != nil {
		return nil, 0, err
	}
	c, err := x.take()
	if err != nil {
		return nil, 0, err
	}
	defer x.give(c)
	if err := c.exec("BEGIN"); err != nil {
		return nil, 0, err
	}
	defer func() { _ = c.exec("ROLLBACK") }()
	cols, n, err := c.insert(ctx, execution{sql: sql, params: params, q: &query{snap: snap}, allowed: onlyInsert, release: keepConn}, t)
	return cols, n, shifted(err, tail, len(prefix))
}

func onlyInsert(t m.StatementType) error {
	if t != m.StatementTypeInsert {
		return refuse("Permission", "42501", "", -1, "", "an INSERT is expected")
	}
	return nil
}

func (c *conn) insert(ctx context.Context, x execution, t InsertTarget) ([]column.Column, int, error) {
	rows, err := c.run(ctx, x)
	if err != nil {
		return nil, 0, err
	}
	defer rows.Close()
	if len(rows.fields) != len(t.Fields) {
		return nil, 0, fmt.Errorf("insert into %s: %d columns came back and not %d", t.Name, len(rows.fields), len(t.Fields))
	}
	for i, f := range rows.fields {
		if f.Type != t.Fields[i].Type {
			return nil, 0, fmt.Errorf("insert into %s: column %s came back as %s", t.Name, f.Name, f.SQLType)
		}
	}
	return rows.ReadAll()
}

// defineScratch makes the empty table of t's shape unless it is there.
func (x *Exec) defineScratch(t InsertTarget) error {
	ddl := createTableSQL(scratchSchema+"."+QuoteIdent(t.Name), t.Fields, t.Defaults)
	if err := x.lockDDL(); err != nil {
		return err
	}
	defer x.ddl.Unlock()
	if x.shapes[t.Name] == ddl {
		return nil
	}
	if err := x.setup.exec(ddl); err != nil {
		return unplaced(err)
	}
	x.shapes[t.Name] = ddl
	return nil
}
