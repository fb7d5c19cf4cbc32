package viewtest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sort"
	"strconv"
	"strings"

	"tidemill/runtime"
	"tidemill/state/column"
	"tidemill/views"
)

// compare checks every relation: its rows, how many it rejects, and lookups.
func (x *runner) compare() error {
	for _, rel := range x.relations {
		if err := x.ask(rel); err != nil {
			x.totals.undecided(err.Error())
			continue
		}
		want := rel.want
		got, err := x.read("SELECT * FROM " + rel.name)
		if err != nil {
			return mismatch(err.Error(), "rows", "read %s%s", rel.name, rel.definition())
		}
		if diff := differ(rel.cols, got, want); diff != "" {
			return mismatch("", "", "rows of %s%s: (- only the engine, + only the oracle)\n%s", rel.name, rel.definition(), diff)
		}
		if rel.view != nil {
			x.totals.Compared++
			if len(want) > 0 {
				x.totals.NotEmpty++
			}
			if err := x.compareRejects(rel); err != nil {
				return err
			}
		}
		if err := x.compareLookups(rel, want); err != nil {
			return err
		}
	}
	return nil
}

// ask gets the oracle's answers for a relation, if something that it reads has changed since.
func (x *runner) ask(rel *relation) (err error) {
	if rel.known {
		return nil
	}
	before := rel.want
	if rel.want, err = x.o.rows(rel.name); err != nil {
		return err
	}
	rel.before = before
	rel.bad = "0"
	if q := x.o.rejects[rel.name]; rel.view != nil && q != "SELECT 0" {
		n, err := x.o.prepared(q)
		if err != nil {
			return err
		}
		rel.bad = n[0][0].text
	}
	rel.known = true
	return nil
}

func (r *relation) definition() string {
	if r.view == nil {
		return ""
	}
	return " AS " + r.view.Block.sql()
}

func (x *runner) read(q string) ([][]cell, error) {
	rows, err := x.e.Query(context.Background(), q, nil)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var out [][]cell
	for {
		cols, n, err := rows.NextColumns()
		if errors.Is(err, io.EOF) {
			return out, nil
		}
		if err != nil {
			return nil, err
		}
		for i := range n {
			out = append(out, cells(cols, i))
		}
	}
}

func cells(cols []column.Column, i int) []cell {
	row := make([]cell, len(cols))
	for c := range cols {
		if row[c].null = cols[c].IsNull(i); !row[c].null {
			row[c].text = string(column.AppendText(nil, &cols[c], i))
		}
	}
	return row
}

// line is a row as a text under the columns' normalisations; columns of lastBits and nearly are left out.
func line(cols []col, row []cell) string {
	var b strings.Builder
	for i, c := range row {
		switch {
		case c.null:
			b.WriteString("NULL")
		case cols[i].loose == lastBits || cols[i].loose == nearly:
			b.WriteString("~")
		default:
			fmt.Fprintf(&b, "%q", cols[i].loose.fold(c.text))
		}
		b.WriteString(" ")
	}
	return b.String()
}

func show(row []cell) string {
	var b strings.Builder
	for _, c := range row {
		if c.null {
			b.WriteString("NULL ")
		} else {
			fmt.Fprintf(&b, "%q ", c.text)
		}
	}
	return b.String()
}

// differ compares two multisets of rows, and shows what only one of them has.
func differ(cols []col, got, want [][]cell) string {
	rest := map[string][][]cell{}
	for _, row := range want {
		k := line(cols, row)
		rest[k] = append(rest[k], row)
	}
	var only []string
next:
	for _, row := range got {
		k := line(cols, row)
		for i, w := range rest[k] {
			if sameRow(cols, row, w) {
				rest[k] = slices.Delete(rest[k], i, i+1)
				continue next
			}
		}
		only = append(only, "- "+show(row))
	}
	for _, rows := range rest {
		for _, row := range rows {
			only = append(only, "+ "+show(row))
		}
	}
	sort.Strings(only)
	if len(only) > 20 {
		only = append(only[:20], fmt.Sprintf("... %d lines", len(only)))
	}
	return strings.Join(only, "\n")
}

func sameRow(cols []col, a, b []cell) bool {
	for i := range a {
		if a[i].null != b[i].null || !a[i].null && !cols[i].loose.same(cols[i].loose.fold(a[i].text), cols[i].loose.fold(b[i].text)) {
			return false
		}
	}
	return true
}

func (x *runner) compareRejects(rel *relation) error {
	none := x.o.rejects[rel.name] == "SELECT 0"
	if none && x.lookups.IntN(8) > 0 {
		return nil
	}
	n := rel.bad
	got, err := x.read(`SELECT coalesce(sum(n), 0)::BIGINT FROM "` + rel.name + views.RejectsSuffix + `"`)
	if err != nil && (n == "0" || rel.pushes) && strings.Contains(err.Error(), "does not exist") {
		return nil // a view that rejects nothing has no rejects to read
	}
	if err != nil {
		return mismatch(err.Error(), n, "rejects of %s%s", rel.name, rel.definition())
	}
	if n != "0" {
		x.totals.Rejecting++
	}
	if got[0][0].text != n && !(rel.pushes && fewer(got[0][0].text, n)) {
		all, _ := x.read(`SELECT * FROM "` + rel.name + views.RejectsSuffix + `" LIMIT 10`)
		var lines []string
		for _, r := range all {
			lines = append(lines, show(r))
		}
		return mismatch(got[0][0].text+"\n"+strings.Join(lines, "\n"), n, "rejects of %s%s", rel.name, rel.definition())
	}
	return nil
}

func fewer(a, b string) bool {
	x, err1 := strconv.ParseInt(a, 10, 64)
	y, err2 := strconv.ParseInt(b, 10, 64)
	return err1 == nil && err2 == nil && x < y
}

// compareLookups looks some of the rows up by the relation's key, if it has one.
func (x *runner) compareLookups(rel *relation, rows [][]cell) error {
	_, _, err := x.e.LookupRow(rel.name, nil)
	var ke *runtime.KeyError
	if !errors.As(err, &ke) {
		if errors.Is(err, views.ErrNoKey) {
			return nil
		}
		return mismatch(fmt.Sprint(err), "", "key of %s", rel.name)
	}
	var key []int
	for _, name := range ke.Columns {
		for i, c := range rel.cols {
			if c.name == name {
				key = append(key, i)
			}
		}
	}
	if err := x.compareGone(rel, key); err != nil {
		return err
	}
	for range min(2, len(rows)) {
		row := rows[x.lookups.IntN(len(rows))]
		var text []string
		for _, k := range key {
			if !row[k].null {
				text = append(text, row[k].text)
			}
		}
		if len(text) < len(key) {
			continue // NULL has no text
		}
		_, cols, err := x.e.LookupRow(rel.name, text)
		if err != nil || cols == nil {
			return mismatch(fmt.Sprint(err, " ", len(cols), " columns"), show(row), "lookup of %q in %s%s", text, rel.name, rel.definition())
		}
		x.totals.Lookups++
		if got := cells(cols, 0); !sameRow(rel.cols, got, row) {
			return mismatch(show(got), show(row), "lookup of %q in %s%s", text, rel.name, rel.definition())
		}
	}
	return nil
}

// compareGone looks up rows that were there before the last change, and finds nothing under keys that went with them.
func (x *runner) compareGone(rel *relation, key []int) error {
	if len(key) == 0 {
		return nil
	}
	keyOf := func(row []cell) string {
		var cols []col
		var cells []cell
		for _, k := range key {
			c := rel.cols[k]
			c.loose = groupLooseness(c.typ)
			cols, cells = append(cols, c), append(cells, row[k])
		}
		return line(cols, cells)
	}
	there := map[string]bool{}
	for _, row := range rel.want {
		there[keyOf(row)] = true
	}
	looked := 0
next:
	for _, row := range rel.before {
		if there[keyOf(row)] || looked == 3 {
			continue
		}
		var text []string
		for _, k := range key {
			if row[k].null {
				continue next
			}
			text = append(text, row[k].text)
		}
		looked++
		_, cols, err := x.e.LookupRow(rel.name, text)
		if err != nil || cols != nil {
			return mismatch(fmt.Sprint(err, " ", len(cols), " columns"), "no row", "lookup of gone %q in %s%s", text, rel.name, rel.definition())
		}
		x.totals.Lookups++
	}
	return nil
}
