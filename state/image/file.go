package image

import (
	"encoding/json"
	"fmt"
	"hash/crc32"
	"runtime"
	"sync"

	"github.com/cockroachdb/pebble/v2/vfs"
	"golang.org/x/sys/unix"

	"tidemill/state/column"
)

// Constants of FORMAT.md, frozen as version 1.
const (
	fileMagic  = "TMCHUNK\x01"
	headerSize = 64 // magic, then zeroes: the first block starts on a cache line
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// CorruptionError is damage found in a chunk file.
type CorruptionError struct {
	File   string
	Offset int64
	Reason string
}

// Error names the file, the place and the remedy.
func (e *CorruptionError) Error() string {
	return fmt.Sprintf("chunk file %s is damaged at offset %d: %s; restore the file from a copy of the directory", e.File, e.Offset, e.Reason)
}

// fileEntry describes a chunk file. It stands in the checkpoint, as JSON, under the file's first
// rowid: the file itself holds only the blocks.
type fileEntry struct {
	Name   string       `json:"name"`
	Blocks []blockEntry `json:"blocks"`
}

type blockEntry struct {
	Base   uint64 `json:"base"`
	N      int    `json:"n"`
	Offset int64  `json:"off"`
	Length int64  `json:"len"`
	CRC    uint32 `json:"crc"`
	IDs    bool   `json:"ids,omitempty"` // the last column holds the rowids
}

func (e *fileEntry) encode() []byte {
	b, err := json.Marshal(e)
	if err != nil {
		panic(err) // numbers and a name always encode
	}
	return b
}

// File is a chunk file. It is opened and mapped at first use, and unmapped when no chunk refers to it.
type File struct {
	fs    vfs.FS
	path  string
	types []column.Type
	entry fileEntry

	once   sync.Once
	mapped []byte
	file   vfs.File // where there is nothing to map: a file system in memory
	err    error
}

func (f *File) open() {
	file, err := f.fs.Open(f.path)
	if err != nil {
		f.err = fmt.Errorf("open chunk file: %w", err)
		return
	}
	st, err := file.Stat()
	if err != nil {
		f.err = fmt.Errorf("stat chunk file %s: %w", f.path, err)
		return
	}
	last := f.entry.Blocks[len(f.entry.Blocks)-1]
	if st.Size() < last.Offset+last.Length {
		f.err = &CorruptionError{f.path, st.Size(), fmt.Sprintf("the file ends before its block at %d", last.Offset)}
		file.Close()
		return
	}
	if file.Fd() == vfs.InvalidFd {
		f.file = file
		return
	}
	f.mapped, err = unix.Mmap(int(file.Fd()), 0, int(last.Offset+last.Length), unix.PROT_READ, unix.MAP_SHARED)
	file.Close()
	if err != nil {
		f.err = fmt.Errorf("map chunk file %s: %w", f.path, err)
		return
	}
	runtime.AddCleanup(f, func(m []byte) { unix.Munmap(m) }, f.mapped)
}

// read maps and verifies block at of the file.
func (f *File) read(at int) ([]column.Column, []uint64, error) {
	if f.once.Do(f.open); f.err != nil {
		return nil, nil, f.err
	}
	e := f.entry.Blocks[at]
	var b []byte
	if f.mapped != nil {
		b = f.mapped[e.Offset : e.Offset+e.Length]
	} else {
		b = make([]byte, e.Length)
		if _, err := f.file.ReadAt(b, e.Offset); err != nil {
			return nil, nil, fmt.Errorf("read chunk file %s at %d: %w", f.path, e.Offset, err)
		}
	}
	if got := crc32.Checksum(b, castagnoli); got != e.CRC {
		return nil, nil, &CorruptionError{f.path, e.Offset, fmt.Sprintf("checksum %08x, expected %08x", got, e.CRC)}
	}
	cols, n, err := column.DecodeColumns(b)
	if err != nil {
		return nil, nil, &CorruptionError{f.path, e.Offset, err.Error()}
	}
	want := len(f.types)
	if e.IDs {
		want++
	}
	if n != e.N || len(cols) != want {
		return nil, nil, &CorruptionError{f.path, e.Offset, fmt.Sprintf("%d columns of %d rows, expected %d of %d", len(cols), n, want, e.N)}
	}
	var ids []uint64
	if e.IDs {
		ids = column.Values[uint64](&cols[want-1])
		cols = cols[:want-1]
	}
	return cols, ids, nil
}

// fileWriter writes the blocks of one file.
type fileWriter struct {
	f     vfs.File
	entry fileEntry
	at    int64
}

func createFile(fs vfs.FS, path, name string) (*fileWriter, error) {
	f, err := fs.Create(path, vfs.WriteCategoryUnspecified)
	if err != nil {
		return nil, fmt.Errorf("create chunk file: %w", err)
	}
	w := &fileWriter{f: f, entry: fileEntry{Name: name}}
	h := make([]byte, headerSize)
	copy(h, fileMagic)
	return w, w.write(h)
}

func (w *fileWriter) write(b []byte) error {
	n, err := w.f.Write(b)
	w.at += int64(n)
	if err != nil {
		return fmt.Errorf("write chunk file %s: %w", w.entry.Name, err)
	}
	return nil
}

// add writes a block of rows; ids is nil when they are base, base+1, ...
func (w *fileWriter) add(base uint64, cols []column.Column, n int, ids []uint64) error {
	if ids != nil {
		cols = append(cols[:len(cols):len(cols)], column.Of(column.T(column.UInt64), ids, nil))
	}
	e := blockEntry{Base: base, N: n, Offset: w.at, IDs: ids != nil}
	for _, p := range column.Parts(cols) {
		e.CRC = crc32.Update(e.CRC, castagnoli, p)
		if err := w.write(p); err != nil {
			return err
		}
	}
	e.Length = w.at - e.Offset
	w.entry.Blocks = append(w.entry.Blocks, e)
	return nil
}

// close makes the file durable; its directory must be synced after.
func (w *fileWriter) close() error {
	if err := w.f.Sync(); err != nil {
		w.f.Close()
		return fmt.Errorf("sync chunk file %s: %w", w.entry.Name, err)
	}
	return w.f.Close()
}
