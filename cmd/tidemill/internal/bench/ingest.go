package bench

import (
	"context"
	"time"

	"tidemill/cmd/tidemill/internal/client"
)

// ingest appends ids to a table that nothing follows.
func ingest(ctx context.Context, r *runner) error {
	bodies, err := r.idBodies()
	if err != nil {
		return err
	}
	return r.with(ctx, func(t *target) error {
		if err := t.define(ctx, "TABLE", "src", "(id BIGINT)"); err != nil {
			return err
		}
		var l client.Latencies
		begun := time.Now()
		if err := t.push(ctx, "src", bodies, client.TypeArrow, &l); err != nil {
			return err
		}
		n := int64(r.Rows)
		f := &Figure{Case: count(r.Producers, "producer")}
		// The first read after the last acknowledgement must have everything.
		wrong, err := t.sums(ctx, "SELECT count(*) AS n FROM @src", map[string]int64{"n": n})
		if err != nil {
			return err
		}
		f.timed(float64(n), "rows/s", time.Since(begun), &l)
		f.PeakMB = t.peak() // the check below is not the work
		if wrong == nil {
			wrong, err = t.sums(ctx, "SELECT count(DISTINCT id) AS n, sum(id) AS s, min(id) AS lo, max(id) AS hi FROM @src",
				map[string]int64{"n": n, "s": n * (n - 1) / 2, "lo": 0, "hi": n - 1})
		}
		if err != nil {
			return err
		}
		return r.report(f.judge(wrong))
	})
}
