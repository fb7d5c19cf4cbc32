package image

import (
	"fmt"
	"sort"
	"sync/atomic"

	"tidemill/state/column"
)

// ownChunkRows is how many rows an appended batch needs to become a chunk of its own, without a
// copy; smaller ones are copied into the tail. Doubled, appends of 8,192 to 16,384 rows would be
// copied; halved, a table fed by bodies of 4,000 rows would have thirty times as many chunks to list.
const ownChunkRows = 8_192

// Rows is a table's rows by rowid. All methods but Directory are the committer's.
type Rows struct {
	types []column.Type
	// changes are those of the columns since the table was created, and fills what those that were added have in older rows.
	changes []Change
	fills   []*filling
	sealed  []place
	tail    []*column.Builder
	tailAt  uint64 // rowid of the tail's first row
	tailN   int
	tailCh  place // what was last published of the tail; its live bitmap covers the tail
	next    uint64
	live    int64

	failed        []*File // of saves that failed, since the last that did not
	sealedChanged bool    // since the directory was last published
	dir           atomic.Pointer[Directory]
}

// place is a chunk and what of it is alive, as the committer sees it.
type place struct {
	chunk  *Chunk
	live   []byte // nil: all
	dead   int
	shared bool // a snapshot has the bitmap: copy before changing
	dirty  bool // killed rows since the bitmap was last saved
}

// NewRows returns an empty table of columns of these types.
func NewRows(types []column.Type) *Rows {
	r := &Rows{types: types, next: 1}
	r.dir.Store(&Directory{})
	return r
}

// Next returns the rowid that the next appended row gets.
func (r *Rows) Next() uint64 { return r.next }

// Live returns how many rows there are.
func (r *Rows) Live() int64 { return r.live }

// Append adds n rows and returns the rowid of the first. It keeps the columns' buffers when the
// batch is large, so they must not be changed afterwards. The rows are in the next Snapshot, and in
// the next published Directory.
func (r *Rows) Append(cols []column.Column, n int) uint64 {
	first := r.next
	r.next += uint64(n)
	r.live += int64(n)
	if n >= ownChunkRows || textSize(cols) > maxTailBytes {
		r.seal()
		for lo := 0; lo < n; lo += ChunkRows {
			hi := min(lo+ChunkRows, n)
			c := &Chunk{Base: first + uint64(lo), N: hi - lo, cols: make([]column.Column, len(cols))}
			for i := range cols {
				c.cols[i] = cols[i].Slice(lo, hi)
			}
			r.addSealed(place{chunk: c})
		}
		return first
	}
	for lo := 0; lo < n; {
		if r.tail == nil {
			r.tail = make([]*column.Builder, len(r.types))
			for i, t := range r.types {
				r.tail[i] = column.NewBuilder(t, 1024)
			}
			r.tailAt, r.tailN, r.tailCh = first+uint64(lo), 0, place{}
		}
		hi := min(n, lo+ChunkRows-r.tailN)
		for i := range cols {
			part := cols[i].Slice(lo, hi)
			r.tail[i].AppendColumn(&part)
		}
		r.tailN += hi - lo
		if r.tailN == ChunkRows || r.tailBytes() > maxTailBytes {
			r.seal()
		}
		lo = hi
	}
	return first
}

// maxTailBytes keeps a tail of long texts, and one batch more, far from the 2 GiB that offsets can
// address. Longer batches are not copied into it. Doubled, a block that a reader has to verify before
// its first row is twice as large.
const maxTailBytes = 64 << 20

func textSize(cols []column.Column) int {
	n := 0
	for i := range cols {
		if cols[i].Type.Varlen() || cols[i].Type.Nested() {
			n += dataSize(&cols[i])
		}
	}
	return n
}

func (r *Rows) tailBytes() int {
	n := 0
	for _, b := range r.tail {
		n += b.DataLen()
	}
	return n
}

func (r *Rows) addSealed(p place) {
	r.sealed = append(r.sealed, p)
	r.sealedChanged = true
}

// tailChunk brings the tail's chunk up to the rows appended.
func (r *Rows) tailChunk() *Chunk {
	if r.tail == nil {
		return nil
	}
	c := r.tailCh.chunk
	if c == nil || c.N < r.tailN {
		c = &Chunk{Base: r.tailAt, N: r.tailN, cols: make([]column.Column, len(r.tail))}
		for i, b := range r.tail {
			c.cols[i] = b.View()
		}
		r.tailCh.chunk = c
		if r.tailCh.live != nil {
			r.tailCh.live = grow(r.tailCh.live, r.tailN, r.tailCh.shared)
			r.tailCh.shared = false
		}
	}
	return c
}

// grow returns a bitmap of n bits that begins as b does and is set from there on. The bits past the
// old length in b's last byte are 1 by this package's rule that they are.
func grow(b []byte, n int, copied bool) []byte {
	want := (n + 7) / 8
	if copied || cap(b) < want {
		b = append(make([]byte, 0, want*2), b...)
	}
	for len(b) < want {
		b = append(b, 0xff)
	}
	return b
}

// seal ends the tail: its rows become a chunk like others.
func (r *Rows) seal() {
	if r.tail == nil {
		return
	}
	r.tailChunk()
	r.addSealed(r.tailCh)
	r.tail, r.tailCh = nil, place{}
}

// find returns the committer's place of a rowid.
func (r *Rows) find(rowid uint64) (*place, int, error) {
	p := &r.tailCh
	if r.tail == nil || rowid < r.tailAt {
		k := sort.Search(len(r.sealed), func(k int) bool { return r.sealed[k].chunk.Base > rowid }) - 1
		if k < 0 {
			return nil, 0, nil
		}
		p = &r.sealed[k]
	} else {
		r.tailChunk()
	}
	i, err := p.chunk.Index(rowid)
	if i < 0 || err != nil {
		return nil, 0, err
	}
	return p, i, nil
}

// Kill removes a row. It reports whether the row was there.
func (r *Rows) Kill(rowid uint64) (bool, error) {
	p, i, err := r.find(rowid)
	if err != nil || p == nil || !bit(p.live, i) {
		return false, err
	}
	p.kill(i)
	r.live--
	return true, nil
}

// Revive undoes the Kill of a row that no Save has been planned without. It reports whether the row was dead.
func (r *Rows) Revive(rowid uint64) (bool, error) {
	p, i, err := r.find(rowid)
	if err != nil || p == nil || bit(p.live, i) {
		return false, err
	}
	if p.shared {
		p.live, p.shared = append([]byte(nil), p.live...), false
	}
	column.SetBit(p.live, i)
	p.dead--
	p.dirty = true
	r.live++
	return true, nil
}

// Gather returns the values of rows that are there, in the order of rowids.
func (r *Rows) Gather(rowids []uint64) ([]column.Column, error) {
	out := make([]*column.Builder, len(r.types))
	for i, t := range r.types {
		out[i] = column.NewBuilder(t, len(rowids))
	}
	for _, id := range rowids {
		p, i, err := r.find(id)
		if err != nil {
			return nil, err
		}
		if p == nil {
			return nil, fmt.Errorf("gather row %d: no such row", id)
		}
		cols, err := p.chunk.Columns()
		if err != nil {
			return nil, err
		}
		for k := range cols {
			out[k].AppendFrom(&cols[k], i)
		}
	}
	cols := make([]column.Column, len(out))
	for i := range out {
		cols[i] = out[i].Finish()
	}
	return cols, nil
}

// kill clears row i, in a copy of the bitmap when a snapshot has it.
func (p *place) kill(i int) {
	switch {
	case p.live == nil:
		p.live = make([]byte, (p.chunk.N+7)/8)
		for k := range p.live {
			p.live[k] = 0xff
		}
	case p.shared:
		p.live = append([]byte(nil), p.live...)
	}
	p.shared = false
	column.ClearBit(p.live, i)
	p.dead++
	p.dirty = true
}

// Publish makes the rows appended so far findable by other goroutines.
func (r *Rows) Publish() {
	old := r.dir.Load()
	tail := r.tailChunk()
	if !r.sealedChanged && old.tail == tail {
		return
	}
	d := &Directory{sealed: old.sealed, tail: tail}
	if r.sealedChanged {
		d.sealed = make([]*Chunk, len(r.sealed))
		for i := range r.sealed {
			d.sealed[i] = r.sealed[i].chunk
		}
		r.sealedChanged = false
	}
	r.dir.Store(d)
}

// Directory returns the last published directory. Any goroutine may call it.
func (r *Rows) Directory() *Directory { return r.dir.Load() }

// Snapshot returns the rows as they are now.
func (r *Rows) Snapshot() *Snapshot {
	s := &Snapshot{Rows: r.live, Chunks: make([]ScanChunk, 0, len(r.sealed)+1)}
	for i := range r.sealed {
		s.add(&r.sealed[i])
	}
	if r.tailChunk() != nil {
		s.add(&r.tailCh)
	}
	return s
}

func (s *Snapshot) add(p *place) {
	if p.dead == p.chunk.N {
		return
	}
	if p.live != nil {
		p.shared = true
	}
	s.Chunks = append(s.Chunks, ScanChunk{Chunk: p.chunk, Live: p.live})
}

// Memory returns the bytes that the rows keep on the Go heap.
func (r *Rows) Memory() int64 {
	n := int64(r.tailBytes())
	for i := range r.sealed {
		n += r.sealed[i].chunk.memory() + int64(len(r.sealed[i].live))
	}
	return n
}
