// Package catalog knows the relations: their names, columns, keys, plans and who follows whom. It
// also reads the statements that are ours and not DuckDB's, as far as it takes to find the names in
// them and where the SELECT begins.
//
// A Catalog is a value that never changes. A statement makes a new one of it, so a reader keeps the
// version that it started with, for as long as it likes, without a lock. Relation ids are never used
// again, not even after a DROP: records in the commit log name relations by id.
//
// What is stored is JSON with a format version. It does no I/O itself: the runtime saves what
// MarshalJSON returns in the same batch as the state that belongs to it.
//
// Names are compared as DuckDB compares them: the case of the letters A to Z does not count, and
// relations show the spelling that they were created with.
package catalog
