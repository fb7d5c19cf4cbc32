package runtime

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"tidemill/state/column"
	"tidemill/state/image"
	"tidemill/views"
	"tidemill/views/catalog"
	"tidemill/views/duck"
)

// readable is the catalog as the read engine needs it. It is immutable; a definition publishes a new one.
type readable struct {
	catalog   *catalog.Catalog
	relations []readRelation // what a view reads comes before it
	byName    map[string]*readRelation
	owners    map[string]uint32 // what is stored of a view, by its name here, to the view's id
}

// readRelation is a name that SQL can use: a table, a view, or a view's rejects.
type readRelation struct {
	name   string
	fields []column.Field // of a stored relation
	sql    string         // of a derived one
	stored []views.Stored // that only this view's SQL uses
	reads  []string       // stored relations that a read of it scans
	tables []uint32       // base tables below it
	key    string         // changes when the definition does

	guarded bool // a row can fail in what a read of it computes
}

// describe makes the readable form of the graph. It is the committer's.
func (e *Engine) describe(cat *catalog.Catalog) *readable {
	rd := &readable{catalog: cat, byName: map[string]*readRelation{}, owners: map[string]uint32{}}
	below := map[uint32][]uint32{}
	for _, rel := range cat.Relations() {
		below[rel.ID] = tablesBelow(rel, below)
		names := map[string]bool{}
		e.graph.Reads(rel.ID, names)
		r := readRelation{name: rel.Name, tables: below[rel.ID], key: fmt.Sprintf("%d.%d", rel.ID, rel.Version)}
		for n := range names {
			r.reads = append(r.reads, n)
		}
		if rel.Kind == catalog.Table {
			r.fields = rel.Fields
			rd.relations = append(rd.relations, r)
			continue
		}
		v := e.graph.View(rel.ID)
		r.sql, r.guarded = v.SQL(duck.QuoteName), e.graph.Guarded(rel.ID)
		for _, s := range v.Stored() {
			rd.owners[s.Name] = rel.ID
			if s.Name == v.RejectsName() {
				rd.relations = append(rd.relations, readRelation{name: s.Name, fields: s.Fields, reads: []string{s.Name}, tables: r.tables, key: r.key})
			} else {
				r.stored = append(r.stored, s)
			}
		}
		rd.relations = append(rd.relations, r)
	}
	for i := range rd.relations {
		rd.byName[strings.ToLower(rd.relations[i].name)] = &rd.relations[i]
	}
	return rd
}

// tablesBelow returns the base tables that a relation follows, itself when it is one. Those of what it follows are known.
func tablesBelow(rel *catalog.Relation, below map[uint32][]uint32) []uint32 {
	if rel.Kind == catalog.Table {
		return []uint32{rel.ID}
	}
	var out []uint32
	for _, id := range rel.DependsOn {
		for _, t := range below[id] {
			if !slices.Contains(out, t) {
				out = append(out, t)
			}
		}
	}
	return out
}

// reader is a read engine: DuckDB over images, opened at first need. There are two. What computes rows that may fail is
// read as it is written, so that a read leaves out the rows that the commit rejected, these and no others, and so is what
// a statement changes; every other query has DuckDB's optimiser whole.
type reader struct {
	e  *Engine
	o  duck.Options
	mu sync.RWMutex // held for reading while a query starts, for writing while names are defined
	// The fields below are guarded by mu.
	exec    *duck.Exec
	defined map[string]string // name to key
	current *readable
	closed  bool
}

func (e *Engine) initReaders() {
	e.reader.e, e.asWritten.e = e, e
	e.reader.o = duck.Options{MemoryLimit: e.budget.plain, Threads: e.opts.Workers}
	e.reader.o.TempDir, e.reader.o.MaxTempBytes = e.spill("plain")
	e.asWritten.o = duck.Options{MemoryLimit: e.budget.asWritten, Threads: e.opts.Workers, AsWritten: true}
	e.asWritten.o.TempDir, e.asWritten.o.MaxTempBytes = e.spill("written")
}

// readerOf returns the read engine for a query over the relations.
func (e *Engine) readerOf(rd *readable, names []string) *reader {
	for _, n := range names {
		if rel := rd.byName[strings.ToLower(n)]; rel != nil && rel.guarded {
			return &e.asWritten
		}
	}
	return &e.reader
}

func (r *reader) close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closed = true
	if r.exec != nil {
		r.exec.Close()
	}
}

// enter opens the engine, brings its names to the newest catalog and holds them until leave.
func (r *reader) enter() (*duck.Exec, *readable, error) {
	for {
		rd := r.e.readable.Load()
		r.mu.RLock()
		if r.exec != nil && r.current == rd && !r.closed {
			return r.exec, rd, nil
		}
		r.mu.RUnlock()
		if err := r.define(rd); err != nil {
			return nil, nil, err
		}
	}
}

func (r *reader) leave() { r.mu.RUnlock() }

// open opens the read engine if it is not open.
func (r *reader) open() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return ErrClosed
	}
	return r.openLocked()
}

func (r *reader) openLocked() error {
	if r.exec != nil {
		return nil
	}
	if r.o.TempDir != "" {
		if err := r.e.opts.FS.MkdirAll(r.e.path(spillDir), 0o755); err != nil {
			return fmt.Errorf("make a place for queries to spill: %w", err)
		}
	}
	x, err := duck.OpenExec(r.o)
	if err == nil {
		r.exec, r.defined = x, map[string]string{}
	}
	return err
}

// usage returns what queries hold in memory and have spilled, in bytes: nothing before the first.
func (r *reader) usage() (memory, spilled int64) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	if r.exec == nil || r.closed {
		return 0, 0
	}
	memory, spilled, _ = r.exec.Usage() // only a closed engine has none
	return memory, spilled
}

func (r *reader) define(rd *readable) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return ErrClosed
	}
	if err := r.openLocked(); err != nil {
		return err
	}
	if r.current == rd {
		return nil
	}
	for name := range r.defined {
		if n := rd.byName[strings.ToLower(name)]; n == nil || n.key != r.defined[name] {
			if err := r.exec.Drop(name); err != nil {
				return err
			}
			delete(r.defined, name)
		}
	}
	for i := range rd.relations {
		if err := r.defineOne(&rd.relations[i]); err != nil {
			return fmt.Errorf("define %s for reading: %w", rd.relations[i].name, err)
		}
	}
	r.current = rd
	return nil
}

func (r *reader) defineOne(rel *readRelation) error {
	if r.defined[rel.name] == rel.key {
		return nil
	}
	var err error
	if rel.sql == "" {
		err = r.exec.DefineRelation(rel.name, rel.fields)
	} else {
		for _, s := range rel.stored {
			if err := r.exec.DefineRelation(s.Name, s.Fields); err != nil {
				return err
			}
		}
		err = r.exec.DefineView(rel.name, rel.sql)
	}
	if err == nil {
		r.defined[rel.name] = rel.key
	}
	return err
}

// snapshot is the rows of some stored relations at one commit. It keeps them in memory for as long as a
// query that reads them is open.
type snapshot struct {
	commit uint64
	images map[string]*image.Snapshot
}

// Relation implements duck.Snapshots.
func (s *snapshot) Relation(name string) (duck.Chunks, error) {
	im := s.images[name]
	if im == nil {
		return nil, fmt.Errorf("relation %s is not part of the snapshot", name)
	}
	out := make(duck.Chunks, 0, len(im.Chunks))
	for _, c := range im.Chunks {
		cols, err := c.Columns()
		if err != nil {
			return nil, err
		}
		out = append(out, duck.Chunk{Cols: cols, N: c.N, Live: c.Live, BaseRowID: c.Base, RowIDs: c.RowIDs()})
	}
	return out, nil
}

// take returns a snapshot of what the names read. It is the committer's.
func (e *Engine) take(rd *readable, names []string) (*snapshot, error) {
	if e.halfway {
		return nil, e.failure()
	}
	s := &snapshot{commit: e.published.Load(), images: map[string]*image.Snapshot{}}
	for _, n := range names {
		rel := rd.byName[strings.ToLower(n)]
		if rel == nil {
			continue // a function, a system relation or an unknown name: the read engine knows
		}
		for _, stored := range rel.reads {
			if s.images[stored] != nil {
				continue
			}
			im, err := e.graph.Snapshot(stored)
			if err != nil {
				return nil, err
			}
			s.images[stored] = im
		}
	}
	return s, nil
}

// errDefinedMeanwhile says that a definition came between a query's names and its snapshot.
var errDefinedMeanwhile = errors.New("a definition came between")

// Rows is a streaming answer of a query, at one commit.
type Rows struct {
	*duck.Rows
	Commit uint64
	closed func() // called by Close, once; may be nil
}

// Close ends the query and lets go of its memory. It may be called more than once.
func (r *Rows) Close() {
	r.Rows.Close()
	if f := r.closed; f != nil {
		r.closed = nil
		f()
	}
}

// after calls f when the rows are closed.
func (r *Rows) after(f func()) {
	was := r.closed
	r.closed = func() {
		if was != nil {
			was()
		}
		f()
	}
}

// Query runs one SELECT over all relations as of one commit, the newest or a later one than when the call
// began. The caller closes the rows. Errors are *duck.SQLError, or the engine's.
func (e *Engine) Query(ctx context.Context, sql string, params []any) (*Rows, error) {
	return e.compute(ctx, &cacheable{sql: sql, params: params}, nil)
}

// cacheable is a query as the result cache knows it.
type cacheable struct {
	key      string
	sql      string
	params   []any
	volatile bool
}

// uncached runs a query for one request alone.
func (e *Engine) uncached(ctx context.Context, q *cacheable) (*Answer, error) {
	rows, err := e.Query(ctx, q.sql, q.params)
	if err != nil {
		return nil, err
	}
	return &Answer{Rows: rows, Commit: rows.Commit, From: Computed}, nil
}

// compute runs a query. With c the result cache is told of its snapshot.
func (e *Engine) compute(ctx context.Context, q *cacheable, c *computation) (*Rows, error) {
	e.stats.queries.Add(1)
	ctx, run := e.queries.begin(ctx, q.sql)
	for {
		rows, err := e.query(ctx, q, c)
		if errors.Is(err, errDefinedMeanwhile) {
			continue
		}
		if err != nil {
			run.end(err)
			return nil, err
		}
		run.answers(rows)
		return rows, nil
	}
}

// query does not hold the reader's lock while it waits for the committer, which may be about to take it.
func (e *Engine) query(ctx context.Context, q *cacheable, c *computation) (*Rows, error) {
	x, rd, err := e.reader.enter()
	if err != nil {
		return nil, err
	}
	var reading duck.Reading
	if c != nil && c.reading != nil {
		reading = *c.reading
	} else {
		reading, err = x.Reads(q.sql)
	}
	e.reader.leave()
	if err != nil {
		return nil, err
	}
	tables, ours := rd.tablesOf(reading.Names)
	noted := func(commit uint64) {
		if c != nil {
			c.reading = &reading
			e.results.begin(c, commit, tables, q.volatile || !ours || reading.Other)
		}
	}
	snap := &snapshot{commit: e.Commit()}
	if rd.knowsAny(reading.Names) {
		err = e.do(ctx, func() error {
			if e.readable.Load() != rd {
				return errDefinedMeanwhile
			}
			if snap, err = e.take(rd, reading.Names); err == nil {
				noted(snap.commit)
			}
			return err
		})
		if err != nil {
			return nil, err
		}
	} else {
		noted(snap.commit)
	}
	return e.readerOf(rd, reading.Names).start(ctx, rd, q.sql, q.params, snap)
}

// start runs a query over a snapshot that was taken for rd.
func (r *reader) start(ctx context.Context, rd *readable, sql string, params []any, snap *snapshot) (*Rows, error) {
	x, now, err := r.enter()
	if err != nil {
		return nil, err
	}
	defer r.leave()
	if now != rd {
		return nil, errDefinedMeanwhile
	}
	rows, err := x.Query(ctx, sql, params, snap)
	if err != nil {
		return nil, err
	}
	return &Rows{Rows: rows, Commit: snap.commit}, nil
}

func (rd *readable) knowsAny(names []string) bool {
	for _, n := range names {
		if rd.byName[strings.ToLower(n)] != nil {
			return true
		}
	}
	return false
}

// lazyPlanner is the schema-only DuckDB that binds definitions, opened at first need.
type lazyPlanner struct {
	mu      sync.Mutex // held while a definition is planned
	planner *duck.Planner
	defined map[string]string // name to key
}

// with calls fn with a planner that knows the relations of cat.
func (p *lazyPlanner) with(cat *catalog.Catalog, fn func(*duck.Planner) error) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.planner == nil {
		pl, err := duck.OpenPlanner()
		if err != nil {
			return err
		}
		p.planner, p.defined = pl, map[string]string{}
	}
	seen := map[string]bool{}
	for _, rel := range cat.Relations() {
		// A plan that came to nothing may have used the next id for another relation.
		key := fmt.Sprintf("%d.%d %v", rel.ID, rel.Version, rel.Fields)
		seen[rel.Name] = true
		if p.defined[rel.Name] == key {
			continue
		}
		if err := p.planner.Define(rel.Name, rel.Fields); err != nil {
			return err
		}
		p.defined[rel.Name] = key
	}
	for name := range p.defined {
		if !seen[name] {
			if err := p.planner.Drop(name); err != nil {
				return err
			}
			delete(p.defined, name)
		}
	}
	return fn(p.planner)
}

func (p *lazyPlanner) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.planner != nil {
		p.planner.Close()
	}
}
