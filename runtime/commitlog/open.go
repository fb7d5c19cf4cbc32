package commitlog

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// Open opens the log in a directory, or makes a new one there. All records of the log it returns are durable.
// Damage is a *CorruptionError, a newer format ErrVersion, and then no file of the log has been changed.
//
//  1. Remove leftovers of segments in the making. List the segments: their epochs must be dense. Sync the
//     directory, as an earlier process may have died between making a segment and doing so.
//  2. Read the headers. Find the active segment: the last whose first record is intact.
//  3. Scan it, from its first record to the first place where no record follows.
//  4. Search behind that place, and in the segments ahead, for records and marks. If one says that what is
//     missing was durable, that is damage, else the tail is torn.
//  5. Make durable what may not be, end the log with a mark, erase what was dropped.
func Open(opts Options) (*Log, error) {
	opts, err := opts.withDefaults()
	if err != nil {
		return nil, err
	}
	l := &Log{opts: opts}
	if err := opts.FS.MkdirAll(opts.Dir, 0o755); err != nil {
		return nil, fmt.Errorf("make log directory %s: %w", opts.Dir, err)
	}
	segs, err := l.listSegments()
	if err != nil {
		return nil, err
	}
	if err := l.syncDir(); err != nil {
		return nil, err
	}
	if len(segs) == 0 {
		if err := syncDir(opts.FS, opts.FS.PathDir(opts.Dir)); err != nil {
			return nil, err
		}
		seg, _, err := l.makeSegment(1, min(opts.SegmentBytes, firstSegmentBytes), "")
		if err != nil {
			return nil, err
		}
		segs = []*segment{seg}
	}
	t, err := l.findTail(segs)
	if err != nil {
		return nil, err
	}
	if err := l.repair(segs, t); err != nil {
		return nil, err
	}
	if err := l.start(segs, t); err != nil {
		return nil, err
	}
	return l, nil
}

// start makes the log ready to append after the tail.
func (l *Log) start(segs []*segment, t *tail) error {
	seg := segs[t.active]
	f, err := l.opts.FS.OpenReadWrite(seg.path, vfs.WriteCategoryUnspecified)
	if err != nil {
		return fmt.Errorf("open log segment: %w", err)
	}
	w := &l.writing
	w.file, w.seed, w.off, w.prev = f, seg.head.seed(), t.off, t.prev
	w.marked = t.stop.kind == kindEnd && t.synced == t.next-1
	l.torn = t.torn
	l.mu.segments, l.mu.ahead = segs[:t.active+1:t.active+1], segs[t.active+1:]
	l.mu.last = t.next - 1
	l.mu.durable = position{t.next - 1, seg, t.off}
	return nil
}

// listSegments removes leftovers and returns the segments with their heads, in order.
func (l *Log) listSegments() ([]*segment, error) {
	names, err := l.opts.FS.List(l.opts.Dir)
	if err != nil {
		return nil, fmt.Errorf("list log directory %s: %w", l.opts.Dir, err)
	}
	var epochs []uint64
	for _, name := range names {
		if epoch, ok := parseSegmentName(name); ok {
			epochs = append(epochs, epoch)
		} else if strings.HasSuffix(name, tempSuffix) || strings.HasSuffix(name, spareSuffix) {
			if err := l.opts.FS.Remove(l.path(name)); err != nil {
				return nil, fmt.Errorf("remove leftover %s: %w", l.path(name), err)
			}
		}
	}
	slices.Sort(epochs)
	segs := make([]*segment, 0, len(epochs))
	for i, epoch := range epochs {
		path := l.path(segmentName(epoch))
		if i > 0 && epoch != epochs[i-1]+1 {
			return nil, &CorruptionError{File: l.path(segmentName(epochs[i-1] + 1)),
				Reason: "the segment is missing, and " + path + " follows it", Hint: hintMissing}
		}
		head, err := l.readHead(path, epoch)
		if err != nil {
			return nil, err
		}
		segs = append(segs, &segment{head: head, path: path, used: head.size})
	}
	return segs, nil
}

func (l *Log) readHead(path string, epoch uint64) (head segmentHeader, err error) {
	f, err := l.opts.FS.Open(path)
	if err != nil {
		return head, fmt.Errorf("open log segment: %w", err)
	}
	defer closing(f, &err)
	var b [segmentHeaderBytes]byte
	damaged := func(reason string) error {
		return &CorruptionError{File: path, Reason: reason, Hint: hintRestore}
	}
	if _, err := f.ReadAt(b[:], 0); errors.Is(err, io.EOF) {
		return head, damaged("the file ends inside the segment header")
	} else if err != nil {
		return head, fmt.Errorf("read log segment %s: %w", path, err)
	}
	head, err = decodeSegmentHeader(b[:])
	switch {
	case errors.Is(err, ErrVersion):
		return head, fmt.Errorf("open log segment %s: %w", path, err)
	case err != nil:
		return head, damaged(err.Error())
	case head.epoch != epoch:
		return head, damaged(fmt.Sprintf("the segment header is of epoch %d, the file's name says %d", head.epoch, epoch))
	}
	return head, nil
}
