package demo

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"tidemill/cmd/tidemill/internal/client"
	"tidemill/cmd/tidemill/internal/server"
)

// TestProof: the proof holds after a load, and each change behind its back is found in every relation that
// it reaches, and in no other.
func TestProof(t *testing.T) {
	s, err := server.Open(server.Options{Dir: t.TempDir(), Addr: "127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	c := client.New(s.URL())
	defer c.Close()
	for _, d := range flow {
		if _, err := c.SQL(t.Context(), d.sql); err != nil {
			t.Fatal(err)
		}
	}
	l := newLoad(c)
	if err := l.house.open(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := l.run(t.Context(), 200*time.Millisecond, &screen{out: io.Discard}); err != nil {
		t.Fatal(err)
	}
	m := recompute(l, nil)
	wrong := func() (out []string) {
		err := prove(t.Context(), c, l, m, func(p proof, err error) {
			if errors.Is(err, ErrNotProven) {
				out = append(out, p.relation)
			} else if err != nil {
				t.Error(err)
			}
		})
		if errors.Is(err, ErrNotProven) != (len(out) > 0) {
			t.Errorf("wrong are %v, but the error is %v", out, err)
		}
		return out
	}
	if got := wrong(); got != nil {
		t.Fatalf("%v are wrong before anything was changed", got)
	}
	bid, err := c.One(t.Context(), "SELECT id FROM valid_bids ORDER BY id LIMIT 1")
	if err != nil {
		t.Fatal(err)
	}
	id := bid.Text("id")
	b := bidOf(bid.Int("id"))
	row := "(" + id + ", 1, 'x', 'y', 1, 'web', NULL)"
	for _, k := range []struct{ what, do, undo, wrong string }{
		{"a missing bid", "DELETE FROM bids WHERE id = " + id, "", "bids valid_bids board market"},
		{"another price", restored(&b, b.cents+1), "DELETE FROM bids WHERE id = " + id, "bids valid_bids board market"},
		{"a bid twice", restored(&b, b.cents) + "; " + restored(&b, b.cents), "DELETE FROM bids WHERE id = " + id + "; " + restored(&b, b.cents), "bids valid_bids board market"},
		{"a foreign bid", "INSERT INTO bids VALUES " + strings.Replace(row, id, "-1", 1), "DELETE FROM bids WHERE id = -1", "bids valid_bids board market"},
		{"an invalid bid", "INSERT INTO bids VALUES " + strings.Replace(strings.Replace(row, id, "-2", 1), "web", "robot", 1), "DELETE FROM bids WHERE id = -2", "bids"},
		{"another reserve", "UPDATE auctions SET reserve = reserve + 0.01 WHERE id = (SELECT min(id) FROM auctions)", "", "auctions offers"},
	} {
		if _, err := c.SQL(t.Context(), k.do); err != nil {
			t.Fatalf("%s: %v", k.what, err)
		}
		if got, want := wrong(), strings.Fields(k.wrong); !slices.Equal(got, want) {
			t.Errorf("%s: %v are wrong instead of %v", k.what, got, want)
		}
		if k.undo == "" {
			continue
		}
		if _, err := c.SQL(t.Context(), k.undo); err != nil {
			t.Fatalf("%s: %v", k.what, err)
		}
	}
}

// restored inserts a bid with the given price.
func restored(b *bid, cents int64) string {
	return fmt.Sprintf("INSERT INTO bids VALUES (%d, %d, '%s', 'b', %s, '%s', NULL)", b.id, b.auction, categoryOf(b.auction), centsText(cents), b.channel)
}
