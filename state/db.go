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
	db.gate = &gate{FS: o.FS, closing: make(chan struct{})}
	db.cache = pebble.NewCache(o.CacheBytes)
	p, err := pebble.Open(o.Dir, db.pebbleOptions(o))
	if err != nil {
		db.cache.Unref()
		return nil, fmt.Errorf("open state %s: %w", o.Dir, err)
	}
	db.p = p
	if err := db.load(); err != nil {
		return nil, errors.Join(fmt.Errorf("open state %s: %w", o.Dir, err), db.Close())
	}
	return db, nil
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
	return errors.Join(db.p.Flush(), db.Err())
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

// fail makes err the sticky error and stops all writing. It is called by Pebble's threads, with
// Pebble's locks held: it must not call back.
func (db *DB) fail(err error) {
	db.failOnce.Do(func() {
		db.failure = fmt.Errorf("%w: %w", ErrFailed, err)
		db.gate.shut.Store(&db.failure)
		close(db.failed)
		db.log.Error("state failed", "err", err)
	})
}

// Close closes the database. What no checkpoint made durable is gone, as after a crash: it is in
// the log.
func (db *DB) Close() error {
	db.commitMu.Lock()
	defer db.commitMu.Unlock()
	if db.closed {
		return nil
	}
	db.closed = true
	close(db.gate.closing)
	err := db.p.Close()
	db.cache.Unref()
	if err != nil {
		return fmt.Errorf("close state: %w", err)
	}
	return nil
}

// CacheBytes returns the bytes that Pebble's block cache holds, memtables included.
func (db *DB) CacheBytes() int64 {
	m := db.p.Metrics()
	return m.BlockCache.Size + int64(m.MemTable.Size)
}

// DiskBytes returns the bytes of all files.
func (db *DB) DiskBytes() int64 { return int64(db.p.Metrics().DiskSpaceUsage()) }
