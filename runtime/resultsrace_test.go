package runtime

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"sort"
	"sync"
	"testing"
	"time"

	"tidemill/state/column"
)

var resultsDuration = flag.Duration("results.duration", 0, "how long TestAnswersUnderWriters writes; 0 is a number of appends")

// written is one acknowledged append: what it added, in which commit, and when its writer knew.
type written struct {
	commit uint64
	known  time.Time
	table  int
	key    int64
	amount int64
}

// read is one answer: what was asked and accepted, when, and what came.
type read struct {
	asked        time.Time
	accepted     time.Duration
	query        int
	commit       uint64
	from         Origin
	age          time.Duration
	count, total int64
}

// raceQueries read tables at several depths. key below 0 stands for all keys.
var raceQueries = []struct {
	sql    string
	tables []int
	key    int64
}{
	{"SELECT count(*)::BIGINT, coalesce(sum(x), 0)::BIGINT FROM t0", []int{0}, -1},
	{"SELECT coalesce(sum(n), 0)::BIGINT, coalesce(sum(s), 0)::BIGINT FROM v0", []int{0}, -1},
	{"SELECT coalesce(sum(n), 0)::BIGINT, coalesce(sum(s), 0)::BIGINT FROM w0", []int{0}, -1},
	{"SELECT n::BIGINT, s::BIGINT FROM v0 WHERE k = 3", []int{0}, 3},
	{"SELECT count(*)::BIGINT, coalesce(sum(x), 0)::BIGINT FROM t1", []int{1}, -1},
	{"SELECT n::BIGINT, s::BIGINT FROM v1 WHERE k = 5", []int{1}, 5},
	{"SELECT coalesce(sum(n), 0)::BIGINT, coalesce(sum(s), 0)::BIGINT FROM (FROM v0 UNION ALL FROM v1)", []int{0, 1}, -1},
}

// TestAnswersUnderWriters has 8 writers and 16 readers, and then replays what was written: no answer differs from the
// rows of the commit that it says it is of, and none is older than its reader accepted.
func TestAnswersUnderWriters(t *testing.T) {
	seed := uint64(1)
	if *resultsDuration > 0 {
		seed = uint64(time.Now().UnixNano())
	}
	t.Logf("seed %d", seed)
	e := openCached(t, Options{})
	for i := range 2 {
		for _, sql := range []string{"CREATE TABLE t%[1]d (k BIGINT, x BIGINT)", "CREATE MATERIALIZED VIEW v%[1]d AS SELECT k, count(*) AS n, sum(x) AS s FROM t%[1]d GROUP BY k",
			"CREATE MATERIALIZED VIEW w%[1]d AS SELECT sum(n) AS n, sum(s) AS s FROM v%[1]d WHERE n > 0"} {
			if _, err := e.Execute(context.Background(), fmt.Sprintf(sql, i)); err != nil {
				t.Fatal(err)
			}
		}
	}
	const writers, readers, appends = 8, 16, 150
	var mu sync.Mutex
	var history []written
	var answers []read
	var writing, reading sync.WaitGroup
	stop := make(chan struct{})
	begun := time.Now()
	for w := range writers {
		writing.Go(func() {
			rng := rand.New(rand.NewPCG(seed, uint64(w)))
			var mine []written
			for i := 0; i < appends || time.Since(begun) < *resultsDuration; i++ {
				mine = append(mine, writeOne(t, e, rng))
			}
			mu.Lock()
			history = append(history, mine...)
			mu.Unlock()
		})
	}
	for r := range readers {
		reading.Go(func() {
			rng := rand.New(rand.NewPCG(seed, uint64(100+r)))
			var mine []read
			for {
				select {
				case <-stop:
					mu.Lock()
					answers = append(answers, mine...)
					mu.Unlock()
					return
				default:
					mine = append(mine, readOne(t, e, rng))
				}
			}
		})
	}
	writing.Wait()
	close(stop)
	reading.Wait()
	checkAnswers(t, history, answers)
}

func writeOne(t *testing.T, e *Engine, rng *rand.Rand) written {
	w := written{table: rng.IntN(20) / 19, key: rng.Int64N(8), amount: rng.Int64N(100)}
	rel, err := e.Catalog().LookupTable(fmt.Sprintf("t%d", w.table))
	if err != nil {
		t.Error(err)
		return w
	}
	cols := []column.Column{column.Of(column.T(column.Int64), []int64{w.key}, nil), column.Of(column.T(column.Int64), []int64{w.amount}, nil)}
	res, err := e.Append(context.Background(), AppendRequest{Relation: rel.ID, Version: rel.Version, Cols: cols, N: 1})
	if err != nil {
		t.Error(err)
	}
	w.commit, w.known = res.Commit, time.Now()
	return w
}

func readOne(t *testing.T, e *Engine, rng *rand.Rand) read {
	r := read{query: rng.IntN(len(raceQueries)), accepted: []time.Duration{0, 0, 5, 20, 200}[rng.IntN(5)] * time.Millisecond, asked: time.Now()}
	a, err := e.Run(context.Background(), Statement{SQL: raceQueries[r.query].sql, MaxAge: r.accepted})
	if err != nil {
		t.Error(err)
		return r
	}
	r.commit, r.from, r.age = a.Commit, a.From, a.Age
	cols, n := a.Cols, a.N
	if a.Rows != nil {
		defer a.Rows.Close()
		if cols, n, err = a.Rows.ReadAll(); err != nil {
			t.Error(err)
			return r
		}
	}
	if n == 1 {
		r.count, r.total = column.Values[int64](&cols[0])[0], column.Values[int64](&cols[1])[0]
	}
	return r
}

// checkAnswers replays the history for each query.
func checkAnswers(t *testing.T, history []written, answers []read) {
	sort.Slice(history, func(i, k int) bool { return history[i].commit < history[k].commit })
	origins := map[Origin]int{}
	bad := 0
	for q, query := range raceQueries {
		mine := answers[:0:0]
		for _, a := range answers {
			if a.query == q {
				mine = append(mine, a)
				origins[a.from]++
			}
		}
		sort.Slice(mine, func(i, k int) bool { return mine[i].commit < mine[k].commit })
		// changes are those of the tables that the query reads; firstKnown[i] is when the first change from i on was
		// known to its writer.
		var changes []written
		for _, w := range history {
			for _, table := range query.tables {
				if w.table == table {
					changes = append(changes, w)
				}
			}
		}
		firstKnown := make([]time.Time, len(changes))
		for i := len(changes) - 1; i >= 0; i-- {
			firstKnown[i] = changes[i].known
			if i+1 < len(changes) && firstKnown[i+1].Before(firstKnown[i]) {
				firstKnown[i] = firstKnown[i+1]
			}
		}
		next, count, total := 0, int64(0), int64(0)
		for _, a := range mine {
			for ; next < len(changes) && changes[next].commit <= a.commit; next++ {
				if query.key < 0 || changes[next].key == query.key {
					count, total = count+1, total+changes[next].amount
				}
			}
			wrong := ""
			switch {
			case a.count != count || a.total != total:
				wrong = fmt.Sprintf("%d rows of %d, but commit %d has %d of %d", a.count, a.total, a.commit, count, total)
			case next < len(changes) && firstKnown[next].Before(a.asked.Add(-a.accepted)):
				wrong = fmt.Sprintf("of commit %d, when a later change was known %v before it was asked and %v were accepted", a.commit, a.asked.Sub(firstKnown[next]), a.accepted)
			case a.age > a.accepted || a.from != FromStale && a.age != 0:
				wrong = fmt.Sprintf("age %v, accepted %v", a.age, a.accepted)
			}
			if wrong != "" {
				if bad++; bad < 20 {
					t.Errorf("%s (from %d): %s", query.sql, a.from, wrong)
				}
			}
		}
	}
	t.Logf("%d appends, %d answers: %d computed, %d from the cache, %d stale", len(history), len(answers), origins[Computed], origins[FromCache], origins[FromStale])
	if origins[FromCache] == 0 || origins[FromStale] == 0 || origins[Computed] == 0 {
		t.Error("not every way to an answer was taken")
	}
}
