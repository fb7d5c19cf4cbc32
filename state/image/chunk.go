// Package image holds the rows of relations in columns for reading.
//
// Rows is a table's rows by rowid, a dense uint64 in commit order from 1 that is never used again:
// appended at the end, killed one by one, saved to files of chunks at a checkpoint and read back
// from them without a load. Slots is the output of an operator that keeps its state by slot.
//
// One goroutine (the committer) changes an image. It hands out a Snapshot, immutable for as long as
// its holder keeps it, and publishes a Directory in which any goroutine finds a row by its rowid
// without waiting. Nothing is released by hand: a replaced chunk, and the mapping of a deleted file,
// goes when the last snapshot that holds it has gone.
package image

import (
	"sort"
	"sync"
	"sync/atomic"

	"tidemill/state/column"
)

// ChunkRows is the most rows that a chunk holds: a Parquet row group's usual size, and a bitmap of
// 15 KiB that a commit which kills a row may have to copy.
const ChunkRows = 122_880

// Chunk is up to ChunkRows rows. It is immutable.
type Chunk struct {
	Base uint64 // rowid of the first row
	N    int
	ids  []uint64 // rowids when they are not Base, Base+1, ...; ascending

	cols []column.Column // in memory, or nil
	load *block          // in a file, or nil
	lay  *layout         // of a chunk in a file that has other columns than the table has now
}

// block is a chunk's place in a file. Its columns are mapped and verified at first use.
type block struct {
	file *File
	at   int // index in the file's directory

	mu     sync.Mutex // held while the columns are read
	loaded atomic.Pointer[blockData]
}

type blockData struct {
	cols []column.Column
	ids  []uint64
}

// NewChunk returns a chunk of n rows that have no rowids of their own.
func NewChunk(cols []column.Column, n int) *Chunk { return &Chunk{Base: 1, N: n, cols: cols} }

// Columns returns the chunk's columns. An error names the file and, for damage (*CorruptionError),
// the offset; the next call tries again.
//
// The columns, and what aliases them, may lie in a mapped file that goes with the chunk: whoever
// uses them keeps the chunk, or a snapshot that has it, until then (runtime.KeepAlive where nothing
// else does), and copies what is to live longer.
func (c *Chunk) Columns() ([]column.Column, error) {
	if c.load == nil {
		return c.cols, nil
	}
	d, err := c.load.get()
	if err != nil {
		return nil, err
	}
	return c.lay.columns(d.cols, c.N), nil
}

// get returns the block's columns. A failure is not remembered: the process may have been out of
// file descriptors, say, and is not any more.
func (b *block) get() (*blockData, error) {
	if d := b.loaded.Load(); d != nil {
		return d, nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if d := b.loaded.Load(); d != nil {
		return d, nil
	}
	cols, ids, err := b.file.read(b.at)
	if err != nil {
		return nil, err
	}
	d := &blockData{cols, ids}
	b.loaded.Store(d)
	return d, nil
}

// rowids returns the chunk's rowids, or nil when they are dense; only the former touches the file.
func (c *Chunk) rowids() ([]uint64, error) {
	if c.load == nil || !c.load.file.entry.Blocks[c.load.at].IDs {
		return c.ids, nil
	}
	d, err := c.load.get()
	if err != nil {
		return nil, err
	}
	return d.ids, nil
}

// Index returns the place of a rowid in the chunk, dead rows counted, or -1.
func (c *Chunk) Index(rowid uint64) (int, error) {
	if rowid < c.Base {
		return -1, nil
	}
	ids, err := c.rowids()
	if err != nil {
		return -1, err
	}
	if ids == nil {
		if i := rowid - c.Base; i < uint64(c.N) {
			return int(i), nil
		}
		return -1, nil
	}
	i := sort.Search(len(ids), func(k int) bool { return ids[k] >= rowid })
	if i < len(ids) && ids[i] == rowid {
		return i, nil
	}
	return -1, nil
}

// RowID returns the rowid of the chunk's row i, whose columns must have been read before.
func (c *Chunk) RowID(i int) uint64 {
	ids := c.ids
	if c.load != nil {
		ids = c.load.loaded.Load().ids
	}
	if ids != nil {
		return ids[i]
	}
	return c.Base + uint64(i)
}

// RowIDs returns the rowids of all rows when they are not Base, Base+1 and so on, else nil. The columns must
// have been read before.
func (c *Chunk) RowIDs() []uint64 {
	if c.load != nil {
		return c.load.loaded.Load().ids
	}
	return c.ids
}

// memory returns the bytes that the chunk keeps on the Go heap.
func (c *Chunk) memory() int64 {
	if c.load != nil {
		return 0
	}
	n := int64(8 * len(c.ids))
	for i := range c.cols {
		n += int64(dataSize(&c.cols[i]) + len(c.cols[i].Valid) + 4*len(c.cols[i].Offsets))
	}
	return n
}

// dataSize returns the bytes of c's values. Slices of one batch share the text of all of it.
func dataSize(c *column.Column) int {
	switch {
	case c.N == 0:
		return 0
	case c.Type.Nested():
		return kidsSize(c)
	case !c.Type.Varlen():
		return len(c.Data)
	}
	return int(c.Offsets[c.N] - c.Offsets[0])
}

// kidsSize returns the bytes of a nested column's kids, theirs included.
func kidsSize(c *column.Column) int {
	n := 0
	for i := range c.Kids {
		k := c.Kids[i]
		if c.Offsets != nil {
			k = k.Slice(int(c.Offsets[0]), int(c.Offsets[c.N]))
		}
		n += dataSize(&k) + len(k.Valid) + 4*len(k.Offsets)
	}
	return n
}

// ScanChunk is a chunk in a snapshot: its rows, and which of them are there.
type ScanChunk struct {
	*Chunk
	Live []byte // bitmap; nil when every row is there; bits past the last row mean nothing
}

func (c *ScanChunk) alive(i int) bool { return bit(c.Live, i) }

// bit reports bit i of a bitmap of which nil is all ones.
func bit(b []byte, i int) bool { return b == nil || column.Bit(b, i) }

// Snapshot is a relation's rows at one commit, in the order of rowids. It is immutable.
type Snapshot struct {
	Chunks []ScanChunk
	Rows   int64 // live rows
}

// Directory finds rows by rowid. It is immutable and safe for concurrent use.
type Directory struct {
	sealed []*Chunk // ascending Base
	tail   *Chunk   // or nil
}

// Find returns the chunk that holds a rowid and the row's index in it, or nil when no chunk does,
// because the row was killed and its chunk rewritten since, or never was. It tells nothing about
// whether the row is alive.
func (d *Directory) Find(rowid uint64) (*Chunk, int, error) {
	c := d.tail
	if c == nil || rowid < c.Base {
		k := sort.Search(len(d.sealed), func(k int) bool { return d.sealed[k].Base > rowid }) - 1
		if k < 0 {
			return nil, 0, nil
		}
		c = d.sealed[k]
	}
	i, err := c.Index(rowid)
	if i < 0 || err != nil {
		return nil, 0, err
	}
	return c, i, nil
}
