// Package logrec says what a record of the commit log means: one commit, as the inputs that made it.
//
// A record is a function's argument, never its result: it holds rows as they were appended, rowids
// that a statement deleted, and definitions with their lowered plans, so that applying the records in
// order gives the same state whatever the number of workers, and nothing is planned again. FORMAT.md
// draws the bytes. Decoding is length-checked and copies no column.
package logrec

import (
	"encoding/binary"
	"errors"
	"fmt"

	"tidemill/state/column"
)

// ErrMalformed is wrapped by every error of Decode: the bytes are not a record of this version. The
// log's own checksum has been verified before, so it means another version or a fault of ours.
var ErrMalformed = errors.New("malformed commit record")

// Kind tells what an Entry does. The numbers are frozen.
type Kind uint8

// The kinds of entry.
const (
	Append Kind = 1 // rows of Relation; on a keyed table they replace their keys' rows
	Delete Kind = 2 // rows of Relation by rowid
	Define Kind = 3 // a definition: Payload is the catalog's own encoding
	// Truncate removes all rows of Relation that are there before it. Programs before it refuse the record.
	Truncate Kind = 4
)

// Record is one commit. Its number is the log's sequence number.
type Record struct {
	Micros  int64 // the commit's clock, microseconds since 1970 UTC
	Entries []Entry
}

// Entry is one step of a commit. Entries are applied in order.
type Entry struct {
	Kind     Kind
	Relation uint32 // id, never reused
	Version  uint32 // of the relation's schema

	// Producer, Seq and Hash identify an append for repeats; Producer is empty without.
	Producer string
	Seq      uint64
	Hash     uint64 // of the body
	// Accepted and Rejected are the rows of the whole append that this is the first entry of, over all its
	// entries; both are 0 when it is the only one and nothing was rejected.
	Accepted, Rejected uint32

	Rows    int
	Cols    []column.Column
	Deleted []byte // Append on a keyed table: bitmap of rows that delete their key; nil for none

	RowIDs  []uint64 // Delete
	Payload []byte   // Define
}

const (
	version    = 1
	headSize   = 16
	entrySize  = 56
	maxEntries = 1 << 20
)

func pad8(n int) int { return (n + 7) &^ 7 }

var padding [8]byte

// Parts returns the record's bytes in pieces, to be written one after the other. Large pieces alias
// the entries' columns.
func (r *Record) Parts() [][]byte {
	head := make([]byte, headSize, headSize+len(r.Entries)*(entrySize+32))
	binary.LittleEndian.PutUint32(head, version)
	binary.LittleEndian.PutUint32(head[4:], uint32(len(r.Entries)))
	binary.LittleEndian.PutUint64(head[8:], uint64(r.Micros))
	parts := [][]byte{nil}
	for i := range r.Entries {
		e := &r.Entries[i]
		payload, n := e.payload()
		at := len(head)
		head = append(head, make([]byte, entrySize)...)
		h := head[at:]
		h[0] = byte(e.Kind)
		binary.LittleEndian.PutUint16(h[2:], uint16(len(e.Producer)))
		binary.LittleEndian.PutUint32(h[4:], e.Relation)
		binary.LittleEndian.PutUint32(h[8:], e.Version)
		binary.LittleEndian.PutUint32(h[12:], uint32(e.Rows))
		binary.LittleEndian.PutUint64(h[16:], e.Seq)
		binary.LittleEndian.PutUint64(h[24:], e.Hash)
		binary.LittleEndian.PutUint64(h[32:], uint64(len(e.Deleted)))
		binary.LittleEndian.PutUint64(h[40:], uint64(n))
		binary.LittleEndian.PutUint32(h[48:], e.Accepted)
		binary.LittleEndian.PutUint32(h[52:], e.Rejected)
		head = append(head, e.Producer...)
		head = append(head, padding[:pad8(len(e.Producer))-len(e.Producer)]...)
		head = append(head, e.Deleted...)
		head = append(head, padding[:pad8(len(e.Deleted))-len(e.Deleted)]...)
		// Small pieces are gathered in one buffer; a large one ends it and stands alone.
		for _, p := range payload {
			if len(p) < 4096 {
				head = append(head, p...)
				continue
			}
			parts = append(parts, head, p)
			head = make([]byte, 0, entrySize+64)
		}
		head = append(head, padding[:pad8(n)-n]...)
	}
	return append(parts, head)[1:]
}

// payload returns the entry's own bytes in pieces, and their length.
func (e *Entry) payload() (parts [][]byte, n int) {
	switch e.Kind {
	case Append:
		parts = column.Parts(e.Cols)
	case Delete:
		b := make([]byte, 0, 8*len(e.RowIDs))
		for _, id := range e.RowIDs {
			b = binary.LittleEndian.AppendUint64(b, id)
		}
		parts = [][]byte{b}
	case Define:
		parts = [][]byte{e.Payload}
	}
	for _, p := range parts {
		n += len(p)
	}
	return parts, n
}

// Decode reads a record. Its entries alias b.
func Decode(b []byte) (*Record, error) {
	if len(b) < headSize {
		return nil, fmt.Errorf("%w: %d bytes", ErrMalformed, len(b))
	}
	if v := binary.LittleEndian.Uint32(b); v != version {
		return nil, fmt.Errorf("%w: version %d, this program reads %d", ErrMalformed, v, version)
	}
	count := binary.LittleEndian.Uint32(b[4:])
	r := &Record{Micros: int64(binary.LittleEndian.Uint64(b[8:]))}
	b = b[headSize:]
	if int(count) > len(b)/entrySize || count > maxEntries {
		return nil, fmt.Errorf("%w: %d entries in %d bytes", ErrMalformed, count, len(b))
	}
	r.Entries = make([]Entry, count)
	for i := range r.Entries {
		var err error
		if b, err = r.Entries[i].decode(b); err != nil {
			return nil, fmt.Errorf("%w: entry %d: %v", ErrMalformed, i, err)
		}
	}
	if len(b) != 0 {
		return nil, fmt.Errorf("%w: %d bytes after the last entry", ErrMalformed, len(b))
	}
	return r, nil
}

func (e *Entry) decode(b []byte) ([]byte, error) {
	if len(b) < entrySize {
		return nil, errors.New("cut off")
	}
	h := b[:entrySize]
	b = b[entrySize:]
	e.Kind = Kind(h[0])
	e.Relation = binary.LittleEndian.Uint32(h[4:])
	e.Version = binary.LittleEndian.Uint32(h[8:])
	e.Rows = int(binary.LittleEndian.Uint32(h[12:]))
	e.Seq = binary.LittleEndian.Uint64(h[16:])
	e.Hash = binary.LittleEndian.Uint64(h[24:])
	e.Accepted, e.Rejected = binary.LittleEndian.Uint32(h[48:]), binary.LittleEndian.Uint32(h[52:])
	take := func(n uint64) ([]byte, error) {
		if n > uint64(len(b)) || uint64(pad8(int(n))) > uint64(len(b)) {
			return nil, fmt.Errorf("%d bytes announced, %d left", n, len(b))
		}
		p := b[:n:n]
		b = b[pad8(int(n)):]
		return p, nil
	}
	producer, err := take(uint64(binary.LittleEndian.Uint16(h[2:])))
	if err != nil {
		return nil, err
	}
	e.Producer = string(producer)
	if e.Deleted, err = take(binary.LittleEndian.Uint64(h[32:])); err != nil {
		return nil, err
	}
	payload, err := take(binary.LittleEndian.Uint64(h[40:]))
	if err != nil {
		return nil, err
	}
	if len(e.Deleted) == 0 {
		e.Deleted = nil
	} else if len(e.Deleted) < (e.Rows+7)/8 {
		return nil, fmt.Errorf("a bitmap of %d bytes for %d rows", len(e.Deleted), e.Rows)
	}
	switch e.Kind {
	case Append:
		n := 0
		if e.Cols, n, err = column.DecodeColumns(payload); err == nil && n != e.Rows {
			err = fmt.Errorf("%d rows announced, %d there", e.Rows, n)
		}
	case Delete:
		if len(payload)%8 != 0 {
			return nil, fmt.Errorf("%d bytes of rowids", len(payload))
		}
		e.RowIDs = make([]uint64, len(payload)/8)
		for i := range e.RowIDs {
			e.RowIDs[i] = binary.LittleEndian.Uint64(payload[8*i:])
		}
	case Define:
		e.Payload = payload
	case Truncate:
		if len(payload) != 0 {
			return nil, fmt.Errorf("%d bytes in a truncation", len(payload))
		}
	default:
		err = fmt.Errorf("kind %d", e.Kind)
	}
	return b, err
}
