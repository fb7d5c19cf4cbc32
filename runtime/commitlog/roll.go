package commitlog

import (
	"fmt"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// prepare starts to make the next segment once the active one is half full, so that it is there when it is
// needed; at once when the active one is a new log's small first. Called with writing held.
func (l *Log) prepare(active *segment) {
	w := &l.writing
	small := active.head.size < l.opts.SegmentBytes
	if l.opts.foreground || w.pending != nil || w.off < active.head.size/2 && !small {
		return
	}
	l.mu.Lock()
	enough := len(l.mu.ahead) > 0
	l.mu.Unlock()
	if enough {
		return
	}
	pending, spare := make(chan made, 1), l.takeSpare()
	w.pending = pending
	go func() {
		seg, fatal, err := l.makeSegment(active.head.epoch+1, l.opts.SegmentBytes, spare)
		pending <- made{seg, fatal, err}
	}()
}

// roll goes on to a segment with room for a record of length bytes. Called with writing held.
//
//  1. Sync the active segment. So no record is in a segment unless all segments before it are durable, which
//     is what lets Open take any flaw before the newest segment for damage.
//  2. Take the segment made ahead, or make one.
//  3. Open it. Nothing is written in it before its first record.
//
// If 2 or 3 fails the active segment stays what it was, and the next Append tries again.
func (l *Log) roll(length int64) error {
	w := &l.writing
	if active := l.active(); w.off == segmentHeaderBytes {
		return l.enlarge(active, length)
	}
	if err := l.syncHeld(); err != nil {
		return err
	}
	seg, err := l.next(length)
	if err != nil {
		return err
	}
	f, err := l.opts.FS.OpenReadWrite(seg.path, vfs.WriteCategoryUnspecified)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrNoSegment, err)
	}
	_ = w.file.Close() // everything in it is synced
	w.file, w.seed, w.off, w.marked = f, seg.head.seed(), segmentHeaderBytes, false
	l.mu.Lock()
	l.mu.ahead = l.mu.ahead[1:]
	l.mu.segments = append(l.mu.segments, seg)
	l.mu.Unlock()
	return nil
}

// enlarge puts a larger file in place of the active one, which has no record: the log's first is too large for
// it. Called with writing held.
func (l *Log) enlarge(active *segment, length int64) error {
	w := &l.writing
	seg, fatal, err := l.makeSegment(active.head.epoch, l.opts.segmentBytesFor(length), "")
	if fatal {
		return l.fail(err)
	}
	if err != nil {
		return fmt.Errorf("%w: %w", ErrNoSegment, err)
	}
	f, err := l.opts.FS.OpenReadWrite(seg.path, vfs.WriteCategoryUnspecified)
	if err != nil {
		return l.fail(err) // the old file is gone
	}
	_ = w.file.Close()
	w.file, w.seed = f, seg.head.seed()
	l.mu.Lock()
	active.head = seg.head
	l.mu.Unlock()
	return nil
}

// next returns the first segment ahead, made if need be, with room for a record of length bytes.
func (l *Log) next(length int64) (*segment, error) {
	w := &l.writing
	if w.pending != nil {
		m := <-w.pending
		w.pending = nil
		if m.fatal {
			return nil, l.fail(m.err)
		}
		if m.err == nil {
			l.addAhead(m.seg)
		} // else it is tried once more below: the disk may have room again
	}
	l.mu.Lock()
	ahead := l.mu.ahead
	epoch := l.mu.segments[len(l.mu.segments)-1].head.epoch + 1
	l.mu.Unlock()
	if len(ahead) > 0 && ahead[0].room(segmentHeaderBytes, length) {
		return ahead[0], nil
	}
	// Segments have dense epochs: those that are too small make way. The last goes first, for the same reason.
	for i := len(ahead) - 1; i >= 0; i-- {
		if err := l.discard(ahead[i]); err != nil {
			return nil, err
		}
		l.mu.Lock()
		l.mu.ahead = l.mu.ahead[:i]
		l.mu.Unlock()
	}
	size, spare := l.opts.segmentBytesFor(length), ""
	if size == l.opts.SegmentBytes {
		spare = l.takeSpare()
	}
	seg, fatal, err := l.makeSegment(epoch, size, spare)
	if fatal {
		return nil, l.fail(err)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNoSegment, err)
	}
	l.addAhead(seg)
	return seg, nil
}

func (l *Log) addAhead(seg *segment) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.mu.ahead = append(l.mu.ahead, seg)
}

// takeSpare returns a file to reuse, or "".
func (l *Log) takeSpare() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.mu.spares) == 0 {
		return ""
	}
	n := len(l.mu.spares) - 1
	spare := l.mu.spares[n]
	l.mu.spares = l.mu.spares[:n]
	return spare
}
