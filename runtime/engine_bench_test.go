package runtime

import (
	"context"
	"fmt"
	"math/rand/v2"
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

// BenchmarkFlow is appends of 1,000 rows by 4 producers under 0 to 3 chained views: a filter, an aggregate
// by 8,000 keys of text, a rollup of that.
func BenchmarkFlow(b *testing.B) {
	const rows = 1000
	stages := []string{
		"CREATE MATERIALIZED VIEW silver AS SELECT id, user_id, region, amount, amount * 2 AS doubled FROM events WHERE kind <> 'test' AND amount > 0",
		"CREATE MATERIALIZED VIEW gold AS SELECT region, user_id, count(*) AS n, sum(amount) AS total FROM silver GROUP BY region, user_id",
		"CREATE MATERIALIZED VIEW platinum AS SELECT region, sum(n) AS n, sum(total) AS total FROM gold GROUP BY region",
	}
	for n := range len(stages) + 1 {
		b.Run(fmt.Sprintf("stages=%d", n), func(b *testing.B) {
			ctx := context.Background()
			e, err := Open(Options{Dir: b.TempDir()})
			if err != nil {
				b.Fatal(err)
			}
			defer e.Close()
			for _, q := range append([]string{"CREATE TABLE events (id BIGINT, user_id VARCHAR, region VARCHAR, amount BIGINT, kind VARCHAR)"}, stages[:n]...) {
				if _, err := e.Execute(ctx, q); err != nil {
					b.Fatal(err)
				}
			}
			rel, _ := e.Catalog().Lookup("events")
			rng := rand.New(rand.NewPCG(1, 2))
			ids, amounts := make([]int64, rows), make([]int64, rows)
			users, regions, kinds := make([]string, rows), make([]string, rows), make([]string, rows)
			b.ResetTimer()
			var wg sync.WaitGroup
			batches := make([][]column.Column, 64)
			for k := range batches {
				for i := range rows {
					ids[i], amounts[i], kinds[i] = int64(i), rng.Int64N(1020)-20, "sale"
					users[i], regions[i] = fmt.Sprintf("u%d", rng.IntN(1000)), fmt.Sprintf("r%d", rng.IntN(8))
				}
				text := column.T(column.Varchar)
				batches[k] = []column.Column{column.Of(column.T(column.Int64), append([]int64(nil), ids...), nil), column.OfStrings(text, users),
					column.OfStrings(text, regions), column.Of(column.T(column.Int64), append([]int64(nil), amounts...), nil), column.OfStrings(text, kinds)}
			}
			for p := range 4 {
				wg.Add(1)
				go func() {
					defer wg.Done()
					for i := p; i < b.N; i += 4 {
						_, err := e.Append(ctx, AppendRequest{Relation: rel.ID, Version: rel.Version, N: rows, Cols: batches[i%64], Producer: fmt.Sprint(p), Seq: uint64(i/4 + 1)})
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
