// Package duck is DuckDB behind a few calls: the one package that knows its C API.
//
// It gives three things, each over an in-memory instance of its own, opened when it is needed:
//
//   - Planner, the front end: DuckDB's parser, binder and optimiser over empty tables. It turns a
//     SELECT into its bound plan (JSON) and a CREATE TABLE into columns, keys and defaults.
//   - Exec, the read engine: SELECT over snapshots of our own columns. Each relation is a view over
//     one table function, which fills DuckDB's vectors straight from column buffers; nothing is
//     loaded or copied beforehand.
//   - Evaluator: a scalar expression over columns, for the expressions that package expr has no
//     kernel for.
//
// A fourth, Files, is for commands alone: it reads and writes the files of the user who runs the program.
//
// Data crosses the border as column.Column both ways. Columns handed in are read in place, by
// DuckDB's threads, until the query that uses them is closed: they are pinned for that time
// (runtime.Pinner), because C memory holds their addresses. Columns handed out are copies.
//
// Every instance but that of Files is locked down before the first statement of a user runs: no files, no network, no
// extensions, no change of settings. Exec lets only SELECT and EXPLAIN through, by the statement
// type that DuckDB itself reports, and refuses functions that act on the instance by name.
// DuckDB's memory limit does not bound every function, and a cancelled query may run on inside one
// call: a caller that serves strangers bounds the process as well.
//
// SQL that fails is an *SQLError with DuckDB's kind of error, a SQLSTATE and the byte position in
// the text. All exported types are safe for concurrent use unless they say otherwise.
package duck
