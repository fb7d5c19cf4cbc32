// Package commitlog keeps opaque records, checksummed and numbered, in segment files.
//
// It owns the files of one directory and knows bytes only: what a record means is runtime/logrec's.
// FORMAT.md draws the files. A record's position is its sequence number: 1, 2, 3, without gaps.
//
//	l, err := commitlog.Open(commitlog.Options{FS: vfs.Default, Dir: "data/log"})
//	err = l.Append(l.Last()+1, header, body) // in the file, not durable
//	err = l.Sync()                           // durable; now it may be acknowledged
//
// What it promises:
//
//   - Order. Append takes exactly Last()+1. After a crash the log holds a prefix of what was appended.
//   - Durability. A record is durable when the Sync after its Append has returned nil, and all records that
//     Open finds are durable when it returns. Readers see durable records only.
//   - Failure. After a failed write or sync nothing is tried again: the log has failed for good, every later
//     Append, Sync and Trim returns ErrFailed with the first cause, and the directory must be opened anew.
//     The one exception is a segment that could not be created, say on a full disk: no record was touched,
//     Append returns ErrNoSegment, and may be called again.
//   - Damage. A record that was acknowledged and cannot be read is a *CorruptionError naming file and offset.
//     Only a tail that no later record or mark vouches for is taken as torn: it is dropped at Open, and Torn
//     tells. So damage to the very last group of records after a crash cannot be told from a torn write; the
//     engine's applied position beyond Last() then shows it. After Close even that is detected.
//
// How a torn tail is told from damage. Writes that were not yet synced reach the disk in any order, so that
// record 6 may be there and record 5 not, though nothing is damaged. Each record header therefore carries the
// sequence number up to which the log was durable when the record was written. A bad record 5 is damage if
// some later header says that 5 was durable, and torn otherwise. "A valid record after a bad one is damage" is
// simpler, and refuses to open after an ordinary power cut between two appends and their sync.
//
// Why Open writes. Records that nothing vouches for may be readable from the page cache only, after a sync
// that failed in an earlier process; a new sync would then succeed without writing them. Open writes them
// again, ends the log with a mark, erases dropped records (which would otherwise fit behind a new record of
// the same length), and syncs. After a Close it writes nothing. It always syncs the directory, as an earlier
// process may have died between making a segment and doing so.
//
// Segments are filled with zeroes and synced before their first record, so that a sync writes data and no
// metadata. The next one is made in the background when the current one is half full, from a trimmed segment
// if there is one.
//
// Concurrency: all methods of Log may be called from any goroutine. Append, Sync and Close exclude each other;
// they are meant for one writer. Readers and Trim run beside them, and a Reader belongs to one goroutine.
//
// It does not lock the directory against a second process; the engine does, for the whole data directory.
package commitlog
