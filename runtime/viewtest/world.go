package viewtest

import (
	"fmt"
	"math/rand/v2"
	"strings"

	"tidemill/state/column"
)

// world is what the generator of operations knows: the relations that are there.
type world struct {
	r    *rand.Rand
	x    *runner
	ids  int
	safe bool // of the view in the making
}

func (w *world) nextID() int { w.ids++; return w.ids }

func (w *world) relations() []*relation { return w.x.relations }

// operation is one step of a case. It holds everything to be repeated, in any other sequence of operations too:
// what it names may be missing then, and the step is passed over.
type operation struct {
	Table   *table // CREATE TABLE
	View    *view  // CREATE MATERIALIZED VIEW
	Drop    string // DROP
	Cascade bool
	Change  *change // UPDATE, DELETE, TRUNCATE or INSERT ... SELECT
	Block   *transaction
	Insert  *insert  // INSERT ... VALUES
	Appends []insert // sent at once, each to a bag or to a keyed table of its own
	Crash   *crash   // while the appends are on their way
	Restart bool
	Save    bool // CHECKPOINT
}

type insert struct {
	Table    string
	Cols     []int // of INSERT; an append has all
	Rows     [][]value
	Deleted  []bool
	Producer string
	// Repeat sends the producer's last append again; Gap leaves a seq out.
	Repeat, Gap bool
}

// change is an UPDATE, DELETE, TRUNCATE or INSERT ... SELECT of a table's own rows.
type change struct {
	Table string
	Kind  string         // UPDATE, DELETE, TRUNCATE, INSERT
	Set   map[int]string // column to expression
	Where string         // with the word, or empty
}

// sql writes the statement as a user does.
func (c *change) sql(t *table) string {
	switch c.Kind {
	case "DELETE":
		return "DELETE FROM " + c.Table + c.Where
	case "TRUNCATE":
		return "TRUNCATE " + c.Table
	case "INSERT":
		return "INSERT INTO " + c.Table + " SELECT * FROM " + c.Table + c.Where
	}
	var set []string
	for i, col := range t.Cols {
		if e, ok := c.Set[i]; ok {
			set = append(set, col.Name+" = "+e)
		}
	}
	return "UPDATE " + c.Table + " SET " + strings.Join(set, ", ") + c.Where
}

// plain writes it for the oracle: DuckDB's UPDATE leaves a row alone when its new values equal the old ones, and so
// takes -0.0 for 0.0.
func (c *change) plain(t *table) []string {
	if c.Kind != "UPDATE" {
		return []string{c.sql(t)}
	}
	shown := t.names(t.all())
	for i, e := range c.Set {
		shown[i] = "CAST((" + e + ") AS " + t.Cols[i].Type.String() + ") AS " + shown[i]
	}
	qs := []string{"CREATE OR REPLACE TEMP TABLE updated AS SELECT " + strings.Join(shown, ", ") + " FROM " + c.Table + c.Where,
		"DELETE FROM " + c.Table + c.Where, "INSERT INTO " + c.Table + " SELECT * FROM updated"}
	for _, k := range t.Key {
		if _, ok := c.Set[k]; ok {
			return append(qs, t.unique())
		}
	}
	return qs
}

// crash is the loss of everything that was not synced, or of a part of it.
type crash struct {
	Seed    uint64
	Percent int  // of what was not synced that is there nevertheless
	After   int  // appends acknowledged before it
	Save    bool // a checkpoint runs meanwhile
}

func (w *world) tables() []*relation {
	var out []*relation
	for _, r := range w.relations() {
		if r.table != nil {
			out = append(out, r)
		}
	}
	return out
}

// next makes an operation.
func (w *world) next() operation {
	tables := w.tables()
	if len(tables) == 0 || len(tables) < 3 && w.r.IntN(10) == 0 {
		return operation{Table: w.newTable()}
	}
	empty := false
	for _, t := range tables {
		empty = empty || w.x.size(t.name) == 0
	}
	views := len(w.relations()) - len(tables)
	switch n := w.r.IntN(100); {
	case empty && w.r.IntN(12) > 0:
		return operation{Appends: w.appends(4)} // else views are of nothing
	case views < 2 || views < 8 && n < 14 || views < 14 && n < 4:
		return operation{View: w.newView()}
	case n < 60:
		return operation{Appends: w.appends(1 + w.r.IntN(2)*w.r.IntN(5))}
	case n < 66:
		t := pick(w.r, tables).table
		return operation{Insert: w.insert(t)}
	case n < 79:
		return w.change(pick(w.r, tables))
	case n < 84:
		return w.transaction()
	case n < 86:
		return w.drop()
	case n < 90:
		return operation{Save: true}
	case n < 92:
		return operation{Restart: true}
	case n < 97 && w.x.crashable:
		var born *view
		if w.r.IntN(3) == 0 && views < 14 {
			born = w.newView()
		}
		return operation{View: born, Appends: w.appends(2 + w.r.IntN(5)),
			Crash: &crash{Seed: w.r.Uint64(), Percent: pick(w.r, []int{0, 0, 30, 50, 100}), After: w.r.IntN(4), Save: w.r.IntN(3) == 0}}
	}
	return operation{Appends: w.appends(1)}
}

// appends makes appends that may go in any order.
func (w *world) appends(n int) []insert {
	var out []insert
	taken, producers := map[string]bool{}, map[string]bool{}
	for range n {
		rel := pick(w.r, w.tables())
		for range 2 {
			if w.x.size(rel.name) > 0 {
				rel = pick(w.r, w.tables())
			}
		}
		t := rel.table
		if t.Key != nil && taken[t.Name] {
			continue
		}
		taken[t.Name] = true
		in := insert{Table: t.Name}
		rows := pick(w.r, []int{1, 1, 3, 10, 30})
		if t.Key == nil && w.r.IntN(12) == 0 {
			rows = 300
		}
		for range rows {
			row := t.row(w.r, t.all())
			if len(in.Rows) > 0 && w.r.IntN(10) == 0 {
				row = pick(w.r, in.Rows)
			}
			in.Rows = append(in.Rows, row)
		}
		if t.Key != nil && w.r.IntN(3) == 0 {
			in.Deleted = make([]bool, rows)
			for i := range in.Deleted {
				if in.Deleted[i] = w.r.IntN(3) == 0; in.Deleted[i] {
					in.Rows[i] = append([]value{}, in.Rows[i]...)
					for c := range t.Cols {
						if !contains(t.Key, c) {
							in.Rows[i][c] = null(t.Cols[c].Type)
						}
					}
				}
			}
		}
		if p := fmt.Sprintf("p%d", w.r.IntN(3)); w.r.IntN(2) == 0 && !producers[p] {
			producers[p] = true
			in.Producer = p
			in.Repeat, in.Gap = w.r.IntN(5) == 0, w.r.IntN(12) == 0
		}
		out = append(out, in)
	}
	return out
}

func contains(s []int, x int) bool {
	for _, y := range s {
		if x == y {
			return true
		}
	}
	return false
}

func (w *world) insert(t *table) *insert {
	in := &insert{Table: t.Name}
	for i, c := range t.Cols {
		if w.r.IntN(4) > 0 || contains(t.Key, i) || c.NotNull && c.Default == nil && w.r.IntN(8) > 0 {
			in.Cols = append(in.Cols, i)
		}
	}
	if len(in.Cols) == 0 {
		in.Cols = t.all()
	}
	for range 1 + w.r.IntN(4) {
		in.Rows = append(in.Rows, t.row(w.r, in.Cols))
	}
	return in
}

// change makes UPDATE, DELETE or INSERT ... SELECT.
func (w *world) change(rel *relation) operation {
	t := rel.table
	g := &generator{r: w.r, scope: rel.cols, safe: true}
	where := ""
	if w.r.IntN(8) > 0 {
		where = " WHERE " + asUser(g.any(column.T(column.Bool), 2).sql)
	}
	c := &change{Table: t.Name, Kind: "INSERT", Where: where}
	switch n := w.r.IntN(10); {
	case n < 3 || n == 9 && t.Key == nil && w.x.size(t.Name) > 600:
		c.Kind = "DELETE"
		if w.r.IntN(12) == 0 {
			c.Kind, c.Where = "TRUNCATE", ""
		} else if where == "" && w.r.IntN(4) > 0 {
			c.Where = " WHERE " + asUser(g.any(column.T(column.Bool), 2).sql)
		}
	case n < 9 || t.Key != nil:
		c.Kind, c.Set = "UPDATE", map[int]string{}
		for i, col := range t.Cols {
			if contains(t.Key, i) && w.r.IntN(3) > 0 || w.r.IntN(3) > 0 {
				continue
			}
			c.Set[i] = asUser(g.any(col.Type, 2).sql)
			if col.style == summing || col.NotNull {
				c.Set[i] = random(w.r, col.Type, col.style).sql
			}
		}
		if len(c.Set) == 0 {
			return operation{Appends: w.appends(1)}
		}
	}
	return operation{Change: c}
}

func (w *world) drop() operation {
	var free []string
	for _, r := range w.relations() {
		if !w.x.followed(r.name) && (r.table == nil || w.r.IntN(6) == 0) {
			free = append(free, r.name)
		}
	}
	if w.r.IntN(4) == 0 { // with what follows, or refused
		return operation{Drop: pick(w.r, w.relations()).name, Cascade: w.r.IntN(2) == 0}
	}
	if len(free) == 0 {
		return operation{Save: true}
	}
	return operation{Drop: pick(w.r, free)}
}
