package bench

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"tidemill/cmd/tidemill/internal/client"
)

// together runs n workers and returns when all have ended, with their errors. The first error ends the others.
func together(ctx context.Context, n int, work func(ctx context.Context, worker int) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var wg sync.WaitGroup
	errs := make([]error, n)
	for w := range n {
		wg.Go(func() {
			if errs[w] = work(ctx, w); errs[w] != nil {
				cancel()
			}
		})
	}
	wg.Wait()
	for _, err := range errs {
		if err != nil && !errors.Is(err, context.Canceled) {
			return err
		}
	}
	return errors.Join(errs...)
}

// producerName is the producer of worker w. A producer counts over all tables of a server, so on one that is
// not ours alone each case has producers of its own.
func (t *target) producerName(w int) string { return fmt.Sprintf("%sp%d", t.prefix, w) }

// push sends each producer's bodies in order.
func (t *target) push(ctx context.Context, table string, bodies [][][]byte, contentType string, l *client.Latencies) error {
	return together(ctx, len(bodies), func(ctx context.Context, w int) error {
		for i, body := range bodies[w] {
			begun := time.Now()
			if _, err := t.Append(ctx, t.name(table), t.producerName(w), i+1, body, contentType); err != nil {
				return err
			}
			l.Add(time.Since(begun))
		}
		return nil
	})
}

// cycle sends each producer's bodies again and again until the time is over. It returns how often each was
// acknowledged, and adds its latencies to l; acked is told of each acknowledgement.
func (t *target) cycle(ctx context.Context, table string, bodies [][][]byte, contentType string, end time.Time,
	l *client.Latencies, acked func()) ([][]int, error) {
	times := make([][]int, len(bodies))
	err := together(ctx, len(bodies), func(ctx context.Context, w int) error {
		mine := make([]int, len(bodies[w]))
		times[w] = mine
		var took []time.Duration
		for seq := 1; time.Now().Before(end); seq++ {
			k := seq % len(mine)
			begun := time.Now()
			if _, err := t.Append(ctx, t.name(table), t.producerName(w), seq, bodies[w][k], contentType); err != nil {
				return err
			}
			took = append(took, time.Since(begun))
			mine[k]++
			acked()
		}
		l.Add(took...)
		return nil
	})
	return times, err
}

// length is how long a timed case lasts.
func (r *runner) length() time.Duration { return time.Duration(r.Seconds * float64(time.Second)) }
