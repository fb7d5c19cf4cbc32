package duck

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	sqltoken "tidemill/views/plan/token"
)

// Reading is what a SELECT reads.
type Reading struct {
	// Names are the relations and views, as the statement writes them, sorted, each once. Names of its own common
	// table expressions are not among them, a view's name stands for itself (what it reads is the caller's to
	// know), and names need not be defined.
	Names []string
	// Other says that it reads something besides: relations of system schemas, table functions that look at the instance.
	Other bool
}

// systemSchemas are those whose relations are not the caller's.
var systemSchemas = map[string]bool{"information_schema": true, "pg_catalog": true, "tidemill": true, "temp": true, "system": true}

// pureFunctions are the table functions whose rows follow from their arguments.
var pureFunctions = map[string]bool{"range": true, "generate_series": true, "unnest": true, "repeat": true, "repeat_row": true,
	"json_each": true, "json_tree": true}

// TableNames returns the names of the relations and views that a SELECT reads, as in Reading.
func (x *Exec) TableNames(sql string) ([]string, error) {
	r, err := x.Reads(sql)
	return r.Names, err
}

// Reads returns what a SELECT reads.
//
// It walks DuckDB's parse tree. duckdb_get_table_names would be shorter, but it expands views, and it
// fails on every JOIN with USING.
func (x *Exec) Reads(sql string) (Reading, error) {
	if err := x.lockDDL(); err != nil {
		return Reading{}, err
	}
	defer x.ddl.Unlock()
	if err := x.setup.checkSelect(sql); err != nil {
		return Reading{}, err
	}
	rows, err := x.setup.rows("SELECT json_serialize_sql(?::VARCHAR, skip_null := true, skip_empty := true, skip_default := true)::VARCHAR", sql)
	if err != nil {
		return Reading{}, unplaced(err)
	}
	var tree map[string]any
	if err := json.Unmarshal([]byte(rows[0][0]), &tree); err != nil {
		return Reading{}, fmt.Errorf("read the parse tree: %w", err)
	}
	if tree["error"] == true {
		return Reading{}, parseError(rows[0][0], sql)
	}
	w := nameWalk{found: map[string]bool{}}
	w.visit(tree["statements"], nil)
	out := Reading{Other: w.other}
	for n := range w.found {
		out.Names = append(out.Names, n)
	}
	slices.Sort(out.Names)
	return out, nil
}

type nameWalk struct {
	found map[string]bool
	other bool
}

// visit collects the table names below a node. ctes are the lower-case names of the common table
// expressions in scope.
func (w *nameWalk) visit(node any, ctes []string) {
	switch n := node.(type) {
	case []any:
		for _, c := range n {
			w.visit(c, ctes)
		}
	case map[string]any:
		ctes = w.visitCTEs(n, ctes)
		if name, ok := n["table_name"].(string); ok && n["type"] == "BASE_TABLE" {
			schema, _ := n["schema_name"].(string)
			w.other = w.other || n["catalog_name"] != nil || systemSchemas[strings.ToLower(schema)]
			if schema != "" || !slices.Contains(ctes, strings.ToLower(name)) {
				w.found[sqltoken.Join(schema, name)] = true
			}
		}
		if n["type"] == "TABLE_FUNCTION" {
			f, _ := n["function"].(map[string]any)
			name, _ := f["function_name"].(string)
			w.other = w.other || !pureFunctions[strings.ToLower(name)]
		}
		if name, ok := n["cte_name"].(string); ok { // a recursive one sees itself
			ctes = append(slices.Clip(ctes), strings.ToLower(name))
		}
		for k, c := range n {
			if k != "cte_map" {
				w.visit(c, ctes)
			}
		}
	}
}

// visitCTEs visits the WITH list of a node. Each sees those before it; the node sees all.
func (w *nameWalk) visitCTEs(n map[string]any, ctes []string) []string {
	list, _ := n["cte_map"].(map[string]any)
	entries, _ := list["map"].([]any)
	for _, e := range entries {
		cte, _ := e.(map[string]any)
		w.visit(cte["value"], ctes)
		name, _ := cte["key"].(string)
		ctes = append(slices.Clip(ctes), strings.ToLower(name))
	}
	return ctes
}
