package commitlog

import (
	"errors"
	"fmt"
	"io"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// Reader reads durable records in order and verifies each. It belongs to one goroutine; Close it.
type Reader struct {
	log  *Log
	seg  *segment // the one being read, counted in seg.readers
	file vfs.File
	win  *window

	from  uint64   // records before it are read and not returned
	seq   uint64   // the record at off
	off   int64    // in seg
	prev  uint32   // checksum of the record before off, if known
	known bool     // prev is known
	limit position // what was durable when last looked
	err   error    // what Next returns from now on
}

// Read returns a Reader whose first record is from, or the oldest if from is 0. From Last()+1 it waits for
// what comes. It returns ErrTrimmed if from has been trimmed.
func (l *Log) Read(from uint64) (*Reader, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	segs := l.mu.segments
	from = max(from, 1)
	if first := segs[0].first; first > 1 {
		if from == 1 {
			from = first
		}
		if from < first {
			return nil, fmt.Errorf("read record %d: %w: the oldest is %d", from, ErrTrimmed, first)
		}
	}
	if from > l.mu.last+1 {
		return nil, fmt.Errorf("read record %d: %w: the last is %d", from, ErrOrder, l.mu.last)
	}
	seg := segs[0]
	for _, s := range segs[1:] {
		if s.first == 0 || s.first > from {
			break
		}
		seg = s
	}
	r := &Reader{log: l, from: from, seq: 1, off: segmentHeaderBytes, known: true}
	if seg.first > 0 {
		m := seg.before(from)
		r.seq, r.off, r.known = m.seq, m.off, m.seq == 1
	}
	r.enterLocked(seg)
	return r, nil
}

// enterLocked moves the reader to a segment. Called with Log.mu held.
func (r *Reader) enterLocked(seg *segment) {
	if r.seg != nil {
		r.seg.readers--
	}
	r.seg = seg
	if seg != nil {
		seg.readers++
	}
}

// Next returns the next record. The payload starts at a multiple of 8 bytes, and is valid until the next call.
// It returns io.EOF after the last durable record; called again later it goes on. A *CorruptionError, and any
// other error, is returned again by every later call.
func (r *Reader) Next() (seq uint64, payload []byte, err error) {
	for r.err == nil {
		if r.seq > r.limit.seq {
			r.look()
			if r.seq > r.limit.seq {
				return 0, nil, io.EOF
			}
		}
		seq, payload, err = r.step()
		if err != nil {
			r.err = err
		} else if seq >= r.from {
			return seq, payload, nil
		}
	}
	return 0, nil, r.err
}

// look takes over what is durable by now.
func (r *Reader) look() {
	r.log.mu.Lock()
	r.limit = r.log.mu.durable
	r.log.mu.Unlock()
	if r.win != nil {
		r.win.limit = r.readable()
	}
}

// readable is the offset up to which the current segment may be read: its writer may be writing behind.
func (r *Reader) readable() int64 {
	if r.seg == r.limit.seg {
		return r.limit.off
	}
	return r.seg.head.size
}

// step reads the record r.seq, which is durable. It returns 0 and no error after moving to the next segment.
func (r *Reader) step() (uint64, []byte, error) {
	if r.file == nil {
		f, err := r.log.opts.FS.Open(r.seg.path, vfs.SequentialReadsOption)
		if err != nil {
			return 0, nil, r.trimmedOr(fmt.Errorf("read log segment: %w", err))
		}
		r.file, r.win = f, newWindow(f, r.seg.head, r.readable())
	}
	rec, err := r.win.record(r.off)
	if err != nil {
		return 0, nil, fmt.Errorf("%s: %w", r.seg.path, err)
	}
	switch {
	case rec.kind == kindBad:
		return 0, nil, r.corrupt(rec.reason)
	case (rec.kind == kindRecord || rec.kind == kindEnd) && rec.head.seq != r.seq:
		return 0, nil, r.corrupt(fmt.Sprintf("record %d stands where %d belongs", rec.head.seq, r.seq))
	case (rec.kind == kindRecord || rec.kind == kindEnd) && r.known && rec.head.prev != r.prev:
		return 0, nil, r.corrupt(fmt.Sprintf("record %d does not follow the record before it", r.seq))
	case rec.kind == kindRecord:
		r.off, r.prev, r.known = rec.next(r.off), rec.head.crc, true
		r.seq++
		return rec.head.seq, rec.payload, nil
	case rec.kind == kindNothing && r.off+recordHeaderBytes <= r.seg.head.size:
		return 0, nil, r.corrupt(fmt.Sprintf("zeroes stand where record %d or an end mark belongs", r.seq))
	}
	return 0, nil, r.advance()
}

// advance moves to the next segment.
func (r *Reader) advance() error {
	if err := r.enterNext(); err != nil {
		return r.trimmedOr(err)
	}
	err := r.file.Close()
	r.file, r.win, r.off = nil, nil, segmentHeaderBytes
	return err
}

// enterNext moves the reader to the next segment, which must start with the record it wants.
func (r *Reader) enterNext() error {
	r.log.mu.Lock()
	defer r.log.mu.Unlock()
	for _, s := range r.log.mu.segments {
		if s.head.epoch == r.seg.head.epoch+1 && s.first == r.seq {
			r.enterLocked(s)
			return nil
		}
	}
	return r.corrupt(fmt.Sprintf("record %d is missing: the next segment does not start with it", r.seq))
}

// trimmedOr returns ErrTrimmed if the record wanted has been trimmed since, else err.
func (r *Reader) trimmedOr(err error) error {
	if first := r.log.First(); r.seq < first {
		return fmt.Errorf("read record %d: %w: the oldest is %d", r.seq, ErrTrimmed, first)
	}
	return err
}

func (r *Reader) corrupt(reason string) error {
	return &CorruptionError{File: r.seg.path, Offset: r.off, Reason: reason, Hint: hintRestore}
}

// Close releases the reader's file. It may be called twice.
func (r *Reader) Close() error {
	if r.seg == nil {
		return nil
	}
	r.log.mu.Lock()
	r.enterLocked(nil)
	r.log.mu.Unlock()
	r.err = errors.New("log reader is closed")
	if r.file == nil {
		return nil
	}
	err := r.file.Close()
	r.file, r.win = nil, nil
	return err
}
