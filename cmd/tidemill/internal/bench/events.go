package bench

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"

	"tidemill/cmd/tidemill/internal/client"
)

const eventsTable = "(id BIGINT, user_id VARCHAR, region VARCHAR, amount BIGINT, kind VARCHAR)"

// stages are views that follow one another: a filter, an aggregate of it and a rollup of that.
var stages = []struct{ name, sql string }{
	{"silver", `AS SELECT id, user_id, region, amount, amount * 2 AS doubled FROM @events WHERE kind <> 'test' AND amount > 0`},
	{"gold", `AS SELECT region, user_id, count(*) AS n, sum(amount) AS total FROM @silver GROUP BY region, user_id`},
	{"platinum", `AS SELECT region, sum(n) AS n, sum(total) AS total FROM @gold GROUP BY region`},
}

// eventFlow is prepared bodies of events, with what each adds to the stages.
type eventFlow struct {
	bodies  [][][]byte // of each producer
	effects [][]effect
}

// effect is what one body adds.
type effect struct {
	rows, kept int64
	groups     map[[2]string]group // by region and user
}

type group struct{ n, total int64 }

// newEventFlow prepares pool bodies of so many rows for each producer. Ids repeat, which no view reads.
func newEventFlow(producers, pool, rows int) *eventFlow {
	f := &eventFlow{}
	for p := range producers {
		rng := rand.New(rand.NewPCG(uint64(p), uint64(rows)))
		var bodies [][]byte
		var effects []effect
		for range pool {
			body, e := eventBody(rng, p<<40, rows)
			bodies, effects = append(bodies, body), append(effects, e)
		}
		f.bodies, f.effects = append(f.bodies, bodies), append(f.effects, effects)
	}
	return f
}

func eventBody(rng *rand.Rand, id, rows int) ([]byte, effect) {
	e := effect{rows: int64(rows), groups: map[[2]string]group{}}
	var b bytes.Buffer
	for i := range rows {
		user, shown := "null", "NULL"
		if rng.Float64() >= 0.02 {
			shown = fmt.Sprintf("u%d", rng.IntN(1000))
			user = `"` + shown + `"`
		}
		kind := "sale"
		if rng.Float64() < 0.05 {
			kind = "test"
		}
		region, amount := fmt.Sprintf("r%d", rng.IntN(8)), rng.IntN(1020)-20
		fmt.Fprintf(&b, `{"id": %d, "user_id": %s, "region": "%s", "amount": %d, "kind": "%s"}`+"\n", id+i, user, region, amount, kind)
		if kind != "test" && amount > 0 {
			e.kept++
			g := e.groups[[2]string{region, shown}]
			e.groups[[2]string{region, shown}] = group{g.n + 1, g.total + int64(amount)}
		}
	}
	return b.Bytes(), e
}

// begin makes the table and the first stages on a server.
func (f *eventFlow) begin(ctx context.Context, t *target, depth int) error {
	if err := t.define(ctx, "TABLE", "events", eventsTable); err != nil {
		return err
	}
	for _, s := range stages[:depth] {
		if err := t.define(ctx, "MATERIALIZED VIEW", s.name, s.sql); err != nil {
			return err
		}
	}
	return nil
}

// consistent asks one statement, so one commit, whether every stage holds exactly the rows of the table, and
// the table at least what was acknowledged before.
func consistent(ctx context.Context, t *target, depth int, acked int64) (wrong, err error) {
	row, err := t.row(ctx, []string{
		"SELECT (SELECT count(*) FROM @events) AS t",
		"SELECT (SELECT count(*) FROM @events) AS t, " + keptNow + ", (SELECT count(*) FROM @silver) AS x1",
		"SELECT (SELECT count(*) FROM @events) AS t, " + keptNow + ", (SELECT count(*) FROM @silver) AS x1, (SELECT sum(n) FROM @gold) AS x2",
		"SELECT (SELECT count(*) FROM @events) AS t, " + keptNow + ", (SELECT count(*) FROM @silver) AS x1, (SELECT sum(n) FROM @gold) AS x2, (SELECT sum(n) FROM @platinum) AS x3",
	}[depth])
	if err != nil {
		return nil, err
	}
	if n := row.Int("t"); n < acked {
		return fmt.Errorf("%d rows are acknowledged and %d are seen", acked, n), nil
	}
	for i := 1; i <= depth; i++ {
		if x := fmt.Sprintf("x%d", i); row.Int(x) != row.Int("e") {
			return fmt.Errorf("one statement saw two commits: %v", row), nil
		}
	}
	return nil, nil
}

const keptNow = "(SELECT count(*) FROM @events WHERE kind <> 'test' AND amount > 0) AS e"

// compare holds every group of every stage against what the acknowledged bodies add up to.
func (f *eventFlow) compare(ctx context.Context, t *target, depth int, times [][]int) (wrong, err error) {
	var rows, kept int64
	gold, platinum := map[[2]string]group{}, map[[2]string]group{}
	for p := range times {
		for k, n := range times[p] {
			e, n := f.effects[p][k], int64(n)
			rows, kept = rows+n*e.rows, kept+n*e.kept
			for key, g := range e.groups {
				if n > 0 {
					top := [2]string{key[0]}
					gold[key] = group{gold[key].n + n*g.n, gold[key].total + n*g.total}
					platinum[top] = group{platinum[top].n + n*g.n, platinum[top].total + n*g.total}
				}
			}
		}
	}
	wrong, err = t.sums(ctx, "SELECT count(*) AS n FROM @events", map[string]int64{"n": rows})
	if wrong == nil && err == nil && depth > 0 {
		wrong, err = t.sums(ctx, "SELECT count(*) AS n, sum(doubled) - 2 * sum(amount) AS zero FROM @silver", map[string]int64{"n": kept, "zero": 0})
	}
	if wrong == nil && err == nil && depth > 1 {
		wrong, err = compareGroups(ctx, t, "SELECT region, user_id, n, total FROM @gold", gold, func(r client.Row) [2]string {
			return [2]string{r.Text("region"), r.Text("user_id")}
		})
	}
	if wrong == nil && err == nil && depth > 2 {
		wrong, err = compareGroups(ctx, t, "SELECT region, n, total FROM @platinum", platinum, func(r client.Row) [2]string {
			return [2]string{r.Text("region")}
		})
	}
	return wrong, err
}

func compareGroups(ctx context.Context, t *target, sql string, want map[[2]string]group, key func(client.Row) [2]string) (wrong, err error) {
	got, err := t.SQL(ctx, t.text(sql))
	if err != nil {
		return nil, err
	}
	if len(got) != len(want) {
		return fmt.Errorf("%s: %d groups instead of %d", sql, len(got), len(want)), nil
	}
	for _, r := range got {
		if w, ok := want[key(r)]; !ok || r.Int("n") != w.n || r.Int("total") != w.total {
			return fmt.Errorf("%s: row %v should be %+v", sql, r, w), nil
		}
	}
	return nil, nil
}
