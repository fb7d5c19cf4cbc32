package demo

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"tidemill/cmd/tidemill/internal/client"
)

// load sends bids and auctions until its time is over, and records what was acknowledged.
type load struct {
	client *client.Client
	house  *house
	acked  [producers]atomic.Int64 // bids of each producer
	recent atomic.Pointer[client.Latencies]
	all    client.Latencies
	checks int // statements whose sums agreed
}

func newLoad(c *client.Client) *load {
	l := &load{client: c, house: newHouse(c)}
	l.recent.Store(&client.Latencies{})
	return l
}

func (l *load) bids() (n int64) {
	for p := range l.acked {
		n += l.acked[p].Load()
	}
	return n
}

// run returns when the time is over and everything that was sent is acknowledged, or with the first error.
func (l *load) run(ctx context.Context, length time.Duration, s *screen) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	end := time.Now().Add(length)
	const workers = producers + 2
	done := make(chan error, workers)
	for p := range producers {
		go func() { done <- l.produce(ctx, int64(p), end) }()
	}
	go func() { done <- l.trade(ctx, end) }()
	go func() { done <- l.watch(ctx, length, end, s) }()
	var first error
	for range workers {
		if err := <-done; err != nil && first == nil {
			first = err
			cancel()
		}
	}
	return first
}

// produce is one producer of bids: the next body goes when the last is acknowledged.
func (l *load) produce(ctx context.Context, p int64, end time.Time) error {
	var body []byte
	name := fmt.Sprintf("bidders-%d", p)
	for seq := 1; time.Now().Before(end); seq++ {
		from := l.acked[p].Load()
		body = appendBody(body[:0], p, from)
		sent := time.Now()
		ack, err := l.client.Append(ctx, "bids", name, seq, body, client.TypeNDJSON)
		if err != nil {
			return err
		}
		if ack.Accepted != bodyRows {
			return fmt.Errorf("append %d of %s: %d of %d rows were accepted", seq, name, ack.Accepted, bodyRows)
		}
		took := time.Since(sent)
		l.recent.Load().Add(took)
		l.all.Add(took)
		l.acked[p].Store(from + bodyRows)
	}
	return nil
}

// trade changes auctions a few dozen times a second.
func (l *load) trade(ctx context.Context, end time.Time) error {
	tick := time.NewTicker(25 * time.Millisecond)
	defer tick.Stop()
	for time.Now().Before(end) {
		if err := l.house.churn(ctx); err != nil {
			return err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// watch asks for the pulse again and again, checks it and shows it.
func (l *load) watch(ctx context.Context, length time.Duration, end time.Time, s *screen) error {
	begun := end.Add(-length)
	tick := time.NewTicker(s.refresh())
	defer tick.Stop()
	var before int64
	last := begun
	for time.Now().Before(end) {
		select {
		case <-tick.C:
		case <-time.After(time.Until(end)):
		case <-ctx.Done():
			return ctx.Err()
		}
		acked := l.bids()
		row, err := l.client.One(ctx, pulse)
		if err != nil {
			return err
		}
		if err := consistent(row, acked); err != nil {
			return err
		}
		l.checks++
		now := time.Now()
		q := l.recent.Swap(&client.Latencies{}).Quantiles(.5, .99)
		s.progress(progress{at: now.Sub(begun), of: length, bids: acked, rate: float64(acked-before) / now.Sub(last).Seconds(),
			p50: q[0], p99: q[1], row: row})
		before, last = acked, now
	}
	s.endProgress()
	return nil
}

// consistent holds one pulse against itself: every view must stand at the same commit, and at one that has
// all that was acknowledged before the question.
func consistent(row client.Row, acked int64) error {
	if n := row.Int("bids"); n < acked {
		return fmt.Errorf("%w: %d bids are acknowledged, but a statement sent afterwards sees %d", ErrNotProven, acked, n)
	}
	for _, view := range []string{"valid", "on_board", "in_market"} {
		if row.Int(view) != row.Int("expected") {
			return fmt.Errorf("%w: one statement saw two commits: %v", ErrNotProven, row)
		}
	}
	if row.Int("open") != row.Int("open_expected") {
		return fmt.Errorf("%w: one statement saw two commits: %v", ErrNotProven, row)
	}
	return nil
}
