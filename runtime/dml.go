package runtime

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"tidemill/runtime/logrec"
	"tidemill/state/column"
	"tidemill/views/catalog"
	"tidemill/views/duck"
	"tidemill/views/plan/token"
)

// changeRows runs INSERT, UPDATE, DELETE or TRUNCATE. An INSERT whose rows do not depend on relations is made beside the
// committer and appended; everything else is a block of one statement.
func (e *Engine) changeRows(ctx context.Context, st *catalog.Statement, params []any) (*Answer, error) {
	if st.Kind == catalog.Insert && !st.OrIgnore && !mayRead.MatchString(st.Tail) {
		for {
			answer, err := e.insertConstants(ctx, st, params)
			if !errors.Is(err, ErrSchemaChanged) {
				return answer, err
			}
		}
	}
	return e.inBlock(ctx, func(b *block) error {
		b.params = params
		return b.change(st)
	})
}

// mayRead finds the words with which an INSERT reads relations. One in a text constant only costs speed.
var mayRead = regexp.MustCompile(`(?i)\b(from|table|pivot|unpivot|summarize|describe|show)\b`)

func (e *Engine) insertConstants(ctx context.Context, st *catalog.Statement, params []any) (*Answer, error) {
	rel, err := Appendable(e.Catalog(), st.Name)
	if err == nil {
		err = mayReplace(rel, st)
	}
	if err != nil {
		return nil, err
	}
	cols, n, err := e.reader.insertRows(ctx, rel, st, params, nil)
	if err != nil {
		return nil, err
	}
	if n == 0 {
		return counted(e.Commit(), 0), nil
	}
	res, err := e.Append(ctx, AppendRequest{Relation: rel.ID, Version: rel.Version, Cols: cols, N: n})
	if err != nil {
		return nil, err
	}
	return counted(res.Commit, n), nil
}

// mayReplace refuses INSERT OR REPLACE and OR IGNORE where there is no key to tell by.
func mayReplace(rel *catalog.Relation, st *catalog.Statement) error {
	if (st.OrReplace || st.OrIgnore) && len(rel.PrimaryKey) == 0 {
		return &UnsupportedError{"INSERT OR REPLACE or OR IGNORE into table " + rel.Name + ", which has no primary key,", "use a plain INSERT, or create the table with a PRIMARY KEY"}
	}
	return nil
}

// insertRows returns the rows that an INSERT makes, defaults filled in.
func (r *reader) insertRows(ctx context.Context, rel *catalog.Relation, st *catalog.Statement, params []any, snap duck.Snapshots) ([]column.Column, int, error) {
	x, _, err := r.enter()
	if err != nil {
		return nil, 0, err
	}
	defer r.leave()
	target := duck.InsertTarget{Name: rel.Name, Fields: rel.Fields, Defaults: rel.Defaults}
	cols, n, err := x.InsertRows(ctx, target, st.Tail, params, snap)
	return cols, n, moved(err, st.Text, func(pos int) int { return pos + st.TailAt - st.Span.Start })
}

func (b *block) insert(rel *catalog.Relation, st *catalog.Statement) error {
	if err := mayReplace(rel, st); err != nil {
		return err
	}
	cols, n, err := b.e.asWritten.insertRows(b.ctx, rel, st, b.params, b)
	if err != nil {
		return err
	}
	o := b.overlay(rel)
	if st.OrIgnore {
		if cols, n, err = o.fresh(cols, n); err != nil {
			return err
		}
	}
	o.add(cols, n, nil)
	b.n += n
	return nil
}

func (b *block) truncate(rel *catalog.Relation) error {
	cols, n, err := b.read("SELECT count(*) FROM tidemill_scan(" + duck.QuoteString(rel.Name) + ")")
	if err != nil {
		return err
	}
	if rows := column.Values[int64](&cols[0])[0]; n == 1 && rows > 0 {
		b.overlay(rel).truncate()
		b.n += int(rows)
	}
	return nil
}

func counted(commit uint64, n int) *Answer {
	t := column.T(column.Int64)
	return &Answer{Commit: commit, N: 1,
		Fields: []column.Field{{Name: "count", Type: t}, {Name: "commit", Type: t}},
		Cols:   []column.Column{column.Of(t, []int64{int64(n)}, nil), column.Of(t, []int64{int64(commit)}, nil)}}
}

func appendEntry(rel *catalog.Relation, cols []column.Column, n int, deleted []byte) logrec.Entry {
	return logrec.Entry{Kind: logrec.Append, Relation: rel.ID, Version: rel.Version, Cols: cols, Rows: n, Deleted: deleted}
}

// rewritten is a SELECT made of parts of a user's statement, so that places in it can be found there.
type rewritten struct {
	text  strings.Builder
	parts []part
}

type part struct{ from, to, at int } // bytes of the SELECT, and where they stand in the statement

func (r *rewritten) add(text string) { r.text.WriteString(text) }

// user adds text that stands at a place of the statement.
func (r *rewritten) user(text string, at int) {
	from := r.text.Len()
	r.text.WriteString(text)
	r.parts = append(r.parts, part{from, r.text.Len(), at})
}

// place returns where a place of the SELECT is in the statement, or -1.
func (r *rewritten) place(pos int) int {
	for _, p := range r.parts {
		if p.from <= pos && pos <= p.to {
			return p.at + pos - p.from
		}
	}
	return -1
}

// rows writes FROM and WHERE of a statement that changes rows of rel.
func (r *rewritten) rows(rel *catalog.Relation, st *catalog.Statement) {
	r.add(fmt.Sprintf(" FROM tidemill_scan_rowid(%s) AS %s", duck.QuoteString(rel.Name), alias(rel, st)))
	if st.From != "" {
		r.add(", ")
		r.user(st.From, st.FromAt-st.Span.Start)
	}
	if st.Where != "" {
		r.add(" WHERE ")
		r.user(st.Where, st.WhereAt-st.Span.Start)
	}
}

// alias returns the name by which the statement knows the table whose rows it changes.
func alias(rel *catalog.Relation, st *catalog.Statement) string {
	if st.Alias != "" {
		return duck.QuoteIdent(st.Alias)
	}
	_, name, _ := token.Cut(rel.Name)
	return duck.QuoteIdent(name)
}

// delete finds the rows of DELETE FROM rel. It is logged by key, or by rowid where there is none.
func (b *block) delete(rel *catalog.Relation, st *catalog.Statement) error {
	var sql rewritten
	name := alias(rel, st)
	sql.add("SELECT ")
	if st.From != "" {
		sql.add("DISTINCT ON (" + name + `."$rowid") `)
	}
	sql.add(name + `."$rowid"`)
	for _, k := range rel.PrimaryKey {
		sql.add(", " + name + "." + duck.QuoteIdent(rel.Fields[k].Name))
	}
	sql.rows(rel, st)
	cols, n, err := b.read(sql.text.String())
	if err != nil || n == 0 {
		return moved(err, st.Text, sql.place)
	}
	b.n += n
	b.overlay(rel).delete(&cols[0], cols[1:], n)
	return nil
}

// delete removes rows that are there, by rowid or, in a table with a key, by the values of the key's columns.
func (o *overlay) delete(rowids *column.Column, key []column.Column, n int) {
	if o.enc == nil {
		o.remove(column.Values[uint64](rowids))
		return
	}
	full := make([]column.Column, len(o.rel.Fields))
	for i, f := range o.rel.Fields {
		full[i] = column.Nulls(f.Type, n)
	}
	for i, k := range o.rel.PrimaryKey {
		full[k] = key[i]
	}
	o.add(full, n, column.NewBitmap(n, true))
}

// update finds the rows of UPDATE rel SET and their new values: the new rows are logged, not the expressions. Rows
// whose keys change are deleted and inserted; a new key that is another row's is an error. Parameters are numbered or
// named: the expressions are not read in the order in which they are written.
func (b *block) update(rel *catalog.Relation, st *catalog.Statement) error {
	if len(b.params) > 0 {
		for _, t := range token.Scan(st.Text) {
			if t.Is(st.Text, "?") {
				return &UnsupportedError{"? in an UPDATE", "number the parameters: $1, $2"}
			}
		}
	}
	set, err := assignments(rel, st)
	if err != nil {
		return err
	}
	rekeyed := false
	for _, k := range rel.PrimaryKey {
		_, ok := set[k]
		rekeyed = rekeyed || ok
	}
	sql := updateSelect(rel, st, set)
	cols, n, err := b.read(sql.text.String())
	if err != nil || n == 0 {
		return moved(err, st.Text, sql.place)
	}
	ids, oldKey, rows := &cols[0], cols[1:1+len(rel.PrimaryKey)], cols[1+len(rel.PrimaryKey):]
	if st.From != "" {
		if err := checkOnce(rel, column.Values[uint64](ids)); err != nil {
			return err
		}
	}
	if err := checkNotNull(rel, rows); err != nil {
		return err
	}
	o := b.overlay(rel)
	if o.enc == nil || rekeyed {
		o.delete(ids, oldKey, n)
	}
	if rekeyed {
		if err := o.checkUnique(rows, n); err != nil {
			return err
		}
	}
	o.add(rows, n, nil)
	b.n += n
	return nil
}

// updateSelect writes the SELECT of an UPDATE's rows: rowid, the old key, the new row.
func updateSelect(rel *catalog.Relation, st *catalog.Statement, set map[int]catalog.Assignment) *rewritten {
	sql := &rewritten{}
	name := alias(rel, st)
	sql.add("SELECT " + name + `."$rowid"`)
	for _, k := range rel.PrimaryKey {
		sql.add(", " + name + "." + duck.QuoteIdent(rel.Fields[k].Name))
	}
	for i, f := range rel.Fields {
		a, ok := set[i]
		switch {
		case !ok:
			sql.add(", " + name + "." + duck.QuoteIdent(f.Name))
		case strings.EqualFold(strings.TrimSpace(a.Expr), "DEFAULT"):
			value := "NULL"
			if rel.Defaults != nil && rel.Defaults[i] != "" {
				value = rel.Defaults[i]
			}
			sql.add(fmt.Sprintf(", CAST((%s) AS %s)", value, f.Type))
		default:
			sql.add(", CAST((")
			sql.user(a.Expr, a.ExprAt-st.Span.Start)
			sql.add(fmt.Sprintf(") AS %s)", f.Type))
		}
	}
	sql.rows(rel, st)
	return sql
}

// checkOnce refuses an UPDATE ... FROM that gives a row two new values.
func checkOnce(rel *catalog.Relation, ids []uint64) error {
	seen := make(map[uint64]bool, len(ids))
	for _, id := range ids {
		if seen[id] {
			return &ConflictError{Table: rel.Name, State: "21000", Reason: "a row matches several rows of FROM, and it is open which of them it is to be set from",
				Hint: "nothing was changed: make FROM give one row for each, with GROUP BY or a finer condition"}
		}
		seen[id] = true
	}
	return nil
}

// checkUnique refuses new rows of which one's key is another's, or that of a row that is there.
func (o *overlay) checkUnique(rows []column.Column, n int) error {
	key := keyOf(o.rel, rows)
	seen := make(map[string]bool, n)
	for i := range n {
		k := o.enc.AppendKey(nil, key, i)
		there, err := o.has(k)
		if err != nil {
			return err
		}
		if there || seen[string(k)] {
			return &ConflictError{Table: o.rel.Name, State: "23505", Reason: "two rows would have the key " + keyText(o.rel, key, i),
				Hint: "nothing was changed: set keys that no other row has"}
		}
		seen[string(k)] = true
	}
	return nil
}

// fresh returns the rows whose keys are not there yet, the first of each key.
func (o *overlay) fresh(cols []column.Column, n int) ([]column.Column, int, error) {
	key := keyOf(o.rel, cols)
	seen := make(map[string]bool, n)
	var sel []int32
	for i := range n {
		k := o.enc.AppendKey(nil, key, i)
		there, err := o.has(k)
		if err != nil {
			return nil, 0, err
		}
		if !there && !seen[string(k)] {
			seen[string(k)] = true
			sel = append(sel, int32(i))
		}
	}
	out := make([]column.Column, len(cols))
	for c := range cols {
		out[c] = cols[c].Gather(sel)
	}
	return out, len(sel), nil
}

func keyText(rel *catalog.Relation, key []column.Column, i int) string {
	b := []byte{'('}
	for k := range key {
		if k > 0 {
			b = append(b, ", "...)
		}
		b = append(append(b, rel.Fields[rel.PrimaryKey[k]].Name...), " = "...)
		b = column.AppendJSON(b, &key[k], i)
	}
	return string(append(b, ')'))
}

// ConflictError is a change that contradicts itself or a row that is there.
type ConflictError struct{ Table, State, Reason, Hint string }

// Error names the table and the reason.
func (e *ConflictError) Error() string { return "table " + e.Table + ": " + e.Reason }

// assignments returns what an UPDATE sets, by column.
func assignments(rel *catalog.Relation, st *catalog.Statement) (map[int]catalog.Assignment, error) {
	set := map[int]catalog.Assignment{}
	for _, a := range st.Set {
		i := slices.IndexFunc(rel.Fields, func(f column.Field) bool { return catalog.SameName(f.Name, a.Column) })
		refuse := func(message, hint string) error {
			pos := a.ColumnAt - st.Span.Start
			line, col := lineOf(st.Text, pos)
			return &catalog.SyntaxError{Position: pos, Line: line, Col: col, Message: message, Hint: hint}
		}
		if i < 0 {
			return nil, refuse(fmt.Sprintf("table %s has no column %q", rel.Name, a.Column), "DESCRIBE "+rel.Name+" lists its columns")
		}
		if _, twice := set[i]; twice {
			return nil, refuse(fmt.Sprintf("column %q is set twice", a.Column), "set each column once")
		}
		set[i] = a
	}
	return set, nil
}
