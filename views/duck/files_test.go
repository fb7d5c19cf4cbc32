package duck

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"tidemill/state/column"
)

// textOf runs a query of one column and returns its values.
func textOf(t *testing.T, f *Files, sql string, params ...any) []string {
	t.Helper()
	rows, err := f.Query(t.Context(), sql, params...)
	if err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	defer rows.Close()
	var out []string
	for {
		cols, n, err := rows.NextColumns()
		if errors.Is(err, io.EOF) {
			return out
		}
		if err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
		for i := range n {
			out = append(out, string(column.AppendText(nil, &cols[0], i)))
		}
	}
}

// TestFiles: every format is there without an extension that would have to be fetched, compressed too.
func TestFiles(t *testing.T) {
	f, err := OpenFiles(Options{Threads: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	dir := t.TempDir()
	for name, format := range map[string]string{
		"a.csv": "CSV", "a.csv.gz": "CSV", "a.csv.zst": "CSV", "a.json": "JSON", "a.json.gz": "JSON", "a.parquet": "PARQUET",
	} {
		path := filepath.Join(dir, name)
		textOf(t, f, "COPY (SELECT i, 'v' || i AS s FROM range(3000) r(i)) TO "+QuoteString(path)+" (FORMAT "+format+")")
		got := textOf(t, f, "SELECT s FROM "+QuoteString(path)+" OFFSET 2998")
		if len(got) != 2 || got[0] != "v2998" || got[1] != "v2999" {
			t.Errorf("%s has %q at its end", name, got)
		}
	}
	if _, err := f.Query(t.Context(), "SELECT * FROM read_csv(?)", filepath.Join(dir, "none.csv")); err == nil {
		t.Error("a file that is not there is read")
	}
	if _, err := os.Stat(filepath.Join(dir, "a.parquet")); err != nil {
		t.Error(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := f.Query(ctx, "SELECT 1"); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled query: %v", err)
	}
}
