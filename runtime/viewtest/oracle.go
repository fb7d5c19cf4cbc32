package viewtest

import (
	"context"
	"database/sql"
	"fmt"
	"strings"

	_ "github.com/duckdb/duckdb-go/v2" // the oracle's driver
)

// oracle is plain DuckDB: tables without keys into which every row is replayed, and the views as views.
type oracle struct {
	db      *sql.DB
	conn    *sql.Conn
	rejects map[string]string // view to the query of how many rows it rejects
	stmts   map[string]*sql.Stmt
}

func openOracle() (*oracle, error) {
	db, err := sql.Open("duckdb", "")
	if err != nil {
		return nil, err
	}
	conn, err := db.Conn(context.Background())
	if err != nil {
		return nil, err
	}
	o := &oracle{db: db, conn: conn, rejects: map[string]string{}, stmts: map[string]*sql.Stmt{}}
	if err := o.exec("SET TimeZone = 'UTC'"); err != nil && !strings.Contains(err.Error(), "unrecognized") {
		return nil, err
	}
	// The optimiser rewrites what can fail to what cannot, and moves it out of TRY, here and not there; and a prepared
	// statement must not know what was in the tables when it was prepared.
	if err := o.exec("PRAGMA disable_optimizer"); err != nil {
		return nil, err
	}
	for _, q := range decided {
		if err := o.exec(q); err != nil {
			return nil, err
		}
	}
	return o, o.exec("SET threads = 1")
}

func (o *oracle) close() {
	for _, s := range o.stmts {
		s.Close()
	}
	o.conn.Close()
	o.db.Close()
}

func (o *oracle) exec(q string) error {
	_, err := o.conn.ExecContext(context.Background(), q)
	if err != nil {
		return fmt.Errorf("oracle: %w", err)
	}
	return nil
}

// atomic runs statements, all or none; the last may be COMMIT or ROLLBACK, else it commits.
func (o *oracle) atomic(qs []string) error {
	if len(qs) == 1 {
		return o.exec(qs[0])
	}
	if err := o.exec("BEGIN"); err != nil {
		return err
	}
	for _, q := range qs {
		if err := o.exec(q); err != nil {
			if rerr := o.exec("ROLLBACK"); rerr != nil {
				return rerr
			}
			return err
		}
	}
	if last := qs[len(qs)-1]; last == "COMMIT" || last == "ROLLBACK" {
		return nil
	}
	return o.exec("COMMIT")
}

// createView defines the view so that no row can make it fail.
func (o *oracle) createView(v *view) error {
	st := v.Block.stage()
	o.forget()
	if err := o.exec("CREATE VIEW " + v.Name + " AS " + asOracle(st.rows)); err != nil {
		return err
	}
	o.rejects[v.Name] = "SELECT 0"
	if len(st.rejects) > 0 {
		o.rejects[v.Name] = asOracle("SELECT (" + strings.Join(st.rejects, ") + (") + ")")
	}
	return nil
}

// gives reports whether the view would have rows now.
func (o *oracle) gives(v *view) bool {
	rows, err := o.query("SELECT 1 FROM (" + asOracle(v.Block.stage().rows) + ") LIMIT 1")
	return err == nil && len(rows) > 0
}

// forget closes the prepared statements.
func (o *oracle) forget() {
	for _, s := range o.stmts {
		s.Close()
	}
	clear(o.stmts)
}

// types returns the types of a view's columns as DuckDB binds the SELECT as it was written.
func (o *oracle) types(v *view) ([]string, error) {
	rows, err := o.query("DESCRIBE " + v.Block.sql())
	if err != nil {
		return nil, err
	}
	var out []string
	for _, r := range rows {
		out = append(out, r[1].text)
	}
	return out, nil
}

// upserts writes appends to a keyed table, of which the last row of a key stays.
func (t *table) upserts(rows [][]value, deleted []bool) []string {
	last := map[string]int{}
	var keys []string
	for i, row := range rows {
		k := t.keyOf(row)
		if _, ok := last[k]; !ok {
			keys = append(keys, "("+t.keyCondition(t.all(), row)+")")
		}
		last[k] = i
	}
	var kept [][]value
	for i, row := range rows {
		if last[t.keyOf(row)] == i && (deleted == nil || !deleted[i]) {
			kept = append(kept, row)
		}
	}
	qs := []string{"DELETE FROM " + t.Name + " WHERE " + strings.Join(keys, " OR ")}
	if len(kept) > 0 {
		qs = append(qs, "INSERT INTO "+t.Name+" VALUES "+tuples(kept))
	}
	return qs
}

// keyOf returns the same text for the keys that are equal.
func (t *table) keyOf(row []value) string {
	var b strings.Builder
	for _, k := range t.Key {
		s := row[k].sql
		if t.Cols[k].Type.Floating() {
			s = strings.Replace(s, "'-0'", "'0'", 1)
		}
		b.WriteString(s + "|")
	}
	return b.String()
}

// insert writes the statements of INSERT; on a keyed table each row replaces its key's.
func (t *table) insert(cols []int, rows [][]value) []string {
	into := "INSERT INTO " + t.Name + " (" + strings.Join(t.names(cols), ", ") + ") VALUES "
	if t.Key == nil {
		return []string{into + tuples(rows)}
	}
	var qs []string
	for _, row := range rows {
		qs = append(qs, "DELETE FROM "+t.Name+" WHERE "+t.keyCondition(cols, row), into+tuples([][]value{row}))
	}
	return qs
}

// cell is a value as text.
type cell struct {
	text string
	null bool
}

// query returns all rows of a query that gives text.
func (o *oracle) query(q string) ([][]cell, error) {
	rows, err := o.conn.QueryContext(context.Background(), q)
	return fetch(rows, err)
}

// prepared is query for one that is asked again.
func (o *oracle) prepared(q string) ([][]cell, error) {
	s := o.stmts[q]
	if s == nil {
		var err error
		if s, err = o.conn.PrepareContext(context.Background(), q); err != nil {
			return nil, fmt.Errorf("oracle: %w", err)
		}
		o.stmts[q] = s
	}
	rows, err := s.QueryContext(context.Background())
	return fetch(rows, err)
}

func fetch(rows *sql.Rows, err error) ([][]cell, error) {
	if err != nil {
		return nil, fmt.Errorf("oracle: %w", err)
	}
	defer rows.Close()
	names, err := rows.Columns()
	if err != nil {
		return nil, err
	}
	var out [][]cell
	for rows.Next() {
		vals, ptrs := make([]sql.NullString, len(names)), make([]any, len(names))
		for i := range vals {
			ptrs[i] = &vals[i]
		}
		if err := rows.Scan(ptrs...); err != nil {
			return nil, err
		}
		row := make([]cell, len(names))
		for i, v := range vals {
			row[i] = cell{v.String, !v.Valid}
		}
		out = append(out, row)
	}
	return out, rows.Err()
}

// rows returns the rows of a relation.
func (o *oracle) rows(name string) ([][]cell, error) {
	return o.prepared("SELECT CAST(COLUMNS(*) AS VARCHAR) FROM " + name)
}
