// Package crashtest breaks a whole engine and opens it again. It has tests only.
//
// What the tests do:
//
//   - TestCrash takes crash clones of the file system at random operations, also inside a checkpoint, a CREATE
//     and recovery itself, with a random share of what was not synced, and opens them.
//   - TestWithoutFsync does the same with a log whose syncs do nothing, and must find lost rows: it proves that
//     TestCrash would see them.
//   - TestFaults fails one file operation, or all from one on.
//   - TestFlips flips a bit of a file of a closed directory.
//
// What each opened directory must show (check_test.go): for every producer the appends up to its last seq, whole
// and once, where that seq is at least what was acknowledged and at most what was sent; the statements of one
// session up to some statement, likewise; every view equal to its SELECT over the tables, as the read engine
// answers it; a repeated seq answered with its first commit, a gap and a wrong prev refused.
//
//	go test ./runtime/crashtest -crash.clones 2000 -crash.flips 1000 -crash.seed 7
//
// Package kill, below, does it to the real program with kill -9.
package crashtest
