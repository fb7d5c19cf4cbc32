package demo

import (
	"strconv"
	"time"
)

// The world of the demo.
const (
	auctions  = 2000
	producers = 4
	bodyRows  = 1000 // bids in one append
)

var (
	categories = []string{"art", "books", "coins", "garden", "music", "sports", "tools", "toys"}
	channels   = []string{"web", "phone", "shop", "robot"}
)

// categoryOf is fixed for each auction.
func categoryOf(auction int64) string { return categories[auction%int64(len(categories))] }

// bid is one event. It is a function of its id alone, so that the proof can make it again.
type bid struct {
	id, auction int64
	bidder      int64
	cents       int64 // below 1 for bids that are withdrawn
	priced      bool  // or the price is NULL
	channel     string
	micros      int64
}

// producerBits is where a bid's id holds its producer.
const producerBits = 40

func idOf(producer, i int64) int64 { return producer<<producerBits | i }

var firstBid = time.Date(2027, 1, 1, 9, 0, 0, 0, time.UTC).UnixMicro()

// bidOf makes the bid of an id: a few auctions get most bids, one in fifty has no price, one in twenty is
// withdrawn, one in ten comes from a robot.
func bidOf(id int64) bid {
	h := mix(uint64(id))
	u := float64(h>>40) / (1 << 24)
	h2 := mix(h)
	b := bid{id: id, auction: int64(u * u * auctions), bidder: int64(h2 % 5000), priced: h2>>16%50 != 0,
		cents: int64(h2>>24%500_000) + 1, micros: firstBid + id&(1<<producerBits-1)*250}
	if h2>>44%20 == 0 {
		b.cents = -b.cents
	}
	b.channel = channels[int(h%3)]
	if h2>>50%10 == 0 {
		b.channel = channels[3]
	}
	return b
}

// mix is the finaliser of splitmix64: every bit of x moves every bit of the result.
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// valid is what the view valid_bids says in SQL.
func (b *bid) valid() bool { return b.priced && b.cents > 0 && b.channel != "robot" }

// appendJSON appends the bid as a line of NDJSON.
func (b *bid) appendJSON(dst []byte) []byte {
	dst = strconv.AppendInt(append(dst, `{"id":`...), b.id, 10)
	dst = strconv.AppendInt(append(dst, `,"auction":`...), b.auction, 10)
	dst = append(append(append(dst, `,"category":"`...), categoryOf(b.auction)...), '"')
	dst = strconv.AppendInt(append(dst, `,"bidder":"b`...), b.bidder, 10)
	dst = append(dst, `","price":`...)
	if b.priced {
		dst = appendCents(dst, b.cents)
	} else {
		dst = append(dst, "null"...)
	}
	dst = append(append(append(dst, `,"channel":"`...), b.channel...), `","bid_at":"`...)
	dst = time.UnixMicro(b.micros).UTC().AppendFormat(dst, "2006-01-02 15:04:05.000000")
	return append(dst, "\"}\n"...)
}

// appendCents writes an amount as SQL writes a DECIMAL(12,2).
func appendCents(dst []byte, cents int64) []byte {
	if cents < 0 {
		dst, cents = append(dst, '-'), -cents
	}
	dst = strconv.AppendInt(dst, cents/100, 10)
	return append(dst, '.', byte('0'+cents/10%10), byte('0'+cents%10))
}

func centsText(cents int64) string { return string(appendCents(nil, cents)) }

// appendBody appends the next bodyRows bids of a producer from its bid i on.
func appendBody(dst []byte, producer, i int64) []byte {
	for k := range int64(bodyRows) {
		b := bidOf(idOf(producer, i+k))
		dst = b.appendJSON(dst)
	}
	return dst
}
