package bench

import (
	"context"
	"fmt"
	"math"

	"tidemill/cmd/tidemill/internal/client"
)

// same holds a row against the integers that it must have.
func same(got client.Row, want map[string]int64) error {
	for name, w := range want {
		if g := got.Int(name); g != w {
			return fmt.Errorf("%s is %s instead of %d", name, got.Text(name), w)
		}
	}
	return nil
}

// sums runs a query and holds its row against want. A query that fails is err, an answer that differs wrong.
func (t *target) sums(ctx context.Context, sql string, want map[string]int64) (wrong, err error) {
	got, err := t.row(ctx, sql)
	if err != nil {
		return nil, err
	}
	return same(got, want), nil
}

// near compares sums of the same floating values in different orders.
func near(a, b float64) bool { return math.Abs(a-b) <= 1e-9*math.Max(1, math.Abs(b)) }

// totals is what the view of agg and live must hold: for each key how many rows, and the sum of their amounts.
type totals struct {
	n   []int64
	sum []float64
}

func newTotals(keys int) *totals { return &totals{make([]int64, keys), make([]float64, keys)} }

// totalsView is the view: amounts are hundredths of the id's last four digits.
func totalsView(keys int) string {
	return fmt.Sprintf("AS SELECT id %% %d AS user_id, count(*) AS n, sum(CAST(id %% 10000 AS DOUBLE) / 100) AS s FROM @src GROUP BY id %% %d", keys, keys)
}

// add counts an id some times.
func (w *totals) add(id int64, times int) {
	k := id % int64(len(w.n))
	w.n[k] += int64(times)
	w.sum[k] += float64(times) * (float64(id%10000) / 100)
}

// compare reads the view whole and holds every group against what it must be.
func (w *totals) compare(ctx context.Context, t *target) (wrong, err error) {
	rows, err := t.SQL(ctx, t.text("SELECT user_id, n, s FROM @totals"))
	if err != nil {
		return nil, err
	}
	groups := 0
	for _, n := range w.n {
		if n > 0 {
			groups++
		}
	}
	seen := make([]bool, len(w.n))
	for _, row := range rows {
		k := row.Int("user_id")
		if k < 0 || k >= int64(len(w.n)) || seen[k] {
			return fmt.Errorf("group %d is there twice or should not be", k), nil
		}
		seen[k] = true
		if row.Int("n") != w.n[k] || !near(row.Float("s"), w.sum[k]) {
			return fmt.Errorf("group %d has n %s and s %s instead of %d and %g", k, row.Text("n"), row.Text("s"), w.n[k], w.sum[k]), nil
		}
	}
	if len(rows) != groups {
		return fmt.Errorf("%d groups instead of %d", len(rows), groups), nil
	}
	return nil, nil
}
