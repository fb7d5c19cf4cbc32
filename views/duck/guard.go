package duck

import (
	"strings"

	m "github.com/duckdb/duckdb-go-bindings"
)

// deniedFunctions may not be called in any statement of a user: table functions that act on the
// instance (enable_logging, checkpoint), run text that nobody has looked at (query,
// json_execute_serialized_sql), take raw pointers (arrow_scan) or read files, and scalar functions
// that do something besides giving a value. Locking the configuration does not stop most of them,
// and they are SELECTs by their statement type. A test goes through all table functions of the
// library, so that a new one is looked at. (Asking the library at every open takes 0.1 s.)
var deniedFunctions = func() map[string]bool {
	out := map[string]bool{}
	for _, n := range strings.Fields(`
		arrow_scan arrow_scan_dumb check_peg_parser checkpoint disable_logging disable_peg_parser
		disable_profiling duckdb_approx_database_count duckdb_connection_count duckdb_coordinate_systems
		duckdb_extensions duckdb_external_file_cache duckdb_log_contexts duckdb_logs duckdb_optimizers
		duckdb_prepared_statements duckdb_secret_types duckdb_secrets duckdb_table_sample
		duckdb_temporary_files duckdb_variables enable_logging enable_peg_parser enable_profiling
		force_checkpoint glob json_execute_serialized_sql parquet_bloom_probe parquet_file_metadata
		parquet_full_metadata parquet_kv_metadata parquet_metadata parquet_scan parquet_schema
		pragma_metadata_info pragma_storage_info pragma_user_agent query query_table read_blob read_csv
		read_csv_auto read_duckdb read_json read_json_auto read_json_objects read_json_objects_auto
		read_ndjson read_ndjson_auto read_ndjson_objects read_ndjson_objects_auto read_parquet read_text seq_scan
		sniff_csv sql_auto_complete test_vector_types truncate_duckdb_logs which_secret
		nextval setseed sleep_ms write_log`) {
		out[strings.ToUpper(n)] = true
	}
	return out
}()

// checkCalls refuses a call of a denied function anywhere in the text: a name is a call when an
// opening parenthesis follows, whatever white space and comments stand between.
func checkCalls(sql string) error {
	toks := lex(sql)
	for i := 0; i+1 < len(toks); i++ {
		if t := toks[i]; t.name() && deniedFunctions[t.text] && toks[i+1].punct("(") {
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
