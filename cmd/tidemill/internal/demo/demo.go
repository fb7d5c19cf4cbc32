// Package demo shows Tidemill at work: it serves a temporary directory on a loopback port, defines an auction
// flow in SQL, sends it events over HTTP as any program would, shows the views moving, closes and opens the
// directory, and then proves every relation against a recomputation, row by row.
//
// The recomputation is a plain loop over the events (model.go), which are functions of their numbers
// (bid.go): it shares neither code nor SQL with the engine. The commands that moved a view beforehand, an
// upsert and a deletion, are part of what is proven.
package demo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"strconv"
	"strings"
	"time"

	"tidemill/cmd/tidemill/internal/client"
	"tidemill/cmd/tidemill/internal/server"
)

// Options say how long to show and where.
type Options struct {
	Seconds float64 // of load
	Addr    string  // loopback; port 0 takes a free one
	Memory  int64   // of the server, in bytes; 0 is its default
	// Keep goes on serving after the proof until ctx ends.
	Keep     bool
	Out      io.Writer
	Terminal bool // Out can be redrawn and coloured
}

var errInterrupted = errors.New("ended before the proof")

// show is a demo that runs.
type show struct {
	opts   Options
	screen *screen
	dir    string
	server *server.Server
	client *client.Client
	load   *load
	gone   map[int64]bool
}

// Run shows the demo in a temporary directory, which it removes. The error is ErrNotProven when an answer
// was wrong.
func Run(ctx context.Context, o Options) (err error) {
	dir, err := os.MkdirTemp("", "tidemill-demo-")
	if err != nil {
		return err
	}
	s := &show{opts: o, screen: &screen{out: o.Out, terminal: o.Terminal}, dir: dir, gone: map[int64]bool{}}
	defer func() {
		s.screen.endProgress()
		err = errors.Join(err, s.close(), os.RemoveAll(dir))
	}()
	if err := s.open(o.Addr); err != nil {
		return err
	}
	for _, step := range []func(context.Context) error{s.define, s.stream, s.read, s.move, s.reopen, s.prove, s.stay} {
		if err := step(ctx); err != nil {
			if ctx.Err() != nil {
				return errInterrupted
			}
			return err
		}
	}
	return nil
}

func (s *show) open(addr string) (err error) {
	s.server, err = server.Open(server.Options{Dir: s.dir, Addr: addr, Memory: s.opts.Memory})
	if err != nil {
		return err
	}
	s.client = client.New(s.server.URL())
	return nil
}

func (s *show) close() error {
	if s.server == nil {
		return nil
	}
	s.client.Close()
	err := s.server.Close()
	s.server = nil
	return err
}

func (s *show) define(ctx context.Context) error {
	s.screen.line("%s  serving %s at %s", s.screen.in(bold, "Tidemill demo"), s.dir, s.server.URL())
	s.screen.heading("A flow in SQL: two tables, four views")
	for _, d := range flow {
		s.screen.line("%s", s.screen.in(dim, "  -- "+d.what))
		s.screen.line("  %s;", strings.ReplaceAll(d.sql, "\n", "\n  "))
		if _, err := s.client.SQL(ctx, d.sql); err != nil {
			return err
		}
	}
	s.load = newLoad(s.client)
	return s.load.house.open(ctx)
}

func (s *show) stream(ctx context.Context) error {
	s.screen.heading(fmt.Sprintf("%d producers send bids for %g seconds, %s in a body; auctions open, close and go meanwhile",
		producers, s.opts.Seconds, thousands(bodyRows)))
	length := time.Duration(s.opts.Seconds * float64(time.Second))
	begun := time.Now()
	if err := s.load.run(ctx, length, s.screen); err != nil {
		return err
	}
	rate := float64(s.load.bids()) / time.Since(begun).Seconds()
	q := s.load.all.Quantiles(.5, .99)
	s.screen.line("  %s bids acknowledged, on disk and in every view: %s a second, ack p50 %s, p99 %s",
		thousands(s.load.bids()), thousands(int64(rate)), millis(q[0]), millis(q[1]))
	s.screen.line("  %d statements over all six relations at once: each saw one commit, and all that was acknowledged", s.load.checks)
	return nil
}

// read shows a lookup and a query.
func (s *show) read(ctx context.Context) error {
	s.screen.heading("A lookup by key, and a query")
	key := []string{"0", categoryOf(0)}
	if _, err := s.client.Lookup(ctx, "board", key...); err != nil { // the connection is open then
		return err
	}
	begun := time.Now()
	rows, err := s.client.Lookup(ctx, "board", key...)
	if err != nil {
		return err
	}
	s.screen.line("  GET %s  %s", client.LookupPath("board", key...), s.screen.in(dim, millis(time.Since(begun))))
	s.screen.table(boardColumns, rows)
	const query = "SELECT category, bids, high, volume FROM market ORDER BY volume DESC LIMIT 3"
	begun = time.Now()
	if rows, err = s.client.SQL(ctx, query); err != nil {
		return err
	}
	s.screen.line("  %s  %s", query, s.screen.in(dim, millis(time.Since(begun))))
	s.screen.table([]string{"category", "bids", "high", "volume"}, rows)
	return nil
}

var boardColumns = []string{"auction", "category", "bids", "high", "volume"}

// move shows one upsert and one deletion moving the views that follow.
func (s *show) move(ctx context.Context) error {
	s.screen.heading("An upsert takes the old row back from every view, and so does a deletion")
	const offers = "SELECT category, status, auctions, reserve FROM offers WHERE category = 'art' ORDER BY status"
	was := s.load.house.known[0]
	now := auction{0, !was.open, was.reserve + 100}
	if err := s.around(ctx, offers, []string{"category", "status", "auctions", "reserve"},
		"POST /append/auctions  "+strings.TrimSpace(string(now.appendJSON(nil))),
		func() error { return s.load.house.put(ctx, []auction{now}, nil) }); err != nil {
		return err
	}
	// The highest bid of an auction goes: its maximum must be found again among those that are left.
	row, err := s.client.One(ctx, "SELECT id FROM valid_bids WHERE auction = 0 ORDER BY price DESC, id LIMIT 1")
	if err != nil {
		return err
	}
	id := row.Int("id")
	remove := "DELETE FROM bids WHERE id = " + strconv.FormatInt(id, 10)
	return s.around(ctx, "SELECT * FROM board WHERE auction = 0", boardColumns, remove, func() error {
		_, err := s.client.SQL(ctx, remove)
		s.gone[id] = true
		return err
	})
}

// around shows what a query gives before and after a change.
func (s *show) around(ctx context.Context, query string, columns []string, what string, change func() error) error {
	for after := range 2 {
		rows, err := s.client.SQL(ctx, query)
		if err != nil {
			return err
		}
		s.screen.table(columns, rows)
		if after == 0 {
			if err := change(); err != nil {
				return err
			}
			s.screen.line("  %s", what)
		}
	}
	return nil
}

// reopen closes the directory and opens it again, so that what is proven comes from disk.
func (s *show) reopen(ctx context.Context) error {
	addr := s.server.Addr()
	commit := s.server.Engine.Commit()
	begun := time.Now()
	if err := s.close(); err != nil {
		return err
	}
	closed := time.Now()
	if err := s.open(addr); err != nil {
		return err
	}
	if _, err := s.client.Lookup(ctx, "board", "0", categoryOf(0)); err != nil {
		return err
	}
	s.screen.heading("Closed and opened again")
	s.screen.line("  saved and closed in %s, open and answering in %s, at commit %s", seconds(closed.Sub(begun)), seconds(time.Since(closed)), thousands(int64(commit)))
	if got := s.server.Engine.Commit(); got != commit {
		return fmt.Errorf("%w: commit %d came back as %d", ErrNotProven, commit, got)
	}
	return nil
}

func (s *show) prove(ctx context.Context) error {
	s.screen.heading("The proof: every relation against a recomputation from the events")
	m := recompute(s.load, s.gone)
	if m.bids() == 0 || m.valid == 0 {
		return fmt.Errorf("%w: no bids were sent", ErrNotProven)
	}
	if err := prove(ctx, s.client, s.load, m, s.screen.verdict); err != nil {
		return err
	}
	s.screen.line("\n%s", s.screen.in(bold, "Every view equals its SQL over the events that were acknowledged."))
	return nil
}

// stay goes on serving.
func (s *show) stay(ctx context.Context) error {
	if !s.opts.Keep {
		return nil
	}
	url := s.server.URL()
	s.screen.heading("Still serving: try these, and end it with Ctrl-C")
	for _, l := range []string{
		"curl -d 'SELECT * FROM market ORDER BY volume DESC' " + url + "/sql",
		"curl " + url + client.LookupPath("board", "0", categoryOf(0)),
		fmt.Sprintf(`curl -d '{"id":%d,"auction":0,"category":"art","price":99999.99,"channel":"web"}' `, int64(math.MaxInt32)) + url + "/append/bids",
		`curl -d '{"id":0,"category":"art","status":"closed","reserve":1}' ` + url + "/append/auctions",
		"curl -d 'EXPLAIN MATERIALIZED VIEW market' " + url + "/sql",
		"curl " + url + "/stats",
	} {
		s.screen.line("  %s", l)
	}
	select {
	case <-ctx.Done():
		return nil
	case err := <-s.server.Failed():
		return errors.Join(errors.New("the server stopped"), err)
	}
}
