package state

import (
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/bloom"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// Frozen: these are on disk. FORMAT.md describes them.
const (
	formatVersion = 1
	identity      = "tidemill state"
	identityFile  = "TIDEMILL"

	metaKeyspace = 0
	keyIdentity  = "\x00identity"
	keyFormat    = "\x00format"
	keyApplied   = "\x00applied"
	keySeed      = "\x00seed"
)

const (
	neverStall = 1 << 30
	// maxSublevels is how many layers of flushed files a checkpoint may find: each is a place that a
	// read has to look at. Pebble begins to compact at 4, and by default stalls writes at 12.
	maxSublevels = 16
)

// Options are the settings of Open. Dir and FS are required.
type Options struct {
	Dir string
	// FS is where all files are; vfs.Default is the disk.
	FS vfs.FS
	// CacheBytes bounds Pebble's block cache. 0 means 8 MiB.
	CacheBytes int64
	// MemTableBytes bounds one memtable. 0 means 8 MiB. A checkpoint above half of it does not
	// pass through a memtable at all, so a larger one saves nothing.
	MemTableBytes int64
	// Logger gets Pebble's errors and warnings; nil discards them.
	Logger *slog.Logger
}

// DB is the one Pebble database of an engine. It is safe for concurrent use, except that Close must
// come after every other call has returned.
type DB struct {
	p       *pebble.DB
	cache   *pebble.Cache
	gate    *gate
	log     *slog.Logger
	applied atomic.Uint64
	seed    uint64

	failOnce sync.Once
	failed   chan struct{} // closed after failure is set
	failure  error

	compacted chan struct{} // holds a token after a compaction
	known     atomic.Pointer[pebble.Metrics]

	// commitMu makes checkpoints one after the other and guards position and closed.
	commitMu sync.Mutex
	position uint64 // of the last checkpoint given to Pebble
	closed   bool

	blocks blockPool
}

// Open opens or creates the state in o.Dir. A directory that is not empty and not ours is refused
// with ErrNotOurs, and one of a later version with ErrNewerFormat, both before anything in it is
// written.
func Open(o Options) (*DB, error) {
	if o.CacheBytes <= 0 {
		o.CacheBytes = 8 << 20
	}
	if o.MemTableBytes <= 0 {
		o.MemTableBytes = 8 << 20
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if err := identify(o.FS, o.Dir); err != nil {
		return nil, fmt.Errorf("open state %s: %w", o.Dir, err)
	}
	db := &DB{log: o.Logger, failed: make(chan struct{}), compacted: make(chan struct{}, 1)}
	db.gate = &gate{FS: o.FS, fail: db.fail}
	db.cache = pebble.NewCache(o.CacheBytes)
	if err := db.open(o); err != nil {
		return nil, fmt.Errorf("open state %s: %w", o.Dir, err)
	}
	if err := db.load(); err != nil {
		return nil, errors.Join(fmt.Errorf("open state %s: %w", o.Dir, err), db.Close())
	}
	return db, nil
}

// open opens Pebble, or leaves nothing that holds the directory.
func (db *DB) open(o Options) error {
	opened := make(chan *pebble.DB, 1)
	err := db.await(func() error {
		p, err := pebble.Open(o.Dir, db.pebbleOptions(o))
		opened <- p
		return err
	})
	switch {
	case db.Err() != nil:
		return errors.Join(db.failure, db.gate.leave())
	case err != nil:
		db.cache.Unref()
		return err
	}
	db.p = <-opened
	db.known.Store(db.p.Metrics())
	return nil
}

// await runs a call of Pebble that may wait for a change to a file. When the database has failed such a call may
// never return (gate): await then returns the failure, and leaves it.
func (db *DB) await(call func() error) error {
	done := make(chan error, 1)
	go func() { done <- call() }()
	select {
	case err := <-done:
		return err
	case <-db.failed:
		return db.failure
	}
}

// metrics returns Pebble's, of before the failure when the database has failed.
func (db *DB) metrics() *pebble.Metrics {
	if db.Err() == nil {
		_ = db.await(func() error {
			db.known.Store(db.p.Metrics())
			return nil
		})
	}
	return db.known.Load()
}

func (db *DB) pebbleOptions(o Options) *pebble.Options {
	po := &pebble.Options{
		FS:           db.gate,
		Cache:        db.cache,
		MemTableSize: uint64(o.MemTableBytes),
		DisableWAL:   true,
		// Pinned: the database can be read by any later Pebble, and moves only with our format.
		FormatMajorVersion: pebble.FormatColumnarBlocks,
		Logger:             pebbleLogger{db},
		MaxOpenFiles:       256,
		// A checkpoint is one table over all keys: merging eight at a time instead of four halves what a view
		// whose every group changes costs, and a missing key meets at most eight bloom filters.
		L0CompactionThreshold: 8,
		// One compaction at a time: the commit thread and the servers need the other core.
		CompactionConcurrencyRange: func() (int, int) { return 1, 1 },
		// Pebble never stalls a write: it could not be woken after a failure. Checkpoints are one
		// at a time and flushed, so memtables do not pile up, and Commit itself waits for compactions.
		MemTableStopWritesThreshold: neverStall,
		L0StopWritesThreshold:       neverStall,
		EventListener: &pebble.EventListener{
			BackgroundError: func(err error) { db.fail(err) },
			DataCorruption:  func(info pebble.DataCorruptionInfo) { db.fail(info.Details) },
			CompactionEnd: func(pebble.CompactionInfo) {
				select {
				case db.compacted <- struct{}{}:
				default:
				}
			},
		},
	}
	for i := range po.Levels {
		// Ten bits a key: one lookup in a hundred of a missing key reads a block for nothing.
		po.Levels[i].FilterPolicy = bloom.FilterPolicy(10)
	}
	return po
}

// identify checks or writes the identity file, which is there before Pebble's first file is.
func identify(fs vfs.FS, dir string) error {
	if err := fs.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	names, err := fs.List(dir)
	if err != nil {
		return err
	}
	path := fs.PathJoin(dir, identityFile)
	want := fmt.Sprintf("%s %d\n", identity, formatVersion)
	ours := false
	for _, name := range names {
		ours = ours || name == identityFile
	}
	if !ours {
		if len(names) > 0 {
			return ErrNotOurs
		}
		return writeSynced(fs, dir, path, want)
	}
	got, err := readAll(fs, path)
	if err != nil {
		return err
	}
	var version int
	if _, err := fmt.Sscanf(got, identity+" %d\n", &version); err == nil && version > formatVersion {
		return fmt.Errorf("%w: format %d, this one writes %d", ErrNewerFormat, version, formatVersion)
	}
	switch {
	case got == want:
		return nil
	case len(names) == 1 && strings.HasPrefix(want, strings.TrimRight(got, "\x00")):
		// A crash while the directory was being made left the file short, or zeros in it.
		return writeSynced(fs, dir, path, want)
	}
	return fmt.Errorf("%w: %s reads %q", ErrNotOurs, path, got)
}

func writeSynced(fs vfs.FS, dir, path, content string) error {
	f, err := fs.Create(path, vfs.WriteCategoryUnspecified)
	if err != nil {
		return err
	}
	_, err = f.Write([]byte(content))
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	d, err := fs.OpenDir(dir)
	if err != nil {
		return err
	}
	if err = errors.Join(d.Sync(), d.Close()); err != nil {
		return err
	}
	if parent := fs.PathDir(dir); parent != dir {
		if d, err = fs.OpenDir(parent); err != nil {
			return err
		}
		return errors.Join(d.Sync(), d.Close())
	}
	return nil
}

func readAll(fs vfs.FS, path string) (string, error) {
	f, err := fs.Open(path)
	if err != nil {
		return "", err
	}
	b, err := io.ReadAll(io.LimitReader(f, 4096))
	return string(b), errors.Join(err, f.Close())
}

// load reads the keys that every database of ours has, or writes them into a new one.
func (db *DB) load() error {
	id, ok, err := db.Meta(keyIdentity)
	if err != nil {
		return err
	}
	if !ok {
		return db.initialise()
	}
	if string(id) != identity {
		return fmt.Errorf("%w: identity key reads %q", ErrNotOurs, id)
	}
	var v [3]uint64
	for i, name := range []string{keyFormat, keyApplied, keySeed} {
		b, ok, err := db.Meta(name)
		if err != nil {
			return err
		}
		if !ok || len(b) != 8 {
			return fmt.Errorf("%w: meta key %q has %d bytes", ErrCorrupt, name, len(b))
		}
		v[i] = binary.BigEndian.Uint64(b)
	}
	if v[0] > formatVersion {
		return fmt.Errorf("%w: format %d, this one writes %d", ErrNewerFormat, v[0], formatVersion)
	}
	db.position, db.seed = v[1], v[2]
	db.applied.Store(v[1])
	return nil
}

// initialise writes the first batch of a new database and makes it durable.
func (db *DB) initialise() error {
	it, err := db.p.NewIter(nil)
	if err != nil {
		return err
	}
	empty := !it.First()
	if err := it.Close(); err != nil {
		return err
	}
	if !empty {
		return fmt.Errorf("%w: it has entries and no identity key", ErrNotOurs)
	}
	var seed [8]byte
	rand.Read(seed[:])
	db.seed = binary.BigEndian.Uint64(seed[:])
	b := db.p.NewBatch()
	put := func(name string, val []byte) error { return b.Set(appendKey(nil, metaKeyspace, name), val, nil) }
	err = errors.Join(
		put(keyIdentity, []byte(identity)),
		put(keyFormat, binary.BigEndian.AppendUint64(nil, formatVersion)),
		put(keyApplied, make([]byte, 8)),
		put(keySeed, seed[:]),
		b.Commit(pebble.NoSync),
	)
	if err != nil {
		return err
	}
	return db.await(db.p.Flush)
}

// Applied returns the position of the last durable checkpoint: at open the one that was read, 0 in
// a new directory, then that of the last Commit that succeeded.
func (db *DB) Applied() uint64 { return db.applied.Load() }

// HashSeed returns the directory's random seed for hash tables. It never changes.
func (db *DB) HashSeed() uint64 { return db.seed }

// Err returns nil, or why the database can no longer be written (it wraps ErrFailed).
func (db *DB) Err() error {
	select {
	case <-db.failed:
		return db.failure
	default:
		return nil
	}
}

// Failed is closed when the database can no longer be written; Err then says why.
func (db *DB) Failed() <-chan struct{} { return db.failed }

// fail makes err the sticky error and shuts the gate. It is called by Pebble's threads, with
// Pebble's locks held: it must not call back.
func (db *DB) fail(err error) {
	db.failOnce.Do(func() {
		db.failure = fmt.Errorf("%w: %w", ErrFailed, err)
		db.gate.shut.Store(true)
		close(db.failed)
		db.log.Error("state failed", "err", err)
	})
}

// Close closes the database. What no checkpoint made durable is gone, as after a crash: it is in
// the log. Of one that has failed only the directory is released, so that it can be opened again: Pebble's
// threads and memory stay, as its process is expected to end.
func (db *DB) Close() error {
	db.commitMu.Lock()
	defer db.commitMu.Unlock()
	if db.closed {
		return nil
	}
	db.closed = true
	var err error
	if db.Err() == nil {
		err = db.await(db.p.Close)
	}
	if db.Err() != nil {
		err = errors.Join(err, db.gate.leave())
	}
	db.cache.Unref()
	if err != nil {
		return fmt.Errorf("close state: %w", err)
	}
	return nil
}

// CacheBytes returns the bytes that Pebble's block cache holds, memtables included.
func (db *DB) CacheBytes() int64 {
	m := db.metrics()
	return m.BlockCache.Size + int64(m.MemTable.Size)
}

// DiskBytes returns the bytes of all files.
func (db *DB) DiskBytes() int64 { return int64(db.metrics().DiskSpaceUsage()) }

// pebbleLogger turns Pebble's log into ours.
type pebbleLogger struct{ db *DB }

func (pebbleLogger) Infof(string, ...any) {}

func (l pebbleLogger) Errorf(format string, args ...any) {
	l.db.log.Error("pebble", "message", fmt.Sprintf(format, args...))
}

// Fatalf panics: with the gate before all failures of the disk, what remains are broken invariants of Pebble, which
// expects that the process ends.
func (l pebbleLogger) Fatalf(format string, args ...any) {
	err := fmt.Errorf(format, args...)
	l.db.fail(err)
	panic(err)
}
