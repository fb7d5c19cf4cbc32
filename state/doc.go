// Package state keeps everything an engine remembers: one Pebble database and, in front of it, the
// write-back caches in which operators work.
//
// A commit changes the caches only; Pebble is never touched per row. From time to time the engine
// takes a checkpoint: on the commit thread the dirty entries of every cache are copied into a
// Checkpoint (Collect), in the background the checkpoint becomes exactly one Pebble batch that also
// holds the position P of the last commit in it (Checkpoint.Commit), and back on the commit thread
// the entries become clean (Cleaned). Pebble's own log is off: the commit log is the log, and it
// may be trimmed up to P only after Commit has returned nil.
//
//	commit thread    Begin Find Touch ... Publish | Collect |  commits go on  | Cleaned, trim log
//	background                                              | Commit: sort, one batch, flush |
//
// What it promises. After a crash the database holds the state of one checkpoint, whole, and Applied
// says which: batches become durable in order and each is atomic. An entry is in memory for as long
// as its value differs from what Pebble has made durable. The first error of a write is final: see
// ErrFailed.
//
// The caches are Table, a hash table from key to slot whose values live in the Cells of its
// operator, and Ordered, an ordered map from key to weight. Both hold two versions of what a commit
// has touched, so that the commit can be made void. Table also has readers beside the committer.
// Each tells how many bytes it holds; the engine bounds the sum (Evict).
//
// What it does not do: it knows no SQL types, no views and no log. FORMAT.md describes the bytes.
package state
