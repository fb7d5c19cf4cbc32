package bench

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strconv"
	"time"

	"tidemill/cmd/tidemill/internal/client"
)

// request is one read and what its answer must hold.
type request struct {
	method, path, body string
	holds              string
}

// serving reads a keyed table by key, by point SQL and by dashboards; then again beside a writer.
func serving(ctx context.Context, r *runner) error {
	return r.with(ctx, func(t *target) error {
		if err := r.loadKeys(ctx, t); err != nil {
			return err
		}
		lookup := func(rng *rand.Rand) request {
			k := rng.IntN(r.Keys)
			return request{http.MethodGet, client.LookupPath(t.name("kv"), strconv.Itoa(k)), "", fmt.Sprintf(`"id":%d,`, k)}
		}
		point := func(rng *rand.Rand) request {
			k := rng.IntN(r.Keys)
			return request{http.MethodPost, "/sql", t.text(fmt.Sprintf("SELECT id, name, amount FROM @kv WHERE id = %d", k)), fmt.Sprintf(`"name":"user%d"`, k)}
		}
		for _, c := range r.Clients {
			if err := r.read(ctx, t, "lookup", c, lookup); err != nil {
				return err
			}
			if err := r.read(ctx, t, "point SQL", c, point); err != nil {
				return err
			}
		}
		board := func(bound, hint int) request {
			holds := ""
			if hint >= 0 {
				holds = fmt.Sprintf(`"n":%d,`, hint)
			}
			return request{http.MethodPost, "/sql", t.text(fmt.Sprintf("SELECT count(*) AS n, sum(amount) AS total FROM @kv WHERE amount > %d", bound)), holds}
		}
		above := r.above()
		fresh := func(rng *rand.Rand) request {
			bound := rng.IntN(1000)
			return board(bound, above[bound])
		}
		repeated := func(*rand.Rand) request { return board(900, above[900]) }
		moving := func(*rand.Rand) request { return board(900, -1) }
		for _, c := range []struct {
			name    string
			clients int
			next    func(*rand.Rand) request
		}{{"dashboard, new each time", 1, fresh}, {"dashboard, new each time", 8, fresh}, {"dashboard, repeated", 32, repeated}} {
			if err := r.read(ctx, t, c.name, c.clients, c.next); err != nil {
				return err
			}
		}
		return r.beside(ctx, t, lookup, moving)
	})
}

// loadKeys fills the keyed table.
func (r *runner) loadKeys(ctx context.Context, t *target) error {
	if err := t.define(ctx, "TABLE", "kv", "(id BIGINT PRIMARY KEY, name VARCHAR, amount BIGINT, ts BIGINT)"); err != nil {
		return err
	}
	for lo, seq := 0, 1; lo < r.Keys; lo, seq = lo+r.Batch, seq+1 {
		n := min(r.Batch, r.Keys-lo)
		body, err := arrowBody(integers("id", n, func(i int) int64 { return int64(lo + i) }),
			texts("name", n, func(i int) string { return fmt.Sprintf("user%d", lo+i) }),
			integers("amount", n, func(i int) int64 { return amountOf(lo + i) }),
			integers("ts", n, func(i int) int64 { return 1760000000000 + int64(lo+i) }))
		if err != nil {
			return err
		}
		if _, err := t.Append(ctx, t.name("kv"), t.name("load"), seq, body, client.TypeArrow); err != nil {
			return err
		}
	}
	_, err := t.SQL(ctx, "CHECKPOINT")
	return err
}

func amountOf(id int) int64 { return int64(id % 1000) }

// above returns for each bound how many keys have an amount above it.
func (r *runner) above() [1000]int {
	var out [1000]int
	for id := range r.Keys {
		for b := range amountOf(id) {
			out[b]++
		}
	}
	return out
}

// beside reads while a writer upserts 200 keys every few milliseconds.
func (r *runner) beside(ctx context.Context, t *target, lookup, board func(*rand.Rand) request) error {
	stop := make(chan struct{})
	var wrote client.Latencies
	begun := time.Now()
	err := together(ctx, 2, func(ctx context.Context, w int) error {
		if w == 0 {
			return r.write(ctx, t, stop, &wrote)
		}
		defer close(stop)
		if err := r.read(ctx, t, "lookup beside a writer", 8, lookup); err != nil {
			return err
		}
		return r.read(ctx, t, "dashboard beside a writer", 32, board)
	})
	if err != nil {
		return err
	}
	f := (&Figure{Case: "the writer", PeakMB: t.peak()}).timed(float64(wrote.Len()*writerRows), "rows/s", time.Since(begun), &wrote)
	wrong, err := t.sums(ctx, "SELECT count(*) AS n, count(DISTINCT id) AS ids FROM @kv", map[string]int64{"n": int64(r.Keys), "ids": int64(r.Keys)})
	if err != nil {
		return err
	}
	return r.report(f.judge(wrong))
}

const writerRows = 200

func (r *runner) write(ctx context.Context, t *target, stop <-chan struct{}, l *client.Latencies) error {
	rng := rand.New(rand.NewPCG(99, 0))
	tick := time.NewTicker(3 * time.Millisecond)
	defer tick.Stop()
	for seq := 1; ; seq++ {
		var b bytes.Buffer
		for range writerRows {
			fmt.Fprintf(&b, `{"id": %d, "name": "x", "amount": 1, "ts": 0}`+"\n", rng.IntN(r.Keys))
		}
		begun := time.Now()
		if _, err := t.Append(ctx, t.name("kv"), t.name("writer"), seq, b.Bytes(), client.TypeNDJSON); err != nil {
			return err
		}
		l.Add(time.Since(begun))
		select {
		case <-tick.C:
		case <-stop:
			return nil
		}
	}
}

// read sends requests from so many clients for a while and checks each answer.
func (r *runner) read(ctx context.Context, t *target, name string, clients int, next func(*rand.Rand) request) error {
	var l client.Latencies
	var first error
	started := time.Now()
	end := started.Add(r.length())
	wrong := make([]error, clients)
	err := together(ctx, clients, func(ctx context.Context, w int) error {
		rng := rand.New(rand.NewPCG(uint64(w), 1))
		var took []time.Duration
		var answer bytes.Buffer
		for time.Now().Before(end) {
			q := next(rng)
			begun := time.Now()
			if err := t.exchange(ctx, q, &answer); err != nil {
				return err
			}
			took = append(took, time.Since(begun))
			if wrong[w] == nil && !bytes.Contains(answer.Bytes(), []byte(q.holds)) {
				wrong[w] = fmt.Errorf("%s %s %s: %s has no %s", q.method, q.path, q.body, bytes.TrimSpace(answer.Bytes()), q.holds)
			}
		}
		l.Add(took...)
		return nil
	})
	if err != nil {
		return err
	}
	took := time.Since(started)
	for _, w := range wrong {
		if first == nil {
			first = w
		}
	}
	f := &Figure{Case: name + ", " + count(clients, "client")}
	return r.report(f.timed(float64(l.Len()), "requests/s", took, &l).judge(first))
}

var sqlHeader = http.Header{"Content-Type": {client.TypeText}}

func (t *target) exchange(ctx context.Context, q request, answer *bytes.Buffer) error {
	var body []byte
	if q.body != "" {
		body = []byte(q.body)
	}
	res, err := t.Do(ctx, q.method, q.path, body, sqlHeader)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	answer.Reset()
	_, err = io.Copy(answer, res.Body)
	return err
}
