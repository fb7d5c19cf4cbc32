package image

import (
	"encoding/binary"
	"fmt"

	"github.com/cockroachdb/pebble/v2/vfs"

	"tidemill/state/column"
)

// Write writes the chunk files into dir, under names that begin with prefix, syncs them and the
// directory, and returns the entries that the checkpoint has to hold. No file that a checkpoint refers
// to, or one that may yet turn out durable, may have a name with that prefix. After an error none of
// the files is left.
func (s *Save) Write(fs vfs.FS, dir, prefix string) (entries []Entry, err error) {
	w := &runWriter{fs: fs, dir: dir, prefix: prefix, types: s.types, gen: s.gen}
	defer func() {
		if err != nil {
			w.abort()
			for _, u := range s.runs {
				u.files = nil
			}
		}
	}()
	entries = append(entries, s.bitmaps...)
	for _, f := range s.dropped {
		entries = append(entries, Entry{Key: entryKey(keyFile, f.entry.Blocks[0].Base)})
		for _, b := range f.entry.Blocks {
			entries = append(entries, Entry{Key: entryKey(keyLive, b.Base)})
		}
	}
	for _, u := range s.runs {
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

// wholeRows is how many rows, all alive, make a chunk a block as it is; smaller ones are copied
// together. Halved, a table fed by bodies of 30,000 rows would have four times as many blocks.
const wholeRows = ChunkRows / 2

// runWriter cuts the live rows of runs into blocks and files.
type runWriter struct {
	fs          vfs.FS
	dir, prefix string
	types       []column.Type
	gen         int

	made    []string // paths of all files begun
	out     *fileWriter
	files   []*File // of this run
	pending []*column.Builder
	ids     []uint64
	text    int // bytes of text pending
	room    int // rows to make room for at once
}

func (w *runWriter) write(u *run) error {
	w.files, w.room = nil, 0
	for _, c := range u.chunks {
		w.room = min(ChunkRows, w.room+c.N)
	}
	for _, c := range u.chunks {
		if err := w.chunk(c); err != nil {
			return err
		}
	}
	if err := w.flush(); err != nil {
		return err
	}
	if err := w.endFile(); err != nil {
		return err
	}
	u.files = w.files
	return nil
}

// chunk writes the live rows of c, or adds them to those pending. It reads the chunk even if none
// is alive: Installed relies on it.
func (w *runWriter) chunk(c ScanChunk) error {
	cols, err := c.Columns()
	if err != nil {
		return err
	}
	ids, err := c.rowids()
	if err != nil {
		return err
	}
	if c.Live == nil && (c.N >= wholeRows || textSize(cols) > maxTailBytes) {
		if err := w.flush(); err != nil {
			return err
		}
		return w.block(c.Base, cols, c.N, ids)
	}
	sel := make([]int32, 0, c.N)
	for i := range c.N {
		if c.alive(i) {
			sel = append(sel, int32(i))
		}
	}
	if len(sel) < c.N {
		live := make([]column.Column, len(cols))
		for k := range cols {
			live[k] = cols[k].Gather(sel)
		}
		cols = live
	}
	for lo := 0; lo < len(sel); {
		if len(w.ids) == ChunkRows {
			if err := w.flush(); err != nil {
				return err
			}
		}
		hi := min(len(sel), lo+ChunkRows-len(w.ids))
		part := make([]column.Column, len(cols))
		for k := range cols {
			part[k] = cols[k].Slice(lo, hi)
		}
		if n := textSize(part); w.text+n > maxTailBytes {
			if err := w.flush(); err != nil {
				return err
			}
		}
		w.add(part)
		for _, i := range sel[lo:hi] {
			w.ids = append(w.ids, c.RowID(int(i)))
		}
		lo = hi
	}
	return nil
}

func (w *runWriter) add(cols []column.Column) {
	if w.pending == nil {
		w.pending = make([]*column.Builder, len(w.types))
		for k, t := range w.types {
			w.pending[k] = column.NewBuilder(t, w.room)
		}
	}
	for k := range cols {
		w.pending[k].AppendColumn(&cols[k])
	}
	w.text += textSize(cols)
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
	ids, base := w.ids, w.ids[0]
	if ids[n-1]-base == uint64(n-1) {
		ids = nil
	}
	w.pending, w.ids, w.text = nil, nil, 0
	return w.block(base, cols, n, ids)
}

func (w *runWriter) block(base uint64, cols []column.Column, n int, ids []uint64) error {
	if w.out == nil {
		name := fmt.Sprintf("%s-%d.chunk", w.prefix, len(w.made))
		path := w.fs.PathJoin(w.dir, name)
		w.made = append(w.made, path)
		out, err := createFile(w.fs, path, name, w.gen)
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
	out := w.out
	w.out = nil
	if err := out.close(); err != nil {
		return err
	}
	w.files = append(w.files, newFile(w.fs, w.dir, w.types, out.entry))
	return nil
}

// abort removes what was written: on a full disk, each further attempt would leave as much again.
func (w *runWriter) abort() {
	if w.out != nil {
		w.out.f.Close()
	}
	for _, path := range w.made {
		w.fs.Remove(path) // or it is found unused at the next open
	}
}
