package commitlog

import (
	"fmt"
	"io"
	"sort"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// indexBytes is the distance between the marks of a segment's index: 16 bytes of memory per 64 KiB of log, and
// at most that much read in vain by a Reader that starts in the middle.
const indexBytes = 64 << 10

// mark is where a record starts.
type mark struct {
	seq uint64
	off int64
}

// segment is one file of the log. Its path never changes, and its head only while the whole log has no record;
// Log.mu guards the rest.
type segment struct {
	head segmentHeader
	path string

	first   uint64 // of its first record, 0 before there is one
	used    int64  // offset after its last record; for a segment not scanned at Open, the file's size
	marks   []mark // ascending, the first record first
	readers int    // open Readers in it: its file must not be reused
}

// note adds a record to the index. Called with Log.mu held, or before the log is shared.
func (s *segment) note(seq uint64, off, end int64) {
	if s.first == 0 {
		s.first = seq
	}
	if n := len(s.marks); n == 0 || off-s.marks[n-1].off >= indexBytes {
		s.marks = append(s.marks, mark{seq, off})
	}
	s.used = end
}

// before returns the last mark at or before seq, which must not be before the segment's first record.
func (s *segment) before(seq uint64) mark {
	i := sort.Search(len(s.marks), func(i int) bool { return s.marks[i].seq > seq })
	return s.marks[i-1]
}

// room says whether a record of n bytes with its header fits at off.
func (s *segment) room(off, n int64) bool { return off+align(n) <= s.head.size }

// segmentBytesFor is the size of a segment made for a record of n bytes with its header.
func (o Options) segmentBytesFor(n int64) int64 {
	const page = 4096
	need := segmentHeaderBytes + align(n)
	if need <= o.SegmentBytes {
		return o.SegmentBytes
	}
	return (need + recordHeaderBytes + page - 1) / page * page // with room for an end mark
}

// makeSegment makes an empty segment under its final name, durable with its directory entry. A file that spare
// names, of the same size, is rewritten in place of a new one.
//
// The content is synced before the rename, so that a file with a segment's name always has a whole header.
// When makeSegment fails before the rename nothing is left but a file that Open removes, and it may be called
// again. It sets fatal when the directory could not be synced: then it is unknown what a crash would leave.
func (l *Log) makeSegment(epoch uint64, size int64, spare string) (_ *segment, fatal bool, _ error) {
	fs := l.opts.FS
	head := segmentHeader{epoch: epoch, salt: l.opts.salt() | 1, size: size} // the tag is never 0
	temp := l.path(segmentName(epoch) + tempSuffix)
	var err error
	if spare != "" {
		temp = spare
		err = rewriteHead(fs, temp, head)
	} else {
		err = writeZeroes(fs, temp, head)
	}
	path := l.path(segmentName(epoch))
	if err == nil {
		err = fs.Rename(temp, path)
	}
	if err != nil {
		_ = fs.Remove(temp) // the next Open does it otherwise
		return nil, false, fmt.Errorf("make log segment %s: %w", path, err)
	}
	if err := l.syncDir(); err != nil {
		return nil, true, err
	}
	return &segment{head: head, path: path, used: segmentHeaderBytes}, false, nil
}

// writeZeroes makes a file of head and zeroes, synced.
func writeZeroes(fs vfs.FS, path string, head segmentHeader) (err error) {
	f, err := fs.Create(path, vfs.WriteCategoryUnspecified)
	if err != nil {
		return err
	}
	defer closing(f, &err)
	b := make([]byte, min(head.size, 1<<20))
	head.encode(b)
	for left := head.size; left > 0; {
		n, err := f.Write(b[:min(left, int64(len(b)))])
		if err != nil {
			return err
		}
		left -= int64(n)
		clear(b)
	}
	return f.Sync()
}

// rewriteHead turns a trimmed segment into an empty one. Its old records stay, and are never valid under the
// new epoch and salt; the place of the first one is cleared.
func rewriteHead(fs vfs.FS, path string, head segmentHeader) (err error) {
	f, err := fs.OpenReadWrite(path, vfs.WriteCategoryUnspecified)
	if err != nil {
		return err
	}
	defer closing(f, &err)
	var b [segmentHeaderBytes + recordHeaderBytes]byte
	head.encode(b[:])
	if _, err := f.WriteAt(b[:], 0); err != nil {
		return err
	}
	return f.Sync()
}

// writeZeroesAt clears [from, to) of an open file.
func writeZeroesAt(f vfs.File, from, to int64) error {
	b := make([]byte, min(max(to-from, 0), 1<<20))
	for from < to {
		n, err := f.WriteAt(b[:min(to-from, int64(len(b)))], from)
		if err != nil {
			return err
		}
		from += int64(n)
	}
	return nil
}

// closing closes c and keeps the first error.
func closing(c io.Closer, err *error) {
	if e := c.Close(); *err == nil {
		*err = e
	}
}

// syncDir makes the directory's entries durable.
func (l *Log) syncDir() error { return syncDir(l.opts.FS, l.opts.Dir) }

func syncDir(fs vfs.FS, dir string) (err error) {
	f, err := fs.OpenDir(dir)
	if err != nil {
		return fmt.Errorf("sync log directory %s: %w", dir, err)
	}
	defer closing(f, &err)
	if err := f.Sync(); err != nil {
		return fmt.Errorf("sync log directory %s: %w", dir, err)
	}
	return nil
}

func (l *Log) path(name string) string { return l.opts.FS.PathJoin(l.opts.Dir, name) }
