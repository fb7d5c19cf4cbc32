package commitlog

import (
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// Torn describes a tail that Open dropped: records that were written, or begun, and never acknowledged.
type Torn struct {
	File    string // where the tail starts
	Offset  int64
	Seq     uint64 // the first record dropped, whose number goes to the next one appended
	Records int    // intact records behind it, dropped with it
	Reason  string // what stood there
}

// Torn returns what Open dropped, and false if it dropped nothing.
func (l *Log) Torn() (Torn, bool) {
	if l.torn == nil {
		return Torn{}, false
	}
	return *l.torn, true
}

// tail is what Open finds at the end of the log.
type tail struct {
	active int    // the segment with the last record, or the first if there is no record
	next   uint64 // the record that comes next
	off    int64  // where, in the active segment
	prev   uint32 // checksum of the record before it
	synced uint64 // the highest record that some header calls durable
	stop   record // what stands at off

	unsure []mark  // the records after synced, all in the active segment
	erase  []erase // what must not be there when the log goes on
	torn   *Torn
}

// erase is a range of a segment to be cleared.
type erase struct {
	seg      *segment
	from, to int64
}

// clean says that the log ends as Close leaves it.
func (t *tail) clean() bool {
	return len(t.erase) == 0 && len(t.unsure) == 0 && (t.stop.kind == kindEnd || t.next == 1)
}

// findTail finds and judges the end of the log. It changes nothing.
func (l *Log) findTail(segs []*segment) (*tail, error) {
	t, err := l.findActive(segs)
	if err != nil {
		return nil, err
	}
	seg := segs[t.active]
	if err := l.scan(seg, t); err != nil {
		return nil, err
	}
	if t.next == 1 && seg.head.epoch > 1 {
		return nil, &CorruptionError{File: seg.path, Offset: t.off, Hint: hintRestore,
			Reason: "no record is intact, and there were records in segments before"}
	}
	for _, s := range segs[t.active:] {
		if err := l.searchBehind(s, segs[t.active], t); err != nil {
			return nil, err
		}
	}
	t.unsure = slices.DeleteFunc(t.unsure, func(m mark) bool { return m.seq <= t.synced })
	return t, nil
}

// findActive finds the last segment whose first record is intact, and checks the ones before.
func (l *Log) findActive(segs []*segment) (*tail, error) {
	t := &tail{next: 1, off: segmentHeaderBytes}
	firsts := make([]record, len(segs))
	for i, s := range segs {
		err := l.withWindow(s, func(w *window) (err error) {
			firsts[i], err = w.record(segmentHeaderBytes)
			return err
		})
		if err != nil {
			return nil, err
		}
		firsts[i].payload = nil
		if firsts[i].kind == kindRecord {
			t.active = i
		} else {
			s.used = segmentHeaderBytes
		}
	}
	for i, s := range segs[:t.active] {
		if firsts[i].kind != kindRecord {
			return nil, &CorruptionError{File: s.path, Offset: segmentHeaderBytes, Hint: hintRestore,
				Reason: "the first record is not intact, and there are records in later segments"}
		}
		if err := l.checkWhole(s, firsts[i], firsts[i+1]); err != nil {
			return nil, err
		}
	}
	return t, nil
}

// checkWhole checks a segment before the active one: its first record against that of the next segment, and
// with Options.VerifyAll all between. A bad first record of the next is the next one's own trouble.
func (l *Log) checkWhole(s *segment, first, next record) error {
	if !l.opts.VerifyAll {
		s.note(first.head.seq, segmentHeaderBytes, s.head.size)
	} else {
		whole := &tail{off: segmentHeaderBytes}
		if err := l.scan(s, whole); err != nil {
			return err
		}
		if !whole.ends(s) {
			return &CorruptionError{File: s.path, Offset: whole.off, Hint: hintRestore,
				Reason: "neither a record nor an end mark, and there are records in later segments: " + whole.stop.instead()}
		}
		if next.kind == kindRecord && (whole.next != next.head.seq || whole.prev != next.head.prev) {
			return &CorruptionError{File: s.path, Offset: whole.off, Hint: hintRestore,
				Reason: fmt.Sprintf("record %d belongs here, and the next segment starts with %d", whole.next, next.head.seq)}
		}
	}
	if next.kind == kindRecord && next.head.seq <= first.head.seq {
		return &CorruptionError{File: s.path, Offset: segmentHeaderBytes, Hint: hintRestore,
			Reason: fmt.Sprintf("the segment starts with record %d, and the next one with %d", first.head.seq, next.head.seq)}
	}
	return nil
}

// scan reads a segment's records from its start to the first place where none follows, into t.
func (l *Log) scan(seg *segment, t *tail) error {
	return l.withWindow(seg, func(w *window) error {
		for {
			rec, err := w.record(t.off)
			if err != nil {
				return err
			}
			if (rec.kind == kindRecord || rec.kind == kindEnd) && !t.follows(seg, rec) {
				rec = bad("record %d does not follow the record before it", rec.head.seq)
			}
			t.stop = rec
			if rec.kind == kindRecord || rec.kind == kindEnd {
				t.synced = max(t.synced, rec.head.synced)
			}
			if rec.kind != kindRecord {
				seg.used = t.off
				return nil
			}
			if len(t.unsure) > 0 && t.unsure[0].seq <= t.synced {
				t.unsure = slices.DeleteFunc(t.unsure, func(m mark) bool { return m.seq <= t.synced })
			}
			t.unsure = append(t.unsure, mark{rec.head.seq, t.off})
			end := rec.next(t.off)
			seg.note(rec.head.seq, t.off, end)
			t.off, t.next, t.prev = end, rec.head.seq+1, rec.head.crc
		}
	})
}

// follows says whether rec may come next. Of the first record of a segment, only record 1 says what was before.
func (t *tail) follows(seg *segment, rec record) bool {
	if seg.first == 0 && rec.kind == kindRecord {
		return rec.head.seq > 1 || rec.head.prev == 0
	}
	return rec.head.seq == t.next && rec.head.prev == t.prev
}

// behind is what lies after the end of the log in one segment.
type behind struct {
	stop    record // what stands at the end itself
	end     int64  // after the last intact record or mark
	records int    // intact records
	vouched uint64 // the highest record that a header calls durable
	limit   int64  // where the file ends
}

// look surveys seg from off on.
func (l *Log) look(seg *segment, off int64) (behind, error) {
	b := behind{end: off}
	err := l.withWindow(seg, func(w *window) (err error) {
		b.limit = w.limit
		if b.stop, err = w.record(off); err != nil {
			return err
		}
		b.stop.payload = nil
		at, rec, err := w.search(off + recordAlignment)
		for err == nil && rec.kind != kindNothing {
			b.vouched = max(b.vouched, rec.head.synced)
			b.end = at + max(recordHeaderBytes, align(int64(rec.head.length)))
			if rec.kind == kindRecord {
				b.records++
			}
			at, rec, err = w.search(b.end)
		}
		return err
	})
	return b, err
}

// searchBehind looks for records and marks behind the end of the log: in the active segment, or in one ahead
// of it. It returns a *CorruptionError if one shows that t.next was durable, and otherwise notes in t what is
// to be erased.
func (l *Log) searchBehind(seg, active *segment, t *tail) error {
	off := t.off
	if seg != active {
		off = segmentHeaderBytes
	}
	b, err := l.look(seg, off)
	if err != nil {
		return err
	}
	if seg == active {
		b.stop = t.stop // scan has also looked at what is before
	}
	if b.vouched >= t.next {
		file, at, stop := active.path, t.off, t.stop
		if seg != active && t.ends(active) { // then the record is the first of this segment
			file, at, stop = seg.path, off, b.stop
		}
		return &CorruptionError{File: file, Offset: at, Hint: hintRestore,
			Reason: fmt.Sprintf("record %d is not intact, and was acknowledged: %s", t.next, stop.instead())}
	}
	t.synced = max(t.synced, b.vouched)
	if b.stop.kind == kindBad || b.end > off || seg != active && b.stop.kind != kindNothing {
		t.erase = append(t.erase, erase{seg, off, min(max(b.end, off+recordHeaderBytes), seg.head.size)})
		if t.torn == nil {
			t.torn = &Torn{File: seg.path, Offset: off, Seq: t.next, Reason: b.stop.instead()}
		}
		t.torn.Records += b.records
	}
	if b.limit < seg.head.size { // the file was cut short; it is made whole again
		t.erase = append(t.erase, erase{seg, b.limit, seg.head.size})
	}
	return nil
}

// ends says that the segment ends at t.off as a segment does that the log went on from.
func (t *tail) ends(seg *segment) bool {
	return t.stop.kind == kindEnd || t.stop.kind == kindNothing && t.off+recordHeaderBytes > seg.head.size
}

// withWindow calls do with a window over the whole of a segment's file.
func (l *Log) withWindow(seg *segment, do func(*window) error) (err error) {
	f, err := l.opts.FS.Open(seg.path, vfs.SequentialReadsOption)
	if err != nil {
		return fmt.Errorf("open log segment: %w", err)
	}
	defer closing(f, &err)
	info, err := f.Stat()
	if err != nil {
		return fmt.Errorf("open log segment: %w", err)
	}
	if err := do(newWindow(f, seg.head, min(seg.head.size, info.Size()))); err != nil {
		return fmt.Errorf("%s: %w", seg.path, err)
	}
	return nil
}

// repair makes what findTail found durable, and ends the log there. The steps may be cut off anywhere: until
// all are synced nothing is appended, and the next Open finds the same tail.
func (l *Log) repair(segs []*segment, t *tail) error {
	if t.clean() {
		return nil
	}
	for _, s := range segs[t.active:] {
		if err := l.repairSegment(s, s == segs[t.active], t); err != nil {
			return fmt.Errorf("repair the end of %s: %w", s.path, err)
		}
	}
	return nil
}

func (l *Log) repairSegment(seg *segment, active bool, t *tail) (err error) {
	f, err := l.opts.FS.OpenReadWrite(seg.path, vfs.WriteCategoryUnspecified)
	if err != nil {
		return err
	}
	defer closing(f, &err)
	for _, e := range t.erase {
		if e.seg == seg {
			if err := writeZeroesAt(f, e.from, e.to); err != nil {
				return err
			}
		}
	}
	if active && len(t.unsure) > 0 {
		if err := rewrite(f, t.unsure[0].off, t.off); err != nil {
			return err
		}
	}
	if active && t.next > 1 && t.off+recordHeaderBytes <= seg.head.size {
		var b [recordHeaderBytes]byte
		recordHeader{seq: t.next, synced: t.synced, prev: t.prev, tag: seg.head.tag()}.seal(seg.head.seed(), b[:])
		if _, err := f.WriteAt(b[:], t.off); err != nil {
			return err
		}
	}
	return f.Sync()
}

// rewrite writes the bytes [from, to) of a file again.
func rewrite(f vfs.File, from, to int64) error {
	b := make([]byte, min(to-from, 1<<20))
	for from < to {
		n, err := f.ReadAt(b[:min(to-from, int64(len(b)))], from)
		if n == 0 {
			return errors.Join(err, io.ErrUnexpectedEOF)
		}
		if _, err := f.WriteAt(b[:n], from); err != nil {
			return err
		}
		from += int64(n)
	}
	return nil
}
