package runtime

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	stdruntime "runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"tidemill/runtime/commitlog"
	"tidemill/state"
	"tidemill/state/image"
	"tidemill/views"
	"tidemill/views/catalog"
	"tidemill/views/duck"
)

// The names in a directory, frozen.
const (
	lockName   = "LOCK"
	logDir     = "log"
	stateDir   = "state"
	chunkDir   = "chunks"
	metaTables = "catalog"
)

// Open opens a directory, or makes a new one, and replays what the log holds since the last checkpoint.
// Errors are ErrLocked, ErrNotOurs and ErrNewerFormat, or name the file that is damaged; the directory
// is then as it was.
func Open(o Options) (_ *Engine, err error) {
	if o.FS == nil {
		o.FS = vfs.Default
	}
	if o.Memory == 0 {
		o.Memory = DefaultMemory
	}
	if o.Workers == 0 {
		o.Workers = stdruntime.GOMAXPROCS(0)
	}
	if o.ResultCache == 0 {
		o.ResultCache = divide(o.Memory).results
	}
	if o.Replay == 0 {
		o.Replay = DefaultReplay
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	e := &Engine{opts: o, budget: divide(o.Memory), logger: o.Logger, eval: duck.OpenEvaluator(), producers: newProducers(),
		requests: make(chan request, 1024), quit: make(chan struct{}), done: make(chan struct{}), saved: make(chan error, 1),
		stats: newStats()}
	e.budget.results = max(o.ResultCache, 0)
	e.admit.init(e.budget.requests)
	e.lookups.Store(&sync.Map{})
	e.initReaders()
	e.results.init(e, o.ResultCache)
	e.queries.init(e)
	if o.Warm {
		go func() {
			if err := e.reader.open(); err != nil && !errors.Is(err, ErrClosed) {
				o.Logger.Warn("cannot open the read engine yet; the first query tries again", "error", err)
			}
		}()
	}
	defer func() {
		if err != nil {
			e.abandon()
		}
	}()
	if err := e.prepareDir(); err != nil {
		return nil, err
	}
	e.db, err = state.Open(state.Options{Dir: e.path(stateDir), FS: o.FS, CacheBytes: e.budget.state - 2*e.budget.memTable(),
		MemTableBytes: e.budget.memTable(), Logger: o.Logger})
	switch {
	case errors.Is(err, state.ErrNotOurs):
		return nil, fmt.Errorf("open %s: %w: %w", o.Dir, ErrNotOurs, err)
	case errors.Is(err, state.ErrNewerFormat):
		return nil, fmt.Errorf("open %s: %w: %w", o.Dir, ErrNewerFormat, err)
	case err != nil:
		return nil, err
	}
	if e.log, err = commitlog.Open(commitlog.Options{FS: o.FS, Dir: e.path(logDir), SegmentBytes: o.SegmentBytes}); err != nil {
		return nil, err
	}
	if torn, ok := e.log.Torn(); ok {
		o.Logger.Warn("log tail was torn", "file", torn.File, "offset", torn.Offset, "records", torn.Records)
	}
	if err := e.load(); err != nil {
		return nil, err
	}
	if err := e.replay(); err != nil {
		return nil, err
	}
	go e.run()
	return e, nil
}

func (e *Engine) path(name string) string { return e.opts.FS.PathJoin(e.opts.Dir, name) }

// prepareDir locks the directory, and makes its parts if it is new. One that holds other things is
// refused before anything is written.
func (e *Engine) prepareDir() error {
	vf, dir := e.opts.FS, e.opts.Dir
	names, err := vf.List(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("open %s: %w", dir, err)
	}
	for _, n := range names {
		switch n {
		case lockName, logDir, stateDir, chunkDir, spillDir, "lost+found":
		default:
			return fmt.Errorf("open %s: %w: it holds %s; give an empty directory or one that Tidemill made", dir, ErrNotOurs, n)
		}
	}
	if err := vf.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("make %s: %w", dir, err)
	}
	if e.lock, err = vf.Lock(e.path(lockName)); err != nil {
		return fmt.Errorf("open %s: %w: %w", dir, ErrLocked, err)
	}
	if slices.Contains(names, spillDir) {
		if err := e.clearSpill(); err != nil {
			return err
		}
	}
	for _, sub := range []string{stateDir, chunkDir} {
		if err := vf.MkdirAll(e.path(sub), 0o755); err != nil {
			return fmt.Errorf("make %s: %w", e.path(sub), err)
		}
	}
	return syncDirs(vf, dir, vf.PathDir(dir))
}

func syncDirs(vf vfs.FS, dirs ...string) error {
	for _, dir := range dirs {
		d, err := vf.OpenDir(dir)
		if err != nil {
			return fmt.Errorf("open directory: %w", err)
		}
		if err := errors.Join(d.Sync(), d.Close()); err != nil {
			return fmt.Errorf("sync directory %s: %w", dir, err)
		}
	}
	return nil
}

// abandon closes what Open has opened.
func (e *Engine) abandon() {
	if e.saving != nil {
		<-e.saved // a checkpoint that replay began still writes
	}
	var closers []io.Closer
	if e.log != nil {
		closers = append(closers, e.log)
	}
	if e.db != nil {
		closers = append(closers, e.db)
	}
	if e.lock != nil {
		closers = append(closers, e.lock)
	}
	for _, c := range closers {
		c.Close() // the error that brought us here is the one to tell
	}
	e.eval.Close()
	e.reader.close()
	e.asWritten.close()
}

// load makes tables and views of the last checkpoint.
func (e *Engine) load() error {
	e.graph = views.NewGraph(e.db, e.eval, views.Options{WarmBytes: e.budget.warm, Workers: e.opts.Workers})
	cat := catalog.New()
	text, ok, err := e.db.Meta(metaTables)
	if err != nil {
		return err
	}
	if ok {
		if cat, err = catalog.Decode(text); err != nil {
			return fmt.Errorf("open %s: %w", e.opts.Dir, err)
		}
	}
	files := map[string]bool{}
	for _, rel := range cat.Relations() {
		if rel.Kind == catalog.View {
			if _, err := e.graph.AddView(rel); err != nil {
				return fmt.Errorf("open view %s: %w", rel.Name, err)
			}
			continue
		}
		rows, err := e.loadRows(rel)
		if err != nil {
			return fmt.Errorf("open table %s: %w", rel.Name, err)
		}
		for _, f := range rows.FileNames() {
			files[f] = true
		}
		if _, err := e.graph.AddTable(rel, rows); err != nil {
			return fmt.Errorf("open table %s: %w", rel.Name, err)
		}
	}
	e.catalog.Store(cat)
	e.readable.Store(e.describe(cat))
	if err := e.loadProducers(); err != nil {
		return err
	}
	e.published.Store(e.db.Applied())
	return e.removeOrphans(files)
}

func (e *Engine) loadRows(rel *catalog.Relation) (*image.Rows, error) {
	var entries []image.Entry
	err := e.db.Keyspace(views.RowsKeyspace(rel.ID)).Scan(nil, nil, func(k, v []byte) bool {
		entries = append(entries, image.Entry{Key: append([]byte(nil), k...), Value: append([]byte(nil), v...)})
		return true
	})
	if err != nil {
		return nil, err
	}
	return image.OpenRows(e.opts.FS, e.path(chunkDir), types(rel), entries, imageChanges(rel)...)
}

// removeOrphans deletes chunk files that a checkpoint wrote and did not live to refer to.
func (e *Engine) removeOrphans(referred map[string]bool) error {
	names, err := e.opts.FS.List(e.path(chunkDir))
	if err != nil {
		return fmt.Errorf("list chunk files: %w", err)
	}
	for _, n := range names {
		if strings.HasSuffix(n, ".chunk") && !referred[n] {
			if err := e.opts.FS.Remove(e.opts.FS.PathJoin(e.path(chunkDir), n)); err != nil {
				return fmt.Errorf("remove left-over chunk file: %w", err)
			}
		}
	}
	return nil
}

// replay applies the records since the checkpoint. A log that ends before it has lost acknowledged commits.
func (e *Engine) replay() error {
	applied := e.db.Applied()
	if last := e.log.Last(); last < applied {
		return &commitlog.CorruptionError{File: e.path(logDir), Reason: fmt.Sprintf("it ends at commit %d, but the state is at commit %d", last, applied),
			Hint: "restore the log's files, or the whole directory, from one copy"}
	}
	r, err := e.log.Read(applied + 1)
	if err != nil { // trimmed: the state has lost a checkpoint, by damage to its manifest
		return fmt.Errorf("replay of log %s from commit %d, where state %s is: %w", e.path(logDir), applied+1, e.path(stateDir), err)
	}
	defer r.Close()
	for {
		n, payload, err := r.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("replay: %w", err)
		}
		if want := e.published.Load() + 1; n != want {
			return &commitlog.CorruptionError{File: e.path(logDir), Reason: fmt.Sprintf("commit %d follows commit %d", n, want-1),
				Hint: "restore the log's files from a copy"}
		}
		// What is appended lives on in the images: the reader's buffer does not.
		if err := e.replayed(n, append([]byte(nil), payload...)); err != nil {
			return fmt.Errorf("replay commit %d: %w", n, err)
		}
		e.maintain()
	}
}
