// Package load appends files to a table over HTTP: CSV, JSON and Parquet are read by the embedded DuckDB, Arrow
// files by their own reader, and what is sent are Arrow streams; only NDJSON from standard input goes on as it is,
// so that it may come slowly and never end.
//
// Every append is one of a producer whose seq is the number of rows so far, and names the seq before it. So a load
// that was cut, by a signal, a crash or a lost connection, goes on where the server's acknowledgements ended: it
// asks for the producer's last seq, skips as many rows, and no row is there twice or missing, whatever the size
// of the batches is this time. The producer's name is made of the table and the contents of the files.
package load

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"tidemill/cmd/tidemill/internal/client"
	"tidemill/cmd/tidemill/internal/table"
	"tidemill/state/column"
)

// Options say what is appended to which table.
type Options struct {
	Table string
	Files []string // names, patterns, or "-" for Stdin
	// Format of the files; "" goes by their names, and their first bytes.
	Format Format
	Stdin  io.Reader
	// Producer names the load; "" makes a name of the table and the files.
	Producer string
	// Again appends files even when they have been appended before.
	Again bool
	// Create makes the table when it is not there, with columns inferred from the files, Key as its primary key and
	// Types for columns whose type is to be another.
	Create bool
	Key    []string
	Types  map[string]string
	// IgnoreExtra leaves out columns that the table does not have.
	IgnoreExtra bool
	// BatchRows is the most rows of one append; 0 is DefaultBatchRows.
	BatchRows int
	// MaxRejects is how many bad rows are left out before the load fails.
	MaxRejects int64
	// Rejects gets an object a line for each bad row; nil is without.
	Rejects io.Writer
	// RetryFor is how long a server may be away; 0 is DefaultRetryFor.
	RetryFor time.Duration
	// Progress is told how far the load is; nil is nobody.
	Progress Progress
}

const (
	// DefaultBatchRows keeps a commit under a tenth of a second, and its fsync a small part of it.
	DefaultBatchRows = 50_000
	// DefaultRetryFor lets a server restart, or be restarted by hand.
	DefaultRetryFor = 5 * time.Minute
)

// Progress is told what happens. Its methods are called from one goroutine.
type Progress interface {
	// Note says something that the user should read.
	Note(text string)
	// At says how many rows are acknowledged and rejected, and which share of the files is done, -1 when unknown.
	At(rows, rejected int64, share float64)
}

type silent struct{}

func (silent) Note(string)              {}
func (silent) At(int64, int64, float64) {}

// Result is what a load has done.
type Result struct {
	Table    string
	Producer string
	Skipped  int64 // rows that were acknowledged before
	Rows     int64 // appended now
	Rejected int64
	Commit   uint64 // of the last append; 0 when there was none
	Took     time.Duration
}

// Summary says it in one line.
func (r *Result) Summary() string {
	if r.Rows == 0 && r.Skipped > 0 && r.Rejected == 0 {
		return fmt.Sprintf("nothing to append: all %s rows were appended to %s before, by producer %s; --again appends them once more",
			table.Group(r.Skipped), r.Table, r.Producer)
	}
	s := fmt.Sprintf("appended %s rows to %s in %s", table.Group(r.Rows), r.Table, r.Took.Round(time.Millisecond))
	if sec := r.Took.Seconds(); r.Rows > 0 && sec > 0 {
		s += fmt.Sprintf(" (%s rows/s)", table.Rate(float64(r.Rows)/sec))
	}
	if r.Commit > 0 {
		s += fmt.Sprintf(", commit %d", r.Commit)
	}
	if r.Skipped > 0 {
		s += fmt.Sprintf("; %s rows were there before", table.Group(r.Skipped))
	}
	if r.Rejected > 0 {
		s += fmt.Sprintf("; %s rows rejected", table.Group(r.Rejected))
	}
	return s
}

// loader is a load on its way.
type loader struct {
	Options
	client *client.Client
	fields []column.Field // of the table
	result Result
	pos    int64 // rows of the files up to the last acknowledged append
	share  float64
}

// Run appends the files. An error that leaves a load unfinished says so: the same call goes on with it. Errors of
// the server are *client.Error.
func Run(ctx context.Context, c *client.Client, o Options) (*Result, error) {
	if o.BatchRows <= 0 {
		o.BatchRows = DefaultBatchRows
	}
	if o.RetryFor == 0 {
		o.RetryFor = DefaultRetryFor
	}
	if o.Progress == nil {
		o.Progress = silent{}
	}
	l := &loader{Options: o, client: c}
	begun := time.Now()
	inputs, err := l.open()
	if err != nil {
		return nil, err
	}
	defer inputs.close()
	if err := l.prepare(ctx, inputs); err != nil {
		return nil, err
	}
	l.result.Table = l.Table
	err = l.append(ctx, inputs)
	l.result.Took = time.Since(begun)
	if err != nil && l.pos > 0 && l.result.Producer != "" {
		err = fmt.Errorf("%w; %s rows are in %s: the same command goes on after them", err, table.Group(l.pos), l.Table)
	}
	return &l.result, err
}

// prepare finds or makes the table, and the producer's place.
func (l *loader) prepare(ctx context.Context, in *inputs) error {
	err := l.describe(ctx)
	if refusal, ok := errors.AsType[*client.Error](err); ok && refusal.Status == http.StatusNotFound {
		if !l.Create {
			return fmt.Errorf("there is no table %s: make it with CREATE TABLE, or add --create to infer it from the files", l.Table)
		}
		if err = l.createTable(ctx, in); err == nil {
			err = l.describe(ctx)
		}
	}
	if err != nil {
		return err
	}
	stats, err := l.client.Stats(ctx)
	if err != nil {
		return err
	}
	rel := stats.Relation(l.Table)
	if rel == nil || rel.Kind != "table" {
		return fmt.Errorf("%s is not a table: rows are appended to tables, and views follow", l.Table)
	}
	l.Table = rel.Name
	if l.result.Producer, err = l.producer(rel.ID, in); err != nil {
		return err
	}
	last, err := l.client.Last(ctx, l.result.Producer)
	if err != nil {
		return err
	}
	l.pos, l.result.Skipped = int64(last), int64(last)
	return nil
}

// describe reads the table's columns.
func (l *loader) describe(ctx context.Context) error {
	rows, err := l.client.SQL(ctx, "DESCRIBE "+quoteIdent(l.Table))
	if err != nil {
		return err
	}
	l.fields = nil
	for _, r := range rows {
		t, err := column.ParseType(r.Text("column_type"))
		if err != nil {
			return fmt.Errorf("table %s, column %s: %w", l.Table, r.Text("column_name"), err)
		}
		l.fields = append(l.fields, column.Field{Name: r.Text("column_name"), Type: t})
	}
	return nil
}

// field finds a column of the table by its name, whatever its case.
func (l *loader) field(name string) (column.Field, bool) {
	for _, f := range l.fields {
		if strings.EqualFold(f.Name, name) {
			return f, true
		}
	}
	if strings.EqualFold(name, deletedField) {
		return column.Field{Name: deletedField, Type: column.T(column.Bool)}, true
	}
	return column.Field{}, false
}

// deletedField is the column by which rows of a table with a key are deleted.
const deletedField = "_deleted"

// check refuses columns that the table does not have, and returns the table's for the others.
func (l *loader) check(file string, names []string) (fields []column.Field, at []int, err error) {
	var extra []string
	for i, name := range names {
		if f, ok := l.field(name); ok {
			fields, at = append(fields, f), append(at, i)
		} else {
			extra = append(extra, name)
		}
	}
	switch {
	case len(fields) == 0:
		return nil, nil, fmt.Errorf("%s has none of the columns of %s: it has %s", file, l.Table, strings.Join(names, ", "))
	case len(extra) > 0 && !l.IgnoreExtra:
		return nil, nil, fmt.Errorf("%s has columns that %s does not have: %s; --ignore-extra leaves them out", file, l.Table, strings.Join(extra, ", "))
	}
	return fields, at, nil
}

func quoteIdent(s string) string  { return `"` + strings.ReplaceAll(s, `"`, `""`) + `"` }
func quoteString(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }
