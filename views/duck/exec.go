package duck

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"sync"

	"tidemill/state/column"
)

// Options are an Exec's limits.
type Options struct {
	// MemoryLimit is in bytes; 0 is DuckDB's default, 80% of the machine.
	MemoryLimit int64
	// Threads is how many threads one query may use; at least 1.
	Threads int
	// TempDir is where queries that do not fit spill; "" lets them fail instead.
	TempDir string
	// MaxTempBytes bounds what is spilled; 0 is DuckDB's default, 90% of the free room.
	MaxTempBytes int64
	// AsWritten has every expression evaluated as it is written, for SQL in which rows fail under TRY: the optimiser
	// otherwise rewrites what can fail to what cannot, and takes what two of them share, or a long IN list, out of TRY, so
	// that the whole query fails. Plans of joins and filters are as good as ever.
	AsWritten bool
}

// rewriters are the optimiser's passes that change which rows fail, or move what fails out of TRY.
const rewriters = "expression_rewriter,common_subexpressions,in_clause,statistics_propagation,regex_range"

// maxIdleConns bounds the connections that wait for a next query. One costs some 20 kB and 0.1 ms to
// make; how many are in use at once is for the caller to bound.
const maxIdleConns = 16

// Exec runs SELECTs over snapshots. It is safe for concurrent use. DefineRelation, DefineView and
// Drop take effect for queries that start afterwards.
type Exec struct {
	in     *instance
	setup  *conn // guarded by ddl
	ddl    sync.Mutex
	shapes map[string]string // scratch tables for INSERT: the CREATE TABLE of each; guarded by ddl

	mu     sync.Mutex // guards what follows
	idle   []*conn
	closed bool
}

// OpenExec opens and locks an instance for reading. It takes some tens of milliseconds.
func OpenExec(o Options) (*Exec, error) {
	x := &Exec{shapes: map[string]string{}}
	var err error
	x.in, err = openInstance(settings{threads: o.Threads, memoryLimit: o.MemoryLimit, tempDir: o.TempDir, maxTemp: o.MaxTempBytes,
		before: func(in *instance, c *conn) error {
			if err := c.exec("CREATE SCHEMA " + scratchSchema); err != nil {
				return err
			}
			if o.AsWritten {
				if err := c.exec("SET disabled_optimizers = '" + rewriters + "'"); err != nil {
					return err
				}
			}
			x.setup, err = in.connect()
			return err
		}})
	if err != nil {
		return nil, err
	}
	return x, nil
}

// Close frees the instance. Results that are still open may be read and closed afterwards.
func (x *Exec) Close() {
	x.mu.Lock()
	idle, was := x.idle, x.closed
	x.idle, x.closed = nil, true
	x.mu.Unlock()
	if was {
		return
	}
	for _, c := range idle {
		c.close()
	}
	x.ddl.Lock()
	defer x.ddl.Unlock()
	x.setup.close()
	x.in.close()
}

// Usage returns the bytes that the instance holds in memory and those that queries have spilled. The error is
// ErrClosed after Close.
func (x *Exec) Usage() (memory, spilled int64, err error) {
	if err := x.lockDDL(); err != nil {
		return 0, 0, err
	}
	defer x.ddl.Unlock()
	rows, err := x.setup.rows("SELECT sum(memory_usage_bytes)::VARCHAR, sum(temporary_storage_bytes)::VARCHAR FROM duckdb_memory()")
	if err != nil {
		return 0, 0, fmt.Errorf("read memory of duckdb: %w", err)
	}
	if memory, err = strconv.ParseInt(rows[0][0], 10, 64); err == nil {
		spilled, err = strconv.ParseInt(rows[0][1], 10, 64)
	}
	return memory, spilled, err
}

// lockDDL takes the lock of the setup connections, or reports that they are gone.
func (x *Exec) lockDDL() error {
	x.ddl.Lock()
	x.mu.Lock()
	closed := x.closed
	x.mu.Unlock()
	if closed {
		x.ddl.Unlock()
		return ErrClosed
	}
	return nil
}

// DefineRelation makes name readable: queries ask their Snapshots for it. An earlier definition of
// the name is replaced.
func (x *Exec) DefineRelation(name string, fields []column.Field) error {
	for _, f := range fields {
		if !f.Type.Valid() {
			return fmt.Errorf("define relation %s: column %s has no valid type", name, f.Name)
		}
	}
	if err := x.lockDDL(); err != nil {
		return err
	}
	defer x.ddl.Unlock()
	x.in.define(name, slices.Clone(fields))
	if err := x.setup.makeSchema(name); err != nil {
		return err
	}
	return x.setup.exec("CREATE OR REPLACE VIEW " + QuoteName(name) + " AS SELECT * FROM tidemill_scan(" + QuoteString(name) + ")")
}

// DefineView makes name stand for a SELECT over relations and views that are defined already.
func (x *Exec) DefineView(name, sql string) error {
	if err := x.lockDDL(); err != nil {
		return err
	}
	defer x.ddl.Unlock()
	if err := x.setup.checkSelect(sql); err != nil {
		return err
	}
	if err := checkCalls(sql); err != nil {
		return err
	}
	if err := x.setup.makeSchema(name); err != nil {
		return err
	}
	prefix := "CREATE OR REPLACE VIEW " + QuoteName(name) + " AS "
	stmt := splitStatements(sql)[0]
	return shifted(x.setup.exec(prefix+sql[stmt.From:stmt.To]), sql, len(prefix)-stmt.From)
}

// Drop forgets a relation or view; one that is not there is no error.
func (x *Exec) Drop(name string) error {
	if err := x.lockDDL(); err != nil {
		return err
	}
	defer x.ddl.Unlock()
	x.in.undefine(name)
	if _, ok := x.shapes[name]; ok {
		delete(x.shapes, name)
		if err := x.setup.exec("DROP TABLE IF EXISTS " + scratchSchema + "." + QuoteIdent(name)); err != nil {
			return err
		}
	}
	return x.setup.exec("DROP VIEW IF EXISTS " + QuoteName(name))
}

// StatementKinds splits a text into its statements, after DuckDB has found that it parses.
func (x *Exec) StatementKinds(sql string) ([]Statement, error) {
	if err := x.lockDDL(); err != nil {
		return nil, err
	}
	defer x.ddl.Unlock()
	parts := splitStatements(sql)
	if err := x.setup.checkParses(sql, len(parts)); err != nil {
		return nil, err
	}
	return parts, nil
}

// Query starts one SELECT or EXPLAIN over snap. The params are as in bindParams: nil, bool, numbers,
// string, []byte and time.Time. The query is cancelled with ctx; an error then is an *SQLError with
// SQLSTATE 57014 that also wraps the context's error. The caller closes the rows.
func (x *Exec) Query(ctx context.Context, sql string, params []any, snap Snapshots) (*Rows, error) {
	if err := checkCalls(sql); err != nil {
		return nil, err
	}
	c, err := x.take()
	if err != nil {
		return nil, err
	}
	return c.run(ctx, execution{sql: sql, params: params, q: &query{snap: snap}, allowed: readOnly(sql), release: x.give})
}

func (x *Exec) take() (*conn, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.closed {
		return nil, ErrClosed
	}
	if n := len(x.idle); n > 0 {
		c := x.idle[n-1]
		x.idle = x.idle[:n-1]
		return c, nil
	}
	return x.in.connect()
}

func (x *Exec) give(c *conn) {
	x.mu.Lock()
	keep := !x.closed && len(x.idle) < maxIdleConns
	if keep {
		x.idle = append(x.idle, c)
	}
	x.mu.Unlock()
	if !keep {
		c.close()
	}
}

// shifted moves an error's place from a text that we made to the user's text, which begins by bytes
// further on in ours.
func shifted(err error, text string, by int) error {
	if e, ok := err.(*SQLError); ok && e.Position >= 0 {
		return e.at(text, e.Position-by)
	}
	return err
}
