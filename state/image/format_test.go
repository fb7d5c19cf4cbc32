package image_test

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"tidemill/state/column"
	"tidemill/state/image"
)

var rewrite = flag.Bool("rewrite", false, "write the fixture of the current format")

const (
	fixtureDir  = "testdata/v1"
	fixtureFile = "t1-0.chunk"
)

// fixture returns the table that was saved when version 1 was frozen: 12 rows, of which row 2 was
// dead when the file was written and row 5 died later.
func fixture(t *testing.T) (*table, *disk) {
	name := column.NewBuilder(column.T(column.Varchar), 12)
	nums := make([]int64, 12)
	for i := range nums {
		nums[i] = int64(i*i) - 7
		if i%4 == 3 {
			name.AppendNull()
		} else {
			name.AppendString(strings.Repeat("z\u00fc", i))
		}
	}
	cols := []column.Column{column.Of(column.T(column.Int64), nums, nil), name.Finish()}
	d := &disk{fs: vfs.Default, dir: t.TempDir(), store: map[string][]byte{}}
	tb := &table{t: t, rows: image.NewRows(fixtureTypes), m: &model{}}
	tb.rows.Append(cols, 12)
	tb.m.append(cols, 12)
	tb.killRow(1)
	tb.save(d)
	tb.killRow(4)
	tb.save(d)
	return tb, d
}

var fixtureTypes = []column.Type{column.T(column.Int64), column.T(column.Varchar)}

// text returns the entries a line each: the key in hexadecimal, the value quoted.
func (d *disk) text() string {
	var lines []string
	for k, v := range d.store {
		lines = append(lines, fmt.Sprintf("%x %s\n", k, strconv.QuoteToASCII(string(v))))
	}
	slices.Sort(lines)
	return strings.Join(lines, "")
}

// TestFixtureV1 opens the table that was saved when version 1 was frozen, and saves the same bytes.
func TestFixtureV1(t *testing.T) {
	tb, made := fixture(t)
	file, err := os.ReadFile(filepath.Join(made.dir, fixtureFile))
	if err != nil {
		t.Fatal(err)
	}
	if *rewrite {
		if err := os.MkdirAll(fixtureDir, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(fixtureDir, fixtureFile), file, 0o644); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(fixtureDir, "entries"), []byte(made.text()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	old := &disk{fs: vfs.Default, dir: fixtureDir, store: map[string][]byte{}}
	entries, err := os.ReadFile(filepath.Join(fixtureDir, "entries"))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(entries)) {
		var k []byte
		var v string
		if _, err := fmt.Sscanf(line, "%x %q\n", &k, &v); err != nil {
			t.Fatal(line, err)
		}
		old.store[string(k)] = []byte(v)
	}
	rows, err := image.OpenRows(old.fs, old.dir, fixtureTypes, old.entries())
	if err != nil {
		t.Fatal(err)
	}
	if err := tb.m.diff(rows.Snapshot()); err != nil || rows.Next() != 13 || rows.Live() != 10 {
		t.Fatal(err, rows.Next(), rows.Live())
	}
	if made.text() != string(entries) {
		t.Errorf("version 1 has other entries now:\n%s", made.text())
	}
	if was, err := os.ReadFile(filepath.Join(fixtureDir, fixtureFile)); err != nil || !bytes.Equal(was, file) {
		t.Error("version 1 is written differently now", err)
	}
}
