// Package viewtest compares the engine with plain DuckDB over random histories.
//
// From a seed it makes tables of all types, rows, a random DAG of views and a history of appends, statements,
// checkpoints, restarts and crashes. Every row is replayed into plain DuckDB tables in the order of
// the commits; after each operation every view must equal DuckDB's answer to the view's own SELECT, as a
// multiset, and reject as many rows as DuckDB's answer has failures under TRY, with the optimiser off: it changes what
// fails. It shares nothing with what it
// checks but the types and the text form of columns. A history that fails is shrunk and printed as a script.
package viewtest

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"sort"
	"strings"
	"time"
)

// Totals count what cases did.
type Totals struct {
	Made, Accepted     int // statements
	Commits            int
	Compared, NotEmpty int // answers of views
	Rejecting          int // of them with rejects
	Lookups            int
	Restarts, Crashes  int
	Undecided          int            // answers that DuckDB fails to give
	Refusals           map[string]int // why, how often
	Examples           map[string]string
}

func (t *Totals) refused(why, sql string) {
	why, _, _ = strings.Cut(why, "\n")
	if t.Refusals == nil {
		t.Refusals, t.Examples = map[string]int{}, map[string]string{}
	}
	t.Refusals[why]++
	t.Examples[why] = sql
}

func (t *Totals) undecided(why string) {
	t.Undecided++
	why, _, _ = strings.Cut(why, "\n")
	t.refused("undecided: "+why, "")
}

// add adds the counts of o.
func (t *Totals) add(o *Totals) {
	for _, p := range [][2]*int{{&t.Made, &o.Made}, {&t.Accepted, &o.Accepted}, {&t.Commits, &o.Commits}, {&t.Compared, &o.Compared}, {&t.NotEmpty, &o.NotEmpty},
		{&t.Rejecting, &o.Rejecting}, {&t.Lookups, &o.Lookups}, {&t.Restarts, &o.Restarts}, {&t.Crashes, &o.Crashes}, {&t.Undecided, &o.Undecided}} {
		*p[0] += *p[1]
	}
	if t.Refusals == nil {
		t.Refusals, t.Examples = map[string]int{}, map[string]string{}
	}
	for why, n := range o.Refusals {
		t.Refusals[why] += n
		t.Examples[why] = o.Examples[why]
	}
}

// String is a line of the totals.
func (t *Totals) String() string {
	return fmt.Sprintf("%d commits; statements: %d made, %d accepted (%.0f%%); answers: %d compared, %.0f%% not empty, %d with rejects, %d undecided; %d lookups, %d restarts, %d crashes",
		t.Commits, t.Made, t.Accepted, 100*float64(t.Accepted)/float64(max(t.Made, 1)), t.Compared, 100*float64(t.NotEmpty)/float64(max(t.Compared, 1)),
		t.Rejecting, t.Undecided, t.Lookups, t.Restarts, t.Crashes)
}

// Why lists the refusals, the most frequent first.
func (t *Totals) Why() string {
	var keys []string
	for k := range t.Refusals {
		keys = append(keys, k)
	}
	sort.Slice(keys, func(i, j int) bool { return t.Refusals[keys[i]] > t.Refusals[keys[j]] })
	var b strings.Builder
	for _, k := range keys {
		fmt.Fprintf(&b, "%5d %s\n      %s\n", t.Refusals[k], k, t.Examples[k])
	}
	return b.String()
}

// Case runs a history of the given number of commits from a seed. A failure is shrunk for at most the given time
// and returned as a script. dir is a directory for cases on disk.
func Case(seed uint64, commits int, dir func() string, totals *Totals, shrinking time.Duration) error {
	r := rand.New(rand.NewPCG(seed, 77))
	set := settings{Workers: 1 + r.IntN(2), Memory: pick(r, []int64{0, 1 << 20, 1 << 16, 1 << 14}), Replay: pick(r, []time.Duration{0, 0, time.Millisecond})}
	disk := r.IntN(4) == 0
	if disk {
		set.Dir = dir()
	}
	own := &Totals{}
	ops, err := history(r, set, commits, own)
	totals.add(own)
	if err == nil {
		return nil
	}
	again := func(ops []operation) error {
		s := set
		if disk {
			s.Dir = dir()
		}
		return replay(s, ops)
	}
	small, serr := shrink(ops, err, again, time.Now().Add(shrinking))
	if serr == nil {
		serr = err
	}
	return fmt.Errorf("seed %d, %d commits, workers %d, memory %d, disk %v: %w\n\n%s", seed, commits, set.Workers, set.Memory, disk, serr, Script(small))
}

// history makes and runs operations, and returns them up to the one that failed.
func history(r *rand.Rand, set settings, commits int, totals *Totals) (ops []operation, err error) {
	x, err := newRunner(set, totals)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, x.close()) }()
	w := &world{r: r, x: x}
	for totals.Commits < commits {
		op := w.next()
		ops = append(ops, op)
		if err := x.do(&op); err != nil {
			return ops, err
		}
		if err := x.compare(); err != nil {
			return ops, err
		}
	}
	return ops, nil
}

// replay runs recorded operations and compares at their end.
func replay(set settings, ops []operation) (err error) {
	x, err := newRunner(set, &Totals{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, x.close()) }()
	for i := range ops {
		if err := x.do(&ops[i]); err != nil {
			return err
		}
	}
	return x.compare()
}
