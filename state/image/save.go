package image

import (
	"encoding/binary"
	"encoding/json"
	"fmt"

	"github.com/cockroachdb/pebble/v2/vfs"

	"tidemill/state/column"
)

const (
	// smallRows is how many rows make a file worth leaving alone: a smaller one is merged with what is
	// written beside it. Doubled, each checkpoint of a slow table rewrites twice as much.
	smallRows = 65_536
	// fileBlocks bounds a file to about a million rows, the most that one compaction rewrites for the
	// sake of a single dead quarter.
	fileBlocks = 8
)

// Entry is a key of the table's keyspace with its value; a nil Value deletes the key.
type Entry struct{ Key, Value []byte }

func entryKey(kind byte, base uint64) []byte {
	return binary.BigEndian.AppendUint64([]byte{kind}, base)
}

// The kinds of key, frozen; see FORMAT.md.
const (
	keyFile = 'f' // first rowid of a file: its fileEntry
	keyLive = 'l' // first rowid of a chunk: its bitmap
	keyNext = 'n' // 0: the next rowid
)

// Save is one checkpoint of a table. Rows.Plan makes it on the committer's goroutine, Write runs on any,
// Rows.Installed takes it back on the committer's when the checkpoint is durable.
type Save struct {
	rows    *Rows
	next    uint64
	runs    []*run
	bitmaps []Entry // of chunks that stay where they are
	kept    []*place
	dropped []*File
}

// run is a stretch of chunks that is written anew, without its dead rows.
type run struct {
	chunks []ScanChunk
	dead   []int // of each chunk when planned
	files  []*File
}

// Plan decides what a checkpoint of the table as it is now has to write: the chunks that are in no
// file, files of which more than a quarter is dead, and small files beside those. It returns nil when
// nothing has changed since the last.
func (r *Rows) Plan() *Save {
	r.seal()
	s := &Save{rows: r, next: r.next}
	type segment struct {
		lo, hi  int
		rewrite bool
		small   bool
	}
	var segs []segment
	for i := 0; i < len(r.sealed); {
		j, rows, dead := i, 0, 0
		f := r.sealed[i].chunk.file()
		for ; j < len(r.sealed) && r.sealed[j].chunk.file() == f; j++ {
			rows += r.sealed[j].chunk.N
			dead += r.sealed[j].dead
		}
		segs = append(segs, segment{i, j, f == nil || 4*dead >= rows && dead > 0, rows-dead < smallRows})
		i = j
	}
	for k := range segs { // small files join their neighbours, forwards and back
		segs[k].rewrite = segs[k].rewrite || segs[k].small && k > 0 && segs[k-1].rewrite
	}
	for k := len(segs) - 2; k >= 0; k-- {
		segs[k].rewrite = segs[k].rewrite || segs[k].small && segs[k+1].rewrite
	}
	for k := 0; k < len(segs); {
		if !segs[k].rewrite {
			for i := segs[k].lo; i < segs[k].hi; i++ {
				if p := &r.sealed[i]; p.dirty {
					p.shared, p.dirty = true, false
					s.bitmaps = append(s.bitmaps, Entry{entryKey(keyLive, p.chunk.Base), p.live})
					s.kept = append(s.kept, p)
				}
			}
			k++
			continue
		}
		u := &run{}
		for ; k < len(segs) && segs[k].rewrite; k++ {
			if f := r.sealed[segs[k].lo].chunk.file(); f != nil {
				s.dropped = append(s.dropped, f)
			}
			for i := segs[k].lo; i < segs[k].hi; i++ {
				p := &r.sealed[i]
				p.shared = p.live != nil
				u.chunks = append(u.chunks, ScanChunk{p.chunk, p.live})
				u.dead = append(u.dead, p.dead)
			}
		}
		s.runs = append(s.runs, u)
	}
	if len(s.runs) == 0 && len(s.bitmaps) == 0 {
		return nil
	}
	return s
}

func (c *Chunk) file() *File {
	if c.load == nil {
		return nil
	}
	return c.load.file
}

// Write writes the chunk files into dir, under names that begin with prefix, syncs them and the
// directory, and returns the entries that the checkpoint has to hold.
func (s *Save) Write(fs vfs.FS, dir, prefix string) ([]Entry, error) {
	entries := s.bitmaps
	for _, f := range s.dropped {
		entries = append(entries, Entry{Key: entryKey(keyFile, f.entry.Blocks[0].Base)})
		for _, b := range f.entry.Blocks {
			entries = append(entries, Entry{Key: entryKey(keyLive, b.Base)})
		}
	}
	for i, u := range s.runs {
		w := &runWriter{fs: fs, dir: dir, prefix: fmt.Sprintf("%s-%d", prefix, i), types: s.rows.types}
		if err := w.write(u); err != nil {
			return nil, err
		}
		for _, f := range u.files {
			entries = append(entries, Entry{entryKey(keyFile, f.entry.Blocks[0].Base), f.entry.encode()})
		}
	}
	if len(s.runs) > 0 {
		if err := syncDir(fs, dir); err != nil {
			return nil, err
		}
	}
	entries = append(entries, Entry{entryKey(keyNext, 0), binary.BigEndian.AppendUint64(nil, s.next)})
	return lastOfKey(entries), nil
}

// lastOfKey keeps the last entry of each key: a file that is written anew deletes and sets its own.
func lastOfKey(entries []Entry) []Entry {
	at := make(map[string]int, len(entries))
	var out []Entry
	for _, e := range entries {
		if i, ok := at[string(e.Key)]; ok {
			out[i] = e
			continue
		}
		at[string(e.Key)] = len(out)
		out = append(out, e)
	}
	return out
}

func syncDir(fs vfs.FS, dir string) error {
	d, err := fs.OpenDir(dir)
	if err != nil {
		return fmt.Errorf("open chunk directory: %w", err)
	}
	if err := d.Sync(); err != nil {
		d.Close()
		return fmt.Errorf("sync chunk directory %s: %w", dir, err)
	}
	return d.Close()
}

// runWriter cuts the live rows of a run into blocks and files.
type runWriter struct {
	fs          vfs.FS
	dir, prefix string
	types       []column.Type
	out         *fileWriter
	files       []*File
	pending     []*column.Builder
	ids         []uint64
}

func (w *runWriter) write(u *run) error {
	for _, c := range u.chunks {
		cols, err := c.Columns()
		if err != nil {
			return err
		}
		if c.Live == nil && c.N >= ownChunkRows {
			ids, err := c.rowids()
			if err == nil {
				err = w.flush()
			}
			if err == nil {
				err = w.block(c.Base, cols, c.N, ids)
			}
			if err != nil {
				return err
			}
			continue
		}
		for i := range c.N {
			if c.Live != nil && !column.Bit(c.Live, i) {
				continue
			}
			if w.pending == nil {
				w.pending = make([]*column.Builder, len(w.types))
				for k, t := range w.types {
					w.pending[k] = column.NewBuilder(t, 1024)
				}
			}
			bytes := 0
			for k := range cols {
				w.pending[k].AppendFrom(&cols[k], i)
				bytes += w.pending[k].DataLen()
			}
			if w.ids = append(w.ids, c.RowID(i)); len(w.ids) == ChunkRows || bytes > maxTailBytes {
				if err := w.flush(); err != nil {
					return err
				}
			}
		}
	}
	if err := w.flush(); err != nil {
		return err
	}
	err := w.endFile()
	u.files = w.files
	return err
}

// flush writes the pending rows as a block.
func (w *runWriter) flush() error {
	n := len(w.ids)
	if n == 0 {
		return nil
	}
	cols := make([]column.Column, len(w.pending))
	for k, b := range w.pending {
		cols[k] = b.Finish()
	}
	ids := w.ids
	if ids[n-1]-ids[0] == uint64(n-1) {
		ids = nil
	}
	base := w.ids[0]
	w.pending, w.ids = nil, nil
	return w.block(base, cols, n, ids)
}

func (w *runWriter) block(base uint64, cols []column.Column, n int, ids []uint64) error {
	if w.out == nil {
		name := fmt.Sprintf("%s-%d.chunk", w.prefix, len(w.files))
		out, err := createFile(w.fs, w.fs.PathJoin(w.dir, name), name)
		if err != nil {
			return err
		}
		w.out = out
	}
	if err := w.out.add(base, cols, n, ids); err != nil {
		return err
	}
	if len(w.out.entry.Blocks) == fileBlocks {
		return w.endFile()
	}
	return nil
}

func (w *runWriter) endFile() error {
	if w.out == nil {
		return nil
	}
	err := w.out.close()
	w.files = append(w.files, newFile(w.fs, w.dir, w.types, w.out.entry))
	w.out = nil
	return err
}

func newFile(fs vfs.FS, dir string, types []column.Type, e fileEntry) *File {
	return &File{fs: fs, path: fs.PathJoin(dir, e.Name), types: types, entry: e}
}

// Installed puts the files of a durable checkpoint in the place of the chunks that they hold, so that
// those leave the heap, and returns the paths of files that nothing on disk refers to any more. Rows
// killed since Plan stay killed.
func (r *Rows) Installed(s *Save) (obsolete []string) {
	for _, u := range s.runs {
		at := 0
		for r.sealed[at].chunk != u.chunks[0].Chunk {
			at++
		}
		old := r.sealed[at : at+len(u.chunks)]
		fresh := u.places(old)
		r.sealed = append(r.sealed[:at:at], append(fresh, r.sealed[at+len(u.chunks):]...)...)
		r.sealedChanged = true
	}
	for _, f := range s.dropped {
		obsolete = append(obsolete, f.path)
	}
	return obsolete
}

// Failed undoes Plan when the checkpoint did not become durable: what it would have saved is again
// unsaved.
func (r *Rows) Failed(s *Save) {
	for _, p := range s.kept {
		p.dirty = true
	}
}

// places returns the run's chunks in their files, less what has been killed since it was planned.
func (u *run) places(old []place) []place {
	var fresh []place
	for _, f := range u.files {
		for i, b := range f.entry.Blocks {
			fresh = append(fresh, place{chunk: &Chunk{Base: b.Base, N: b.N, load: &block{file: f, at: i}}})
		}
	}
	k, at := 0, 0 // the new chunk, and the row in it, of the old row
	for o := range old {
		then, now := u.chunks[o].Live, old[o].live
		same := old[o].dead == u.dead[o]
		for i := range old[o].chunk.N {
			if then != nil && !column.Bit(then, i) {
				continue
			}
			for at == fresh[k].chunk.N {
				k, at = k+1, 0
			}
			if !same && !column.Bit(now, i) {
				fresh[k].kill(at)
			}
			at++
		}
	}
	return fresh
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

// OpenRows returns the table that the entries of a checkpoint describe. No file is opened.
func OpenRows(fs vfs.FS, dir string, types []column.Type, entries []Entry) (*Rows, error) {
	r := NewRows(types)
	live := map[uint64][]byte{}
	for _, e := range entries {
		if len(e.Key) != 9 {
			return nil, fmt.Errorf("open rows: key %x is not of this format", e.Key)
		}
		base := binary.BigEndian.Uint64(e.Key[1:])
		switch e.Key[0] {
		case keyFile:
			var fe fileEntry
			if err := json.Unmarshal(e.Value, &fe); err != nil || len(fe.Blocks) == 0 {
				return nil, fmt.Errorf("open rows: entry of the file at row %d is damaged: %v", base, err)
			}
			f := newFile(fs, dir, types, fe)
			for i, b := range fe.Blocks {
				r.sealed = append(r.sealed, place{chunk: &Chunk{Base: b.Base, N: b.N, load: &block{file: f, at: i}}})
				r.live += int64(b.N)
			}
		case keyLive:
			live[base] = append([]byte(nil), e.Value...)
		case keyNext:
			r.next = binary.BigEndian.Uint64(e.Value)
		default:
			return nil, fmt.Errorf("open rows: key %x is not of this format", e.Key)
		}
	}
	for i := range r.sealed {
		p := &r.sealed[i]
		if b := live[p.chunk.Base]; b != nil {
			p.live = b
			for k := range p.chunk.N {
				if !column.Bit(b, k) {
					p.dead++
				}
			}
			r.live -= int64(p.dead)
		}
	}
	r.sealedChanged = true
	r.Publish()
	return r, nil
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
