package plan

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"strings"
	"testing"

	"github.com/duckdb/duckdb-go/v2"

	"tidemill/state/column"
	"tidemill/views/duck"
)

// disabledOptimizers are those that a Binder must do without.
const disabledOptimizers = "statistics_propagation,empty_result_pullup,compressed_materialization," +
	"late_materialization,top_n,limit_pushdown,sampling_pushdown,sum_rewriter,build_side_probe_side," +
	"join_filter_pushdown,column_lifetime,duplicate_groups,top_n_window_elimination,unused_columns," +
	"unnest_rewriter,in_clause,filter_pushdown,filter_pullup,common_subexpressions,common_subplan,reorder_filter,expression_rewriter," +
	"cte_filter_pusher,regex_range,row_group_pruner,window_self_join"

// testBinder is a Binder over a database in memory.
type testBinder struct {
	t       *testing.T
	db      *sql.DB
	schemas map[string][]column.Field // by lower-case name
	names   map[string]string
	ev      *duck.Evaluator

	volatile map[string]string
}

func newBinder(t *testing.T, disabled string) *testBinder {
	t.Helper()
	c, err := duckdb.NewConnector("?threads=1", func(x driver.ExecerContext) error {
		_, err := x.ExecContext(context.Background(), "SET disabled_optimizers = '"+disabled+"'; SET TimeZone = 'UTC'", nil)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	b := &testBinder{t: t, db: sql.OpenDB(c), schemas: map[string][]column.Field{}, names: map[string]string{}, ev: duck.OpenEvaluator()}
	t.Cleanup(func() { b.db.Close(); b.ev.Close() })
	b.db.SetMaxOpenConns(1)
	return b
}

// define runs a CREATE TABLE and records the relation.
func (b *testBinder) define(name, columns string) {
	b.t.Helper()
	b.exec("CREATE OR REPLACE TABLE " + name + " (" + columns + ")")
	rows, err := b.db.Query("SELECT column_name, data_type, is_nullable FROM duckdb_columns() WHERE table_name = ? ORDER BY column_index", name)
	if err != nil {
		b.t.Fatal(err)
	}
	defer rows.Close()
	var fields []column.Field
	for rows.Next() {
		var f column.Field
		var typ string
		var nullable bool
		if err := rows.Scan(&f.Name, &typ, &nullable); err != nil {
			b.t.Fatal(err)
		}
		if f.Type, err = column.ParseType(typ); err != nil {
			b.t.Fatal(err)
		}
		f.NotNull = !nullable
		fields = append(fields, f)
	}
	b.schemas[strings.ToLower(name)] = fields
	b.names[strings.ToLower(name)] = name
}

func (b *testBinder) exec(stmt string) {
	b.t.Helper()
	if _, err := b.db.Exec(stmt); err != nil {
		b.t.Fatalf("%s: %v", stmt, err)
	}
}

func (b *testBinder) lookup(name string) (string, []column.Field, bool) {
	f, ok := b.schemas[strings.ToLower(name)]
	return b.names[strings.ToLower(name)], f, ok
}

func (b *testBinder) Plan(selectSQL string, optimize bool) ([]byte, error) {
	flag := map[bool]string{true: "true", false: "false"}[optimize]
	var text string
	err := b.db.QueryRow("SELECT json_serialize_plan(" + quoteText(selectSQL) +
		", skip_null := true, skip_empty := false, skip_default := false, optimize := " + flag + ")::VARCHAR").Scan(&text)
	return []byte(text), err
}

func (b *testBinder) Columns(selectSQL string) ([]column.Field, error) {
	rows, err := b.db.Query("SELECT column_name, column_type FROM (DESCRIBE " + selectSQL + ")")
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var out []column.Field
	for rows.Next() {
		var name, typ string
		if err := rows.Scan(&name, &typ); err != nil {
			return nil, err
		}
		ct, err := column.ParseType(typ)
		if err != nil {
			return nil, err
		}
		out = append(out, column.Field{Name: name, Type: ct})
	}
	return out, rows.Err()
}

func (b *testBinder) VolatileFunctions() (map[string]string, error) {
	if b.volatile != nil {
		return b.volatile, nil
	}
	rows, err := b.db.Query("SELECT function_name, stability FROM duckdb_functions() WHERE stability <> 'CONSISTENT'")
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	out := map[string]string{}
	for rows.Next() {
		var name, stability string
		if err := rows.Scan(&name, &stability); err != nil {
			return nil, err
		}
		out[name] = stability
	}
	b.volatile = out
	return out, rows.Err()
}
