package runtime

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"tidemill/state/column"
)

// BenchmarkAppend is appends of 100,000 rows by 4 producers under no view, and under a count and an exact sum
// by 100,000 keys: everything but HTTP and decoding. ns/row is for the whole machine.
func BenchmarkAppend(b *testing.B) {
	const rows = 100_000
	for _, view := range []string{"", "CREATE MATERIALIZED VIEW totals AS SELECT id % 100000 AS user_id, count(*) AS n, sum(CAST(id % 10000 AS DOUBLE) / 100) AS s FROM src GROUP BY id % 100000"} {
		name := "bare"
		if view != "" {
			name = "agg"
		}
		b.Run(name, func(b *testing.B) {
			ctx := context.Background()
			e, err := Open(Options{Dir: b.TempDir()})
			if err != nil {
				b.Fatal(err)
			}
			defer e.Close()
			for _, q := range []string{"CREATE TABLE src (id BIGINT)", view} {
				if q == "" {
					continue
				}
				if _, err := e.Execute(ctx, q); err != nil {
					b.Fatal(err)
				}
			}
			rel, _ := e.Catalog().Lookup("src")
			b.ResetTimer()
			var wg sync.WaitGroup
			for p := range 4 {
				wg.Add(1)
				go func() {
					defer wg.Done()
					for i := p; i < b.N; i += 4 {
						ids := make([]int64, rows)
						for k := range ids {
							ids[k] = int64(i*rows + k)
						}
						_, err := e.Append(ctx, AppendRequest{Relation: rel.ID, Version: rel.Version, N: rows,
							Cols: []column.Column{column.Of(column.T(column.Int64), ids, nil)}, Producer: fmt.Sprint(p), Seq: uint64(i/4 + 1)})
						if err != nil {
							b.Error(err)
							return
						}
					}
				}()
			}
			wg.Wait()
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/rows, "ns/row")
		})
	}
}
