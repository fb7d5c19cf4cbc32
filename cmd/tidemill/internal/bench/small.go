package bench

import "context"

// small sends bodies of a few rows through the three stages: what counts is the appends, not the rows.
func small(ctx context.Context, r *runner) error {
	const pool = 64
	for _, c := range []struct{ producers, rows int }{{1, 1}, {1, 10}, {1, 100}, {64, 1}} {
		f := newEventFlow(c.producers, pool, c.rows)
		name := count(c.producers, "producer") + ", bodies of " + count(c.rows, "row")
		if err := r.with(ctx, func(t *target) error { return f.measure(ctx, r, t, len(stages), name, 1, "appends/s") }); err != nil {
			return err
		}
	}
	return nil
}
