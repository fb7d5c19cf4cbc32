package bench

import (
	"context"
	"time"

	"tidemill/cmd/tidemill/internal/client"
)

// aggregate appends ids to a table that a view groups; the clock stops when a read of the view has them all.
func aggregate(ctx context.Context, r *runner) error {
	bodies, err := r.idBodies()
	if err != nil {
		return err
	}
	want := newTotals(r.Keys)
	for i := range r.Rows {
		want.add(int64(i), 1)
	}
	return r.with(ctx, func(t *target) error {
		if err := t.define(ctx, "TABLE", "src", "(id BIGINT)"); err != nil {
			return err
		}
		if err := t.define(ctx, "MATERIALIZED VIEW", "totals", totalsView(r.Keys)); err != nil {
			return err
		}
		var l client.Latencies
		begun := time.Now()
		if err := t.push(ctx, "src", bodies, client.TypeArrow, &l); err != nil {
			return err
		}
		wrong, err := t.sums(ctx, "SELECT sum(n) AS n FROM @totals", map[string]int64{"n": int64(r.Rows)})
		if err != nil {
			return err
		}
		f := &Figure{Case: count(r.Producers, "producer") + ", " + grouped(int64(r.Keys)) + " keys"}
		f.timed(float64(r.Rows), "rows/s", time.Since(begun), &l)
		f.PeakMB = t.peak()
		if wrong == nil {
			wrong, err = want.compare(ctx, t)
		}
		if err != nil {
			return err
		}
		return r.report(f.judge(wrong))
	})
}
