package kill

import (
	"bytes"
	"fmt"
	"hash/fnv"
)

// clients is how many producers append to each of the two tables.
const clients = 4

var schema = []string{
	"CREATE TABLE raw (p INTEGER NOT NULL, seq BIGINT NOT NULL, i INTEGER NOT NULL, n INTEGER NOT NULL, who VARCHAR, what VARCHAR, x BIGINT)",
	"CREATE TABLE latest (p INTEGER, k BIGINT, stamp BIGINT, PRIMARY KEY (p, k))",
}

// views are made at the beginning: name, SELECT as created, SELECT over tables that cannot fail.
var views = [][3]string{
	{"good", "SELECT p, seq, i, who, x FROM raw WHERE x % 4 <> 0", ""},
	{"people", "SELECT who, count(*) AS n, sum(x) AS x FROM good GROUP BY who",
		"SELECT who, count(*) AS n, sum(x) AS x FROM raw WHERE x % 4 <> 0 GROUP BY who"},
	{"ranks", "SELECT n, count(*) AS c, max(x) AS top FROM people GROUP BY n",
		"SELECT n, count(*) AS c, max(x) AS top FROM (SELECT who, count(*) AS n, sum(x) AS x FROM raw WHERE x % 4 <> 0 GROUP BY who) GROUP BY n"},
	{"kinds", "SELECT p, count(DISTINCT who) AS whos, count(*) AS n, max(seq) AS last FROM raw GROUP BY p", ""},
	{"numbers", "SELECT p, seq, CAST(what AS INTEGER) AS v FROM raw",
		"SELECT p, seq, TRY_CAST(what AS INTEGER) AS v FROM raw WHERE TRY_CAST(what AS INTEGER) IS NOT NULL"},
	{"newest", "SELECT p, count(*) AS n, max(stamp) AS last, sum(stamp) AS total FROM latest GROUP BY p", ""},
}

// big is the view that is being created when the program is killed.
var big = [3]string{"big", "SELECT who, what, count(*) AS n, max(x) AS top FROM raw GROUP BY who, what", ""}

func comparison(v [3]string) string {
	oracle := v[2]
	if oracle == "" {
		oracle = v[1]
	}
	return fmt.Sprintf("SELECT coalesce(sum(w) FILTER (w > 0), 0)::BIGINT AS surplus, coalesce(-sum(w) FILTER (w < 0), 0)::BIGINT AS missing "+
		"FROM (SELECT sum(w) AS w FROM (SELECT a AS t, 1 AS w FROM %s AS a UNION ALL SELECT b AS t, -1 AS w FROM (%s) AS b) GROUP BY t)", v[0], oracle)
}

// producer is one sender and what is known of it. It is its goroutine's while it sends.
type producer struct {
	p           int
	table       string
	sent, acked uint64
	known       uint64 // its last seq as the program had it when it was last started
}

func (p *producer) name() string { return fmt.Sprintf("%s-%d", p.table, p.p) }

// draw is a random number that depends on the row only.
func (p *producer) draw(seq uint64, i int, what string) int64 {
	h := fnv.New64a()
	fmt.Fprintf(h, "%s/%d/%d/%s", p.name(), seq, i, what)
	return int64(h.Sum64() >> 20)
}

func (p *producer) rows(seq uint64) int {
	n := p.draw(seq, 0, "n")
	if n%40 == 0 {
		return 200
	}
	return 1 + int(n%8)
}

func (p *producer) key(seq uint64) int64 { return p.draw(seq, 0, "k") % 50 }

// body is the append of seq: it is the same each time.
func (p *producer) body(seq uint64) []byte {
	var b bytes.Buffer
	if p.table == "latest" {
		fmt.Fprintf(&b, `{"p":%d,"k":%d,"stamp":%d}`+"\n", p.p, p.key(seq), seq)
		return b.Bytes()
	}
	n := p.rows(seq)
	for i := range n {
		what := fmt.Sprint(p.draw(seq, i, "what") % 10000)
		if p.draw(seq, i, "bad")%30 == 0 {
			what = "none"
		}
		fmt.Fprintf(&b, `{"p":%d,"seq":%d,"i":%d,"n":%d,"who":"somebody-with-a-long-name-%d","what":"%s","x":%d}`+"\n",
			p.p, seq, i, n, p.draw(seq, i, "who")%40000, what, p.draw(seq, i, "x")%100000)
	}
	return b.Bytes()
}
