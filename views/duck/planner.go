package duck

import (
	"encoding/json"
	"strings"
	"sync"

	m "github.com/duckdb/duckdb-go-bindings"

	"tidemill/state/column"
)

// disabledOptimizers are switched off in a Planner. The tables are empty, so whatever reasons from
// statistics or limits would collapse plans to nothing; unused_columns and unnest_rewriter make some
// plans fail to serialise; the others hide the operators that we maintain behind DuckDB's own, or
// move filters, share expressions and rewrite them, which package plan does by its own rules (a filter
// that can fail may not move, and what can fail may not be rewritten to what cannot).
// join_order stays on: over empty tables it still makes no needless cross product.
const disabledOptimizers = "statistics_propagation,empty_result_pullup,compressed_materialization," +
	"late_materialization,top_n,limit_pushdown,sampling_pushdown,sum_rewriter,build_side_probe_side," +
	"join_filter_pushdown,column_lifetime,duplicate_groups,top_n_window_elimination,unused_columns," +
	"unnest_rewriter,in_clause,filter_pushdown,filter_pullup,common_subexpressions,common_subplan," +
	"reorder_filter,expression_rewriter,cte_filter_pusher,regex_range,row_group_pruner,window_self_join"

// scratchSchema is where CREATE TABLE and INSERT texts of users run before they are rolled back.
const scratchSchema = "tidemill_scratch"

// Planner is DuckDB's front end over empty tables. It is safe for concurrent use; calls take turns.
type Planner struct {
	mu       sync.Mutex // guards everything
	in       *instance
	main     *conn
	scratch  *conn // whose search path begins with scratchSchema
	volatile map[string]string
}

// OpenPlanner opens an instance for planning. It takes some tens of milliseconds.
func OpenPlanner() (*Planner, error) {
	p := &Planner{}
	var err error
	p.in, err = openInstance(settings{threads: 1, before: func(in *instance, c *conn) error {
		if err := c.execAll("SET disabled_optimizers = '"+disabledOptimizers+"'", "CREATE SCHEMA "+scratchSchema); err != nil {
			return err
		}
		if p.main, err = in.connect(); err != nil {
			return err
		}
		if p.scratch, err = in.connect(); err != nil {
			return err
		}
		return p.scratch.exec("SET search_path = '" + scratchSchema + ",main'")
	}})
	if err != nil {
		return nil, err
	}
	return p, nil
}

// Close frees the instance. Later calls return ErrClosed.
func (p *Planner) Close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.in == nil {
		return
	}
	p.main.close()
	p.scratch.close()
	p.in.close()
	p.in = nil
}

// Define makes an empty table that stands for the relation name, in place of an earlier one.
func (p *Planner) Define(name string, fields []column.Field) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.in == nil {
		return ErrClosed
	}
	if err := p.main.makeSchema(name); err != nil {
		return err
	}
	return p.main.exec(createTableSQL(QuoteName(name), fields, nil))
}

// createTableSQL writes the CREATE OR REPLACE TABLE of fields; defaults may be nil.
func createTableSQL(quoted string, fields []column.Field, defaults []string) string {
	var b strings.Builder
	b.WriteString("CREATE OR REPLACE TABLE " + quoted + " (")
	for i, f := range fields {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(QuoteIdent(f.Name) + " " + f.Type.String())
		if f.NotNull {
			b.WriteString(" NOT NULL")
		}
		if i < len(defaults) && defaults[i] != "" {
			b.WriteString(" DEFAULT (" + defaults[i] + ")")
		}
	}
	b.WriteString(")")
	return b.String()
}

// Drop forgets a relation; one that is not there is no error.
func (p *Planner) Drop(name string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.in == nil {
		return ErrClosed
	}
	return p.main.exec("DROP TABLE IF EXISTS " + QuoteName(name))
}

const planSQL = "SELECT json_serialize_plan(?::VARCHAR, skip_null := true, skip_empty := false, skip_default := false, optimize := "

// Plan returns the bound plan of a SELECT as DuckDB's JSON: an object whose "plans" has one element.
// A few optimised plans cannot be serialised (an *SQLError of kind Serialization, Internal or Not
// Implemented, without a position): ask again with optimize false, which always can be.
func (p *Planner) Plan(selectSQL string, optimize bool) ([]byte, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.in == nil {
		return nil, ErrClosed
	}
	if err := p.main.checkSelect(selectSQL); err != nil {
		return nil, err
	}
	flag := "false)::VARCHAR"
	if optimize {
		flag = "true)::VARCHAR"
	}
	rows, err := p.main.rows(planSQL+flag, selectSQL)
	if err != nil {
		return nil, unplaced(err)
	}
	out := []byte(rows[0][0])
	var head struct {
		Error bool              `json:"error"`
		Plans []json.RawMessage `json:"plans"`
	}
	if err := json.Unmarshal(out, &head); err != nil {
		return nil, err
	}
	if head.Error {
		return nil, parseError(rows[0][0], selectSQL)
	}
	if len(head.Plans) != 1 {
		return nil, refuse("Not Implemented", "0A000", selectSQL, -1, "write an IN list in the PIVOT",
			"the statement is planned as %d statements", len(head.Plans))
	}
	return out, nil
}

// unplaced takes the place out of an error about a statement of our own.
func unplaced(err error) error {
	if e, ok := err.(*SQLError); ok {
		return e.at("", -1)
	}
	return err
}

// checkSelect refuses anything but one statement that selects.
func (c *conn) checkSelect(sql string) error {
	parts := splitStatements(sql)
	if err := c.checkParses(sql, len(parts)); err != nil {
		return err
	}
	if len(parts) != 1 {
		pos := -1
		if len(parts) > 1 {
			pos = parts[1].From
		}
		return refuse("Parser", "42601", sql, pos, "", "one SELECT is expected, not %d statements", len(parts))
	}
	if parts[0].Kind != Select {
		return refuse("Parser", "42601", sql, parts[0].From, "", "a SELECT is expected, not %s", parts[0].Kind)
	}
	return nil
}

// Columns returns the names and types of a SELECT's result. A type that columns cannot hold is an
// error that names the column.
func (p *Planner) Columns(selectSQL string) ([]column.Field, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.in == nil {
		return nil, ErrClosed
	}
	if err := p.main.checkSelect(selectSQL); err != nil {
		return nil, err
	}
	stmt, err := p.main.prepare(selectSQL)
	if err != nil {
		return nil, err
	}
	defer m.DestroyPrepare(&stmt)
	var out []column.Field
	for i := range m.PreparedStatementColumnCount(stmt) {
		name := m.PreparedStatementColumnName(stmt, i)
		lt := m.PreparedStatementColumnLogicalType(stmt, i)
		t, ok := columnType(lt)
		sqlType := typeName(lt)
		m.DestroyLogicalType(&lt)
		if !ok {
			return nil, unsupportedType(name, sqlType)
		}
		out = append(out, column.Field{Name: name, Type: t})
	}
	return out, nil
}

// VolatileFunctions returns the functions whose result is not a function of their arguments, lower
// case, with DuckDB's word for why: VOLATILE, or CONSISTENT_WITHIN_QUERY for those that read the
// clock or the session. A name with several overloads has the worst of them. Some functions that
// DuckDB calls CONSISTENT read the session all the same; the caller knows those.
func (p *Planner) VolatileFunctions() (map[string]string, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.in == nil {
		return nil, ErrClosed
	}
	if p.volatile == nil {
		rows, err := p.main.rows("SELECT lower(function_name), max(stability::VARCHAR) FROM duckdb_functions() " +
			"WHERE stability IN ('VOLATILE', 'CONSISTENT_WITHIN_QUERY') GROUP BY 1")
		if err != nil {
			return nil, err
		}
		p.volatile = make(map[string]string, len(rows))
		for _, r := range rows {
			p.volatile[r[0]] = r[1]
		}
	}
	out := make(map[string]string, len(p.volatile))
	for k, v := range p.volatile {
		out[k] = v
	}
	return out, nil
}
