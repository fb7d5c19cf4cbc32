package commitlog

import (
	"fmt"
	"sync"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// directBytes is the size from which a part of a record is written from where it is. Smaller parts are
// gathered: a system call costs about as much as copying this.
const directBytes = 16 << 10

// Log is an open commit log. See the package comment for what its methods promise together.
type Log struct {
	opts Options
	torn *Torn

	// writing orders Append, Sync and Close, and guards the fields of the writer. It is taken before mu.
	writing struct {
		sync.Mutex
		file    vfs.File // of the active segment
		seed    uint32
		off     int64  // where the next record goes
		prev    uint32 // checksum of the last record
		buf     []byte // for headers and small parts
		marked  bool   // an end mark that says that all is durable stands at off
		pending chan made
	}

	// trimming orders calls of Trim. It is taken before mu.
	trimming sync.Mutex

	mu struct {
		sync.Mutex
		segments []*segment // those with records, oldest first, and the active one
		ahead    []*segment // empty ones, in order after the active one
		spares   []string   // trimmed files for reuse, of the normal size
		last     uint64     // last record appended
		durable  position   // everything before it is synced
		failed   error      // the first failure, for good
		closed   bool
	}
}

// position is the end of a record in its segment.
type position struct {
	seq uint64
	seg *segment
	off int64
}

// made is what makeSegment returned in the background.
type made struct {
	seg   *segment
	fatal bool
	err   error
}

// First returns the sequence number of the oldest record, 0 if there is none.
func (l *Log) First() uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.mu.segments[0].first
}

// Last returns the sequence number of the newest record appended, 0 if there was none yet.
func (l *Log) Last() uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.mu.last
}

// Synced returns the sequence number of the newest durable record. It is Last() after a Sync.
func (l *Log) Synced() uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.mu.durable.seq
}

// Bytes returns the size of the records from seq on; from 0, all of them. It is exact to 64 KiB for records
// that were appended or scanned since Open. In older segments it takes all records for equally large, and the
// segments for full.
func (l *Log) Bytes(seq uint64) int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	var n int64
	segs := l.mu.segments
	for i, s := range segs {
		last := l.mu.last
		if i+1 < len(segs) && segs[i+1].first > 0 {
			last = segs[i+1].first - 1
		}
		switch {
		case s.first == 0 || seq > last:
		case seq <= s.first:
			n += s.used - segmentHeaderBytes
		default:
			// Between two marks, or after the last, by equal shares.
			low, high := s.before(seq), mark{last + 1, s.used}
			for _, m := range s.marks {
				if m.seq > seq {
					high = m
					break
				}
			}
			off := low.off + int64(float64(high.off-low.off)*float64(seq-low.seq)/float64(high.seq-low.seq))
			n += s.used - off
		}
	}
	return n
}

// Append writes the record seq, which must be Last()+1, with the parts one after another as its payload. It
// does not sync. The parts are not kept, and large ones are not copied.
//
// After ErrOrder, ErrTooLarge and ErrNoSegment nothing was appended and the log goes on; any other error means
// that it has failed.
func (l *Log) Append(seq uint64, parts ...[]byte) error {
	w := &l.writing
	w.Lock()
	defer w.Unlock()
	if err := l.usable(); err != nil {
		return err
	}
	if last := l.Last(); seq != last+1 {
		return fmt.Errorf("append record %d: %w: the last is %d", seq, ErrOrder, last)
	}
	length := int64(recordHeaderBytes)
	for _, p := range parts {
		length += int64(len(p))
	}
	if length > recordHeaderBytes+MaxPayloadBytes {
		return fmt.Errorf("append record %d of %d bytes: %w", seq, length-recordHeaderBytes, ErrTooLarge)
	}
	seg := l.active()
	if !seg.room(w.off, length) {
		if err := l.roll(length); err != nil {
			return err
		}
		seg = l.active()
	}
	crc, err := l.write(seq, length, parts)
	if err != nil {
		return l.fail(fmt.Errorf("append record %d to %s: %w", seq, seg.path, err))
	}
	end := w.off + align(length)
	l.mu.Lock()
	seg.note(seq, w.off, end)
	l.mu.last = seq
	l.mu.Unlock()
	w.off, w.prev, w.marked = end, crc, false
	l.prepare(seg)
	return nil
}

// write writes a record and the end mark after it, and returns the record's checksum.
func (l *Log) write(seq uint64, length int64, parts [][]byte) (uint32, error) {
	w := &l.writing
	head := l.active().head
	synced := l.Synced()
	off := w.off

	w.buf = append(w.buf[:0], make([]byte, recordHeaderBytes)...)
	h := recordHeader{length: uint32(length), seq: seq, synced: synced, prev: w.prev, tag: head.tag()}
	crc := h.seal(w.seed, w.buf, parts...)
	for _, p := range parts {
		if len(p) < directBytes {
			w.buf = append(w.buf, p...)
			if len(w.buf) < 4*directBytes {
				continue
			}
			p = nil
		}
		for _, b := range [][]byte{w.buf, p} {
			if err := writeAt(w.file, b, &off); err != nil {
				return 0, err
			}
		}
		w.buf = w.buf[:0]
	}
	w.buf = append(w.buf, make([]byte, align(length)-length)...)
	if w.off+align(length)+recordHeaderBytes <= head.size {
		end := recordHeader{seq: seq + 1, synced: synced, prev: crc, tag: head.tag()}
		n := len(w.buf)
		w.buf = append(w.buf, make([]byte, recordHeaderBytes)...)
		end.seal(w.seed, w.buf[n:])
	}
	return crc, writeAt(w.file, w.buf, &off)
}

// writeAt writes b at *off and moves *off behind it.
func writeAt(f vfs.File, b []byte, off *int64) error {
	if len(b) == 0 {
		return nil
	}
	n, err := f.WriteAt(b, *off)
	*off += int64(n)
	return err
}

// Sync makes all appended records durable. If it fails the log has failed, and it is not known which of the
// records since the last Sync are on disk.
func (l *Log) Sync() error {
	l.writing.Lock()
	defer l.writing.Unlock()
	if err := l.usable(); err != nil {
		return err
	}
	return l.syncHeld()
}

// syncHeld is Sync with writing held.
func (l *Log) syncHeld() error {
	w := &l.writing
	l.mu.Lock()
	done := position{l.mu.last, l.mu.segments[len(l.mu.segments)-1], w.off}
	dirty := l.mu.durable.seq != done.seq
	l.mu.Unlock()
	if !dirty {
		return nil
	}
	if err := w.file.SyncData(); err != nil {
		return l.fail(fmt.Errorf("sync %s: %w", done.seg.path, err))
	}
	l.mu.Lock()
	l.mu.durable = done
	l.mu.Unlock()
	return nil
}

// Close ends the log with a mark that lets the next Open tell damage from a torn tail, and closes it. Records
// not yet synced are synced. A Reader may be used on, for what was durable before. After a failure Close
// writes nothing and returns ErrFailed.
func (l *Log) Close() error {
	w := &l.writing
	w.Lock()
	defer w.Unlock()
	err := l.usable()
	if err == nil {
		err = l.syncHeld()
	}
	if err == nil {
		err = l.markEnd()
	}
	if w.pending != nil {
		if m := <-w.pending; m.fatal && err == nil {
			err = l.fail(m.err)
		}
		w.pending = nil
	}
	l.trimming.Lock() // a running Trim is waited for
	defer l.trimming.Unlock()
	l.mu.Lock()
	closed := l.mu.closed
	l.mu.closed = true
	l.mu.Unlock()
	if !closed {
		closing(w.file, &err)
	}
	return err
}

// markEnd writes an end mark that vouches for all records, and syncs it.
func (l *Log) markEnd() error {
	w := &l.writing
	seg, last := l.active(), l.Last()
	if w.marked || last == 0 || w.off+recordHeaderBytes > seg.head.size {
		return nil
	}
	var b [recordHeaderBytes]byte
	recordHeader{seq: last + 1, synced: last, prev: w.prev, tag: seg.head.tag()}.seal(w.seed, b[:])
	_, err := w.file.WriteAt(b[:], w.off)
	if err == nil {
		err = w.file.SyncData()
	}
	if err != nil {
		return l.fail(fmt.Errorf("mark the end of %s: %w", seg.path, err))
	}
	w.marked = true
	return nil
}

// active returns the segment that is written.
func (l *Log) active() *segment {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.mu.segments[len(l.mu.segments)-1]
}

// usable returns why nothing can be written, or nil.
func (l *Log) usable() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.mu.closed {
		return ErrClosed
	}
	return l.mu.failed
}

// fail makes the log fail for good, and returns the first failure.
func (l *Log) fail(cause error) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.mu.failed == nil {
		l.mu.failed = fmt.Errorf("%w: %w", ErrFailed, cause)
	}
	return l.mu.failed
}
