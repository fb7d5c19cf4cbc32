package plan

import (
	"bytes"
	"encoding/json"
	"math"
	"strconv"
	"strings"
)

// The structs here are the part of json_serialize_plan's output (DuckDB 1.5.6) that is read. The
// text must have been made with skip_default and skip_empty off: with them on, a column index of 0
// is left out together with its entry in the list, and the plans of columns (0, 1) and (1, 0) are
// one text.

type jsonPlans struct {
	Error    bool     `json:"error"`
	Message  string   `json:"error_message"`
	Kind     string   `json:"error_type"`
	Position string   `json:"position"`
	Plans    []*jnode `json:"plans"`
}

// jnode is a logical operator. One struct serves all: fields that two operators use differently are
// raw.
type jnode struct {
	Type       string          `json:"type"`
	Children   []*jnode        `json:"children"`
	TableIndex uint64          `json:"table_index"`
	Exprs      json.RawMessage `json:"expressions"` // a list, a list of lists for VALUES

	// GET
	Function      string          `json:"name"`
	FunctionData  json.RawMessage `json:"function_data"` // a jtable for tables
	ReturnedTypes []jtype         `json:"returned_types"`
	Names         []string        `json:"names"`
	ColumnIndexes []jcolumn       `json:"column_indexes"`
	ProjectionIDs []int           `json:"projection_ids"`
	TableFilters  *jfilters       `json:"table_filters"`
	Extra         *jextra         `json:"extra_info"`
	Sample        *jsonPresent    `json:"sample_options"`

	ProjectionMap []int `json:"projection_map"` // FILTER, ORDER_BY

	// AGGREGATE
	Groups            []*jexpr `json:"groups"`
	GroupingSets      [][]int  `json:"grouping_sets"`
	GroupingFunctions [][]int  `json:"grouping_functions"`

	// DISTINCT
	DistinctType    string   `json:"distinct_type"`
	DistinctTargets []*jexpr `json:"distinct_targets"`

	SetopAll    bool    `json:"setop_all"`
	ColumnCount int     `json:"column_count"`
	JoinType    string  `json:"join_type"`
	CTEIndex    uint64  `json:"cte_index"`
	CTEName     string  `json:"ctename"`
	ExprTypes   []jtype `json:"expr_types"`   // VALUES
	ReturnTypes []jtype `json:"return_types"` // EMPTY_RESULT
	Bindings    []any   `json:"bindings"`     // EMPTY_RESULT
}

type jtable struct {
	Catalog string `json:"catalog"`
	Schema  string `json:"schema"`
	Table   string `json:"table"`
}

type jextra struct {
	Sample *jsonPresent `json:"sample_options"`
}

// jsonPresent is a value of which only the presence matters.
type jsonPresent struct{}

type jcolumn struct {
	Index    *uint64   `json:"index"`
	Children []jcolumn `json:"child_indexes"`
}

type jfilters struct {
	Filters []struct {
		Key   int      `json:"key"`
		Value *jfilter `json:"value"`
	} `json:"filters"`
}

// jfilter is a filter that DuckDB has pushed into a scan.
type jfilter struct {
	Type       string     `json:"filter_type"`
	Comparison string     `json:"comparison_type"`
	Constant   *jvalue    `json:"constant"`
	Children   []*jfilter `json:"child_filters"`
	Values     []*jvalue  `json:"values"`
	Expr       *jexpr     `json:"expr"`
}

type jexpr struct {
	Class    string   `json:"expression_class"`
	Type     string   `json:"type"`
	Alias    string   `json:"alias"`
	Location *uint64  `json:"query_location"`
	Return   jtype    `json:"return_type"`
	Children []*jexpr `json:"children"`
	Index    int      `json:"index"` // BOUND_REF

	Name         string          `json:"name"` // functions and aggregates
	IsOperator   bool            `json:"is_operator"`
	FunctionData json.RawMessage `json:"function_data"`

	Child   *jexpr `json:"child"` // CAST
	TryCast bool   `json:"try_cast"`

	Left  *jexpr `json:"left"`
	Right *jexpr `json:"right"`

	Input          *jexpr `json:"input"` // BETWEEN
	Lower          *jexpr `json:"lower"`
	Upper          *jexpr `json:"upper"`
	LowerInclusive bool   `json:"lower_inclusive"`
	UpperInclusive bool   `json:"upper_inclusive"`

	Checks []struct {
		When *jexpr `json:"when_expr"`
		Then *jexpr `json:"then_expr"`
	} `json:"case_checks"`
	Else *jexpr `json:"else_expr"`

	Value *jvalue `json:"value"` // CONSTANT

	AggregateType string `json:"aggregate_type"`
	Filter        *jexpr `json:"filter"`
	OrderBys      *struct {
		Orders []struct {
			Type  string `json:"type"`
			Nulls string `json:"null_order"`
			Expr  *jexpr `json:"expression"`
		} `json:"orders"`
	} `json:"order_bys"`
}

// pos returns the expression's byte offset in the SELECT, or -1.
func (e *jexpr) pos() int {
	if e == nil || e.Location == nil || *e.Location > math.MaxInt32 {
		return -1
	}
	return int(*e.Location)
}

type jvalue struct {
	Type  jtype           `json:"type"`
	Null  bool            `json:"is_null"`
	Value json.RawMessage `json:"value"`
}

// parsePlans reads the text of json_serialize_plan. An error that DuckDB reports in it is returned
// as an *Error.
func parsePlans(text []byte) ([]*jnode, error) {
	var p jsonPlans
	if err := json.Unmarshal(quoteFloats(text), &p); err != nil {
		return nil, malformed("%v", err)
	}
	if p.Error {
		return nil, duckError(&p)
	}
	return p.Plans, nil
}

func duckError(p *jsonPlans) *Error {
	message, hint, _ := strings.Cut(p.Message, "\n")
	e := &Error{Position: -1, Message: message, Hint: strings.TrimSpace(hint)}
	if pos, err := strconv.Atoi(p.Position); err == nil && pos >= 0 {
		e.Position = pos
	}
	if strings.Contains(message, "type MULTI") {
		e = unsupported("PIVOT", "write an aggregate with a FILTER clause for each column", "PIVOT", "UNPIVOT")
	}
	return e
}

// quoteFloats makes strings of the bare NaN and Infinity that DuckDB writes for doubles: they are
// not JSON.
func quoteFloats(text []byte) []byte {
	if !bytes.Contains(text, []byte("NaN")) && !bytes.Contains(text, []byte("Infinity")) {
		return text
	}
	out := make([]byte, 0, len(text)+64)
	inString := false
	for i := 0; i < len(text); i++ {
		c := text[i]
		if inString {
			out = append(out, c)
			if c == '\\' && i+1 < len(text) {
				i++
				out = append(out, text[i])
			}
			inString = c != '"'
			continue
		}
		word := ""
		for _, w := range []string{"NaN", "-NaN", "Infinity", "-Infinity"} {
			if bytes.HasPrefix(text[i:], []byte(w)) {
				word = w
			}
		}
		if word != "" {
			out = append(append(append(out, '"'), word...), '"')
			i += len(word) - 1
			continue
		}
		inString = c == '"'
		out = append(out, c)
	}
	return out
}
