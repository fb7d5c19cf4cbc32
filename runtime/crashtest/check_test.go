package crashtest

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"tidemill/runtime"
	"tidemill/state/column"
)

// check compares an engine with a ledger, of which at least acked and at most sent must be there. It returns
// what is.
func check(w *run, acked, sent mark, r *rand.Rand) (mark, error) {
	found, err := producersAt(w, acked, sent)
	if err != nil {
		return found, err
	}
	before := w.e.Commit()
	if found.statements, err = tablesAt(w, found, acked.statements, sent.statements); err != nil {
		return found, err
	}
	if err := viewsRight(w.e, false); err != nil {
		return found, err
	}
	if err := lookupsRight(w.e, r); err != nil {
		return found, err
	}
	for p := range clients {
		last := uint64(found.appends[p])
		if err := refused(w, p, last); err != nil {
			return found, err
		}
		for range min(last, 2) {
			if err := repeated(w, p, last-r.Uint64N(min(last, 50))); err != nil {
				return found, err
			}
		}
	}
	if now := w.e.Commit(); now != before {
		return found, fmt.Errorf("repeats and refused appends made commit %d of %d", now, before)
	}
	return found, nil
}

// producersAt asks each producer's last seq, with an append that cannot follow.
func producersAt(w *run, acked, sent mark) (mark, error) {
	var m mark
	for p := range clients {
		_, err := w.e.Append(background, w.prepare(p, 1<<40))
		var se *runtime.SeqError
		if !errors.As(err, &se) {
			return m, fmt.Errorf("producer %d: a gap gives %v", p, err)
		}
		m.appends[p] = int(se.Last)
		if m.appends[p] < acked.appends[p] || m.appends[p] > sent.appends[p] {
			return m, &lostError{fmt.Sprintf("producer %d is at seq %d: %d were acknowledged, %d sent", p, se.Last, acked.appends[p], sent.appends[p])}
		}
	}
	return m, nil
}

// lostError says that something is missing or too much.
type lostError struct{ what string }

func (e *lostError) Error() string { return e.what }

// tablesAt finds how many of the session's statements are in the tables, which hold the appends of m.
func tablesAt(w *run, m mark, from, to int) (int, error) {
	got, err := readModel(w.e)
	if err != nil {
		return 0, err
	}
	want := w.l.appended(m)
	w.l.apply(want, 0, from)
	first := difference(got, want)
	for at := from; at < to && first != ""; at++ {
		w.l.apply(want, at, at+1)
		if difference(got, want) == "" {
			return at + 1, nil
		}
	}
	if first != "" {
		return 0, &lostError{fmt.Sprintf("with %v appends and %d to %d statements: %s", m.appends, from, to, first)}
	}
	// Statements without effect may be in as well. It makes no difference.
	return from, nil
}

func difference(got, want *model) string {
	var out []string
	note := func(format string, args ...any) {
		if len(out) < 5 {
			out = append(out, fmt.Sprintf(format, args...))
		}
	}
	for id, ev := range got.events {
		if w, ok := want.events[id]; !ok {
			note("event %d is too much: %v", id, ev)
		} else if w != ev {
			note("event %d is %v, not %v", id, ev, w)
		}
	}
	for id, ev := range want.events {
		if _, ok := got.events[id]; !ok {
			note("event %d is missing: %v", id, ev)
		}
	}
	for k, a := range got.accounts {
		if w, ok := want.accounts[k]; !ok {
			note("account %d is too much: %v", k, a)
		} else if w != a {
			note("account %d is %v, not %v", k, a, w)
		}
	}
	for k, a := range want.accounts {
		if _, ok := got.accounts[k]; !ok {
			note("account %d is missing: %v", k, a)
		}
	}
	for name := range got.relations {
		if !want.relations[name] {
			note("relation %s is too much", name)
		}
	}
	for name := range want.relations {
		if !got.relations[name] {
			note("relation %s is missing", name)
		}
	}
	slices.Sort(out)
	return strings.Join(out, "; ")
}

// readModel reads the tables and the names of relations.
func readModel(e *runtime.Engine) (*model, error) {
	m := &model{map[int64]event{}, map[int64]account{}, map[string]bool{}}
	cols, n, err := rows(e, "SELECT id, region, user_id, amount, txt, v FROM events")
	if err != nil {
		return nil, err
	}
	num := func(c, i int) int64 { return column.Values[int64](&cols[c])[i] }
	text := func(c, i int) string { return string(cols[c].Raw(i)) }
	for i := range n {
		if _, twice := m.events[num(0, i)]; twice {
			return nil, &lostError{fmt.Sprintf("event %d is there twice", num(0, i))}
		}
		m.events[num(0, i)] = event{text(1, i), text(2, i), num(3, i), text(4, i), num(5, i)}
	}
	if cols, n, err = rows(e, "SELECT k, owner, bal, stamp FROM accounts"); err != nil {
		return nil, err
	}
	for i := range n {
		if _, twice := m.accounts[num(0, i)]; twice {
			return nil, &lostError{fmt.Sprintf("account %d is there twice", num(0, i))}
		}
		m.accounts[num(0, i)] = account{text(1, i), num(2, i), num(3, i)}
	}
	for _, rel := range e.Catalog().Relations() {
		m.relations[rel.Name] = true
	}
	for _, name := range []string{"events", "accounts"} {
		delete(m.relations, name)
	}
	for i := range views {
		if views[i].fixed {
			if !m.relations[views[i].name] {
				return nil, &lostError{"view " + views[i].name + " is missing"}
			}
			delete(m.relations, views[i].name)
		}
	}
	return m, nil
}

// viewsRight compares every view with its SELECT over the tables, each at one commit. While others may be dropped
// it is asked for the fixed ones only.
func viewsRight(e *runtime.Engine, fixedOnly bool) error {
	queries := []string{rejectsComparison}
	for _, rel := range e.Catalog().Relations() {
		for i := range views {
			if views[i].name == rel.Name && (views[i].fixed || !fixedOnly) {
				queries = append(queries, views[i].comparison())
			}
		}
	}
	var wrong []string
	for _, q := range queries {
		cols, n, err := rows(e, q)
		if err != nil || n != 1 {
			return fmt.Errorf("compare views: %d rows: %w", n, err)
		}
		at := func(c int) int64 { return column.Values[int64](&cols[c])[0] }
		if at(1) != 0 || at(2) != 0 {
			wrong = append(wrong, fmt.Sprintf("view %s of %d rows has %d too many and %d too few", cols[0].Raw(0), at(3), at(1), at(2)))
		}
	}
	if wrong != nil {
		return &lostError{strings.Join(wrong, "; ")}
	}
	return nil
}

// lookupsRight looks keys up and compares with what a query says, at rest.
func lookupsRight(e *runtime.Engine, r *rand.Rand) error {
	for _, q := range []struct{ relation, key string }{{"accounts", "k"}, {"owners", "owner"}, {"platinum", "region"}} {
		cols, n, err := rows(e, fmt.Sprintf("SELECT %s::VARCHAR, %s FROM %s ORDER BY 1", q.key, "*", q.relation))
		if err != nil {
			return err
		}
		for range min(n, 5) {
			i := r.IntN(n)
			key := string(cols[0].Raw(i))
			_, row, err := e.LookupRow(q.relation, []string{key})
			if err != nil {
				return fmt.Errorf("lookup of %s in %s: %w", key, q.relation, err)
			}
			if got, want := line(row, 0), line(cols[1:], i); row == nil || got != want {
				return &lostError{fmt.Sprintf("lookup of %s in %s gives %q, a query %q", key, q.relation, got, want)}
			}
		}
		if _, row, err := e.LookupRow(q.relation, []string{"-999999"}); err != nil || row != nil {
			return fmt.Errorf("lookup of a missing key in %s: %v %w", q.relation, row, err)
		}
	}
	return nil
}

func line(cols []column.Column, i int) string {
	var b []byte
	for c := range cols {
		b = append(column.AppendJSON(b, &cols[c], i), ' ')
	}
	return string(b)
}
