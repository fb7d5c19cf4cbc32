package duck

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync"

	m "github.com/duckdb/duckdb-go-bindings"

	"tidemill/state/column"
)

// instance is one in-memory DuckDB with the scan function, locked down.
type instance struct {
	db m.Database

	mu        sync.RWMutex // guards what follows
	relations map[string][]column.Field
	queries   map[uint64]*query // by connection id
}

// query is what one connection is running: where its scans find their rows.
type query struct {
	snap Snapshots

	mu    sync.Mutex // guards what follows
	found map[string]Chunks
	err   error
}

// chunks returns the rows of a relation, the same each time that it is asked within the query.
func (q *query) chunks(name string) (Chunks, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if c, ok := q.found[name]; ok {
		return c, nil
	}
	if q.snap == nil {
		return nil, fmt.Errorf("relation %s is read without a snapshot", name)
	}
	c, err := q.snap.Relation(name)
	if err != nil {
		q.err = err
		return nil, err
	}
	if q.found == nil {
		q.found = map[string]Chunks{}
	}
	q.found[name] = c
	return c, nil
}

func (q *query) fail(err error) {
	q.mu.Lock()
	q.err = err
	q.mu.Unlock()
}

func (q *query) failure() error {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.err
}

// settings are what instances differ in.
type settings struct {
	threads     int
	memoryLimit int64  // bytes, 0 for DuckDB's default of 80% of the machine
	tempDir     string // "" for no spilling
	maxTemp     int64  // bytes, 0 for DuckDB's default of 90% of the free room
	files       bool   // may read and write the user's files
	// before runs ahead of the lock, with a connection that is closed afterwards.
	before func(*instance, *conn) error
}

// openInstance opens and locks an instance. The order is the one that works: temp_directory cannot
// be set once external access is off, and nothing can once the configuration is locked.
func openInstance(s settings) (*instance, error) {
	opts := [][2]string{
		{"temp_directory", s.tempDir},
		{"threads", strconv.Itoa(max(1, s.threads))},
		{"allow_persistent_secrets", "false"},
		{"autoinstall_known_extensions", "false"},
		{"autoload_known_extensions", "false"},
		{"allow_community_extensions", "false"},
		{"allow_unsigned_extensions", "false"},
		{"errors_as_json", "true"},
		{"enable_external_access", strconv.FormatBool(s.files)},
	}
	if s.memoryLimit > 0 {
		opts = append(opts, [2]string{"memory_limit", fmt.Sprintf("%dB", s.memoryLimit)})
	}
	var cfg m.Config
	if m.CreateConfig(&cfg) == m.StateError {
		return nil, fmt.Errorf("open duckdb: make a configuration")
	}
	defer m.DestroyConfig(&cfg)
	for _, o := range opts {
		if m.SetConfig(cfg, o[0], o[1]) == m.StateError {
			return nil, fmt.Errorf("open duckdb: set %s to %q", o[0], o[1])
		}
	}
	in := &instance{relations: map[string][]column.Field{}, queries: map[uint64]*query{}}
	var msg string
	if m.OpenExt(":memory:", &in.db, cfg, &msg) == m.StateError {
		return nil, fmt.Errorf("open duckdb: %s", msg)
	}
	if err := in.setup(s); err != nil {
		m.Close(&in.db)
		return nil, fmt.Errorf("open duckdb: %w", err)
	}
	return in, nil
}

func (in *instance) setup(s settings) error {
	c, err := in.connect()
	if err != nil {
		return err
	}
	defer c.close()
	if err := registerScan(in, c.c); err != nil {
		return err
	}
	if err := c.execAll("SET GLOBAL TimeZone = 'UTC'", "SET GLOBAL Calendar = 'gregorian'"); err != nil {
		return err
	}
	if s.maxTemp > 0 {
		// In the configuration it would be shown and not obeyed: only a running instance passes it on.
		if err := c.exec(fmt.Sprintf("SET GLOBAL max_temp_directory_size = '%dB'", s.maxTemp)); err != nil {
			return err
		}
	}
	if s.before != nil {
		if err := s.before(in, c); err != nil {
			return err
		}
	}
	return c.exec("SET lock_configuration = true")
}

func (in *instance) close() { m.Close(&in.db) }

// relation returns the fields that a name was defined with.
func (in *instance) relation(name string) ([]column.Field, bool) {
	in.mu.RLock()
	defer in.mu.RUnlock()
	f, ok := in.relations[name]
	return f, ok
}

func (in *instance) define(name string, fields []column.Field) {
	in.mu.Lock()
	in.relations[name] = fields
	in.mu.Unlock()
}

func (in *instance) undefine(name string) {
	in.mu.Lock()
	delete(in.relations, name)
	in.mu.Unlock()
}

func (in *instance) current(conn uint64) *query {
	in.mu.RLock()
	defer in.mu.RUnlock()
	return in.queries[conn]
}

// conn is a connection; one statement runs on it at a time.
type conn struct {
	in *instance
	c  m.Connection
	id uint64
}

func (in *instance) connect() (*conn, error) {
	c := &conn{in: in}
	if m.Connect(in.db, &c.c) == m.StateError {
		return nil, fmt.Errorf("connect to duckdb")
	}
	var ctx m.ClientContext
	m.ConnectionGetClientContext(c.c, &ctx)
	c.id = uint64(m.ClientContextGetConnectionId(ctx))
	m.DestroyClientContext(&ctx)
	return c, nil
}

func (c *conn) close() { m.Disconnect(&c.c) }

// begin makes q the query whose rows this connection's scans read; nil ends it.
func (c *conn) begin(q *query) {
	c.in.mu.Lock()
	defer c.in.mu.Unlock()
	if q == nil {
		delete(c.in.queries, c.id)
	} else {
		c.in.queries[c.id] = q
	}
}

// exec runs a statement of our own and drops its result.
func (c *conn) exec(sql string) error {
	var r m.Result
	defer m.DestroyResult(&r)
	if m.Query(c.c, sql, &r) == m.StateError {
		return parseError(m.ResultError(&r), sql)
	}
	return nil
}

func (c *conn) execAll(stmts ...string) error {
	for _, s := range stmts {
		if err := c.exec(s); err != nil {
			return err
		}
	}
	return nil
}

// rows runs a query of our own, with parameters, and returns its rows as text; NULL is "".
func (c *conn) rows(sql string, params ...any) ([][]string, error) {
	r, err := c.run(context.Background(), execution{sql: sql, params: params, q: &query{}, allowed: anyStatement, release: keepConn})
	if err != nil {
		return nil, err
	}
	defer r.Close()
	cols, n, err := r.ReadAll()
	if err != nil {
		return nil, err
	}
	out := make([][]string, n)
	for i := range out {
		for k := range cols {
			out[i] = append(out[i], cols[k].Str(i))
		}
	}
	return out, nil
}

func anyStatement(m.StatementType) error { return nil }

func keepConn(*conn) {}

// prepare prepares one statement; the caller destroys it.
func (c *conn) prepare(sql string) (m.PreparedStatement, error) {
	var p m.PreparedStatement
	if strings.IndexByte(sql, 0) >= 0 {
		return p, refuse("Parser", "42601", sql, strings.IndexByte(sql, 0), "", "the statement holds a NUL byte")
	}
	if m.Prepare(c.c, sql, &p) == m.StateError {
		err := parseError(m.PrepareError(p), sql)
		m.DestroyPrepare(&p)
		return m.PreparedStatement{}, err
	}
	return p, nil
}
