package kill

import (
	"errors"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

var (
	loopsFlag  = flag.Int("kill.loops", 3, "how often the program is killed")
	seedFlag   = flag.Uint64("kill.seed", 1, "seed of all random choices; 0 takes one from the clock")
	memoryFlag = flag.String("kill.memory", "4MB", "what the program may use: its caches get half, less than its state")
)

// perDir is after how many loops a new directory is begun: checks take longer as it grows.
const perDir = 20

// killer is one directory and its senders.
type killer struct {
	t         *testing.T
	r         *rand.Rand
	bin, addr string
	dir       string
	producers []*producer
	hasBig    bool // big was acknowledged
	triedBig  bool // big was sent
	count     map[string]int
	starts    []time.Duration
	evicted   int64
	repeats   int
}

func TestKill(t *testing.T) {
	seed := *seedFlag
	if seed == 0 {
		seed = uint64(time.Now().UnixNano())
	}
	t.Logf("-kill.seed %d", seed)
	k := &killer{t: t, r: rand.New(rand.NewPCG(seed, 0)), bin: build(t), addr: freeAddr(t), count: map[string]int{}}
	root := t.TempDir()
	for loop := range *loopsFlag {
		if loop%perDir == 0 {
			k.begin(filepath.Join(root, fmt.Sprint(loop)))
		}
		if err := k.loop(loop); err != nil {
			t.Fatalf("-kill.seed %d, loop %d: %v", seed, loop, err)
		}
		if (loop+1)%perDir == 0 {
			t.Logf("%d loops", loop+1)
		}
	}
	if err := k.last(); err != nil {
		t.Fatalf("-kill.seed %d, after %d loops: %v", seed, *loopsFlag, err)
	}
	k.report()
	if *loopsFlag >= perDir && k.evicted == 0 {
		t.Error("the caches held all of the state: the test has lost its point")
	}
}

// begin turns to a new directory.
func (k *killer) begin(dir string) {
	k.dir, k.producers, k.hasBig, k.triedBig = dir, nil, false, false
	for p := range clients {
		k.producers = append(k.producers, &producer{p: p, table: "raw"}, &producer{p: p, table: "latest"})
	}
}

func (k *killer) report() {
	for _, kind := range slices.Sorted(maps.Keys(k.count)) {
		k.t.Logf("%4d killed %s", k.count[kind], kind)
	}
	slices.Sort(k.starts)
	if n := len(k.starts); n > 0 {
		k.t.Logf("%4d starts, half of them in %v, the slowest in %v", n, k.starts[n/2].Round(time.Millisecond), k.starts[n-1].Round(time.Millisecond))
	}
	k.t.Logf("%d repeats answered as duplicates; %d cache entries evicted", k.repeats, k.evicted)
}

// loop starts the program, checks what it has, loads it and kills it.
func (k *killer) loop(loop int) error {
	s, err := start(k.bin, k.dir, k.addr, *memoryFlag)
	if err != nil {
		return err
	}
	defer s.kill()
	if loop%4 == 3 {
		for range 1 + k.r.IntN(2) { // now and then recovery after a recovery that was killed
			if s, err = k.killRecovery(s); err != nil {
				return err
			}
			defer s.kill()
		}
	}
	took, err := s.wait()
	if err != nil {
		return err
	}
	k.starts = append(k.starts, took)
	if err := k.check(s); err != nil {
		return err
	}
	return k.load(s, loop)
}

// killRecovery kills the program while it starts, and starts it again.
func (k *killer) killRecovery(s *server) (*server, error) {
	pause := time.NewTimer(time.Duration(1+k.r.IntN(50)) * time.Millisecond)
	defer pause.Stop()
	where := "in recovery"
	select {
	case <-pause.C:
	case <-s.ready:
		where = "just started"
	}
	s.kill()
	k.count[where]++
	return start(k.bin, k.dir, k.addr, *memoryFlag)
}

// load lets producers send until the program is killed.
func (k *killer) load(s *server, loop int) error {
	var wg sync.WaitGroup
	errs := make(chan error, len(k.producers))
	stop := make(chan struct{})
	for _, p := range k.producers {
		wg.Go(func() {
			if err := k.send(s, p, stop); err != nil {
				errs <- err
			}
		})
	}
	where := k.strike(s, loop)
	s.kill()
	close(stop)
	wg.Wait()
	k.count[where]++
	select {
	case err := <-errs:
		return err
	default:
		return nil
	}
}

// strike waits for the moment to kill, and returns what the program is in the middle of.
func (k *killer) strike(s *server, loop int) string {
	after := func(least, most int) { <-time.After(time.Duration(least+k.r.IntN(most-least)) * time.Millisecond) }
	switch loop % 4 {
	case 1:
		after(50, 700)
		return k.inCheckpoint(s)
	case 2:
		after(50, 400)
		return k.inCreate(s)
	}
	after(5, 2000)
	if _, evicted, err := s.checkpointing(); err == nil {
		k.evicted += evicted
	}
	return "under load"
}

// inCheckpoint asks for a checkpoint and returns while it is written.
func (k *killer) inCheckpoint(s *server) string {
	answered := make(chan struct{})
	go func() {
		var a any
		_ = s.sql("CHECKPOINT", &a) // the kill may cut it off
		close(answered)
	}()
	delay := time.NewTimer(time.Duration(k.r.IntN(12000)) * time.Microsecond)
	defer delay.Stop()
	<-delay.C
	select {
	case <-answered:
	default:
		return "in a checkpoint"
	}
	for range 400 { // of those that begin by themselves
		if running, _, err := s.checkpointing(); err == nil && running {
			return "in a checkpoint"
		}
	}
	return "under load"
}

// inCreate creates a view of a large table, or drops it first, and returns before the answer.
func (k *killer) inCreate(s *server) string {
	var a any
	if k.triedBig {
		if err := s.sql("DROP MATERIALIZED VIEW IF EXISTS big", &a); err != nil {
			k.t.Errorf("drop: %v", err)
			return "under load"
		}
	}
	k.hasBig, k.triedBig = false, true
	answered := make(chan struct{})
	go func() {
		var a any
		if s.sql("CREATE MATERIALIZED VIEW big AS "+big[1], &a) == nil {
			close(answered)
		}
	}()
	select {
	case <-answered:
		k.hasBig = true
		return "under load"
	case <-time.After(time.Duration(k.r.IntN(40)) * time.Millisecond):
		return "in a CREATE"
	}
}

// send appends until the program is gone. What was not answered is sent again next time.
func (k *killer) send(s *server, p *producer, stop chan struct{}) error {
	pace := time.NewTicker(4 * time.Millisecond) // or the tables grow faster than they can be checked
	defer pace.Stop()
	for {
		select {
		case <-stop:
			return nil
		case <-pace.C:
		}
		seq := p.acked + 1
		p.sent = max(p.sent, seq)
		duplicate, err := s.append(p, seq)
		var no *refusedError
		if errors.As(err, &no) {
			return fmt.Errorf("append %d of %s: %w", seq, p.name(), err)
		}
		if err != nil {
			return nil
		}
		if duplicate != (seq <= p.known) {
			return fmt.Errorf("append %d of %s, which was at %d: duplicate is %v", seq, p.name(), p.known, duplicate)
		}
		p.acked = seq
	}
}

// check compares what the program has with what was sent and acknowledged.
func (k *killer) check(s *server) error {
	var names []struct{ Name string }
	if err := s.sql("SHOW TABLES", &names); err != nil {
		return err
	}
	if len(names) == 0 {
		return k.create(s)
	}
	if err := k.raw(s); err != nil {
		return err
	}
	if err := k.latest(s); err != nil {
		return err
	}
	all := views
	for _, n := range names {
		if n.Name == big[0] {
			all = append(slices.Clone(views), big)
		}
	}
	if k.hasBig && len(all) == len(views) {
		return errors.New("view big was acknowledged and is gone")
	}
	for _, v := range all {
		var d []struct{ Surplus, Missing int64 }
		if err := s.sql(comparison(v), &d); err != nil {
			return err
		}
		if len(d) != 1 || d[0].Surplus != 0 || d[0].Missing != 0 {
			return fmt.Errorf("view %s has too many and too few: %v", v[0], d)
		}
	}
	for _, p := range k.producers { // a repeat, and a gap
		if p.known == 0 {
			continue
		}
		if duplicate, err := s.append(p, p.known); err != nil || !duplicate {
			return fmt.Errorf("append %d of %s again: duplicate is %v: %w", p.known, p.name(), duplicate, err)
		}
		k.repeats++
		var no *refusedError
		if _, err := s.append(p, p.known+2); !errors.As(err, &no) || no.status != 409 && no.status != 422 {
			return fmt.Errorf("append %d of %s after %d: %v", p.known+2, p.name(), p.known, err)
		}
	}
	return nil
}

func (k *killer) create(s *server) error {
	for _, p := range k.producers {
		if p.acked > 0 {
			return errors.New("the tables are gone")
		}
	}
	var a any
	for _, q := range schema {
		if err := s.sql(q, &a); err != nil {
			return err
		}
	}
	for _, v := range views {
		if err := s.sql("CREATE MATERIALIZED VIEW "+v[0]+" AS "+v[1], &a); err != nil {
			return err
		}
	}
	return nil
}

// raw checks that each producer's appends are there from the first to the last, whole and once.
func (k *killer) raw(s *server) error {
	var got []struct {
		P          int
		Appends    uint64
		Last       uint64
		Bad, Total int64
	}
	err := s.sql("SELECT p, count(*) AS appends, max(seq) AS last, count(*) FILTER (c <> n OR d <> n) AS bad, sum(c)::BIGINT AS total FROM "+
		"(SELECT p, seq, count(*) AS c, count(DISTINCT i) AS d, max(n) AS n FROM raw GROUP BY p, seq) GROUP BY p ORDER BY p", &got)
	if err != nil {
		return err
	}
	for _, p := range k.producers {
		if p.table != "raw" {
			continue
		}
		p.known = 0
		for _, g := range got {
			if g.P != p.p {
				continue
			}
			want := int64(0)
			for seq := range g.Last {
				want += int64(p.rows(seq + 1))
			}
			if p.known = g.Last; g.Bad != 0 || g.Appends != g.Last || g.Total != want {
				return fmt.Errorf("%s: %d appends up to %d, %d of them not whole, %d rows of %d", p.name(), g.Appends, g.Last, g.Bad, g.Total, want)
			}
		}
		if err := p.bounded(); err != nil {
			return err
		}
	}
	return nil
}

func (p *producer) bounded() error {
	if p.known < p.acked || p.known > p.sent {
		return fmt.Errorf("%s is at %d; %d was acknowledged and %d sent", p.name(), p.known, p.acked, p.sent)
	}
	return nil
}

// latest checks the keyed table row by row.
func (k *killer) latest(s *server) error {
	var got []struct {
		P     int
		K     int64
		Stamp uint64
	}
	if err := s.sql("SELECT p, k, stamp FROM latest", &got); err != nil {
		return err
	}
	for _, p := range k.producers {
		if p.table != "latest" {
			continue
		}
		rows := map[int64]uint64{}
		p.known = 0
		for _, g := range got {
			if g.P == p.p {
				if _, twice := rows[g.K]; twice {
					return fmt.Errorf("%s: key %d is there twice", p.name(), g.K)
				}
				rows[g.K] = g.Stamp
				p.known = max(p.known, g.Stamp)
			}
		}
		want := map[int64]uint64{}
		for seq := uint64(1); seq <= p.known; seq++ {
			want[p.key(seq)] = seq
		}
		if !maps.Equal(rows, want) {
			return fmt.Errorf("%s at %d: rows %v, not %v", p.name(), p.known, rows, want)
		}
		if err := p.bounded(); err != nil {
			return err
		}
	}
	return nil
}

// last starts the program once more and compares every row with what was sent, by its id.
func (k *killer) last() error {
	s, err := start(k.bin, k.dir, k.addr, *memoryFlag)
	if err != nil {
		return err
	}
	defer s.kill()
	if _, err := s.wait(); err != nil {
		return err
	}
	if err := k.check(s); err != nil {
		return err
	}
	for _, p := range k.producers {
		if p.table != "raw" {
			continue
		}
		want := map[string]bool{}
		for seq := uint64(1); seq <= p.known; seq++ {
			for _, line := range strings.Split(strings.TrimSpace(string(p.body(seq))), "\n") {
				want[line] = true
			}
		}
		const page = 2000 // appends
		for from := uint64(1); from <= p.known; from += page {
			var got []row
			q := fmt.Sprintf("SELECT p, seq, i, n, who, what, x FROM raw WHERE p = %d AND seq BETWEEN %d AND %d", p.p, from, from+page-1)
			if err := s.sql(q, &got); err != nil {
				return err
			}
			for _, g := range got {
				line := g.line()
				if !want[line] {
					return fmt.Errorf("row %s was not sent, or is there twice", line)
				}
				delete(want, line)
			}
		}
		if len(want) > 0 {
			return fmt.Errorf("%s: %d rows are missing", p.name(), len(want))
		}
	}
	return nil
}

type row struct {
	P         int
	Seq       uint64
	I, N      int
	Who, What string
	X         int64
}

func (g *row) line() string {
	return fmt.Sprintf(`{"p":%d,"seq":%d,"i":%d,"n":%d,"who":"%s","what":"%s","x":%d}`, g.P, g.Seq, g.I, g.N, g.Who, g.What, g.X)
}
