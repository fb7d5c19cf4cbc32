package bench

import (
	"context"
	"time"

	"tidemill/cmd/tidemill/internal/client"
)

// etl appends ids to a table that a view filters and computes with, a row from a row.
func etl(ctx context.Context, r *runner) error {
	bodies, err := r.idBodies()
	if err != nil {
		return err
	}
	var n, ids, users, cents, categories int64
	for i := range int64(r.Rows) {
		if c := i * 48271 % 10000; c > 5000 {
			n, ids, users, cents, categories = n+1, ids+i, users+i%100000, cents+c, categories+i%1000
		}
	}
	return r.with(ctx, func(t *target) error {
		if err := t.define(ctx, "TABLE", "src", "(id BIGINT)"); err != nil {
			return err
		}
		if err := t.define(ctx, "MATERIALIZED VIEW", "out", `AS SELECT id, id % 100000 AS user_id,
			CAST((id * 48271) % 10000 AS DOUBLE) / 100 AS amount, id % 1000 AS category
			FROM @src WHERE (id * 48271) % 10000 > 5000`); err != nil {
			return err
		}
		var l client.Latencies
		begun := time.Now()
		if err := t.push(ctx, "src", bodies, client.TypeArrow, &l); err != nil {
			return err
		}
		wrong, err := t.sums(ctx, "SELECT count(*) AS n FROM @out", map[string]int64{"n": n})
		if err != nil {
			return err
		}
		f := &Figure{Case: count(r.Producers, "producer") + ", " + grouped(n) + " rows kept"}
		f.timed(float64(r.Rows), "rows/s", time.Since(begun), &l)
		f.PeakMB = t.peak()
		if wrong == nil {
			wrong, err = t.sums(ctx, `SELECT count(DISTINCT id) AS n, sum(id) AS ids, sum(user_id) AS users,
				sum(CAST(round(amount * 100) AS BIGINT)) AS cents, sum(category) AS categories FROM @out`,
				map[string]int64{"n": n, "ids": ids, "users": users, "cents": cents, "categories": categories})
		}
		if err != nil {
			return err
		}
		return r.report(f.judge(wrong))
	})
}
