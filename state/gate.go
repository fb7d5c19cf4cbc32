package state

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// gate is the file system that Pebble sees. Pebble never learns that a change has failed: the change tells the
// database, and then it never returns, nor does any later one.
//
// Pebble expects a process to end when its manifest or the sync of a directory fails: it calls Logger.Fatalf or
// panics, and what it has in memory no longer fits together (the files of level 0 point into intervals that were
// not installed, and the next compaction may index beyond them). The engine must not end, and goes on reading. A
// failed flush, in turn, Pebble tries again at once and for ever. To it a broken disk is therefore one that takes
// for ever: its threads stand at the gate, reads go on beside them, and nobody may wait for it (DB.await). Returning
// the error and refusing all that follows would need Pebble to survive its own fatal errors, which it does not.
type gate struct {
	vfs.FS
	fail func(error) // makes the database fail, and shuts the gate
	shut atomic.Bool

	mu   sync.RWMutex // held for reading during a change; leave takes it, to wait for the last
	lock io.Closer    // of the directory; guarded by mu
}

// change makes a change, and does not return if it or an earlier one has failed.
func (g *gate) change(f func() error) error {
	if err := g.try(f); err != nil {
		select {}
	}
	return nil
}

// errShut is the answer of try at a gate that is shut.
var errShut = errors.New("gate is shut")

func (g *gate) try(f func() error) error {
	g.mu.RLock()
	defer g.mu.RUnlock()
	if g.shut.Load() {
		return errShut
	}
	err := f()
	if err != nil {
		g.fail(err)
	}
	return err
}

// leave returns when no change is under way, and releases the lock of the directory. The gate is shut: what Pebble
// has opened stays open until the process ends.
func (g *gate) leave() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.lock == nil {
		return nil
	}
	return g.lock.Close()
}

// fileLock is a lock that may be closed by Pebble, by leave or by both.
type fileLock struct{ close func() error }

func (l fileLock) Close() error { return l.close() }

func (g *gate) Lock(name string) (l io.Closer, err error) {
	// A lock that somebody else holds is no failure of the disk.
	g.mu.Lock()
	defer g.mu.Unlock()
	if l, err = g.FS.Lock(name); err != nil {
		return nil, err
	}
	g.lock = fileLock{sync.OnceValue(l.Close)}
	return g.lock, nil
}

// open opens a file for writing, or a directory.
func (g *gate) open(f func() (vfs.File, error)) (file vfs.File, err error) {
	err = g.change(func() (err error) {
		file, err = f()
		return err
	})
	if err != nil {
		return nil, err
	}
	return &gateFile{File: file, gate: g}, nil
}

func (g *gate) Create(name string, c vfs.DiskWriteCategory) (vfs.File, error) {
	return g.open(func() (vfs.File, error) {
		if err := g.settle(name); err != nil {
			return nil, err
		}
		return g.FS.Create(name, c)
	})
}

// settle syncs the directory of a marker file before the marker comes or goes. Pebble makes a manifest, makes the
// marker that names it, removes the one before and then syncs once. Where a power cut may keep any of these and
// lose the others, the marker could name no manifest, or there could be none, which is an empty database.
func (g *gate) settle(name string) error {
	if !strings.HasPrefix(g.FS.PathBase(name), "marker.") {
		return nil
	}
	d, err := g.FS.OpenDir(g.FS.PathDir(name))
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

func (g *gate) OpenReadWrite(name string, c vfs.DiskWriteCategory, opts ...vfs.OpenOption) (vfs.File, error) {
	return g.open(func() (vfs.File, error) { return g.FS.OpenReadWrite(name, c, opts...) })
}

func (g *gate) OpenDir(name string) (vfs.File, error) {
	return g.open(func() (vfs.File, error) { return g.FS.OpenDir(name) })
}

func (g *gate) ReuseForWrite(from, to string, c vfs.DiskWriteCategory) (vfs.File, error) {
	return g.open(func() (vfs.File, error) { return g.FS.ReuseForWrite(from, to, c) })
}

func (g *gate) Link(from, to string) error {
	return g.change(func() error { return g.FS.Link(from, to) })
}

func (g *gate) Remove(name string) error {
	return g.remove(name, func() error { return errors.Join(g.settle(name), g.FS.Remove(name)) })
}

func (g *gate) RemoveAll(name string) error {
	return g.remove(name, func() error { return g.FS.RemoveAll(name) })
}

// remove lets Pebble see that a file is gone already, which it does not mind.
func (g *gate) remove(name string, f func() error) error {
	var missing error
	err := g.change(func() error {
		err := f()
		if errors.Is(err, fs.ErrNotExist) {
			missing, err = err, nil
		}
		return err
	})
	return errors.Join(err, missing)
}

func (g *gate) Rename(from, to string) error {
	return g.change(func() error { return g.FS.Rename(from, to) })
}

func (g *gate) MkdirAll(dir string, perm os.FileMode) error {
	return g.change(func() error { return g.FS.MkdirAll(dir, perm) })
}

func (g *gate) Unwrap() vfs.FS { return g.FS }

// gateFile is a file behind the gate.
type gateFile struct {
	vfs.File
	gate *gate
}

func (f *gateFile) Write(p []byte) (n int, err error) {
	err = f.gate.change(func() (err error) {
		n, err = f.File.Write(p)
		return err
	})
	return n, err
}

func (f *gateFile) WriteAt(p []byte, off int64) (n int, err error) {
	err = f.gate.change(func() (err error) {
		n, err = f.File.WriteAt(p, off)
		return err
	})
	return n, err
}

func (f *gateFile) Sync() error { return f.gate.change(f.File.Sync) }

func (f *gateFile) SyncData() error { return f.gate.change(f.File.SyncData) }

func (f *gateFile) SyncTo(n int64) (full bool, err error) {
	err = f.gate.change(func() (err error) {
		full, err = f.File.SyncTo(n)
		return err
	})
	return full, err
}

// Close counts as a change: the last write may fail in it.
func (f *gateFile) Close() error { return f.gate.change(f.File.Close) }
