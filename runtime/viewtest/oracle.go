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
	o := &oracle{db: db, conn: conn, rejects: map[string]string{}}
	if err := o.exec("SET TimeZone = 'UTC'"); err != nil && !strings.Contains(err.Error(), "unrecognized") {
		return nil, err
	}
	return o, o.exec("SET threads = 1")
}

func (o *oracle) close() {
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

// atomic runs statements, all or none.
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
	return o.exec("COMMIT")
}

// createView defines the view so that no row can make it fail.
func (o *oracle) createView(v *view) error {
	st := v.Block.stage()
	if err := o.exec("CREATE VIEW " + v.Name + " AS " + st.rows); err != nil {
		return err
	}
	o.rejects[v.Name] = "SELECT 0"
	if len(st.rejects) > 0 {
		o.rejects[v.Name] = "SELECT (" + strings.Join(st.rejects, ") + (") + ")"
	}
	return nil
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

// insert writes the statements of an insert into the columns; on a keyed table each row replaces its key's.
func (t *table) insert(cols []int, rows [][]value, deleted []bool) []string {
	into := "INSERT INTO " + t.Name + " (" + strings.Join(t.names(cols), ", ") + ") VALUES "
	if t.Key == nil {
		return []string{into + tuples(rows)}
	}
	var qs []string
	for i, row := range rows {
		qs = append(qs, "DELETE FROM "+t.Name+" WHERE "+t.keyCondition(cols, row))
		if deleted == nil || !deleted[i] {
			qs = append(qs, into+tuples([][]value{row}))
		}
	}
	return qs
}

// cell is a value as text.
type cell struct {
	text string
	null bool
}

// query returns all rows with every column cast to text.
func (o *oracle) query(q string) ([][]cell, error) {
	rows, err := o.conn.QueryContext(context.Background(), q)
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
	return o.query("SELECT CAST(COLUMNS(*) AS VARCHAR) FROM " + name)
}
