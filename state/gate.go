package state

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// gate is the file system that Pebble sees. Once shut it refuses every change.
//
// Pebble's answer to a failed manifest write is Logger.Fatalf, which it expects never to return: a
// manifest whose tail is unknown must not be written again. The engine must not exit, so Fatalf
// returns here, and the gate is what keeps Pebble from going on. A failed flush Pebble tries again
// at once and for ever; a refusal therefore takes retryPause, or a full disk would cost a core.
type gate struct {
	vfs.FS
	shut    atomic.Pointer[error]
	closing chan struct{}
}

// retryPause is how long a refused change waits. Doubled, an idle failed engine retries half as
// often, and closing is not slower: closing ends the pause.
const retryPause = 50 * time.Millisecond

func (g *gate) check() error {
	err := g.shut.Load()
	if err == nil {
		return nil
	}
	t := time.NewTimer(retryPause)
	defer t.Stop()
	select {
	case <-t.C:
	case <-g.closing:
	}
	return *err
}

func (g *gate) wrap(f vfs.File, err error) (vfs.File, error) {
	if err != nil {
		return nil, err
	}
	return &gateFile{File: f, gate: g}, nil
}

func (g *gate) Create(name string, c vfs.DiskWriteCategory) (vfs.File, error) {
	if err := g.check(); err != nil {
		return nil, err
	}
	if err := g.settle(name); err != nil {
		return nil, err
	}
	return g.wrap(g.FS.Create(name, c))
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
	if err := g.check(); err != nil {
		return nil, err
	}
	return g.wrap(g.FS.OpenReadWrite(name, c, opts...))
}

func (g *gate) OpenDir(name string) (vfs.File, error) { return g.wrap(g.FS.OpenDir(name)) }

func (g *gate) ReuseForWrite(from, to string, c vfs.DiskWriteCategory) (vfs.File, error) {
	if err := g.check(); err != nil {
		return nil, err
	}
	return g.wrap(g.FS.ReuseForWrite(from, to, c))
}

func (g *gate) Link(from, to string) error {
	if err := g.check(); err != nil {
		return err
	}
	return g.FS.Link(from, to)
}

func (g *gate) Remove(name string) error {
	if err := g.check(); err != nil {
		return err
	}
	if err := g.settle(name); err != nil {
		return err
	}
	return g.FS.Remove(name)
}

func (g *gate) RemoveAll(name string) error {
	if err := g.check(); err != nil {
		return err
	}
	return g.FS.RemoveAll(name)
}

func (g *gate) Rename(from, to string) error {
	if err := g.check(); err != nil {
		return err
	}
	return g.FS.Rename(from, to)
}

func (g *gate) MkdirAll(dir string, perm os.FileMode) error {
	if err := g.check(); err != nil {
		return err
	}
	return g.FS.MkdirAll(dir, perm)
}

func (g *gate) Unwrap() vfs.FS { return g.FS }

// gateFile is a file behind the gate.
type gateFile struct {
	vfs.File
	gate *gate
}

func (f *gateFile) Write(p []byte) (int, error) {
	if err := f.gate.check(); err != nil {
		return 0, err
	}
	return f.File.Write(p)
}

func (f *gateFile) WriteAt(p []byte, off int64) (int, error) {
	if err := f.gate.check(); err != nil {
		return 0, err
	}
	return f.File.WriteAt(p, off)
}

func (f *gateFile) Sync() error {
	if err := f.gate.check(); err != nil {
		return err
	}
	return f.File.Sync()
}

func (f *gateFile) SyncData() error {
	if err := f.gate.check(); err != nil {
		return err
	}
	return f.File.SyncData()
}

func (f *gateFile) SyncTo(n int64) (bool, error) {
	if err := f.gate.check(); err != nil {
		return false, err
	}
	return f.File.SyncTo(n)
}

// pebbleLogger turns Pebble's log into ours, and its exits into the sticky error.
type pebbleLogger struct{ db *DB }

func (pebbleLogger) Infof(string, ...any) {}

func (l pebbleLogger) Errorf(format string, args ...any) {
	l.db.log.Error("pebble", "message", fmt.Sprintf(format, args...))
}

func (l pebbleLogger) Fatalf(format string, args ...any) {
	l.db.fail(fmt.Errorf(format, args...))
}
