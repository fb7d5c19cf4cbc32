package bench

import (
	"context"
	"errors"
	"fmt"
	"time"

	"tidemill/cmd/tidemill/internal/client"
)

// footprint starts servers in empty directories, and lets the last one rest.
func footprint(ctx context.Context, r *runner) error {
	if r.URL != "" {
		return errors.New("it starts servers itself: run it without --url")
	}
	const starts = 5
	var boots client.Latencies
	for range starts {
		if err := r.with(ctx, func(t *target) error { boots.Add(t.boot); return nil }); err != nil {
			return err
		}
	}
	q := boots.Quantiles(.5, 1)
	f := &Figure{Case: fmt.Sprintf("start to first answer, %d starts", starts), P50: q[0].Seconds() * 1000, P99: q[1].Seconds() * 1000}
	if err := r.report(f.judge(nil)); err != nil {
		return err
	}
	return r.with(ctx, func(t *target) error {
		if err := rest(ctx, min(2*time.Second, r.length())); err != nil {
			return err
		}
		now, _ := t.memory()
		if err := r.report((&Figure{Case: "memory at rest", PeakMB: now}).judge(nil)); err != nil {
			return err
		}
		const n = 1_000_000
		wrong, err := t.sums(ctx, fmt.Sprintf("SELECT count(*) AS n, sum(i) AS s FROM generate_series(1, %d) t(i)", n), map[string]int64{"n": n, "s": n * (n + 1) / 2})
		if err != nil {
			return err
		}
		if err := rest(ctx, min(time.Second, r.length())); err != nil {
			return err
		}
		now, _ = t.memory()
		return r.report((&Figure{Case: "memory after a query", PeakMB: now}).judge(wrong))
	})
}

func rest(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
