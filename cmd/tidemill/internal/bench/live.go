package bench

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"tidemill/cmd/tidemill/internal/client"
)

// live sends Arrow bodies for a while, and reads the view meanwhile: every read must have all that was
// acknowledged when it was sent.
func live(ctx context.Context, r *runner) error {
	const rows, pool, apart = 20_000, 16, int64(1e12)
	bodies := make([][][]byte, r.Producers)
	idAt := func(p, k, i int) int64 { return int64(p)*apart + int64(k*rows+i) }
	for p := range bodies {
		for k := range pool {
			body, err := arrowBody(integers("id", rows, func(i int) int64 { return idAt(p, k, i) }))
			if err != nil {
				return err
			}
			bodies[p] = append(bodies[p], body)
		}
	}
	return r.with(ctx, func(t *target) error {
		if err := t.define(ctx, "TABLE", "src", "(id BIGINT)"); err != nil {
			return err
		}
		if err := t.define(ctx, "MATERIALIZED VIEW", "totals", totalsView(r.Keys)); err != nil {
			return err
		}
		var acked atomic.Int64
		var appends, reads client.Latencies
		var times [][]int
		var wrong error
		var took time.Duration
		begun := time.Now()
		end := begun.Add(r.length())
		err := together(ctx, 2, func(ctx context.Context, w int) (err error) {
			if w == 0 {
				times, err = t.cycle(ctx, "src", bodies, client.TypeArrow, end, &appends, func() { acked.Add(rows) })
				took = time.Since(begun)
				return err
			}
			wrong, err = t.readers(ctx, end, &acked, &reads)
			return err
		})
		if err != nil {
			return err
		}
		writing := (&Figure{Case: count(r.Producers, "producer") + ", " + grouped(int64(r.Keys)) + " keys", PeakMB: t.peak()}).
			timed(float64(appends.Len()*rows), "rows/s", took, &appends)
		reading := (&Figure{Case: "reads of the view meanwhile"}).timed(float64(reads.Len()), "reads/s", took, &reads).judge(wrong)
		want := newTotals(r.Keys)
		for p := range times {
			for k, n := range times[p] {
				for i := range rows {
					want.add(idAt(p, k, i), n)
				}
			}
		}
		if wrong, err = want.compare(ctx, t); err != nil {
			return err
		}
		if err := r.report(writing.judge(wrong)); err != nil {
			return err
		}
		return r.report(reading)
	})
}

// readers is one reader that asks ten times a second.
func (t *target) readers(ctx context.Context, end time.Time, acked *atomic.Int64, l *client.Latencies) (wrong, err error) {
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for time.Now().Before(end) {
		before, begun := acked.Load(), time.Now()
		row, err := t.row(ctx, "SELECT sum(n) AS n FROM @totals")
		if err != nil {
			return nil, err
		}
		l.Add(time.Since(begun))
		if n := row.Int("n"); n < before {
			return fmt.Errorf("%d rows are acknowledged and %d are seen", before, n), nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	return nil, nil
}
