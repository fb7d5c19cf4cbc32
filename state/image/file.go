package image

import (
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"math"
	"runtime"
	"runtime/debug"
	"sync"
	"unsafe"

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

// idsType is the type of the column of rowids that a block of rows with gaps ends with.
var idsType = column.T(column.UInt64)

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
	// Generation is how many changes of its columns the table had seen when the file was written.
	Generation int `json:"gen,omitempty"`
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

// check refuses an entry whose numbers contradict each other, so that what follows may trust them.
func (e *fileEntry) check() error {
	if e.Name == "" || len(e.Blocks) == 0 {
		return fmt.Errorf("no name or no blocks")
	}
	at, base := int64(headerSize), uint64(1)
	for i, b := range e.Blocks {
		if b.N <= 0 || b.Base < base || b.Offset != at || b.Length <= 0 || b.Length > math.MaxInt64-at {
			return fmt.Errorf("block %d: %d rows from row %d in %d bytes at %d", i, b.N, b.Base, b.Length, b.Offset)
		}
		at, base = at+b.Length, b.Base+uint64(b.N)
	}
	return nil
}

// size returns the bytes of the file.
func (e *fileEntry) size() int64 {
	last := e.Blocks[len(e.Blocks)-1]
	return last.Offset + last.Length
}

// File is a chunk file. It is opened and mapped at first use, and unmapped when no chunk refers to it.
type File struct {
	fs    vfs.FS
	path  string
	types []column.Type
	entry fileEntry

	mu     sync.Mutex // guards what follows; set once
	mapped []byte
	file   vfs.File // where there is nothing to map: a file system in memory
}

func newFile(fs vfs.FS, dir string, types []column.Type, e fileEntry) *File {
	return &File{fs: fs, path: fs.PathJoin(dir, e.Name), types: types, entry: e}
}

// open makes the bytes of the file readable, and checks its length and header.
func (f *File) open() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.mapped != nil || f.file != nil {
		return nil
	}
	file, err := f.fs.Open(f.path)
	if err != nil {
		return fmt.Errorf("open chunk file: %w", err)
	}
	if err := f.checkFile(file); err != nil {
		file.Close()
		return err
	}
	if file.Fd() == vfs.InvalidFd {
		f.file = file
		return nil
	}
	mapped, err := unix.Mmap(int(file.Fd()), 0, int(f.entry.size()), unix.PROT_READ, unix.MAP_SHARED)
	file.Close()
	if err != nil {
		return fmt.Errorf("map chunk file %s: %w", f.path, err)
	}
	f.mapped = mapped
	runtime.AddCleanup(f, func(m []byte) { unix.Munmap(m) }, mapped)
	return nil
}

func (f *File) checkFile(file vfs.File) error {
	st, err := file.Stat()
	if err != nil {
		return fmt.Errorf("stat chunk file %s: %w", f.path, err)
	}
	if st.Size() < f.entry.size() {
		return &CorruptionError{f.path, st.Size(), fmt.Sprintf("the file ends here, expected %d bytes", f.entry.size())}
	}
	var head [headerSize]byte
	if _, err := file.ReadAt(head[:], 0); err != nil {
		return fmt.Errorf("read chunk file %s at 0: %w", f.path, err)
	}
	if head != header() {
		return &CorruptionError{f.path, 0, fmt.Sprintf("the header begins with %q, expected %q", head[:len(fileMagic)], fileMagic)}
	}
	return nil
}

func header() (h [headerSize]byte) {
	copy(h[:], fileMagic)
	return h
}

// read maps and verifies block at of the file.
func (f *File) read(at int) (cols []column.Column, ids []uint64, err error) {
	if err := f.open(); err != nil {
		return nil, nil, err
	}
	e := f.entry.Blocks[at]
	var b []byte
	if f.mapped != nil {
		b = f.mapped[e.Offset : e.Offset+e.Length]
		// A page that the disk cannot deliver, or that was cut off the file since, is a fault and
		// would end the process.
		defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
		defer func() {
			r := recover()
			if fault, ok := r.(interface{ Addr() uintptr }); ok {
				bad := int64(fault.Addr() - uintptr(unsafe.Pointer(unsafe.SliceData(f.mapped))))
				cols, ids, err = nil, nil, &CorruptionError{f.path, bad, "the page cannot be read"}
			} else if r != nil {
				panic(r)
			}
		}()
	} else {
		b = make([]byte, e.Length)
		if _, err := f.file.ReadAt(b, e.Offset); err != nil {
			return nil, nil, fmt.Errorf("read chunk file %s at %d: %w", f.path, e.Offset, err)
		}
	}
	return f.decode(e, b)
}

// decode verifies the bytes of a block and returns its columns and, when they are not dense, rowids.
func (f *File) decode(e blockEntry, b []byte) ([]column.Column, []uint64, error) {
	if got := crc32.Checksum(b, castagnoli); got != e.CRC {
		return nil, nil, &CorruptionError{f.path, e.Offset, fmt.Sprintf("checksum %08x, expected %08x", got, e.CRC)}
	}
	cols, n, err := column.DecodeColumns(b)
	if err != nil {
		return nil, nil, &CorruptionError{f.path, e.Offset, err.Error()}
	}
	types := f.types
	if e.IDs {
		types = append(types[:len(types):len(types)], idsType)
	}
	if n != e.N || len(cols) != len(types) {
		return nil, nil, &CorruptionError{f.path, e.Offset, fmt.Sprintf("%d columns of %d rows, expected %d of %d", len(cols), n, len(types), e.N)}
	}
	for i := range cols {
		if cols[i].Type != types[i] {
			return nil, nil, &CorruptionError{f.path, e.Offset, fmt.Sprintf("column %d is %v, expected %v", i, cols[i].Type, types[i])}
		}
	}
	if !e.IDs {
		return cols, nil, nil
	}
	last := len(f.types)
	return cols[:last:last], column.Values[uint64](&cols[last]), nil
}

// writeBytes is how much is written at once. vfs.File.Write may change the bytes that it is given, so
// columns, which others read, are copied; in pieces that stay in the processor's cache.
const writeBytes = 256 << 10

// fileWriter writes the blocks of one file.
type fileWriter struct {
	f     vfs.File
	entry fileEntry
	at    int64
	buf   []byte
}

func createFile(fs vfs.FS, path, name string, gen int) (*fileWriter, error) {
	f, err := fs.Create(path, vfs.WriteCategoryUnspecified)
	if err != nil {
		return nil, fmt.Errorf("create chunk file: %w", err)
	}
	w := &fileWriter{f: f, entry: fileEntry{Name: name, Generation: gen}, buf: make([]byte, 0, writeBytes)}
	h := header()
	return w, w.write(h[:]) // into the buffer, without an error
}

func (w *fileWriter) write(b []byte) error {
	w.at += int64(len(b))
	for len(b) > 0 {
		n := copy(w.buf[len(w.buf):cap(w.buf)], b)
		w.buf, b = w.buf[:len(w.buf)+n], b[n:]
		if len(w.buf) == cap(w.buf) {
			if err := w.flush(); err != nil {
				return err
			}
		}
	}
	return nil
}

func (w *fileWriter) flush() error {
	if _, err := w.f.Write(w.buf); err != nil {
		return fmt.Errorf("write chunk file %s: %w", w.entry.Name, err)
	}
	w.buf = w.buf[:0]
	return nil
}

// add writes a block of rows; ids is nil when they are base, base+1, ...
func (w *fileWriter) add(base uint64, cols []column.Column, n int, ids []uint64) error {
	if ids != nil {
		cols = append(cols[:len(cols):len(cols)], column.Of(idsType, ids, nil))
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
	err := w.flush()
	if err == nil {
		err = w.f.Sync()
	}
	if err = errors.Join(err, w.f.Close()); err != nil {
		return fmt.Errorf("end chunk file %s: %w", w.entry.Name, err)
	}
	return nil
}
