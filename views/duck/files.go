package duck

import "context"

// Files is a DuckDB that reads and writes files of the user who runs the program: CSV, JSON, Parquet. It is
// for commands, never for servers: every statement is let through. It is safe for concurrent use; a table made
// by one query is seen by the next.
type Files struct {
	in *instance
}

// OpenFiles opens an instance that may read and write files, and load nothing else. Rows keep the order of
// the files.
func OpenFiles(o Options) (*Files, error) {
	in, err := openInstance(settings{threads: o.Threads, memoryLimit: o.MemoryLimit, tempDir: o.TempDir, files: true})
	if err != nil {
		return nil, err
	}
	return &Files{in}, nil
}

// Close frees the instance; results must be closed before.
func (f *Files) Close() { f.in.close() }

// Query starts one statement. The params are as in bindParams. The caller closes the rows. Errors are *SQLError.
func (f *Files) Query(ctx context.Context, sql string, params ...any) (*Rows, error) {
	c, err := f.in.connect()
	if err != nil {
		return nil, err
	}
	return c.run(ctx, execution{sql: sql, params: params, q: &query{}, allowed: anyStatement,
		release: func(c *conn) { c.close() }})
}
