package demo

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"

	"tidemill/cmd/tidemill/internal/client"
)

// ErrNotProven is returned when a relation is not what the events make it.
var ErrNotProven = errors.New("an answer is wrong")

// proof is what one relation was compared with, row by row.
type proof struct {
	relation string
	rows     int64
	took     time.Duration
}

// prove compares every relation of the flow with the model. It goes on after a difference, and returns all.
func prove(ctx context.Context, c *client.Client, l *load, m *model, shown func(proof, error)) error {
	var errs []error
	check := func(relation string, compare func() (int64, error)) {
		begun := time.Now()
		rows, err := compare()
		if err != nil {
			err = fmt.Errorf("%s: %w", relation, err)
			errs = append(errs, err)
		}
		shown(proof{relation, rows, time.Since(begun)}, err)
	}
	check("bids", func() (int64, error) {
		return m.compareBids(ctx, c, "SELECT id, auction, category, CAST(price * 100 AS BIGINT) AS cents, channel FROM bids", func(*bid) bool { return true })
	})
	check("auctions", func() (int64, error) { return compareRows(ctx, c, "auctions", l.auctionRows(), "id") })
	check("valid_bids", func() (int64, error) {
		return m.compareBids(ctx, c, "SELECT id, auction, category, CAST(price * 100 AS BIGINT) AS cents, channel FROM valid_bids", (*bid).valid)
	})
	check("board", func() (int64, error) { return compareRows(ctx, c, "board", m.boardRows(), "auction", "category") })
	check("market", func() (int64, error) { return compareRows(ctx, c, "market", m.marketRows(), "category") })
	check("offers", func() (int64, error) { return compareRows(ctx, c, "offers", m.offerRows(), "category", "status") })
	return errors.Join(errs...)
}

// compareRows reads a relation whole and holds each row against the one that must be there.
func compareRows(ctx context.Context, c *client.Client, relation string, want []client.Row, key ...string) (int64, error) {
	got, err := c.SQL(ctx, "SELECT * FROM "+relation)
	if err != nil {
		return 0, err
	}
	keyOf := func(r client.Row) string {
		parts := make([]string, len(key))
		for i, k := range key {
			parts[i] = r.Text(k)
		}
		return strings.Join(parts, ",")
	}
	left := make(map[string]client.Row, len(want))
	for _, w := range want {
		left[keyOf(w)] = w
	}
	for _, g := range got {
		k := keyOf(g)
		w, ok := left[k]
		if !ok {
			return 0, fmt.Errorf("%w: row %v is there but should not be", ErrNotProven, g)
		}
		delete(left, k)
		if len(g) != len(w) {
			return 0, fmt.Errorf("%w: row %v has other columns than %v", ErrNotProven, g, w)
		}
		for name := range w {
			if g.Text(name) != w.Text(name) {
				return 0, fmt.Errorf("%w: row %v should be %v", ErrNotProven, g, w)
			}
		}
	}
	for _, w := range left {
		return 0, fmt.Errorf("%w: row %v is missing", ErrNotProven, w)
	}
	return int64(len(got)), nil
}

// compareBids streams a relation of bids and makes each again from its id; include says which belong in it.
func (m *model) compareBids(ctx context.Context, c *client.Client, sql string, include func(*bid) bool) (int64, error) {
	body, err := c.Arrow(ctx, sql)
	if err != nil {
		return 0, err
	}
	defer body.Close()
	r, err := ipc.NewReader(body)
	if err != nil {
		return 0, fmt.Errorf("read answer: %w", err)
	}
	defer r.Release()
	seen := newMarks(m.acked)
	var rows int64
	for r.Next() {
		rec := r.RecordBatch()
		if err := m.compareBatch(rec, seen, include); err != nil {
			return rows, err
		}
		rows += rec.NumRows()
	}
	if err := r.Err(); err != nil {
		return rows, fmt.Errorf("read answer: %w", err)
	}
	for p := range m.acked {
		for i := range m.acked[p] {
			id := idOf(int64(p), i)
			if seen.has(id) || m.gone[id] {
				continue
			}
			if b := bidOf(id); include(&b) {
				return rows, fmt.Errorf("%w: bid %d is missing", ErrNotProven, id)
			}
		}
	}
	return rows, nil
}

func (m *model) compareBatch(rec arrow.RecordBatch, seen *marks, include func(*bid) bool) error {
	ids, ok1 := rec.Column(0).(*array.Int64)
	auction, ok2 := rec.Column(1).(*array.Int64)
	category, ok3 := rec.Column(2).(array.StringLike)
	cents, ok4 := rec.Column(3).(*array.Int64)
	channel, ok5 := rec.Column(4).(array.StringLike)
	if !ok1 || !ok2 || !ok3 || !ok4 || !ok5 {
		return fmt.Errorf("%w: the answer has columns %v", ErrNotProven, rec.Schema())
	}
	for i := range ids.Len() {
		id := ids.Value(i)
		b := bidOf(id)
		if m.gone[id] || !include(&b) || !seen.mark(id) {
			return fmt.Errorf("%w: bid %d is there but should not be, or is there twice", ErrNotProven, id)
		}
		if auction.Value(i) != b.auction || category.Value(i) != categoryOf(b.auction) || channel.Value(i) != b.channel ||
			cents.IsNull(i) == b.priced || b.priced && cents.Value(i) != b.cents {
			return fmt.Errorf("%w: bid %d has other values: auction %d, category %s, cents %d, channel %s instead of %+v", ErrNotProven,
				id, auction.Value(i), category.Value(i), cents.Value(i), channel.Value(i), b)
		}
	}
	return nil
}

// marks is a bit for each bid.
type marks struct {
	acked [producers]int64
	bits  [producers][]uint64
}

func newMarks(acked [producers]int64) *marks {
	m := &marks{acked: acked}
	for p, n := range acked {
		m.bits[p] = make([]uint64, n/64+1)
	}
	return m
}

// mark sets a bid's bit; it returns false for one that is set already or was never sent.
func (m *marks) mark(id int64) bool {
	p, i := id>>producerBits, id&(1<<producerBits-1)
	if p < 0 || p >= producers || i >= m.acked[p] || m.has(id) {
		return false
	}
	m.bits[p][i/64] |= 1 << (i % 64)
	return true
}

func (m *marks) has(id int64) bool {
	p, i := id>>producerBits, id&(1<<producerBits-1)
	return m.bits[p][i/64]>>(i%64)&1 == 1
}
