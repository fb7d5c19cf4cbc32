package crashtest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"

	"tidemill/runtime"
	"tidemill/state/column"
)

var background = context.Background()

// rows runs a statement and reads all of its answer.
func rows(e *runtime.Engine, sql string) ([]column.Column, int, error) {
	a, err := e.Execute(background, sql)
	if err != nil {
		return nil, 0, err
	}
	if a.Rows == nil {
		return a.Cols, a.N, nil
	}
	defer a.Rows.Close()
	return a.Rows.ReadAll()
}

// create makes the tables and the fixed views.
func create(e *runtime.Engine) error {
	for _, sql := range tables {
		if _, _, err := rows(e, sql); err != nil {
			return fmt.Errorf("%s: %w", sql, err)
		}
	}
	for i := range views {
		if views[i].fixed {
			if _, _, err := rows(e, views[i].create()); err != nil {
				return fmt.Errorf("%s: %w", views[i].create(), err)
			}
		}
	}
	return nil
}

// run is one engine with its clients.
type run struct {
	e      *runtime.Engine
	l      *ledger
	stop   atomic.Bool
	inside atomic.Pointer[string] // what the session is in the middle of
	wg     sync.WaitGroup

	mu  sync.Mutex // guards err
	err error      // the first thing that was wrong
}

func (w *run) fail(format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err == nil {
		w.err = fmt.Errorf(format, args...)
	}
	w.stop.Store(true)
}

// down reports whether an error is the end of an engine, and not a wrong answer.
func down(err error) bool {
	var failed *runtime.FailedError
	return errors.As(err, &failed) || errors.Is(err, runtime.ErrClosed)
}

// start lets all clients go on until stop is set or steps appends and as many statements are done.
func (w *run) start(r *rand.Rand, steps int) {
	for p := range clients {
		r := rand.New(rand.NewPCG(r.Uint64(), 1))
		w.wg.Go(func() {
			for i := 0; i < steps && !w.stop.Load(); i++ {
				if !w.append(p, r) {
					return
				}
			}
		})
	}
	md := w.l.appended(mark{})
	w.l.apply(md, 0, w.l.done)
	s := &session{run: w, r: rand.New(rand.NewPCG(r.Uint64(), 2)), mine: md}
	w.wg.Go(func() {
		for i := 0; i < steps && !w.stop.Load(); i++ {
			if !s.step() {
				return
			}
		}
	})
}

func (w *run) relation(name string) (id, version uint32) {
	rel, err := w.e.Catalog().LookupTable(name)
	if err != nil {
		w.fail("table %s: %v", name, err)
		return 0, 0
	}
	return rel.ID, rel.Version
}

// prepare makes the request of a producer's append.
func (w *run) prepare(p int, seq uint64) runtime.AppendRequest {
	b := makeBody(w.l.seed, p, seq)
	req := b.request()
	name := "accounts"
	if b.events != nil {
		name = "events"
	}
	req.Relation, req.Version = w.relation(name)
	req.Producer, req.Seq = producerName(p), seq
	return req
}

func producerName(p int) string { return fmt.Sprintf("producer-%d", p) }

// append sends a producer's next append, and now and then what must be refused or answered as a repeat. It
// reports whether to go on.
func (w *run) append(p int, r *rand.Rand) bool {
	if r.IntN(8) == 0 && !w.repeat(p, r) {
		return false
	}
	seq := w.l.send(p)
	req := w.prepare(p, seq)
	if r.IntN(3) == 0 {
		prev := seq - 1
		req.Prev = &prev
	}
	twin := make(chan runtime.AppendResult, 1)
	if r.IntN(6) == 0 { // the same once more, at the same time
		again := w.prepare(p, seq)
		go func() {
			res, err := w.e.Append(background, again)
			if err != nil {
				res.Commit = 0
			}
			twin <- res
		}()
	} else {
		twin <- runtime.AppendResult{}
	}
	res, err := w.e.Append(background, req)
	second := <-twin
	if err != nil && second.Commit != 0 { // the twin came first
		w.l.ack(p, seq, second.Commit)
	}
	switch {
	case err != nil && down(err) || errors.Is(err, runtime.ErrDiskFull):
		return false
	case err != nil:
		w.fail("append %d of producer %d: %w", seq, p, err)
	case second.Commit != 0 && second.Commit != res.Commit:
		w.fail("append %d of producer %d is in commit %d and in %d", seq, p, res.Commit, second.Commit)
	}
	w.l.ack(p, seq, res.Commit)
	return true
}

func (l *ledger) commitOf(p int, seq uint64) uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.commits[p][seq-1]
}

// repeat sends an old append again, one that leaves a gap and one with a wrong prev.
func (w *run) repeat(p int, r *rand.Rand) bool {
	acked, _ := w.l.bounds()
	last := uint64(acked.appends[p])
	if err := refused(w, p, last); err != nil {
		if !down(err) {
			w.fail("%w", err)
		}
		return false
	}
	if last == 0 {
		return true
	}
	seq := 1 + r.Uint64N(last)
	if err := repeated(w, p, seq); err != nil {
		if !down(err) {
			w.fail("%w", err)
		}
		return false
	}
	return true
}

// repeated sends an append again that has been taken: the answer must be its first commit.
func repeated(w *run, p int, seq uint64) error {
	res, err := w.e.Append(background, w.prepare(p, seq))
	if err != nil {
		return fmt.Errorf("repeat of append %d of producer %d: %w", seq, p, err)
	}
	if first := w.l.commitOf(p, seq); !res.Duplicate || first != 0 && res.Commit != first {
		return fmt.Errorf("repeat of append %d of producer %d: duplicate %v, commit %d, its first was %d", seq, p, res.Duplicate, res.Commit, first)
	}
	w.l.ack(p, seq, res.Commit)
	other := w.prepare(p, seq)
	other.Hash++
	if _, err := w.e.Append(background, other); !errors.Is(err, runtime.ErrSeqReused) && !down(err) {
		return fmt.Errorf("append %d of producer %d with another body: %v", seq, p, err)
	}
	return nil
}

// refused sends appends that do not follow the producer's last.
func refused(w *run, p int, last uint64) error {
	gap := w.prepare(p, last+2)
	wrong := w.prepare(p, last+1)
	wrong.Prev = new(uint64)
	*wrong.Prev = last + 1
	for _, req := range []runtime.AppendRequest{gap, wrong} {
		_, err := w.e.Append(background, req)
		var se *runtime.SeqError
		if down(err) {
			return err
		}
		if !errors.As(err, &se) || se.Last != last {
			return fmt.Errorf("producer %d at seq %d sent %d after %v: %v", p, last, req.Seq, req.Prev, err)
		}
	}
	return nil
}

// session runs statements one after the other. It changes rows of its own, and those of producers that have
// been acknowledged.
type session struct {
	*run
	r    *rand.Rand
	mine *model // what the session's own statements have made
	next int64
}

func (s *session) step() bool {
	st := s.choose()
	if st == nil {
		return true
	}
	kind, _, _ := strings.Cut(st.sql, " ")
	s.inside.Store(&kind)
	defer s.inside.Store(nil)
	s.l.begin(st)
	_, _, err := rows(s.e, st.sql)
	switch {
	case errors.Is(err, syscall.ENOSPC) && !down(err):
		s.l.takeBack()
		return false
	case err != nil && !down(err):
		s.fail("%.200s: %w", st.sql, err)
		return false
	case err != nil:
		return false
	}
	s.l.end()
	if st.change != nil {
		st.change(s.mine)
	}
	return true
}

func (s *session) choose() *statement {
	switch s.r.IntN(11) {
	case 0, 1:
		return s.createOrDrop()
	case 2:
		return &statement{sql: "CHECKPOINT"}
	case 3, 4, 5:
		return s.insert()
	case 6, 7:
		return s.delete()
	default:
		return s.update()
	}
}

// createOrDrop makes a view or a table that is not there, or drops one that nothing follows.
func (s *session) createOrDrop() *statement {
	if s.r.IntN(4) == 0 {
		if s.mine.relations["extra"] {
			return &statement{"DROP TABLE extra", func(m *model) { delete(m.relations, "extra") }}
		}
		return &statement{"CREATE TABLE extra (a BIGINT PRIMARY KEY, b VARCHAR)", func(m *model) { m.relations["extra"] = true }}
	}
	v := &views[s.r.IntN(len(views))]
	if v.fixed {
		return nil
	}
	if s.mine.relations[v.name] {
		for i := range views {
			for _, f := range views[i].follows() {
				if f == v.name && s.mine.relations[views[i].name] {
					return nil
				}
			}
		}
		return &statement{"DROP MATERIALIZED VIEW " + v.name, func(m *model) { delete(m.relations, v.name) }}
	}
	for _, f := range v.follows() {
		if !viewNamed(f).fixed && !s.mine.relations[f] {
			return nil
		}
	}
	return &statement{v.create(), func(m *model) { m.relations[v.name] = true }}
}

// insert adds rows under ids that no producer uses.
func (s *session) insert() *statement {
	n := 1 + s.r.IntN(4)
	var vals []string
	if s.r.IntN(2) == 0 {
		fresh := map[int64]account{}
		for range n {
			k, a := -1-s.r.Int64N(40), account{fmt.Sprintf("owner-%02d", s.r.IntN(30)), s.r.Int64N(500), s.r.Int64N(9)}
			fresh[k] = a
			vals = append(vals, fmt.Sprintf("(%d, '%s', %d, %d)", k, a.owner, a.bal, a.stamp))
		}
		return &statement{"INSERT INTO accounts VALUES " + strings.Join(vals, ", "), func(m *model) {
			for k, a := range fresh {
				m.accounts[k] = a
			}
		}}
	}
	fresh := map[int64]event{}
	for range n {
		s.next++
		id := -(int64(len(s.l.statements))*1000 + s.next%1000)
		ev := event{fmt.Sprintf("r%d", s.r.IntN(9)), "sql", s.r.Int64N(100), "17", s.r.Int64N(20)}
		fresh[id] = ev
		vals = append(vals, fmt.Sprintf("(%d, '%s', '%s', %d, '%s', %d)", id, ev.region, ev.user, ev.amount, ev.txt, ev.v))
	}
	return &statement{"INSERT INTO events VALUES " + strings.Join(vals, ", "), func(m *model) {
		for id, ev := range fresh {
			m.events[id] = ev
		}
	}}
}

// pick returns ids of events that are surely there or surely deleted, of one producer's append or of its own.
func (s *session) pick() []int64 {
	acked, _ := s.l.bounds()
	var ids []int64
	if p := s.r.IntN(clients + 1); p < clients {
		if acked.appends[p] == 0 {
			return nil
		}
		for _, id := range makeBody(s.l.seed, p, 1+s.r.Uint64N(uint64(acked.appends[p]))).ids {
			if s.r.IntN(3) > 0 {
				ids = append(ids, id)
			}
		}
		return ids
	}
	for id := range s.mine.events {
		if id < 0 && s.r.IntN(4) == 0 {
			ids = append(ids, id)
		}
	}
	return ids
}

func list(ids []int64) string {
	return strings.Trim(strings.ReplaceAll(fmt.Sprint(ids), " ", ", "), "[]")
}

func (s *session) delete() *statement {
	ids := s.pick()
	if len(ids) == 0 {
		k := -1 - s.r.Int64N(40)
		return &statement{fmt.Sprintf("DELETE FROM accounts WHERE k = %d", k), func(m *model) { delete(m.accounts, k) }}
	}
	return &statement{"DELETE FROM events WHERE id IN (" + list(ids) + ")", func(m *model) {
		for _, id := range ids {
			delete(m.events, id)
		}
	}}
}

func (s *session) update() *statement {
	ids := s.pick()
	if len(ids) == 0 {
		k := -1 - s.r.Int64N(40)
		return &statement{fmt.Sprintf("UPDATE accounts SET bal = bal + 7 WHERE k = %d", k), func(m *model) {
			if a, ok := m.accounts[k]; ok {
				a.bal += 7
				m.accounts[k] = a
			}
		}}
	}
	return &statement{"UPDATE events SET v = v + 3, region = 'moved' WHERE id IN (" + list(ids) + ")", func(m *model) {
		for _, id := range ids {
			if ev, ok := m.events[id]; ok {
				ev.v += 3
				ev.region = "moved"
				m.events[id] = ev
			}
		}
	}}
}
