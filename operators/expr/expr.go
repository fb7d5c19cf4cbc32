// Package expr evaluates scalar SQL expressions over columns.
//
// An expression is a tree of bound nodes: every column reference is an index, every function is
// named as DuckDB binds it with its argument types, every cast is explicit. Common functions have
// vectorised kernels here; all others are left to an Evaluator, which the caller hands in and which
// runs the printed expression in DuckDB. Both ways give the same values.
//
// Errors are data: an expression that cannot be evaluated on a row (a failed cast, an overflow)
// gives that row a reason and never a panic; the caller takes the row out of the flow.
package expr

import "tidemill/state/column"

// Kind tells what a node is.
type Kind string

// The kinds of node. The strings are frozen: lowered plans are stored in the catalog and the log.
const (
	Column      Kind = "col"     // Col
	Constant    Kind = "const"   // Const, NULL when Const.Valid says so
	Call        Kind = "call"    // Func over Args; comparison and arithmetic operators too ("+", "=", "~~")
	Cast        Kind = "cast"    // Args[0] to Type
	TryCast     Kind = "trycast" // Args[0] to Type, NULL when it fails
	Case        Kind = "case"    // WHEN Args[0] THEN Args[1], ..., ELSE the last
	And         Kind = "and"     // all Args
	Or          Kind = "or"      // any of Args
	Not         Kind = "not"     // Args[0]
	IsNull      Kind = "isnull"  // Args[0] IS NULL
	IsNotNull   Kind = "isnotnull"
	In          Kind = "in" // Args[0] IN (Args[1:])
	NotIn       Kind = "notin"
	Coalesce    Kind = "coalesce"
	Distinct    Kind = "distinct"    // Args[0] IS DISTINCT FROM Args[1]
	NotDistinct Kind = "notdistinct" // Args[0] IS NOT DISTINCT FROM Args[1]
	Try         Kind = "try"         // TRY(Args[0]): NULL on error
	// Opaque is an expression whose inner structure is only known as SQL text, in which {0}, {1}, ...
	// stand for Args: lambdas, struct functions and whatever else has no node of its own.
	Opaque Kind = "opaque"
)

// Expr is one bound node. Trees are immutable after they are built and may be shared.
type Expr struct {
	Kind Kind        `json:"e"`
	Type column.Type `json:"t"`
	// Col is the input column of a Column node.
	Col int `json:"c,omitempty"`
	// Func is a Call's SQL function name, lower case, as DuckDB binds it. Comparisons are Calls
	// named "=", "<>", "<", "<=", ">", ">=", with both arguments already of one type; arithmetic
	// is "+", "-", "*", "/", "//", "%"; BETWEEN is decoded to comparisons.
	Func string  `json:"f,omitempty"`
	Args []*Expr `json:"a,omitempty"`
	// Const is a Constant's value: one row of Type.
	Const *Value `json:"v,omitempty"`
	// Text is an Opaque node's SQL with {i} for its arguments.
	Text string `json:"x,omitempty"`
}

// Value is a constant: NULL, or a value in its raw bytes (column.Column.Raw).
type Value struct {
	Null bool   `json:"null,omitempty"`
	Raw  []byte `json:"raw,omitempty"`
}

// RowErrors tells which rows of an evaluation failed and why. Rows are ascending and unique.
// A nil *RowErrors means none.
type RowErrors struct {
	Rows    []int32
	Reasons []string // DuckDB's message without its "Conversion Error: " kind of prefix
}

// Evaluator evaluates expressions that have no kernel here. Package views hands in DuckDB's.
type Evaluator interface {
	// Evaluate returns the value of e for each of n rows over inputs (e's Column nodes index
	// inputs), with NULL at the rows that failed. The error is of the machinery, never of data.
	Evaluate(e *Expr, inputs []column.Column, n int) (column.Column, *RowErrors, error)
}
