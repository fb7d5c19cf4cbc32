package load

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"tidemill/state/column"
	"tidemill/views/duck"
)

// scan is how DuckDB reads a file: the call, up to its options. All texts are ours but for quoted names.
func scan(f *input, options ...string) string {
	return scanAll(f.format, []string{f.path}, options...)
}

func scanAll(format Format, paths []string, options ...string) string {
	quoted := make([]string, len(paths))
	for i, p := range paths {
		quoted[i] = quoteString(escapeGlob(p))
	}
	call := map[Format]string{CSV: "read_csv", JSON: "read_json", NDJSON: "read_json", Parquet: "read_parquet"}[format]
	args := append([]string{"[" + strings.Join(quoted, ", ") + "]"}, options...)
	if format == NDJSON {
		args = append(args, "format='newline_delimited'")
	}
	return call + "(" + strings.Join(args, ", ") + ")"
}

// escapeGlob keeps DuckDB from reading a file's name as a pattern.
func escapeGlob(path string) string {
	return strings.NewReplacer("[", "[[]", "*", "[*]", "?", "[?]").Replace(path)
}

// duckSource reads a CSV, JSON or Parquet file through DuckDB.
type duckSource struct {
	files *duck.Files
	rows  *duck.Rows
	total int64 // rows, as far as known
	read  int64
}

// openDuck starts reading the file, cast to the types of the table.
func (l *loader) openDuck(ctx context.Context, f *input) (_ *duckSource, err error) {
	files, err := duck.OpenFiles(duck.Options{Threads: readThreads, MemoryLimit: readMemory})
	if err != nil {
		return nil, err
	}
	s := &duckSource{files: files, total: f.lines}
	defer func() {
		if err != nil {
			s.close()
		}
	}()
	cols, err := describeScan(ctx, files, scan(f))
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", f.name, err)
	}
	names := make([]string, len(cols))
	for i, c := range cols {
		names[i] = c.name
	}
	fields, at, err := l.check(f.name, names)
	if err != nil {
		return nil, err
	}
	if f.format == Parquet {
		if err := s.count(ctx, f); err != nil {
			return nil, err
		}
	}
	picked := make([]fileColumn, len(at))
	for i, c := range at {
		picked[i] = cols[c]
	}
	s.rows, err = files.Query(ctx, readSQL(f, picked, fields, l.MaxRejects > 0))
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", f.name, err)
	}
	return s, nil
}

// readMemory bounds what DuckDB may use for reading; what streams through needs little.
const readMemory = 2 << 30

// readThreads is how many threads read: with one, DuckDB has none that works while a batch is waited for.
const readThreads = 2

// fileColumn is a column of a file, with the type that DuckDB gives it.
type fileColumn struct{ name, sqlType string }

// describeScan returns the columns of files.
func describeScan(ctx context.Context, files *duck.Files, call string) ([]fileColumn, error) {
	rows, err := files.Query(ctx, "SELECT column_name, column_type FROM (DESCRIBE SELECT * FROM "+call+")")
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	cols, n, err := rows.ReadAll()
	if err != nil {
		return nil, err
	}
	out := make([]fileColumn, n)
	for i := range out {
		out[i] = fileColumn{cols[0].Str(i), cols[1].Str(i)}
	}
	return out, nil
}

// rejectColumn is the column in which a query says why a row cannot be taken.
const rejectColumn = "\x01reject"

// readSQL is the query that reads columns of a file as those of the table. When rejects are allowed, text is read
// as text, and a value that its type refuses makes the row a reject; otherwise DuckDB's own readers convert, and a
// bad value is an error that names its line.
func readSQL(f *input, cols []fileColumn, fields []column.Field, rejects bool) string {
	text := f.format != Parquet
	var types, exprs, bad []string
	for i, c := range cols {
		name, want := quoteIdent(c.name), fields[i].Type.String()
		asked := want
		if rejects && text {
			asked = "VARCHAR"
		}
		types = append(types, quoteString(c.name)+": "+quoteString(asked))
		expr := "CAST(" + name + " AS " + want + ")"
		switch {
		case !text && nestedType(c.sqlType) && fields[i].Type.Kind == column.Varchar:
			expr = "CAST(to_json(" + name + ") AS VARCHAR)"
		case rejects:
			expr = "TRY_" + expr
			bad = append(bad, fmt.Sprintf("WHEN %s IS NOT NULL AND %s IS NULL THEN %s || left(CAST(%s AS VARCHAR), 100)",
				name, expr, quoteString(fields[i].Name+"\x00"+want+"\x00"), name))
		}
		exprs = append(exprs, expr+" AS "+quoteIdent(fields[i].Name))
	}
	if len(bad) > 0 {
		exprs = append(exprs, "CASE "+strings.Join(bad, " ")+" END AS "+quoteIdent(rejectColumn))
	}
	var options []string
	switch f.format {
	case CSV:
		options = append(options, "types={"+strings.Join(types, ", ")+"}")
	case JSON, NDJSON:
		options = append(options, "columns={"+strings.Join(types, ", ")+"}")
	}
	return "SELECT " + strings.Join(exprs, ", ") + " FROM " + scan(f, options...)
}

// nestedType reports whether a type is kept as JSON text where the table has text.
func nestedType(sqlType string) bool {
	return strings.HasSuffix(sqlType, "]") || strings.HasPrefix(sqlType, "STRUCT") || strings.HasPrefix(sqlType, "MAP")
}

// count asks a Parquet file's footer for its rows.
func (s *duckSource) count(ctx context.Context, f *input) error {
	rows, err := s.files.Query(ctx, "SELECT CAST(count(*) AS BIGINT) FROM "+scan(f))
	if err != nil {
		return fmt.Errorf("read %s: %w", f.name, err)
	}
	defer rows.Close()
	cols, n, err := rows.ReadAll()
	if err == nil && n == 1 {
		s.total = column.Values[int64](&cols[0])[0]
	}
	return err
}

func (s *duckSource) next() (arrow.RecordBatch, error) {
	rec, err := s.rows.NextArrow()
	if err != nil {
		return nil, err
	}
	s.read += rec.NumRows()
	return rec, nil
}

func (s *duckSource) share() float64 {
	if s.total <= 0 {
		return -1
	}
	return min(1, float64(s.read)/float64(s.total))
}

func (s *duckSource) close() {
	if s.rows != nil {
		s.rows.Close()
	}
	s.files.Close()
}

// source gives the rows of one file in batches, which the caller releases; io.EOF ends them.
type source interface {
	next() (arrow.RecordBatch, error)
	// share is how much of the file has been read, -1 when that is not known.
	share() float64
	close()
}

// openSource starts reading a file.
func (l *loader) openSource(ctx context.Context, f *input) (source, error) {
	if f.format == Arrow {
		return l.openArrow(f)
	}
	if f.packed != "" && f.format == Parquet {
		return nil, fmt.Errorf("%s: Parquet is compressed inside; unpack the file first", f.name)
	}
	return l.openDuck(ctx, f)
}

// ended reports whether an error is the end of a source.
func ended(err error) bool { return errors.Is(err, io.EOF) }
