// Package decode turns request bodies into columns: NDJSON and JSON arrays (NDJSON), Arrow IPC
// streams (Arrow), and the gzip and zstd encodings around them (Uncompress). Every server that
// accepts rows shares it.
//
// What it promises. Bytes come from strangers: every length is checked before anything is read or
// allocated, the memory that a body may turn into is bounded by Options.MaxBytes, and no body can
// panic or kill the process. Nothing is guessed and nothing is lost silently: an unknown or repeated
// field, a value of another type, a value that the column cannot hold exactly, bad UTF-8 and a
// truncated body are errors that name the row, the column and the place. A body is accepted whole
// or refused whole.
//
// What it does not do: it fills in no defaults (Rows.Present says where the caller must), checks no
// key's uniqueness, and knows no HTTP.
//
// A decoder (NDJSON or Arrow) belongs to one goroutine at a time and is meant to be kept in a pool
// per table: it remembers the shape of the last body and reads the next one of the same shape
// faster. It must be replaced when the table's columns change.
package decode

import (
	"encoding/binary"
	"fmt"

	"tidemill/state/column"
)

// le is the byte order of columns, of Arrow and of the loads that scan text.
var le = binary.LittleEndian

// DeletedField is the field of a row that says, in a keyed table, that the row with this key goes.
const DeletedField = "_deleted"

// DefaultMaxBytes bounds what one body may become in memory when Options names no bound. It is
// above what a body of 64 MiB needs when it is honest, and far below what a forged one could claim.
const DefaultMaxBytes = 1 << 30

// maxText is what 32-bit offsets can address.
const maxText = 1<<31 - 1

// Options says what a decoder may accept.
type Options struct {
	// Key has the places of the key's columns among the fields. With a key, rows may carry
	// DeletedField; such a row needs the key's columns only. Without one, DeletedField is an unknown
	// field. NULL in a key column is always refused.
	Key []int
	// HasDefault tells, per field, that the column has a DEFAULT: a row may then leave it out even
	// when the column is NOT NULL, and the caller fills it in. It may be nil.
	HasDefault []bool
	// MaxBytes bounds the memory of the decoded columns; 0 means DefaultMaxBytes.
	MaxBytes int64
}

func (o *Options) maxBytes() int64 {
	if o.MaxBytes > 0 {
		return o.MaxBytes
	}
	return DefaultMaxBytes
}

func (o *Options) isKey(col int) bool {
	for _, k := range o.Key {
		if k == col {
			return true
		}
	}
	return false
}

func (o *Options) hasDefault(col int) bool { return col < len(o.HasDefault) && o.HasDefault[col] }

// Rows is a decoded body: one column per field of the table, in the table's order.
type Rows struct {
	Cols []column.Column
	N    int
	// Deleted has a bit per row, 1 where the row carried DeletedField as true; nil when no row did.
	// In such a row only the key's columns mean something.
	Deleted []byte
	// Present has, per column, a bit per row, 1 where the row gave a value or an explicit null; the
	// slots that it did not give are NULL in the column and take the column's DEFAULT, if it has one,
	// from the caller. A column that every row gave has nil, and Present itself is nil when all have.
	Present [][]byte
	// Bad has the rows that Reading.OnError left out, in the body's order; they are not among N.
	Bad []BadRow
}

// budget counts what a body has been turned into so far.
type budget struct{ left, max int64 }

func (b *budget) reset(o *Options) { b.max = o.maxBytes(); b.left = b.max }

// take reserves n bytes, before they are allocated.
func (b *budget) take(n int64) error {
	if n < 0 || n > b.left {
		return fmt.Errorf("%w: its rows would take more than %d bytes of memory", ErrTooLarge, b.max)
	}
	b.left -= n
	return nil
}

// From returns the rows from row n on; none of them may be among Bad.
func (r *Rows) From(n int) *Rows {
	out := &Rows{Cols: make([]column.Column, len(r.Cols)), N: r.N - n}
	for i := range r.Cols {
		out.Cols[i] = r.Cols[i].Slice(n, r.N)
	}
	bits := func(b []byte) []byte {
		if b == nil {
			return nil
		}
		to := column.NewBitmap(out.N, false)
		for i := range out.N {
			if column.Bit(b, n+i) {
				column.SetBit(to, i)
			}
		}
		return to
	}
	out.Deleted = bits(r.Deleted)
	if r.Present != nil {
		out.Present = make([][]byte, len(r.Present))
		for i := range r.Present {
			out.Present[i] = bits(r.Present[i])
		}
	}
	return out
}
