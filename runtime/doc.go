// Package runtime is the engine: it owns a directory and everything in it, takes appends, makes
// commits of them, and answers reads.
//
// What it promises. An append that has been acknowledged is in the commit log, checksummed and fsynced, and
// every view that follows it, at any depth, equals its SQL over the rows up to that commit. A read
// sees one commit in every relation that it touches. After a crash the directory opens at the last
// commit that is whole in the log, which is the last acknowledged one or a later one.
//
// One goroutine, the committer, makes commits (commit.go) and runs whatever needs the state between two
// of them: definitions, statements that change rows, snapshots, the two ends of a checkpoint. Recovery
// (open.go) goes through the same apply. Lookups run beside it.
//
//	servers --Append--> queue --> committer --> log, operators --> publish --> acknowledge
//	        --Lookup--> tables of state (last published version)
//	        --Query---> committer: snapshot --> DuckDB over image chunks
//
// The package knows no protocol. DESIGN.md beside it says why the steps have the order they have.
package runtime
