package commitlog

import "fmt"

// maxSpares is how many trimmed segments are kept for reuse. One is in the making while one is written; more
// would only hold disk space.
const maxSpares = 1

// Trim removes the segments whose records are all at or before upto. The segment with the last durable record
// always stays, so that the log never forgets where it is, even if what follows is lost in a crash. What is
// removed is so durably when Trim returns.
func (l *Log) Trim(upto uint64) error {
	l.trimming.Lock()
	defer l.trimming.Unlock()
	for {
		if err := l.usable(); err != nil {
			return err
		}
		seg := l.takeOldest(upto)
		if seg == nil {
			return nil
		}
		if err := l.discard(seg); err != nil {
			return err
		}
	}
}

// takeOldest takes the oldest segment out of the log if Trim may remove it, else it returns nil.
func (l *Log) takeOldest(upto uint64) *segment {
	l.mu.Lock()
	defer l.mu.Unlock()
	segs := l.mu.segments
	if len(segs) < 2 || segs[0] == l.mu.durable.seg || segs[1].first-1 > upto {
		return nil
	}
	l.mu.segments = segs[1:]
	return segs[0]
}

// discard removes the file of a segment that is out of the log, or renames it for reuse, and syncs the
// directory. One segment at a time: were two removed before a sync, a crash could bring back the first alone
// and leave a gap.
func (l *Log) discard(seg *segment) error {
	l.mu.Lock()
	reuse := seg.readers == 0 && seg.head.size == l.opts.SegmentBytes && len(l.mu.spares) < maxSpares
	l.mu.Unlock()
	var err error
	spare := seg.path + spareSuffix
	if reuse {
		err = l.opts.FS.Rename(seg.path, spare)
	} else {
		err = l.opts.FS.Remove(seg.path)
	}
	if err != nil {
		return l.fail(fmt.Errorf("remove log segment %s: %w", seg.path, err))
	}
	if err := l.syncDir(); err != nil {
		return l.fail(err)
	}
	if reuse { // not before: its content must not change while the old name may come back
		l.mu.Lock()
		l.mu.spares = append(l.mu.spares, spare)
		l.mu.Unlock()
	}
	return nil
}
