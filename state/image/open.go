package image

import (
	"cmp"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/cockroachdb/pebble/v2/vfs"

	"tidemill/state/column"
)

// Entry is a key of the table's keyspace with its value; a nil Value deletes the key.
type Entry struct{ Key, Value []byte }

// The kinds of key, frozen; see FORMAT.md.
const (
	keyFile = 'f' // first rowid of a file: its fileEntry
	keyLive = 'l' // first rowid of a chunk: its bitmap
	keyNext = 'n' // 0: the next rowid
)

func entryKey(kind byte, base uint64) []byte {
	return binary.BigEndian.AppendUint64([]byte{kind}, base)
}

// OpenRows returns the table that the entries of a checkpoint describe, in any order. No file is
// opened; entries that contradict each other are an error. types are those of now, after the changes.
func OpenRows(fs vfs.FS, dir string, types []column.Type, entries []Entry, changes ...Change) (*Rows, error) {
	r := NewRows(types)
	r.changes, r.fills = changes, fillings(changes)
	live := map[uint64][]byte{}
	for _, e := range entries {
		if len(e.Key) != 9 {
			return nil, fmt.Errorf("open rows: key %x is not of this format", e.Key)
		}
		base := binary.BigEndian.Uint64(e.Key[1:])
		switch e.Key[0] {
		case keyFile:
			var fe fileEntry
			err := json.Unmarshal(e.Value, &fe)
			if err == nil {
				err = fe.check()
			}
			if err == nil && fe.Blocks[0].Base != base {
				err = fmt.Errorf("it begins at row %d", fe.Blocks[0].Base)
			}
			if err == nil && (fe.Generation < 0 || fe.Generation > len(changes)) {
				err = fmt.Errorf("generation %d of a table with %d changes of its columns", fe.Generation, len(changes))
			}
			if err != nil {
				return nil, fmt.Errorf("open rows: entry of the file at row %d: %w", base, err)
			}
			r.sealed = newFile(fs, dir, r.typesAt(fe.Generation), fe).appendPlaces(r.sealed, r.layout(fe.Generation))
		case keyLive:
			live[base] = slices.Clone(e.Value)
		case keyNext:
			if len(e.Value) != 8 {
				return nil, fmt.Errorf("open rows: next rowid in %d bytes", len(e.Value))
			}
			r.next = binary.BigEndian.Uint64(e.Value)
		default:
			return nil, fmt.Errorf("open rows: key %x is not of this format", e.Key)
		}
	}
	if err := r.adopt(live); err != nil {
		return nil, fmt.Errorf("open rows: %w", err)
	}
	r.sealedChanged = true
	r.Publish()
	return r, nil
}

func (f *File) appendPlaces(ps []place, lay *layout) []place {
	for i, b := range f.entry.Blocks {
		ps = append(ps, place{chunk: &Chunk{Base: b.Base, N: b.N, load: &block{file: f, at: i}, lay: lay}})
	}
	return ps
}

// adopt puts the places in order, gives them their bitmaps and counts.
func (r *Rows) adopt(live map[uint64][]byte) error {
	slices.SortFunc(r.sealed, func(a, b place) int { return cmp.Compare(a.chunk.Base, b.chunk.Base) })
	free := uint64(1)
	for i := range r.sealed {
		p := &r.sealed[i]
		c := p.chunk
		if c.Base < free {
			return fmt.Errorf("row %d is in two files, or in one twice", c.Base)
		}
		free = c.Base + uint64(c.N)
		if b, ok := live[c.Base]; ok {
			delete(live, c.Base)
			if len(b) != (c.N+7)/8 {
				return fmt.Errorf("bitmap of %d bytes for the %d rows at row %d", len(b), c.N, c.Base)
			}
			p.live = b
			for k := range c.N {
				if !bit(b, k) {
					p.dead++
				}
			}
		}
		r.live += int64(c.N - p.dead)
	}
	for base := range live {
		return fmt.Errorf("bitmap of rows at row %d, which are in no file", base)
	}
	if r.next < free {
		return fmt.Errorf("the next rowid is %d, rows are there up to %d", r.next, free-1)
	}
	return nil
}

// FileNames returns the names of the chunk files that the table refers to.
func (r *Rows) FileNames() []string {
	var names []string
	var last *File
	for i := range r.sealed {
		if f := r.sealed[i].chunk.file(); f != nil && f != last {
			names = append(names, f.entry.Name)
			last = f
		}
	}
	return names
}
