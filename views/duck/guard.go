package duck

import (
	"fmt"
	"strings"

	m "github.com/duckdb/duckdb-go-bindings"
)

// allowedTableFunctions may be called by users in FROM. All other table functions of the library act
// on the instance (enable_logging, checkpoint), run text that nobody has looked at (query,
// json_execute_serialized_sql), take raw pointers (arrow_scan) or read files. Locking the
// configuration does not stop them, and they are SELECTs by their statement type.
var allowedTableFunctions = map[string]bool{
	"range": true, "generate_series": true, "unnest": true, "repeat": true, "repeat_row": true,
	"json_each": true, "json_tree": true, "summary": true, "icu_calendar_names": true,
	"pg_timezone_names": true, "duckdb_columns": true, "duckdb_constraints": true,
	"duckdb_databases": true, "duckdb_dependencies": true, "duckdb_functions": true,
	"duckdb_indexes": true, "duckdb_keywords": true, "duckdb_memory": true, "duckdb_schemas": true,
	"duckdb_sequences": true, "duckdb_settings": true, "duckdb_tables": true, "duckdb_types": true,
	"duckdb_views": true, "pragma_collations": true, "pragma_database_size": true,
	"pragma_platform": true, "pragma_show": true, "pragma_table_info": true, "pragma_version": true,
	"test_all_types": true, "tidemill_scan": true, "tidemill_scan_rowid": true,
}

// deniedScalars are scalar functions that do something besides giving a value.
var deniedScalars = []string{"write_log", "sleep_ms", "setseed", "nextval"}

// deniedFunctions lists, in upper case, what no statement of a user may call. It asks the library
// for its table functions, so that one that a later version adds is denied until it is looked at.
func deniedFunctions(c *conn) (map[string]bool, error) {
	rows, err := c.rows("SELECT DISTINCT lower(function_name) FROM duckdb_functions() WHERE function_type = 'table'")
	if err != nil {
		return nil, fmt.Errorf("list table functions: %w", err)
	}
	out := map[string]bool{}
	for _, r := range rows {
		if !allowedTableFunctions[r[0]] {
			out[strings.ToUpper(r[0])] = true
		}
	}
	for _, n := range deniedScalars {
		out[strings.ToUpper(n)] = true
	}
	return out, nil
}

// checkCalls refuses a call of a denied function anywhere in the text: a name is a call when an
// opening parenthesis follows, whatever white space and comments stand between.
func checkCalls(denied map[string]bool, sql string) error {
	toks := lex(sql)
	for i := 0; i+1 < len(toks); i++ {
		if t := toks[i]; t.name() && denied[t.text] && toks[i+1].punct("(") {
			return refuse("Permission", "42501", sql, t.from, "", "function %s is not available", strings.ToLower(t.text))
		}
	}
	return nil
}

// readOnly lets SELECT and EXPLAIN through, by DuckDB's own reading of the statement. An EXPLAIN
// must be of a SELECT: EXPLAIN ANALYZE runs what it explains.
func readOnly(sql string) func(m.StatementType) error {
	return func(t m.StatementType) error {
		switch t {
		case m.StatementTypeSelect:
			return nil
		case m.StatementTypeExplain:
			toks := lex(sql)[1:]
			for len(toks) > 0 && (toks[0].is("ANALYZE") || toks[0].is("VERBOSE")) {
				toks = toks[1:]
			}
			if len(toks) > 0 && toks[0].punct("(") { // EXPLAIN (FORMAT json) SELECT, or EXPLAIN (SELECT ...)
				if rest := afterParen(toks); len(rest) > 0 && rest[0].kind == tokWord && !rest[0].is("UNION") &&
					!rest[0].is("INTERSECT") && !rest[0].is("EXCEPT") && !rest[0].is("ORDER") && !rest[0].is("LIMIT") {
					toks = rest
				}
			}
			if len(toks) > 0 && kindOf(toks) == Select {
				return nil
			}
		}
		return refuse("Permission", "42501", sql, 0, "", "only SELECT and EXPLAIN of a SELECT can be run here")
	}
}

// afterParen returns the tokens after the parenthesis that opens at the first.
func afterParen(toks []token) []token {
	depth := 0
	for i, t := range toks {
		if t.punct("(") {
			depth++
		} else if t.punct(")") {
			if depth--; depth == 0 {
				return toks[i+1:]
			}
		}
	}
	return nil
}
