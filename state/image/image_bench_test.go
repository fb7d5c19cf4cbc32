package image_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"tidemill/state/column"
	"tidemill/state/column/columntest"
	"tidemill/state/image"
)

var benchTypes = []column.Type{
	column.T(column.Int64), column.T(column.Varchar), column.T(column.Double), column.T(column.Timestamp), column.T(column.Int32),
}

func benchBatch(b *testing.B, n int) []column.Column {
	return columntest.Columns(columntest.Rand(b), benchTypes, n)
}

// filled returns a table of n rows in batches of 10,000, with one row in a hundred dead.
func filled(b *testing.B, n int) *image.Rows {
	cols := benchBatch(b, 10_000)
	rows := image.NewRows(benchTypes)
	for rows.Next() <= uint64(n) {
		rows.Append(cols, 10_000)
	}
	for id := uint64(1); id < rows.Next(); id += 100 {
		if _, err := rows.Kill(id); err != nil {
			b.Fatal(err)
		}
	}
	return rows
}

func BenchmarkAppend1000(b *testing.B) {
	cols := benchBatch(b, 1_000)
	rows := image.NewRows(benchTypes)
	b.ReportAllocs()
	for b.Loop() {
		rows.Append(cols, 1_000)
		rows.Publish()
		if rows.Next() > 5_000_000 {
			rows = image.NewRows(benchTypes)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/1_000, "ns/row")
}

func BenchmarkKill(b *testing.B) {
	rows := filled(b, 1_000_000)
	r := rand.New(rand.NewPCG(1, 1))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := rows.Kill(1 + r.Uint64N(1_000_000)); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkSnapshot(b *testing.B) {
	rows := filled(b, 1_000_000)
	b.ReportAllocs()
	for b.Loop() {
		rows.Snapshot()
	}
}

func BenchmarkFind(b *testing.B) {
	rows := filled(b, 1_000_000)
	rows.Publish()
	r := rand.New(rand.NewPCG(1, 1))
	b.ReportAllocs()
	for b.Loop() {
		if c, _, err := rows.Directory().Find(1 + r.Uint64N(1_000_000)); c == nil || err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkWrite saves a million rows to disk, sync included.
func BenchmarkWrite(b *testing.B) {
	rows, d := filled(b, 1_000_000), realDisk(b)
	b.ReportAllocs()
	for b.Loop() {
		s := rows.Plan()
		d.saves++
		entries, err := s.Write(d.fs, d.dir, fmt.Sprintf("t%d", d.saves))
		if err != nil || len(entries) < 2 {
			b.Fatal(err)
		}
		names, err := d.fs.List(d.dir)
		if err != nil {
			b.Fatal(err)
		}
		rows.Failed(s)
		for _, name := range names { // and the next save forgets them
			d.remove(b, []string{d.fs.PathJoin(d.dir, name)})
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/1e6, "ns/row")
}
