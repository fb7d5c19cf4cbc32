package bench

import (
	"context"
	"sync/atomic"
	"time"

	"tidemill/cmd/tidemill/internal/client"
)

// flow sends NDJSON bodies for a while; each case has one stage more. Meanwhile one statement a second must
// see one commit.
func flow(ctx context.Context, r *runner) error {
	const rows, pool = 1000, 64
	f := newEventFlow(r.Producers, pool, rows)
	for depth := range len(stages) + 1 {
		if err := r.with(ctx, func(t *target) error { return f.measure(ctx, r, t, depth, count(depth, "stage"), rows, "rows/s") }); err != nil {
			return err
		}
	}
	return nil
}

// measure cycles through the bodies for a while. perAppend is what one append counts for in the rate.
func (f *eventFlow) measure(ctx context.Context, r *runner, t *target, depth int, name string, perAppend int64, unit string) error {
	if err := f.begin(ctx, t, depth); err != nil {
		return err
	}
	var acked atomic.Int64
	var l client.Latencies
	var times [][]int
	var wrong error
	begun := time.Now()
	end := begun.Add(r.length())
	var took time.Duration
	err := together(ctx, 2, func(ctx context.Context, w int) (err error) {
		if w == 0 {
			times, err = t.cycle(ctx, "events", f.bodies, client.TypeNDJSON, end, &l, func() { acked.Add(f.effects[0][0].rows) })
			took = time.Since(begun)
			return err
		}
		wrong, err = f.watch(ctx, t, depth, end, &acked)
		return err
	})
	if err != nil {
		return err
	}
	fig := &Figure{Case: name, PeakMB: t.peak()}
	fig.timed(float64(int64(l.Len())*perAppend), unit, took, &l)
	if wrong == nil {
		if wrong, err = f.compare(ctx, t, depth, times); err != nil {
			return err
		}
	}
	return r.report(fig.judge(wrong))
}

// watch asks for consistency each second until the end.
func (f *eventFlow) watch(ctx context.Context, t *target, depth int, end time.Time, acked *atomic.Int64) (wrong, err error) {
	for wrong == nil && err == nil {
		select {
		case <-time.After(min(time.Second, time.Until(end))):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		if !time.Now().Before(end) {
			break
		}
		wrong, err = consistent(ctx, t, depth, acked.Load())
	}
	return wrong, err
}
