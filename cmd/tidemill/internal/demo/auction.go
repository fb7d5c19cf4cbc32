package demo

import (
	"context"
	"fmt"
	"strconv"

	"tidemill/cmd/tidemill/internal/client"
)

// auction is a row of the keyed table: the newest for each id.
type auction struct {
	id      int64
	open    bool
	reserve int64 // cents
}

// house is the one producer of auctions and the record of what it was told is saved: it opens all, then
// closes, reopens, reprices and now and then deletes some, a body at a time.
type house struct {
	client *client.Client
	seq    int
	known  map[int64]auction
	round  uint64
	body   []byte
}

func newHouse(c *client.Client) *house {
	return &house{client: c, known: map[int64]auction{}}
}

func status(open bool) string {
	if open {
		return "open"
	}
	return "closed"
}

// open lists every auction.
func (h *house) open(ctx context.Context) error {
	rows := make([]auction, auctions)
	for i := range rows {
		rows[i] = auction{int64(i), true, int64(mix(uint64(i))%100_000) + 100}
	}
	return h.put(ctx, rows, nil)
}

// churn changes some auctions.
func (h *house) churn(ctx context.Context) error {
	const changes = 100
	h.round++
	var rows []auction
	var gone []int64
	for k := range uint64(changes) {
		x := mix(h.round*changes + k)
		id := int64(x % auctions)
		if x>>32%16 == 0 {
			gone = append(gone, id)
			continue
		}
		rows = append(rows, auction{id, x>>40%3 != 0, int64(x>>16%100_000) + 100})
	}
	return h.put(ctx, rows, gone)
}

// put upserts rows and then deletes keys, in one commit. What it holds is recorded when it is acknowledged.
func (h *house) put(ctx context.Context, rows []auction, gone []int64) error {
	h.body = h.body[:0]
	for _, a := range rows {
		h.body = a.appendJSON(h.body)
	}
	for _, id := range gone {
		h.body = fmt.Appendf(h.body, `{"id":%d,"_deleted":true}`+"\n", id)
	}
	h.seq++
	if _, err := h.client.Append(ctx, "auctions", "house", h.seq, h.body, client.TypeNDJSON); err != nil {
		return err
	}
	for _, a := range rows {
		h.known[a.id] = a
	}
	for _, id := range gone {
		delete(h.known, id)
	}
	return nil
}

func (a *auction) appendJSON(dst []byte) []byte {
	dst = strconv.AppendInt(append(dst, `{"id":`...), a.id, 10)
	dst = append(append(append(dst, `,"category":"`...), categoryOf(a.id)...), '"')
	dst = append(append(append(dst, `,"status":"`...), status(a.open)...), '"')
	dst = appendCents(append(dst, `,"reserve":`...), a.reserve)
	return append(dst, "}\n"...)
}
