package viewtest

import (
	"fmt"
	"math/rand/v2"
	"strings"

	"tidemill/state/column"
)

// table is the definition of a base table.
type table struct {
	Name string
	Cols []tableCol
	Key  []int // columns of the primary key; nil for a bag
}

type tableCol struct {
	Name    string
	Type    column.Type
	NotNull bool
	Default *value
	style   style
	nulls   int // in percent
}

func (w *world) newTable() *table {
	t := &table{Name: fmt.Sprintf("t%d", w.nextID())}
	for i := range 2 + w.r.IntN(8) {
		c := tableCol{Name: fmt.Sprintf("c%d", i), Type: someType(w.r), style: style(w.r.IntN(3)), nulls: pick(w.r, []int{0, 5, 20, 60})}
		if w.r.IntN(8) == 0 { // sums that do not fit
			c.Type, c.style = pick(w.r, []column.Type{column.T(column.HugeInt), column.DecimalOf(38, 10)}), wild
		}
		if c.Type.Floating() && w.r.IntN(2) == 0 {
			c.style = summing
		}
		if w.r.IntN(5) == 0 {
			c.NotNull, c.nulls = true, 0
		}
		if w.r.IntN(5) == 0 {
			v := random(w.r, c.Type, few)
			if c.style == summing {
				v = random(w.r, c.Type, summing)
			}
			c.Default = &v
		}
		t.Cols = append(t.Cols, c)
	}
	if w.r.IntN(2) == 0 {
		for i, c := range t.Cols {
			if c.Type.Kind == column.Interval || len(t.Key) == 2 || len(t.Key) == 1 && w.r.IntN(3) > 0 {
				continue
			}
			t.Key = append(t.Key, i)
			t.Cols[i].NotNull, t.Cols[i].nulls, t.Cols[i].Default = true, 0, nil
			t.Cols[i].style = pick(w.r, []style{few, few, summing, wild})
		}
	}
	return t
}

// relation is the table as expressions see it.
func (t *table) relation() *relation {
	r := &relation{name: t.Name, table: t}
	for _, c := range t.Cols {
		number := c.Type.Integer() || c.Type.Floating() || c.Type.Kind == column.Decimal
		r.cols = append(r.cols, col{name: c.Name, typ: c.Type, exact: c.style == summing && number})
	}
	return r
}

// ddl writes CREATE TABLE; without its key for the oracle, which upserts row by row.
func (t *table) ddl(keyed bool) string {
	var parts []string
	for _, c := range t.Cols {
		s := c.Name + " " + c.Type.String()
		if c.NotNull {
			s += " NOT NULL"
		}
		if c.Default != nil {
			s += " DEFAULT " + c.Default.sql
		}
		parts = append(parts, s)
	}
	if keyed && t.Key != nil {
		parts = append(parts, "PRIMARY KEY ("+strings.Join(t.names(t.Key), ", ")+")")
	}
	return "CREATE TABLE " + t.Name + " (" + strings.Join(parts, ", ") + ")"
}

func (t *table) names(cols []int) []string {
	var out []string
	for _, i := range cols {
		out = append(out, t.Cols[i].Name)
	}
	return out
}

func (t *table) all() []int {
	out := make([]int, len(t.Cols))
	for i := range out {
		out[i] = i
	}
	return out
}

// row makes values for the given columns.
func (t *table) row(r *rand.Rand, cols []int) []value {
	row := make([]value, len(cols))
	for k, i := range cols {
		c := t.Cols[i]
		if r.IntN(100) < c.nulls {
			row[k] = null(c.Type)
		} else {
			row[k] = random(r, c.Type, c.style)
		}
	}
	return row
}

// tuples writes rows as a list for VALUES.
func tuples(rows [][]value) string {
	var b strings.Builder
	for i, row := range rows {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString("(")
		for k, v := range row {
			if k > 0 {
				b.WriteString(", ")
			}
			b.WriteString(v.sql)
		}
		b.WriteString(")")
	}
	return b.String()
}

// columns makes the batch of an append.
func (t *table) columns(rows [][]value) []column.Column {
	out := make([]column.Column, len(t.Cols))
	for c := range t.Cols {
		b := column.NewBuilder(t.Cols[c].Type, len(rows))
		for _, row := range rows {
			if row[c].null {
				b.AppendNull()
			} else {
				b.AppendRaw(row[c].raw)
			}
		}
		out[c] = b.Finish()
	}
	return out
}

// keyCondition is the WHERE of a row's key.
func (t *table) keyCondition(cols []int, row []value) string {
	var parts []string
	for _, k := range t.Key {
		for at, c := range cols {
			if c == k {
				parts = append(parts, t.Cols[k].Name+" IS NOT DISTINCT FROM "+row[at].sql)
			}
		}
	}
	return strings.Join(parts, " AND ")
}
