package image_test

import (
	"strings"
	"sync"
	"testing"

	"tidemill/state/column"
	"tidemill/state/column/columntest"
	"tidemill/state/image"
)

func newTable(t testing.TB, src *source) *table {
	return &table{t: t, src: src, rows: image.NewRows(types), m: &model{}}
}

// TestRows: appends, kills, snapshots and lookups in memory equal the model's, and no snapshot
// changes once it is taken.
func TestRows(t *testing.T) {
	src := newSource(columntest.Rand(t), 25_000)
	for range 5 {
		tb := newTable(t, src)
		for range 50 {
			tb.step()
		}
		tb.check()
	}
}

// TestEmpty: a table without rows.
func TestEmpty(t *testing.T) {
	rows := image.NewRows(types)
	rows.Publish()
	if s := rows.Snapshot(); len(s.Chunks) != 0 || s.Rows != 0 || rows.Next() != 1 || rows.Plan() != nil {
		t.Fatal("an empty table is not empty")
	}
	if c, _, err := rows.Directory().Find(1); c != nil || err != nil {
		t.Fatal(c, err)
	}
	if was, err := rows.Kill(1); was || err != nil {
		t.Fatal(was, err)
	}
	if _, err := rows.Gather([]uint64{1}); err == nil {
		t.Fatal("a row that never was is gathered")
	}
}

// TestTailFills: the tail becomes a chunk at ChunkRows exactly, and a larger batch several.
func TestTailFills(t *testing.T) {
	tb := newTable(t, newSource(columntest.Rand(t), 25_000))
	for len(tb.m.rows) < image.ChunkRows+10 {
		cols := tb.src.batch(7_000)
		tb.rows.Append(cols, 7_000)
		tb.m.append(cols, 7_000)
	}
	big := columntest.Columns(tb.src.r, types, image.ChunkRows+5)
	tb.rows.Append(big, image.ChunkRows+5)
	tb.m.append(big, image.ChunkRows+5)
	tb.check()
	var sizes []int
	for _, c := range tb.rows.Snapshot().Chunks {
		sizes = append(sizes, c.N)
	}
	if len(sizes) != 4 || sizes[0] != image.ChunkRows || sizes[2] != image.ChunkRows || sizes[3] != 5 {
		t.Fatal("chunks of", sizes)
	}
}

// TestLargeValues: texts of megabytes end a tail early, a batch of them is not copied, and slices of
// one batch are counted once.
func TestLargeValues(t *testing.T) {
	text := column.T(column.Varchar)
	rows := image.NewRows([]column.Type{text})
	word := strings.Repeat("tide", 1<<20)
	for i := range 20 {
		cols := []column.Column{column.OfStrings(text, []string{word[i:], "x"})}
		rows.Append(cols, 2)
	}
	batch := make([]string, 20)
	for i := range batch {
		batch[i] = word[i:]
	}
	large := column.OfStrings(text, batch)
	rows.Append([]column.Column{large}, len(batch))
	snap := rows.Snapshot()
	if len(snap.Chunks) != 3 {
		t.Fatalf("%d chunks", len(snap.Chunks))
	}
	last, err := snap.Chunks[2].Columns()
	if err != nil || &last[0].Data[0] != &large.Data[0] {
		t.Fatal("a batch of large texts was copied", err)
	}
	for i := range 20 {
		got, err := rows.Gather([]uint64{uint64(2*i + 1), uint64(2*i + 2)})
		if err != nil || got[0].Str(0) != word[i:] || got[0].Str(1) != "x" {
			t.Fatalf("text %d: %v", i, err)
		}
	}

	many := image.NewRows([]column.Type{text})
	b := column.NewBuilder(text, 0)
	for range 3 * image.ChunkRows {
		b.AppendString("some text of thirty-one bytes..")
	}
	col := b.Finish()
	many.Append([]column.Column{col}, col.N)
	if got, most := many.Memory(), int64(col.Size())+100; got > most {
		t.Fatalf("%d bytes are counted for a batch of %d", got, col.Size())
	}
}

// TestFindConcurrently: readers find rows while the committer appends, kills, publishes and saves.
// Every row that the directory was published with is found, with its values.
func TestFindConcurrently(t *testing.T) {
	src := newSource(columntest.Rand(t), 25_000)
	tb, disk := newTable(t, src), newDisk()
	cols := src.batch(20_000)
	published := make(chan struct{})
	var wg sync.WaitGroup
	stop := sync.OnceFunc(func() { close(published); wg.Wait() })
	defer stop()
	for w := range 3 {
		wg.Go(func() {
			for k := uint64(w); ; k += 7 {
				select {
				case <-published:
					return
				default:
				}
				d := tb.rows.Directory()
				id := 1 + k%20_000 // never killed below
				c, i, err := d.Find(id)
				if err != nil {
					t.Error(err)
					return
				}
				if c == nil {
					continue // not published yet
				}
				got, err := c.Columns()
				if err != nil {
					t.Error(err)
					return
				}
				want := modelRow{cols, int(id - 1)}
				one := &model{rows: []modelRow{want}}
				if err := one.diffRow(got, i, 1); err != nil || c.RowID(i) != id {
					t.Errorf("row %d: %v", id, err)
					return
				}
			}
		})
	}
	for lo := 0; lo < 20_000; lo += 2_000 { // the first rows come in small batches
		part := make([]column.Column, len(cols))
		for k := range cols {
			part[k] = cols[k].Slice(lo, lo+2_000)
		}
		tb.rows.Append(part, 2_000)
		tb.m.append(part, 2_000)
		tb.rows.Publish()
	}
	for range 6 {
		tb.append()
		for i := 20_000; i < len(tb.m.rows); i += 2 {
			tb.killRow(i)
		}
		tb.rows.Publish()
		if save := tb.rows.Plan(); save != nil {
			done := make(chan []image.Entry)
			go func() { done <- disk.write(t, save) }()
			tb.append() // while it is written
			tb.killRow(len(tb.m.rows) - 1)
			tb.rows.Publish()
			disk.commit(<-done)
			disk.remove(t, tb.rows.Installed(save))
			tb.rows.Publish()
		}
	}
	stop()
	tb.check()
}
