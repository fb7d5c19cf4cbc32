// Package plan turns the SELECT of a view into a tree of Nodes, the plan that package views lowers
// to operators.
//
// DuckDB parses and binds. Its logical plan arrives as JSON from a Binder; Decode reads it into
// Nodes; the rules (pushfilter.go, simplify.go, prune.go) rewrite those; Build does all of it:
//
//	SELECT s, sum(b) AS total FROM t WHERE a > 1 GROUP BY s
//
//	aggregate by [s] [total := sum(b)]
//	  filter (a > 1)
//	    scan t [a, s, b]
//
// What the package promises:
//
//   - A plan that Build returns means what the SELECT means, as a bag of rows without an order.
//   - What cannot be maintained is an *Error that names the construct in the user's words, with its
//     place in the text where that is known. It is never a panic and never found at run time.
//   - No rule moves an expression that can fail (expr.Fallible) below an operator that drops rows:
//     which rows are rejected follows from the SELECT as it is written. In a Filter the conjuncts
//     that can fail come last.
//   - Functions that read the clock, the session or chance are refused, on the plan before DuckDB
//     has folded them to constants.
//
// The JSON's form belongs to one version of DuckDB; testdata holds the trees that it gave, so that a
// new version shows what moved. The Nodes are ours and are stored.
//
// Everything here is a function of its arguments and safe for concurrent use.
package plan
