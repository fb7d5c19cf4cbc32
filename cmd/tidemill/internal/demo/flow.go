package demo

// definition is one statement that makes the flow, and what it is there for.
type definition struct{ what, sql string }

// flow is a bag, a keyed table, and four views: a filter, an aggregate of it, a rollup of that, and an
// aggregate of the keyed table, which every upsert moves by a retraction and an insertion.
var flow = []definition{
	{"every bid is kept", `CREATE TABLE bids (
  id BIGINT NOT NULL, auction BIGINT, category VARCHAR, bidder VARCHAR,
  price DECIMAL(12,2), channel VARCHAR, bid_at TIMESTAMP)`},
	{"one row for each auction, replaced by the next", `CREATE TABLE auctions (
  id BIGINT PRIMARY KEY, category VARCHAR, status VARCHAR, reserve DECIMAL(12,2))`},
	{"a filter", `CREATE MATERIALIZED VIEW valid_bids AS
  SELECT id, auction, category, price, channel FROM bids
  WHERE price > 0 AND channel <> 'robot'`},
	{"an aggregate of the filter", `CREATE MATERIALIZED VIEW board AS
  SELECT auction, category, count(*) AS bids, max(price) AS high, sum(price) AS volume
  FROM valid_bids GROUP BY auction, category`},
	{"a rollup of the aggregate", `CREATE MATERIALIZED VIEW market AS
  SELECT category, count(*) AS auctions, sum(bids) AS bids, max(high) AS high, sum(volume) AS volume
  FROM board GROUP BY category`},
	{"an aggregate of the keyed table", `CREATE MATERIALIZED VIEW offers AS
  SELECT category, status, count(*) AS auctions, sum(reserve) AS reserve
  FROM auctions GROUP BY category, status`},
}

// pulse is one statement over every relation, so over one commit: what the progress line shows, and the
// sums that must agree between the views at every commit.
const pulse = `SELECT
  (SELECT count(*) FROM bids) AS bids,
  (SELECT count(*) FROM bids WHERE price > 0 AND channel <> 'robot') AS expected,
  (SELECT count(*) FROM valid_bids) AS valid,
  (SELECT sum(bids) FROM board) AS on_board,
  (SELECT sum(bids) FROM market) AS in_market,
  (SELECT count(*) FROM board) AS auctions,
  (SELECT max(volume) FROM market) AS top,
  (SELECT category FROM market ORDER BY volume DESC, category LIMIT 1) AS leader,
  (SELECT sum(auctions) FROM offers WHERE status = 'open') AS open,
  (SELECT count(*) FROM auctions WHERE status = 'open') AS open_expected`
