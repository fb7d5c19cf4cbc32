package demo

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"tidemill/cmd/tidemill/internal/client"
)

// TestRun shows the whole demo for a second: it ends with every relation proven.
func TestRun(t *testing.T) {
	var out bytes.Buffer
	if err := Run(t.Context(), Options{Seconds: 1, Addr: "127.0.0.1:0", Out: &out}); err != nil {
		t.Fatalf("%v\n%s", err, &out)
	}
	for _, relation := range []string{"bids", "auctions", "valid_bids", "board", "market", "offers"} {
		if !strings.Contains(out.String(), "\n  proven  "+relation+" ") {
			t.Errorf("%s is not proven", relation)
		}
	}
	if strings.ContainsAny(out.String(), "\r\x1b") {
		t.Error("output that is no terminal's has its marks")
	}
	if t.Failed() {
		t.Logf("%s", &out)
	}
}

// TestInterrupted: whoever ends the demo early is not told that an answer was wrong.
func TestInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	err := Run(ctx, Options{Seconds: 1, Addr: "127.0.0.1:0", Out: &bytes.Buffer{}, Terminal: true})
	if err == nil || errors.Is(err, ErrNotProven) {
		t.Errorf("error is %v", err)
	}
}

// TestBid: the text that is sent holds what the recomputation counts.
func TestBid(t *testing.T) {
	var negative, unpriced, robots, valid int
	for i := range int64(10_000) {
		b := bidOf(idOf(i%producers, i))
		var sent struct {
			ID, Auction       int64
			Category, Channel string
			Price             json.Number
		}
		if err := json.Unmarshal(b.appendJSON(nil), &sent); err != nil {
			t.Fatal(err)
		}
		if sent.ID != b.id || sent.Auction != b.auction || sent.Category != categoryOf(b.auction) || sent.Channel != b.channel ||
			b.auction < 0 || b.auction >= auctions || b.priced && sent.Price.String() != centsText(b.cents) || !b.priced && sent.Price != "" {
			t.Fatalf("bid %+v is sent as %s", b, b.appendJSON(nil))
		}
		switch {
		case !b.priced:
			unpriced++
		case b.cents < 0:
			negative++
		case b.channel == "robot":
			robots++
		default:
			valid++
		}
		if b.valid() != (b.priced && b.cents > 0 && b.channel != "robot") {
			t.Fatalf("bid %+v", b)
		}
	}
	if negative < 100 || unpriced < 100 || robots < 100 || valid < 5000 {
		t.Errorf("%d withdrawn, %d without price, %d by robots, %d valid", negative, unpriced, robots, valid)
	}
	for cents, want := range map[int64]string{0: "0.00", 7: "0.07", -7: "-0.07", -123456: "-1234.56", 100: "1.00"} {
		if got := centsText(cents); got != want {
			t.Errorf("%d cents are written %s", cents, got)
		}
	}
}

// TestConsistent: a statement that mixes commits, or misses what was acknowledged, fails the demo.
func TestConsistent(t *testing.T) {
	for name, c := range map[string]struct {
		row   string
		right bool
	}{
		"one commit":  {`{"bids":9,"expected":7,"valid":7,"on_board":7,"in_market":7,"open":2,"open_expected":2}`, true},
		"behind":      {`{"bids":4,"expected":3,"valid":3,"on_board":3,"in_market":3,"open":2,"open_expected":2}`, false},
		"filter":      {`{"bids":9,"expected":7,"valid":8,"on_board":7,"in_market":7,"open":2,"open_expected":2}`, false},
		"aggregate":   {`{"bids":9,"expected":7,"valid":7,"on_board":6,"in_market":7,"open":2,"open_expected":2}`, false},
		"rollup":      {`{"bids":9,"expected":7,"valid":7,"on_board":7,"in_market":null,"open":2,"open_expected":2}`, false},
		"keyed table": {`{"bids":9,"expected":7,"valid":7,"on_board":7,"in_market":7,"open":3,"open_expected":2}`, false},
	} {
		d := json.NewDecoder(strings.NewReader(c.row))
		d.UseNumber()
		var row client.Row
		if err := d.Decode(&row); err != nil {
			t.Fatal(err)
		}
		if err := consistent(row, 5); (err == nil) != c.right || err != nil && !errors.Is(err, ErrNotProven) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
