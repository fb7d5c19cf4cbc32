// Package shell runs SQL for people and scripts: it splits what it is given into statements, sends them one by one,
// and prints what comes back as a table, CSV, JSON or an Arrow stream. Lines that begin with a backslash are
// commands of its own (meta.go lists them).
//
// Session is the part without a terminal; Interactive puts a line editor with history and completion before it.
// A session remembers the first failure of each kind, so that a script's exit code can tell an error in SQL from a
// server that is not there.
package shell
