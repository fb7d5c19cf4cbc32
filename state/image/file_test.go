package image_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"tidemill/state/column"
	"tidemill/state/column/columntest"
	"tidemill/state/image"
)

// realDisk is a directory on the machine's own disk, where files are mapped.
func realDisk(t testing.TB) *disk {
	return &disk{fs: vfs.Default, dir: t.TempDir(), store: map[string][]byte{}}
}

// saved returns a table of n rows, every third of the first half dead, in one file on a real disk.
func saved(t *testing.T, n int) (*table, *disk, string) {
	src := newSource(columntest.Rand(t), n)
	tb, d := newTable(t, src), realDisk(t)
	cols := src.batch(n)
	tb.rows.Append(cols, n)
	tb.m.append(cols, n)
	for i := 0; i < n/2; i += 3 {
		tb.killRow(i)
	}
	tb.save(d)
	names := tb.rows.FileNames()
	if len(names) != 1 {
		t.Fatal(names)
	}
	return tb, d, filepath.Join(d.dir, names[0])
}

// TestMapped: the whole cycle on a real disk. Snapshots outlive the files that they show, and a
// reopened table shows what was saved.
func TestMapped(t *testing.T) {
	src := newSource(columntest.Rand(t), 25_000)
	tb, d := newTable(t, src), realDisk(t)
	for range 8 {
		for range 4 {
			tb.step()
		}
		tb.save(d)
		tb.snapshot()
	}
	tb.check()
	for i := range tb.m.rows {
		if i%2 == 0 {
			tb.killRow(i)
		}
	}
	tb.save(d) // all files are replaced and removed
	runtime.GC()
	tb.check()
	tb.rows, tb.snaps = d.open(t, types), nil
	tb.check()
	for range 10 {
		tb.step()
	}
	tb.check()
}

// TestKillWithoutReading: killing a row of a chunk without gaps does not read its file.
func TestKillWithoutReading(t *testing.T) {
	src := newSource(columntest.Rand(t), 10_000)
	tb, d := newTable(t, src), realDisk(t)
	tb.rows.Append(src.batch(10_000), 10_000)
	tb.save(d)
	rows := d.open(t, types)
	if err := os.Remove(filepath.Join(d.dir, rows.FileNames()[0])); err != nil {
		t.Fatal(err)
	}
	if was, err := rows.Kill(5_000); !was || err != nil {
		t.Fatal(was, err)
	}
}

// TestEveryByteFlipped: with any byte of the file changed, reading is a CorruptionError that names
// the file and the block's offset, or shows the same rows.
func TestEveryByteFlipped(t *testing.T) {
	tb, d, path := saved(t, 24)
	good, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for at := range good {
		bad := bytes.Clone(good)
		bad[at] ^= 1 << (at % 8)
		if err := os.WriteFile(path, bad, 0o644); err != nil {
			t.Fatal(err)
		}
		rows, err := image.OpenRows(d.fs, d.dir, types, d.entries())
		if err != nil {
			t.Fatal(err)
		}
		err = tb.m.diff(rows.Snapshot())
		var damage *image.CorruptionError
		want := int64(0) // the header, which is 64 bytes
		if at >= 64 {
			want = 64
		}
		if !errors.As(err, &damage) || damage.File != path || damage.Offset != want {
			t.Fatalf("byte %d of %d changed: %v", at, len(good), err)
		}
	}
}

// TestTruncated: a file that ends early is damage at its end, wherever that is.
func TestTruncated(t *testing.T) {
	tb, d, path := saved(t, 24)
	good, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for n := range len(good) {
		if err := os.WriteFile(path, good[:n], 0o644); err != nil {
			t.Fatal(err)
		}
		rows, err := image.OpenRows(d.fs, d.dir, types, d.entries())
		if err != nil {
			t.Fatal(err)
		}
		var damage *image.CorruptionError
		if err := tb.m.diff(rows.Snapshot()); !errors.As(err, &damage) || damage.File != path || damage.Offset != int64(n) {
			t.Fatalf("%d of %d bytes: %v", n, len(good), err)
		}
	}
	if err := os.WriteFile(path, append(good, "more"...), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := tb.m.diff(d.open(t, types).Snapshot()); err != nil {
		t.Fatal("bytes behind the last block:", err)
	}
}

// TestTruncatedWhileMapped: a page that goes after the file was mapped is an error, not the end of
// the process.
func TestTruncatedWhileMapped(t *testing.T) {
	_, d, path := saved(t, 2*image.ChunkRows)
	rows := d.open(t, types)
	chunks := rows.Snapshot().Chunks
	if _, err := chunks[0].Columns(); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(path, 4096); err != nil {
		t.Fatal(err)
	}
	_, err := chunks[1].Columns()
	var damage *image.CorruptionError
	if !errors.As(err, &damage) || damage.File != path || damage.Offset < 4096 {
		t.Fatal(err)
	}
}

// TestMissing: a missing file is an error that names it, from every call that reads, and reading
// succeeds when it is back.
func TestMissing(t *testing.T) {
	tb, d, path := saved(t, 24)
	rows := d.open(t, types)
	if err := os.Rename(path, path+".away"); err != nil {
		t.Fatal(err)
	}
	_, kill := rows.Kill(2)
	_, gather := rows.Gather([]uint64{2})
	_, _, find := rows.Directory().Find(2)
	for call, err := range map[string]error{"scan": tb.m.diff(rows.Snapshot()), "kill": kill, "gather": gather, "find": find} {
		var named *fs.PathError
		if !errors.Is(err, fs.ErrNotExist) || !errors.As(err, &named) || named.Path != path {
			t.Errorf("%s: %v", call, err)
		}
	}
	if err := os.Rename(path+".away", path); err != nil {
		t.Fatal(err)
	}
	if err := tb.m.diff(rows.Snapshot()); err != nil {
		t.Fatal(err)
	}
}

// TestOtherTypes: a file whose columns are not the table's is refused.
func TestOtherTypes(t *testing.T) {
	_, d, path := saved(t, 24)
	for name, ts := range map[string][]column.Type{
		"fewer": types[:5], "more": append(slices.Clone(types), column.T(column.Int8)), "others": append(slices.Clone(types[:5]), column.T(column.Int32)),
	} {
		_, err := d.open(t, ts).Snapshot().Chunks[0].Columns()
		var damage *image.CorruptionError
		if !errors.As(err, &damage) || damage.File != path {
			t.Errorf("%s columns: %v", name, err)
		}
	}
}

// TestEntriesRefused: entries that contradict each other are an error when the table is opened.
func TestEntriesRefused(t *testing.T) {
	type b = map[string]any
	file := func(base uint64, blocks ...b) image.Entry {
		v, err := json.Marshal(b{"name": "x.chunk", "blocks": blocks})
		if err != nil {
			t.Fatal(err)
		}
		return image.Entry{Key: []byte{'f', 0, 0, 0, 0, 0, 0, 0, byte(base)}, Value: v}
	}
	blk := func(base, n, off, length int64) b { return b{"base": base, "n": n, "off": off, "len": length} }
	key := func(kind byte, base uint64, v ...byte) image.Entry {
		return image.Entry{Key: []byte{kind, 0, 0, 0, 0, 0, 0, 0, byte(base)}, Value: v}
	}
	next := key('n', 0, 0, 0, 0, 0, 0, 0, 0, 100)
	if _, err := image.OpenRows(vfs.Default, "", types, []image.Entry{
		key('l', 8, 0xfe, 0xff), next, file(8, blk(8, 9, 64, 8)), file(1, blk(1, 3, 64, 8), blk(4, 4, 72, 16)),
	}); err != nil {
		t.Fatal(err)
	}
	for name, es := range map[string][]image.Entry{
		"short key":        {{Key: []byte("f1")}},
		"kind":             {key('x', 1)},
		"no JSON":          {key('f', 1, '{'), next},
		"no blocks":        {file(1), next},
		"base of the key":  {file(2, blk(1, 3, 64, 8)), next},
		"no rows":          {file(1, blk(1, 0, 64, 8)), next},
		"first offset":     {file(1, blk(1, 3, 0, 8)), next},
		"gap":              {file(1, blk(1, 3, 64, 8), blk(4, 4, 80, 8)), next},
		"length":           {file(1, blk(1, 3, 64, -8)), next},
		"length overflows": {file(1, blk(1, 3, 64, 1<<63-1)), next},
		"rows overlap":     {file(1, blk(1, 3, 64, 8), blk(3, 4, 72, 8)), next},
		"files overlap":    {file(1, blk(1, 3, 64, 8)), file(3, blk(3, 4, 64, 8)), next},
		"row 0":            {file(0, blk(0, 3, 64, 8)), next},
		"bitmap length":    {file(1, blk(1, 3, 64, 8)), key('l', 1, 1, 2), next},
		"empty bitmap":     {file(1, blk(1, 3, 64, 8)), key('l', 1), next},
		"bitmap of no row": {key('l', 1, 1), next},
		"next rowid":       {file(1, blk(1, 3, 64, 8)), key('n', 0, 0, 0, 0, 0, 0, 0, 0, 3)},
		"no next rowid":    {file(1, blk(1, 3, 64, 8))},
		"next rowid short": {key('n', 0, 1)},
	} {
		if _, err := image.OpenRows(vfs.Default, "", types, es); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
