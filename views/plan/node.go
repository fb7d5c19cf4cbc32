package plan

import (
	"tidemill/operators/expr"
	"tidemill/state/column"
)

// Op names a plan node. The strings are frozen: plans are stored in the catalog and the log.
type Op string

// The nodes that Tidemill maintains.
const (
	Scan      Op = "scan"      // Relation; outputs its Columns
	Filter    Op = "filter"    // Input 0's rows for which every one of Exprs is true
	Project   Op = "project"   // Exprs over Input 0
	Aggregate Op = "aggregate" // Groups, Aggs over Input 0; output columns: groups, then aggregates
	Distinct  Op = "distinct"  // Input 0's different rows
	Union     Op = "union"     // UNION ALL of the inputs
	Values    Op = "values"    // constant rows: Rows, each with an expression without columns per output
)

// Node is one operator of a view's plan, a value that can be encoded as JSON.
type Node struct {
	Op     Op             `json:"op"`
	Inputs []*Node        `json:"in,omitempty"`
	Schema []column.Field `json:"schema"` // output columns

	Relation string `json:"relation,omitempty"` // Scan: canonical name of the table or view
	Columns  []int  `json:"columns,omitempty"`  // Scan: the relation's columns that are output

	Exprs []*expr.Expr   `json:"exprs,omitempty"` // Filter: conjuncts, fallible ones last; Project: outputs
	Rows  [][]*expr.Expr `json:"rows,omitempty"`  // Values

	Groups []*expr.Expr `json:"groups,omitempty"` // Aggregate; empty for the whole input as one group
	Aggs   []Agg        `json:"aggs,omitempty"`
	// Sets are grouping sets, each the places in Groups that it has; the first output column is then the number of the
	// set. nil for one set of all groups.
	Sets [][]int `json:"sets,omitempty"`
}

// Keys returns how many output columns of an Aggregate are its groups', the number of the set among them.
func (n *Node) Keys() int {
	if n.Sets != nil {
		return len(n.Groups) + 1
	}
	return len(n.Groups)
}

// Agg is one aggregate of an Aggregate node.
type Agg struct {
	// Func is DuckDB's name, the same for its aliases. arg_max is arg_min with the order turned; its second argument is
	// the first of Order, as is arg_min's.
	Func     string       `json:"f"`
	Args     []*expr.Expr `json:"args,omitempty"`
	Order    []Order      `json:"order,omitempty"`
	Distinct bool         `json:"distinct,omitempty"`
	Filter   *expr.Expr   `json:"filter,omitempty"`
	Type     column.Type  `json:"t"`
	Params   *Params      `json:"params,omitempty"`
}

// Order is one expression that the rows of an aggregate are ordered by.
type Order struct {
	Expr       *expr.Expr `json:"e"`
	Desc       bool       `json:"desc,omitempty"`
	NullsFirst bool       `json:"nulls_first,omitempty"`
}

// Params are the constant arguments of an aggregate.
type Params struct {
	Separator string     `json:"sep,omitempty"`       // string_agg
	Quantiles []Quantile `json:"quantiles,omitempty"` // quantile_cont, quantile_disc, median
	Desc      bool       `json:"desc,omitempty"`      // quantiles from the largest
	List      bool       `json:"list,omitempty"`      // of quantiles
}

// Quantile is a fraction as it was written: Digits / 10^Scale when Exact, else Float, which it is in any case.
type Quantile struct {
	Digits int64   `json:"d,omitempty"`
	Scale  int     `json:"s,omitempty"`
	Float  float64 `json:"f"`
	Exact  bool    `json:"x,omitempty"`
}
