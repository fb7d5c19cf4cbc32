package plan

import (
	"errors"
	"fmt"
	"strings"

	"tidemill/operators/expr"
	"tidemill/state/column"
)

// Binder is DuckDB as this package needs it: a database in which every relation is an empty table.
type Binder interface {
	// Plan returns json_serialize_plan of a SELECT, with skip_default and skip_empty off. Optimised
	// plans are made without the optimiser's passes that reason from statistics, serialise badly, move
	// filters and share subexpressions, or rewrite expressions so that they fail on other rows: what is
	// needed of these this package does by its own rules.
	Plan(selectSQL string, optimize bool) ([]byte, error)
	// Columns returns the SELECT's output columns.
	Columns(selectSQL string) ([]column.Field, error)
	// VolatileFunctions returns the stability, VOLATILE or CONSISTENT_WITHIN_QUERY, of the functions
	// that are not CONSISTENT, by name.
	VolatileFunctions() (map[string]string, error)
}

// Build returns the plan of a view's SELECT, ready to be lowered to operators. Its columns have the
// names that DuckDB gives the SELECT's; a name that repeats gets _1, _2 and so on. An error about the
// SELECT is an *Error with its place, or the Binder's. The Evaluator computes constants.
func Build(b Binder, ev expr.Evaluator, sql string, lookup Schemas) (*Node, error) {
	n, err := build(b, ev, sql, lookup)
	var e *Error
	if errors.As(err, &e) {
		e.locate(sql)
	}
	return n, err
}

func build(b Binder, ev expr.Evaluator, sql string, lookup Schemas) (*Node, error) {
	raw, err := b.Plan(sql, false)
	if err != nil {
		return nil, err
	}
	if _, err := parsePlans(raw); err != nil {
		return nil, err
	}
	volatile, err := b.VolatileFunctions()
	if err != nil {
		return nil, fmt.Errorf("list volatile functions: %w", err)
	}
	if err := checkVolatile(raw, sql, volatile); err != nil {
		return nil, err
	}
	text, err := b.Plan(sql, true)
	if err == nil {
		_, err = parsePlans(text)
	}
	if err != nil { // some plans serialise only as they were bound
		text = raw
	}
	n, err := Decode(text, lookup)
	if err != nil {
		return nil, err
	}
	if n, err = fold(n, ev); err != nil {
		return nil, fmt.Errorf("compute constants: %w", err)
	}
	columns, err := b.Columns(sql)
	if err != nil {
		return nil, err
	}
	if len(columns) != len(n.Schema) {
		return nil, malformed("%d columns, of which %d have names", len(n.Schema), len(columns))
	}
	return named(Optimize(n), unique(columns)), nil
}

// Optimize applies the rules. The result outputs the same rows under the same names.
func Optimize(n *Node) *Node {
	n = simplify(pushFilters(n))
	n = simplify(prune(n))
	return simplify(pushFilters(n)) // filters that have become adjacent
}

// unique makes the names different, whatever their case.
func unique(columns []column.Field) []column.Field {
	taken := map[string]bool{}
	for _, c := range columns {
		taken[strings.ToLower(c.Name)] = true
	}
	seen := map[string]bool{}
	out := make([]column.Field, len(columns))
	for i, c := range columns {
		n, name := c.Name, c.Name
		for k := 1; seen[strings.ToLower(name)]; k++ {
			if next := fmt.Sprintf("%s_%d", n, k); !taken[strings.ToLower(next)] {
				name = next
				taken[strings.ToLower(name)] = true
			}
		}
		seen[strings.ToLower(name)] = true
		out[i].Name = name
	}
	return out
}
