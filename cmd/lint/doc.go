// Package lint holds the rules of the house as tests: which package may import which, who may use a
// third-party module, which calls are forbidden where, and what must have a comment. It has no code
// besides its tests.
//
// The tests read the sources themselves, so that the test cache sees every file that they depend on;
// what another process lists would be answered from the cache when it has changed. Each finding says
// what to do about it. The import table is in table_test.go: a new package is a new line there.
package lint
