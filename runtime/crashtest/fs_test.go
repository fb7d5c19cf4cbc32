package crashtest

import (
	"math/rand/v2"
	"strings"
	"sync"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
)

const dataDir = "/data"

// What the file of an operation belongs to.
func isLog(op errorfs.Op) bool   { return strings.HasPrefix(op.Path, dataDir+"/log") }
func isState(op errorfs.Op) bool { return strings.HasPrefix(op.Path, dataDir+"/state") }
func isChunk(op errorfs.Op) bool { return strings.HasPrefix(op.Path, dataDir+"/chunks") }
func isSync(op errorfs.Op) bool {
	return op.Kind == errorfs.OpFileSync || op.Kind == errorfs.OpFileSyncData || op.Kind == errorfs.OpFileSyncTo
}

// clone is a file system as a crash left it, with what an engine over it must hold.
type clone struct {
	fs          *vfs.MemFS
	kind        string
	acked, sent mark
	ledger      *ledger
}

// camera takes a crash clone before the after-th operation that fits.
type camera struct {
	fs     *vfs.MemFS
	ledger *ledger

	mu    sync.Mutex // guards what follows
	r     *rand.Rand
	fits  func(errorfs.Op) bool
	after int
	kind  string
	taken []*clone
	ready chan struct{} // holds a token after a clone
}

func newCamera(fs *vfs.MemFS, l *ledger, r *rand.Rand) *camera {
	return &camera{fs: fs, ledger: l, r: r, ready: make(chan struct{}, 1)}
}

// aim sets the next clone.
func (c *camera) aim(kind string, after int, fits func(errorfs.Op) bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.kind, c.after, c.fits = kind, after, fits
}

// MaybeError implements errorfs.Injector. It injects nothing.
func (c *camera) MaybeError(op errorfs.Op) error {
	if op.Kind.ReadOrWrite() != errorfs.OpIsWrite || op.Kind == errorfs.OpFileClose {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.fits == nil || !c.fits(op) {
		return nil
	}
	if c.after--; c.after > 0 {
		return nil
	}
	c.fits = nil
	c.shootLocked()
	return nil
}

// String implements errorfs.Injector.
func (c *camera) String() string { return "camera" }

// shootLocked takes the clone: what was acknowledged before it must be in it, what is sent after it cannot.
func (c *camera) shootLocked() {
	cl := &clone{kind: c.kind, ledger: c.ledger}
	cl.acked, _ = c.ledger.bounds()
	cl.fs = crash(c.fs, c.r)
	_, cl.sent = c.ledger.bounds()
	c.taken = append(c.taken, cl)
	select {
	case c.ready <- struct{}{}:
	default:
	}
}

// clones returns what was taken since the last call.
func (c *camera) clones() []*clone {
	c.mu.Lock()
	defer c.mu.Unlock()
	t := c.taken
	c.taken, c.fits = nil, nil
	return t
}

// crash returns fs after a power cut: of what was not synced a random share is there.
func crash(fs *vfs.MemFS, r *rand.Rand) *vfs.MemFS {
	percent := r.IntN(101)
	switch r.IntN(4) {
	case 0:
		percent = 0
	case 1:
		percent = 100
	}
	return fs.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: percent, RNG: rand.New(rand.NewPCG(r.Uint64(), r.Uint64()))})
}

// forgetful is a file system on which the log's syncs do nothing.
type forgetful struct{ vfs.FS }

func (f forgetful) wrap(file vfs.File, err error, name string) (vfs.File, error) {
	if err == nil && strings.HasPrefix(name, dataDir+"/log") {
		file = forgetfulFile{file}
	}
	return file, err
}

func (f forgetful) Create(name string, c vfs.DiskWriteCategory) (vfs.File, error) {
	file, err := f.FS.Create(name, c)
	return f.wrap(file, err, name)
}

func (f forgetful) OpenReadWrite(name string, c vfs.DiskWriteCategory, opts ...vfs.OpenOption) (vfs.File, error) {
	file, err := f.FS.OpenReadWrite(name, c, opts...)
	return f.wrap(file, err, name)
}

func (f forgetful) ReuseForWrite(from, to string, c vfs.DiskWriteCategory) (vfs.File, error) {
	file, err := f.FS.ReuseForWrite(from, to, c)
	return f.wrap(file, err, to)
}

type forgetfulFile struct{ vfs.File }

func (forgetfulFile) Sync() error                { return nil }
func (forgetfulFile) SyncData() error            { return nil }
func (forgetfulFile) SyncTo(int64) (bool, error) { return true, nil }
