package commitlog

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// windowBytes is read at once. Smaller costs system calls on small records; larger, memory per reader.
const windowBytes = 256 << 10

// maxAheadBytes bounds reading ahead into a buffer that a large record has already made larger.
const maxAheadBytes = 4 << 20

// window reads the records of one segment through a buffer. It never reads at or past limit, so that nothing
// a writer may still be writing gets into the buffer.
type window struct {
	file  vfs.File
	head  segmentHeader
	seed  uint32
	limit int64

	buf   []byte // the bytes [start, start+len(buf)) of the file
	start int64
}

func newWindow(f vfs.File, head segmentHeader, limit int64) *window {
	return &window{file: f, head: head, seed: head.seed(), limit: limit}
}

// bytes returns n bytes at off, valid until the next call. It returns io.ErrUnexpectedEOF if the file or the
// limit ends before; no more than what the file holds is ever allocated, if limit is not above its size.
func (w *window) bytes(off int64, n int) ([]byte, error) {
	if off+int64(n) > w.limit {
		return nil, io.ErrUnexpectedEOF
	}
	if off < w.start || off+int64(n) > w.start+int64(len(w.buf)) {
		if err := w.fill(off, n); err != nil {
			return nil, err
		}
	}
	at := off - w.start
	return w.buf[at : at+int64(n) : at+int64(n)], nil
}

func (w *window) fill(off int64, n int) error {
	want := int(min(int64(max(n, windowBytes, min(cap(w.buf), maxAheadBytes))), w.limit-off))
	if cap(w.buf) < want {
		w.buf = make([]byte, want)
	}
	w.buf, w.start = w.buf[:want], off
	got, err := w.file.ReadAt(w.buf, off)
	w.buf = w.buf[:got]
	switch {
	case got >= n:
		return nil
	case err == nil || errors.Is(err, io.EOF):
		return io.ErrUnexpectedEOF
	}
	w.buf = w.buf[:0]
	return err
}

// kind is what stands at a place where a record could.
type kind int

const (
	kindRecord  kind = iota // an intact record
	kindEnd                 // an intact end mark
	kindNothing             // zeroes, or no room for a header
	kindBad                 // anything else
)

// record is what window.record found.
type record struct {
	kind    kind
	head    recordHeader
	payload []byte // of kindRecord, valid until the window's next call
	reason  string // of kindBad
}

func bad(format string, args ...any) record {
	return record{kind: kindBad, reason: fmt.Sprintf(format, args...)}
}

// instead says what stands where a record was looked for.
func (r record) instead() string {
	switch r.kind {
	case kindBad:
		return r.reason
	case kindNothing:
		return "zeroes stand in its place"
	}
	return "an older mark stands in its place"
}

// next returns the offset after the record at off.
func (r record) next(off int64) int64 { return off + align(int64(r.head.length)) }

// record judges what stands at off by itself, without regard to its neighbours. The error is one of reading.
func (w *window) record(off int64) (record, error) {
	if off+recordHeaderBytes > w.head.size {
		return record{kind: kindNothing}, nil
	}
	b, err := w.bytes(off, recordHeaderBytes)
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return record{kind: kindBad, reason: "the file ends inside a record header"}, nil
	}
	if err != nil {
		return record{}, fmt.Errorf("read log record: %w", err)
	}
	h := decodeRecordHeader(b)
	if h == (recordHeader{}) {
		return record{kind: kindNothing}, nil
	}
	crc := headerCRC(w.seed, b)
	if h.length == 0 {
		if crc != h.crc {
			return bad("end mark: checksum is %08x, stored %08x", crc, h.crc), nil
		}
		return record{kind: kindEnd, head: h}, nil
	}
	if h.length < recordHeaderBytes || h.length > recordHeaderBytes+MaxPayloadBytes ||
		off+int64(h.length) > w.head.size {
		return bad("record header: impossible length %d", h.length), nil
	}
	b, err = w.bytes(off, int(h.length))
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return record{kind: kindBad, reason: "the file ends inside a record"}, nil
	}
	if err != nil {
		return record{}, fmt.Errorf("read log record: %w", err)
	}
	payload := b[recordHeaderBytes:]
	if crc = crc32.Update(crc, castagnoli, payload); crc != h.crc {
		return bad("record: checksum is %08x, stored %08x", crc, h.crc), nil
	}
	return record{kind: kindRecord, head: h, payload: payload}, nil
}

// search returns the first intact record or end mark at or after from, and its offset. It looks at every
// place where a record can start, by its tag first. Without one it returns kindNothing.
func (w *window) search(from int64) (int64, record, error) {
	tag := w.head.tag()
	for at := from; at+recordHeaderBytes <= w.limit; {
		b, err := w.bytes(at, int(min(w.limit-at, windowBytes)))
		if err != nil {
			return 0, record{}, fmt.Errorf("read log segment: %w", err)
		}
		i := 0
		for i+recordHeaderBytes <= len(b) && binary.LittleEndian.Uint32(b[i+28:]) != tag {
			i += recordAlignment
		}
		at += int64(i)
		if i+recordHeaderBytes > len(b) {
			continue
		}
		rec, err := w.record(at)
		if err != nil {
			return 0, record{}, err
		}
		if rec.kind == kindRecord || rec.kind == kindEnd {
			return at, rec, nil
		}
		at += recordAlignment
	}
	return w.limit, record{kind: kindNothing}, nil
}
