// Package views maintains materialized views: plans lowered to operators, and one step per commit.
//
// A Graph holds the tables and views of a catalog. Graph.Step takes a commit's changes of tables and
// brings every operator that keeps state, at any depth, to the commit; Publish makes that visible
// and Void undoes it. The parts of a view that keep no state (filters, projections, unions) are not
// stored: the view is read as SQL over what is stored (View.SQL), and they run in a commit only if an
// operator with state follows or a row can fail in them.
//
//	table  --delta-->  filter, project  --delta-->  Aggregate  --delta-->  project ...
//	stored             run when followed            stored                  derived when read
//
// The package starts no clock and reads no option that a replay would not see: the same records give the
// same state. One goroutine (the committer) calls a Graph; Table.Lookup and View.Lookup may run
// beside it.
package views
