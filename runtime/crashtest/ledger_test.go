package crashtest

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"

	"tidemill/runtime"
	"tidemill/state/column"
)

// clients is how many producers append, each its own rows.
const clients = 4

// event and account are rows of the two tables that producers append to.
type event struct {
	region, user string
	amount       int64
	txt          string // most are numbers
	v            int64
}

type account struct {
	owner string
	bal   int64
	stamp int64
}

// body is the rows of one append. It is a function of the run's seed, the producer and the seq, so that a
// repeat has the same hash.
type body struct {
	events   map[int64]event
	ids      []int64 // of events, in order
	accounts []keyed
	hash     uint64
}

type keyed struct {
	k       int64
	row     account
	deleted bool
}

func makeBody(seed uint64, producer int, seq uint64) *body {
	r := rand.New(rand.NewPCG(seed, uint64(producer)<<32|seq))
	b := &body{hash: r.Uint64()}
	n := 1 + r.IntN(12)
	if r.IntN(25) == 0 {
		n = 100 + r.IntN(300)
	}
	if r.IntN(3) == 0 {
		for range min(n, 60) {
			a := keyed{k: int64(producer + clients*r.IntN(150)), deleted: r.IntN(6) == 0}
			if !a.deleted {
				a.row = account{fmt.Sprintf("owner-%02d", r.IntN(25)), r.Int64N(1000) - 300, int64(seq)}
			}
			b.accounts = append(b.accounts, a)
		}
		return b
	}
	b.events = map[int64]event{}
	for i := range n {
		id := int64(producer+1)*1e9 + int64(seq)*1000 + int64(i)
		ev := event{region: fmt.Sprintf("r%d", r.IntN(7)), user: fmt.Sprintf("user-%0*d", 4+r.IntN(40), r.IntN(900)), amount: r.Int64N(2000) - 500,
			txt: fmt.Sprint(r.Int64N(100000)), v: r.Int64N(12)}
		if r.IntN(15) == 0 {
			ev.txt = fmt.Sprintf("x%d", r.IntN(50))
		}
		b.events[id], b.ids = ev, append(b.ids, id)
	}
	return b
}

func int64s(n int, at func(int) int64) column.Column {
	vs := make([]int64, n)
	for i := range vs {
		vs[i] = at(i)
	}
	return column.Of(column.T(column.Int64), vs, nil)
}

func texts(n int, at func(int) string) column.Column {
	vs := make([]string, n)
	for i := range vs {
		vs[i] = at(i)
	}
	return column.OfStrings(column.T(column.Varchar), vs)
}

// request makes the append of a body, less its relation and producer.
func (b *body) request() runtime.AppendRequest {
	if b.events == nil {
		n := len(b.accounts)
		a := b.accounts
		req := runtime.AppendRequest{N: n, Hash: b.hash, Deleted: column.NewBitmap(n, false), Cols: []column.Column{
			int64s(n, func(i int) int64 { return a[i].k }),
			texts(n, func(i int) string { return a[i].row.owner }),
			int64s(n, func(i int) int64 { return a[i].row.bal }),
			int64s(n, func(i int) int64 { return a[i].row.stamp })}}
		for i := range a {
			if a[i].deleted {
				column.SetBit(req.Deleted, i)
			}
		}
		return req
	}
	n := len(b.ids)
	e := func(i int) event { return b.events[b.ids[i]] }
	return runtime.AppendRequest{N: n, Hash: b.hash, Cols: []column.Column{
		int64s(n, func(i int) int64 { return b.ids[i] }),
		texts(n, func(i int) string { return e(i).region }),
		texts(n, func(i int) string { return e(i).user }),
		int64s(n, func(i int) int64 { return e(i).amount }),
		texts(n, func(i int) string { return e(i).txt }),
		int64s(n, func(i int) int64 { return e(i).v })}}
}

// statement is one of the session's. change says what it does to a model; nil for nothing.
type statement struct {
	sql    string
	change func(*model)
}

// ledger is what was sent to an engine, and what of it was acknowledged.
type ledger struct {
	seed uint64

	mu         sync.Mutex // guards what follows
	commits    [clients][]uint64
	sent       [clients]int // appends; as many of commits have an entry, 0 until known
	acked      [clients]int
	statements []*statement
	done       int // statements
}

// mark is a place in a ledger.
type mark struct {
	appends    [clients]int
	statements int
}

// bounds returns what was acknowledged and what was sent.
func (l *ledger) bounds() (acked, sent mark) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return mark{l.acked, l.done}, mark{l.sent, len(l.statements)}
}

// send notes that an append goes out, and returns its seq.
func (l *ledger) send(p int) uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.sent[p] == l.acked[p] {
		l.sent[p]++
		l.commits[p] = append(l.commits[p], 0)
	}
	return uint64(l.sent[p])
}

func (l *ledger) ack(p int, seq, commit uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.acked[p] = max(l.acked[p], int(seq))
	l.commits[p][seq-1] = commit
}

func (l *ledger) begin(st *statement) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.statements = append(l.statements, st)
}

// takeBack says that the statement was refused.
func (l *ledger) takeBack() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.statements = l.statements[:l.done]
}

func (l *ledger) end() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.done = len(l.statements)
}

// at returns a ledger of which exactly what is before m happened.
func (l *ledger) at(m mark) *ledger {
	l.mu.Lock()
	defer l.mu.Unlock()
	out := &ledger{seed: l.seed, sent: m.appends, acked: m.appends, done: m.statements,
		statements: slices.Clone(l.statements[:m.statements])}
	for p := range clients {
		out.commits[p] = slices.Clone(l.commits[p][:m.appends[p]])
	}
	return out
}

// model is what the tables must hold.
type model struct {
	events    map[int64]event
	accounts  map[int64]account
	relations map[string]bool // all but the fixed ones
}

// appended returns the model of the producers' appends up to m, before any statement.
func (l *ledger) appended(m mark) *model {
	md := &model{map[int64]event{}, map[int64]account{}, map[string]bool{}}
	for p := range clients {
		for seq := 1; seq <= m.appends[p]; seq++ {
			b := makeBody(l.seed, p, uint64(seq))
			maps.Copy(md.events, b.events)
			for _, a := range b.accounts {
				if a.deleted {
					delete(md.accounts, a.k)
				} else {
					md.accounts[a.k] = a.row
				}
			}
		}
	}
	return md
}

// apply runs the session's statements from one up to another.
func (l *ledger) apply(md *model, from, to int) {
	l.mu.Lock()
	sts := l.statements[from:to]
	l.mu.Unlock()
	for _, st := range sts {
		if st.change != nil {
			st.change(md)
		}
	}
}
