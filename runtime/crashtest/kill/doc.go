// Package kill kills the real program again and again and looks at what is left. It has tests only.
//
// Producers append over HTTP and repeat what was not answered; outside of the program is written down what they
// sent and what was acknowledged. The program gets kill -9 at a random moment under load, in a checkpoint, in the
// CREATE of a view of a large table, or in recovery, and is started again on the same directory: every
// acknowledged row must be there, once, none that was not sent, and every view must equal its SELECT.
//
//	go test ./runtime/crashtest/kill -kill.loops 200 -v
package kill
