package image_test

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"tidemill/state/column"
	"tidemill/state/column/columntest"
	"tidemill/state/image"
)

// disk is a directory of chunk files, and the entries of the last durable checkpoint as the database
// keeps them.
type disk struct {
	fs    vfs.FS
	mem   *vfs.MemFS
	dir   string
	store map[string][]byte
	saves int
}

func newDisk() *disk {
	mem := vfs.NewCrashableMem()
	if err := mem.MkdirAll("chunks", 0o755); err != nil {
		panic(err)
	}
	root, err := mem.OpenDir("/")
	if err != nil {
		panic(err)
	}
	if err := root.Sync(); err != nil {
		panic(err)
	}
	return &disk{fs: mem, mem: mem, dir: "chunks", store: map[string][]byte{}}
}

func (d *disk) write(t testing.TB, s *image.Save) []image.Entry {
	d.saves++
	entries, err := s.Write(d.fs, d.dir, fmt.Sprintf("t%d", d.saves))
	if err != nil {
		t.Error(err)
	}
	return entries
}

// commit makes the entries durable at once, as a checkpoint's batch does.
func (d *disk) commit(entries []image.Entry) {
	for _, e := range entries {
		if e.Value == nil {
			delete(d.store, string(e.Key))
		} else {
			d.store[string(e.Key)] = slices.Clone(e.Value)
		}
	}
}

func (d *disk) remove(t testing.TB, paths []string) {
	t.Helper()
	for _, p := range paths {
		if err := d.fs.Remove(p); err != nil {
			t.Fatal(err)
		}
	}
}

// crash returns the disk after a crash: what was not synced may be there or not.
func (d *disk) crash(r *rand.Rand) *disk {
	mem := d.mem.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: 50 * r.IntN(3), RNG: r})
	return &disk{fs: mem, mem: mem, dir: d.dir, store: maps.Clone(d.store), saves: d.saves}
}

// open opens the table and removes the files that it does not refer to.
func (d *disk) open(t testing.TB, ts []column.Type) *image.Rows {
	t.Helper()
	rows, err := image.OpenRows(d.fs, d.dir, ts, d.entries())
	if err != nil {
		t.Fatal(err)
	}
	names, err := d.fs.List(d.dir)
	if err != nil {
		t.Fatal(err)
	}
	used := rows.FileNames()
	for _, name := range names {
		if !slices.Contains(used, name) {
			d.remove(t, []string{d.fs.PathJoin(d.dir, name)})
		}
	}
	return rows
}

func (d *disk) entries() []image.Entry {
	var es []image.Entry
	for k, v := range d.store { // in any order
		es = append(es, image.Entry{Key: []byte(k), Value: v})
	}
	return es
}

// save runs one whole checkpoint.
func (tb *table) save(d *disk) {
	tb.t.Helper()
	s := tb.rows.Plan()
	if s == nil {
		return
	}
	d.commit(d.write(tb.t, s))
	d.remove(tb.t, tb.rows.Installed(s))
}

// TestSaveAgainstModel: checkpoints that succeed, or fail though they may be durable, with rows
// appended and killed while they are written, and crashes at every stage. What is opened equals the
// model at the last durable checkpoint.
func TestSaveAgainstModel(t *testing.T) {
	src := newSource(columntest.Rand(t), 25_000)
	for range 3 {
		tb, d := newTable(t, src), newDisk()
		durable := tb.m.clone()
		crash := func() {
			d = d.crash(src.r)
			tb.rows, tb.m, tb.snaps = d.open(t, types), durable.clone(), nil
			tb.check()
			if next := tb.rows.Next(); next != uint64(len(tb.m.rows)+1) {
				t.Fatalf("the next rowid after %d rows is %d", len(tb.m.rows), next)
			}
		}
		some := func() {
			for range src.r.IntN(6) {
				tb.step()
			}
		}
		for range 16 {
			some()
			s, planned := tb.rows.Plan(), tb.m.clone()
			if s == nil {
				if durable.live() != tb.m.live() || len(durable.rows) != len(tb.m.rows) {
					t.Fatal("nothing to save after a change")
				}
				continue
			}
			some()
			stage := src.r.IntN(9)
			if stage == 0 {
				crash()
				continue
			}
			entries := d.write(t, s)
			some()
			switch stage {
			case 1:
				crash()
				continue
			case 2, 3, 4:
				if stage > 2 {
					d.commit(entries)
					durable = planned
				}
				tb.rows.Failed(s)
				tb.check()
				if stage == 4 {
					crash()
				}
				continue
			}
			d.commit(entries)
			durable = planned
			if stage == 5 {
				crash()
				continue
			}
			obsolete := tb.rows.Installed(s)
			if stage == 6 {
				crash()
				continue
			}
			d.remove(t, obsolete)
			tb.check()
			if stage == 7 {
				crash()
			}
		}
		tb.append()
		tb.save(d)
		names, err := d.fs.List(d.dir)
		if used := tb.rows.FileNames(); err != nil || len(names) != len(used) {
			t.Fatal("files are left over:", names, "used", used, err)
		}
	}
}

// TestFailedKeepsKills: kills in a chunk that stays in its file are saved by the next checkpoint
// when the one that should have failed, though the table has grown since.
func TestFailedKeepsKills(t *testing.T) {
	src := newSource(columntest.Rand(t), 100_000)
	tb, d := newTable(t, src), newDisk()
	for range 3 {
		cols := src.batch(90_000)
		tb.rows.Append(cols, 90_000)
		tb.m.append(cols, 90_000)
		tb.save(d)
	}
	tb.killRow(5)
	tb.killRow(100_000)
	s := tb.rows.Plan()
	d.write(t, s)
	for range 20 { // the list of chunks is moved
		cols := src.batch(9_000)
		tb.rows.Append(cols, 9_000)
		tb.m.append(cols, 9_000)
	}
	tb.rows.Failed(s)
	tb.save(d)
	if err := tb.m.diff(d.open(t, types).Snapshot()); err != nil {
		t.Fatal(err)
	}
}

// TestPlanCompacts: small files merge, a file with a dead quarter is rewritten without them, one
// with fewer stays and has its bitmap saved, and a table of which nothing is left has no files.
func TestPlanCompacts(t *testing.T) {
	src := newSource(columntest.Rand(t), 70_000)
	tb, d := newTable(t, src), newDisk()
	add := func(n int) {
		cols := src.batch(n)
		tb.rows.Append(cols, n)
		tb.m.append(cols, n)
	}
	for range 10 {
		add(1_000)
		tb.save(d)
	}
	if names := tb.rows.FileNames(); len(names) != 1 {
		t.Fatal("small files did not merge:", names)
	}
	add(70_000)
	tb.save(d) // one file of 80,000
	first := tb.rows.FileNames()
	if len(first) != 1 {
		t.Fatal(first)
	}
	for i := range 13_000 {
		tb.killRow(5 * i)
	}
	add(10)
	tb.save(d)
	if names := tb.rows.FileNames(); len(names) != 2 || names[0] != first[0] {
		t.Fatal("a file with few dead rows was rewritten:", names)
	}
	if kinds(d) != "fflln" {
		t.Fatal(kinds(d))
	}
	for i := range 10_000 {
		tb.killRow(5*i + 1)
	}
	tb.save(d)
	if names := tb.rows.FileNames(); len(names) != 1 || kinds(d) != "fn" {
		t.Fatal("a file with a dead quarter was not rewritten:", names, kinds(d))
	}
	rows := int64(0)
	for _, c := range tb.rows.Snapshot().Chunks {
		rows += int64(c.N)
	}
	if rows != tb.m.live() {
		t.Fatalf("%d rows are kept for %d", rows, tb.m.live())
	}
	if tb.rows.Plan() != nil {
		t.Fatal("there is something to save after a save")
	}
	tb.check()
	for i := range tb.m.rows {
		tb.killRow(i)
	}
	tb.save(d)
	reopened := d.open(t, types)
	if names, _ := d.fs.List(d.dir); len(names) != 0 || kinds(d) != "n" || reopened.Next() != tb.rows.Next() {
		t.Fatal("an emptied table leaves", names, kinds(d), reopened.Next())
	}
	tb.check()
}

// kinds returns the kinds of the entries that are there, sorted.
func kinds(d *disk) string {
	var ks []string
	for k := range d.store {
		ks = append(ks, k[:1])
	}
	slices.Sort(ks)
	return strings.Join(ks, "")
}

// TestLargeFilesStay: a file of few rows of long text is not small, and is not merged.
func TestLargeFilesStay(t *testing.T) {
	text := column.T(column.Varchar)
	d := newDisk()
	tb := &table{t: t, rows: image.NewRows([]column.Type{text}), m: &model{}}
	for i := range 12 {
		cols := []column.Column{column.OfStrings(text, []string{strings.Repeat(fmt.Sprint(i%10), 5<<20), "", strings.Repeat("y", i)})}
		tb.rows.Append(cols, 3)
		tb.m.append(cols, 3)
		if i%4 == 3 {
			tb.save(d)
		}
	}
	if n := len(tb.rows.FileNames()); n != 3 {
		t.Fatal(n, "files")
	}
	tb.killRow(0)
	tb.killRow(2) // two of 12: a bitmap
	tb.save(d)
	for i := 12; i < 24; i += 3 {
		tb.killRow(i + 1)
	}
	tb.save(d)
	tb.check()
	if err := tb.m.diff(d.open(t, []column.Type{text}).Snapshot()); err != nil {
		t.Fatal(err)
	}
}

// TestWriteFaults: whichever operation of a save fails, the error is returned, nothing is left, the
// table shows what it did, and the next save succeeds.
func TestWriteFaults(t *testing.T) {
	src := newSource(columntest.Rand(t), 70_000)
	tb, d := newTable(t, src), newDisk()
	cols := src.batch(70_000)
	tb.rows.Append(cols, 70_000)
	tb.m.append(cols, 70_000)
	tb.save(d)
	mem := d.fs
	for k := int32(0); ; k++ {
		tb.append()
		tb.killRow(int(k))
		s := tb.rows.Plan()
		before, err := mem.List(d.dir)
		if err != nil {
			t.Fatal(err)
		}
		count := int32(0)
		faulty := errorfs.Wrap(mem, errorfs.InjectorFunc(func(op errorfs.Op) error {
			if op.Kind.ReadOrWrite() == errorfs.OpIsRead && op.Kind != errorfs.OpOpenDir || op.Kind == errorfs.OpRemove {
				return nil
			}
			if count++; count == k+1 {
				return errorfs.ErrInjected
			}
			return nil
		}))
		entries, err := s.Write(faulty, d.dir, fmt.Sprintf("fault%d", k))
		if err == nil {
			d.commit(entries)
			d.remove(t, tb.rows.Installed(s))
			tb.check()
			if k < 5 {
				t.Fatal("only", k, "operations can fail")
			}
			return
		}
		if !errors.Is(err, errorfs.ErrInjected) {
			t.Fatal(err)
		}
		tb.rows.Failed(s)
		if after, _ := mem.List(d.dir); !slices.Equal(before, after) {
			t.Fatalf("after fault %d: %v, before %v", k, after, before)
		}
		tb.check()
	}
}
