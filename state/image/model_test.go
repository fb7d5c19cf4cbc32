package image_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"tidemill/state/column"
	"tidemill/state/column/columntest"
	"tidemill/state/image"
)

var types = []column.Type{
	column.T(column.Int64), column.T(column.Varchar), column.T(column.Bool), column.DecimalOf(38, 10), column.T(column.Blob), column.T(column.Int16),
}

// source gives batches of random rows, cut out of one large batch, which is much faster than making
// each.
type source struct {
	r    *rand.Rand
	cols []column.Column
	n    int
}

func newSource(r *rand.Rand, n int) *source {
	return &source{r, columntest.Columns(r, types, n), n}
}

func (s *source) batch(n int) []column.Column {
	lo := s.r.IntN(s.n - n + 1)
	cols := make([]column.Column, len(s.cols))
	for i := range cols {
		cols[i] = s.cols[i].Slice(lo, lo+n)
	}
	return cols
}

// size is how many rows to append: mostly few, at times enough for a chunk without a copy.
func (s *source) size() int {
	switch s.r.IntN(8) {
	case 0:
		return 8_000 + s.r.IntN(12_001)
	case 1:
		return 1
	case 2, 3:
		return 1 + s.r.IntN(3_000)
	}
	return 1 + s.r.IntN(40)
}

// model is the plain twin of Rows: every row ever appended, and whether it is there.
type model struct {
	rows  []modelRow // of rowid i+1
	alive []bool
}

type modelRow struct {
	cols []column.Column
	i    int
}

func (m *model) append(cols []column.Column, n int) {
	for i := range n {
		m.rows = append(m.rows, modelRow{cols, i})
		m.alive = append(m.alive, true)
	}
}

func (m *model) clone() *model { return &model{slices.Clone(m.rows), slices.Clone(m.alive)} }

func (m *model) live() (n int64) {
	for _, a := range m.alive {
		if a {
			n++
		}
	}
	return n
}

// diffRow compares row i of cols with the row of that rowid.
func (m *model) diffRow(cols []column.Column, i int, rowid uint64) error {
	if rowid == 0 || rowid > uint64(len(m.rows)) {
		return fmt.Errorf("row %d never was", rowid)
	}
	want := m.rows[rowid-1]
	if len(cols) != len(want.cols) {
		return fmt.Errorf("row %d has %d columns", rowid, len(cols))
	}
	for k := range cols {
		a, b := &want.cols[k], &cols[k]
		if a.Type != b.Type || a.IsNull(want.i) != b.IsNull(i) || !a.IsNull(want.i) && !bytes.Equal(a.Raw(want.i), b.Raw(i)) {
			return fmt.Errorf("row %d column %d: %x (null %v), expected %x (null %v)",
				rowid, k, b.Raw(i), b.IsNull(i), a.Raw(want.i), a.IsNull(want.i))
		}
	}
	return nil
}

// diff compares a snapshot with the model: the same rows in the order of rowids.
func (m *model) diff(s *image.Snapshot) error {
	next, rows := 0, int64(0)
	for _, c := range s.Chunks {
		cols, err := c.Columns()
		if err != nil {
			return err
		}
		for i := range c.N {
			if c.Live != nil && !column.Bit(c.Live, i) {
				continue
			}
			for next < len(m.alive) && !m.alive[next] {
				next++
			}
			if id := c.RowID(i); id != uint64(next+1) {
				return fmt.Errorf("row %d where row %d is expected", id, next+1)
			}
			if err := m.diffRow(cols, i, c.RowID(i)); err != nil {
				return err
			}
			next++
			rows++
		}
	}
	if want := m.live(); rows != want || s.Rows != want {
		return fmt.Errorf("%d rows, announced %d, expected %d", rows, s.Rows, want)
	}
	return nil
}

// frozen is a snapshot with what it showed when it was taken.
type frozen struct {
	snap *image.Snapshot
	then *model
}

// table is Rows with its model.
type table struct {
	t     testing.TB
	src   *source
	rows  *image.Rows
	m     *model
	snaps []frozen
}

func (tb *table) append() {
	n := tb.src.size()
	cols := tb.src.batch(n)
	want := uint64(len(tb.m.rows) + 1)
	if first := tb.rows.Append(cols, n); first != want || tb.rows.Next() != want+uint64(n) {
		tb.t.Fatalf("append %d rows: first %d, next %d, expected %d", n, first, tb.rows.Next(), want)
	}
	tb.m.append(cols, n)
}

// kill kills a stretch, a scatter or a single row.
func (tb *table) kill() {
	r, n := tb.src.r, len(tb.m.rows)
	if n == 0 {
		return
	}
	switch r.IntN(3) {
	case 0:
		lo := r.IntN(n)
		for i := lo; i < min(n, lo+r.IntN(4_000)); i++ {
			tb.killRow(i)
		}
	case 1:
		for range r.IntN(300) {
			tb.killRow(r.IntN(n))
		}
	default:
		tb.killRow(r.IntN(n))
	}
}

func (tb *table) killRow(i int) {
	was, err := tb.rows.Kill(uint64(i + 1))
	if err != nil || was != tb.m.alive[i] {
		tb.t.Fatalf("kill row %d: %v, %v, expected %v", i+1, was, err, tb.m.alive[i])
	}
	tb.m.alive[i] = false
}

func (tb *table) snapshot() {
	tb.snaps = append(tb.snaps, frozen{tb.rows.Snapshot(), tb.m.clone()})
	if len(tb.snaps) > 6 {
		k := tb.src.r.IntN(len(tb.snaps))
		tb.checkSnap(tb.snaps[k])
		tb.snaps = slices.Delete(tb.snaps, k, k+1)
	}
}

func (tb *table) checkSnap(f frozen) {
	tb.t.Helper()
	if err := f.then.diff(f.snap); err != nil {
		tb.t.Fatalf("snapshot taken at row %d, now at row %d: %v", len(f.then.rows), len(tb.m.rows), err)
	}
}

// find publishes and looks rows up: those there must be found, others are found as they were or not.
func (tb *table) find() {
	tb.rows.Publish()
	d := tb.rows.Directory()
	for range 50 {
		id := tb.src.r.Uint64N(uint64(len(tb.m.rows) + 2))
		c, i, err := d.Find(id)
		if err != nil {
			tb.t.Fatal(err)
		}
		there := id > 0 && id <= uint64(len(tb.m.rows)) && tb.m.alive[id-1]
		if c == nil {
			if there {
				tb.t.Fatalf("row %d is not found", id)
			}
			continue
		}
		cols, err := c.Columns()
		if err != nil {
			tb.t.Fatal(err)
		}
		if c.RowID(i) != id {
			tb.t.Fatalf("row %d found where %d was sought", c.RowID(i), id)
		}
		if err := tb.m.diffRow(cols, i, id); err != nil {
			tb.t.Fatal(err)
		}
	}
}

func (tb *table) gather() {
	var ids []uint64
	for range 20 {
		if n := len(tb.m.rows); n > 0 {
			if i := tb.src.r.IntN(n); tb.m.alive[i] {
				ids = append(ids, uint64(i+1))
			}
		}
	}
	cols, err := tb.rows.Gather(ids)
	if err != nil {
		tb.t.Fatal(err)
	}
	for i, id := range ids {
		if err := tb.m.diffRow(cols, i, id); err != nil {
			tb.t.Fatal(err)
		}
	}
}

// step does something at random that a commit or a reader does.
func (tb *table) step() {
	switch tb.src.r.IntN(9) {
	case 0, 1, 2:
		tb.append()
	case 3, 4, 5:
		tb.kill()
	case 6:
		tb.snapshot()
	case 7:
		tb.find()
	case 8:
		tb.gather()
	}
	if tb.rows.Live() != tb.m.live() {
		tb.t.Fatalf("%d rows are alive, expected %d", tb.rows.Live(), tb.m.live())
	}
}

// check compares everything that the table shows with the model.
func (tb *table) check() {
	tb.t.Helper()
	tb.checkSnap(frozen{tb.rows.Snapshot(), tb.m})
	for _, f := range tb.snaps {
		tb.checkSnap(f)
	}
}
