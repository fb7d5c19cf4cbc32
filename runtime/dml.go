package runtime

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"tidemill/runtime/logrec"
	"tidemill/state/column"
	"tidemill/views/catalog"
	"tidemill/views/duck"
)

// insert runs INSERT INTO rel tail. Rows that do not depend on relations are made beside the committer; a
// statement that may read some is run on it, between two commits, so that nothing changes between its
// reading and its writing.
func (e *Engine) insert(ctx context.Context, rel *catalog.Relation, st *catalog.Statement) (*Answer, error) {
	answer, err := e.insertTail(ctx, rel, st.Tail)
	return answer, moved(err, st.Text, func(pos int) int { return pos + st.TailAt - st.Span.Start })
}

func (e *Engine) insertTail(ctx context.Context, rel *catalog.Relation, tail string) (*Answer, error) {
	target := duck.InsertTarget{Name: rel.Name, Fields: rel.Fields, Defaults: rel.Defaults}
	if mayRead.MatchString(tail) {
		return e.change(ctx, rel, func(rd *readable) ([]logrec.Entry, int, error) {
			snap, err := e.take(rd, rd.all())
			if err != nil {
				return nil, 0, err
			}
			cols, n, err := e.insertRows(ctx, target, tail, snap)
			return []logrec.Entry{appendEntry(rel, cols, n, nil)}, n, err
		})
	}
	cols, n, err := e.insertRows(ctx, target, tail, nil)
	if err != nil {
		return nil, err
	}
	if n == 0 {
		return counted(e.Commit(), 0), nil
	}
	res, err := e.Append(ctx, AppendRequest{Relation: rel.ID, Version: rel.Version, Cols: cols, N: n})
	return counted(res.Commit, n), err
}

func (e *Engine) insertRows(ctx context.Context, target duck.InsertTarget, tail string, snap duck.Snapshots) ([]column.Column, int, error) {
	x, _, err := e.reader.enter()
	if err != nil {
		return nil, 0, err
	}
	defer e.reader.leave()
	return x.InsertRows(ctx, target, tail, nil, snap)
}

// mayRead finds the words with which an INSERT reads relations. One in a text constant only costs speed.
var mayRead = regexp.MustCompile(`(?i)\b(from|table|pivot|unpivot|summarize|describe|show)\b`)

func (rd *readable) all() []string {
	var names []string
	for i := range rd.relations {
		names = append(names, rd.relations[i].name)
	}
	return names
}

// change runs a statement that reads and writes as one task of the committer: plan makes the entries of
// the commit from what is there.
func (e *Engine) change(ctx context.Context, rel *catalog.Relation, plan func(*readable) ([]logrec.Entry, int, error)) (*Answer, error) {
	var answer *Answer
	err := e.do(ctx, func() error {
		rd := e.readable.Load()
		if now := rd.catalog.ByID(rel.ID); now == nil || now.Version != rel.Version {
			return ErrSchemaChanged
		}
		entries, n, err := plan(rd)
		if err != nil {
			return err
		}
		commit := e.Commit()
		if n > 0 {
			if commit, err = e.commit(&logrec.Record{Micros: e.now(), Entries: entries}); err != nil {
				return err
			}
		}
		answer = counted(commit, n)
		return nil
	})
	return answer, err
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

// readNow runs a SELECT on the committer over what is published, and returns all of its rows.
func (e *Engine) readNow(ctx context.Context, rd *readable, sql string, reads []string) ([]column.Column, int, error) {
	snap, err := e.take(rd, reads)
	if err != nil {
		return nil, 0, err
	}
	rows, err := e.start(ctx, rd, sql, nil, snap)
	if err != nil {
		return nil, 0, err
	}
	defer rows.Close()
	return rows.ReadAll()
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
	alias := st.Alias
	if alias == "" {
		alias = rel.Name
	}
	r.add(fmt.Sprintf(" FROM tidemill_scan_rowid(%s) AS %s", duck.QuoteString(rel.Name), duck.QuoteIdent(alias)))
	if st.Where != "" {
		r.add(" WHERE ")
		r.user(st.Where, st.WhereAt-st.Span.Start)
	}
}

// delete runs DELETE FROM rel. It is logged by key, or by rowid where there is none.
func (e *Engine) delete(ctx context.Context, rel *catalog.Relation, st *catalog.Statement) (*Answer, error) {
	var sql rewritten
	sql.add(`SELECT "$rowid"`)
	for _, k := range rel.PrimaryKey {
		sql.add(", " + duck.QuoteIdent(rel.Fields[k].Name))
	}
	sql.rows(rel, st)
	answer, err := e.change(ctx, rel, func(rd *readable) ([]logrec.Entry, int, error) {
		cols, n, err := e.readNow(ctx, rd, sql.text.String(), rd.all())
		if err != nil || n == 0 {
			return nil, 0, err
		}
		if len(rel.PrimaryKey) == 0 {
			return []logrec.Entry{deleteEntry(rel, &cols[0])}, n, nil
		}
		full := make([]column.Column, len(rel.Fields))
		for i, f := range rel.Fields {
			full[i] = column.Nulls(f.Type, n)
		}
		for i, k := range rel.PrimaryKey {
			full[k] = cols[i+1]
		}
		return []logrec.Entry{appendEntry(rel, full, n, column.NewBitmap(n, true))}, n, nil
	})
	return answer, moved(err, st.Text, sql.place)
}

func deleteEntry(rel *catalog.Relation, rowids *column.Column) logrec.Entry {
	ids := append([]uint64(nil), column.Values[uint64](rowids)...)
	return logrec.Entry{Kind: logrec.Delete, Relation: rel.ID, Version: rel.Version, Rows: len(ids), RowIDs: ids}
}

// update runs UPDATE rel SET: the new rows are logged, not the expressions. Key columns cannot be set.
func (e *Engine) update(ctx context.Context, rel *catalog.Relation, st *catalog.Statement) (*Answer, error) {
	set, err := assignments(rel, st)
	if err != nil {
		return nil, err
	}
	var sql rewritten
	sql.add(`SELECT "$rowid"`)
	for i, f := range rel.Fields {
		a, ok := set[i]
		switch {
		case !ok:
			sql.add(", " + duck.QuoteIdent(f.Name))
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
	answer, err := e.change(ctx, rel, func(rd *readable) ([]logrec.Entry, int, error) {
		cols, n, err := e.readNow(ctx, rd, sql.text.String(), rd.all())
		if err != nil || n == 0 {
			return nil, 0, err
		}
		if err := checkNotNull(rel, cols[1:]); err != nil {
			return nil, 0, err
		}
		rows := appendEntry(rel, cols[1:], n, nil)
		if len(rel.PrimaryKey) > 0 {
			return []logrec.Entry{rows}, n, nil
		}
		return []logrec.Entry{deleteEntry(rel, &cols[0]), rows}, n, nil
	})
	return answer, moved(err, st.Text, sql.place)
}

// assignments returns what an UPDATE sets, by column.
func assignments(rel *catalog.Relation, st *catalog.Statement) (map[int]catalog.Assignment, error) {
	set := map[int]catalog.Assignment{}
	for _, a := range st.Set {
		i := slices.IndexFunc(rel.Fields, func(f column.Field) bool { return catalog.SameName(f.Name, a.Column) })
		if i < 0 {
			pos := a.ColumnAt - st.Span.Start
			line, col := lineOf(st.Text, pos)
			return nil, &catalog.SyntaxError{Position: pos, Line: line, Col: col,
				Message: fmt.Sprintf("table %s has no column %q", rel.Name, a.Column), Hint: "DESCRIBE " + rel.Name + " lists its columns"}
		}
		if slices.Contains(rel.PrimaryKey, i) {
			return nil, &UnsupportedError{"UPDATE of the key column " + rel.Fields[i].Name, "delete the row and insert it under its new key"}
		}
		set[i] = a
	}
	return set, nil
}
