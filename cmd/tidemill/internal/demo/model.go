package demo

import (
	"math"
	"strconv"

	"tidemill/cmd/tidemill/internal/client"
)

// model is what the views must hold, worked out from the events alone, in a loop over all of them: it shares
// no code with the engine, and no SQL.
type model struct {
	acked  [producers]int64
	gone   map[int64]bool // bids that were deleted
	valid  int64
	boards [auctions]tally
	market map[string]*rollup
	offers map[[2]string]*tally
}

// tally is a group of bids or of auctions.
type tally struct {
	count, high, sum int64 // cents
}

func (t *tally) add(cents int64) {
	if t.count == 0 {
		t.high = math.MinInt64
	}
	t.count++
	t.high = max(t.high, cents)
	t.sum += cents
}

// rollup is a group of boards.
type rollup struct {
	auctions int64
	tally
}

// recompute makes the model of everything that was acknowledged.
func recompute(l *load, gone map[int64]bool) *model {
	m := &model{gone: gone, market: map[string]*rollup{}, offers: map[[2]string]*tally{}}
	for p := range m.acked {
		m.acked[p] = l.acked[p].Load()
		for i := range m.acked[p] {
			if b := bidOf(idOf(int64(p), i)); m.has(&b) {
				m.valid++
				m.boards[b.auction].add(b.cents)
			}
		}
	}
	for a := range m.boards {
		board := &m.boards[a]
		if board.count == 0 {
			continue
		}
		category := categoryOf(int64(a))
		r := m.market[category]
		if r == nil {
			r = &rollup{tally: tally{high: math.MinInt64}}
			m.market[category] = r
		}
		r.auctions++
		r.count += board.count
		r.high = max(r.high, board.high)
		r.sum += board.sum
	}
	for _, a := range l.house.known {
		k := [2]string{categoryOf(a.id), status(a.open)}
		if m.offers[k] == nil {
			m.offers[k] = &tally{}
		}
		m.offers[k].add(a.reserve)
	}
	return m
}

// has reports whether the filter view must hold the bid.
func (m *model) has(b *bid) bool { return b.valid() && !m.gone[b.id] }

// bids returns how many rows the table must have.
func (m *model) bids() (n int64) {
	for _, k := range m.acked {
		n += k
	}
	return n - int64(len(m.gone))
}

// Rows as the views must show them, each column as text.

func (m *model) boardRows() (rows []client.Row) {
	for a := range m.boards {
		if t := &m.boards[a]; t.count > 0 {
			rows = append(rows, client.Row{"auction": strconv.Itoa(a), "category": categoryOf(int64(a)),
				"bids": strconv.FormatInt(t.count, 10), "high": centsText(t.high), "volume": centsText(t.sum)})
		}
	}
	return rows
}

func (m *model) marketRows() (rows []client.Row) {
	for category, r := range m.market {
		rows = append(rows, client.Row{"category": category, "auctions": strconv.FormatInt(r.auctions, 10),
			"bids": strconv.FormatInt(r.count, 10), "high": centsText(r.high), "volume": centsText(r.sum)})
	}
	return rows
}

func (m *model) offerRows() (rows []client.Row) {
	for k, t := range m.offers {
		rows = append(rows, client.Row{"category": k[0], "status": k[1], "auctions": strconv.FormatInt(t.count, 10), "reserve": centsText(t.sum)})
	}
	return rows
}

func (l *load) auctionRows() (rows []client.Row) {
	for _, a := range l.house.known {
		rows = append(rows, client.Row{"id": strconv.FormatInt(a.id, 10), "category": categoryOf(a.id), "status": status(a.open), "reserve": centsText(a.reserve)})
	}
	return rows
}
