package crashtest

import (
	"fmt"
	"regexp"
)

// tables are there from the beginning.
var tables = []string{
	"CREATE TABLE events (id BIGINT NOT NULL, region VARCHAR, user_id VARCHAR, amount BIGINT, txt VARCHAR, v BIGINT)",
	"CREATE TABLE accounts (k BIGINT PRIMARY KEY, owner VARCHAR, bal BIGINT, stamp BIGINT)",
}

// view is a materialized view: its SELECT, in which {x} stands for a view that it follows, and, where rows may
// fail, a SELECT that gives the same rows without failing.
type view struct {
	name, sql, sure string
	fixed           bool // there from the beginning; others come and go
}

var views = []view{
	{name: "silver", sql: "SELECT id, region, user_id, amount, v FROM events WHERE amount % 5 <> 0", fixed: true},
	{name: "gold", sql: "SELECT region, user_id, count(*) AS n, sum(amount) AS total FROM {silver} GROUP BY region, user_id", fixed: true},
	{name: "platinum", sql: "SELECT region, sum(n) AS n, sum(total) AS total, max(total) AS top, min(n) AS low FROM {gold} GROUP BY region", fixed: true},
	{name: "uniques", sql: "SELECT region, count(DISTINCT user_id) AS users, count(DISTINCT v) AS vs FROM events GROUP BY region", fixed: true},
	{name: "numbers", sql: "SELECT id, CAST(txt AS BIGINT) AS x FROM events",
		sure: "SELECT id, TRY_CAST(txt AS BIGINT) AS x FROM events WHERE TRY_CAST(txt AS BIGINT) IS NOT NULL", fixed: true},
	{name: "owners", sql: "SELECT owner, count(*) AS n, sum(bal) AS bal, max(bal) AS top, max(stamp) AS last FROM accounts GROUP BY owner", fixed: true},
	{name: "sevens", sql: "SELECT id % 7 AS m, sum(x) AS x, count(*) AS n FROM {numbers} GROUP BY id % 7"},
	{name: "pairs", sql: "SELECT DISTINCT region, v FROM events"},
	{name: "merged", sql: "SELECT region AS what, v AS n FROM events UNION ALL SELECT owner, stamp FROM accounts WHERE bal > 100"},
	{name: "merges", sql: "SELECT what, count(*) AS c, max(n) AS top FROM {merged} GROUP BY what"},
	{name: "busy", sql: "SELECT user_id, avg(amount) AS mean, count(*) FILTER (WHERE v > 6) AS big FROM {silver} GROUP BY user_id HAVING count(*) > 2"},
	{name: "total", sql: "SELECT count(*) AS n, sum(v) AS v, max(user_id) AS last FROM events"},
}

var followed = regexp.MustCompile(`\{(\w+)\}`)

func viewNamed(name string) *view {
	for i := range views {
		if views[i].name == name {
			return &views[i]
		}
	}
	panic("no view " + name)
}

// follows returns the views that v reads.
func (v *view) follows() (names []string) {
	for _, m := range followed.FindAllStringSubmatch(v.sql, -1) {
		names = append(names, m[1])
	}
	return names
}

func (v *view) create() string {
	return "CREATE MATERIALIZED VIEW " + v.name + " AS " + followed.ReplaceAllString(v.sql, "$1")
}

// oracle is the view's SELECT over tables only.
func (v *view) oracle() string {
	sql := v.sql
	if v.sure != "" {
		sql = v.sure
	}
	return followed.ReplaceAllStringFunc(sql, func(s string) string {
		return "(" + viewNamed(s[1:len(s)-1]).oracle() + ") AS " + s[1:len(s)-1]
	})
}

// comparison is a SELECT of the view's name, how many rows it has too many and too few, and its rows. It is EXCEPT
// ALL both ways in one pass and a third of the memory.
func (v *view) comparison() string {
	return fmt.Sprintf("SELECT '%[1]s' AS name, coalesce(sum(w) FILTER (w > 0), 0)::BIGINT AS surplus, coalesce(-sum(w) FILTER (w < 0), 0)::BIGINT AS missing, "+
		"(SELECT count(*) FROM %[1]s) AS n FROM (SELECT sum(w) AS w FROM (SELECT a AS t, 1 AS w FROM %[1]s AS a UNION ALL SELECT b AS t, -1 AS w FROM (%[2]s) AS b) GROUP BY t)",
		v.name, v.oracle())
}

// rejectsComparison does it for the rows that numbers could not use.
const rejectsComparison = `SELECT 'numbers$rejects' AS name, (SELECT coalesce(sum(n), 0)::BIGINT FROM "numbers$rejects") - ` +
	`(SELECT count(*) FROM events WHERE TRY_CAST(txt AS BIGINT) IS NULL) AS surplus, 0::BIGINT AS missing, (SELECT count(*) FROM "numbers$rejects") AS n`
