package main

import "runtime/debug"

// limitHeap bounds Go's heap by the memory that the server was given.
func limitHeap(memory int64) { debug.SetMemoryLimit(memory) }
