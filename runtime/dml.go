package runtime

import (
	"context"
	"fmt"
	"regexp"
	"strings"

	"tidemill/runtime/logrec"
	"tidemill/state/column"
	"tidemill/views/catalog"
	"tidemill/views/duck"
)

// insert runs INSERT INTO rel tail. Rows that do not depend on relations are made beside the committer; a
// statement that may read some is run on it, between two commits, so that nothing changes between its
// reading and its writing.
func (e *Engine) insert(ctx context.Context, rel *catalog.Relation, tail string) (*Answer, error) {
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

// source is the FROM clause of a statement that changes rows of rel.
func source(rel *catalog.Relation, alias string) string {
	if alias == "" {
		alias = rel.Name
	}
	return fmt.Sprintf("tidemill_scan_rowid(%s) AS %s", duck.QuoteString(rel.Name), duck.QuoteIdent(alias))
}

func where(condition string) string {
	if condition == "" {
		return ""
	}
	return " WHERE " + condition
}

// delete runs DELETE FROM rel. It is logged by key, or by rowid where there is none.
func (e *Engine) delete(ctx context.Context, rel *catalog.Relation, alias, condition string) (*Answer, error) {
	return e.change(ctx, rel, func(rd *readable) ([]logrec.Entry, int, error) {
		shown := []string{`"$rowid"`}
		for _, k := range rel.PrimaryKey {
			shown = append(shown, duck.QuoteIdent(rel.Fields[k].Name))
		}
		sql := "SELECT " + strings.Join(shown, ", ") + " FROM " + source(rel, alias) + where(condition)
		cols, n, err := e.readNow(ctx, rd, sql, rd.all())
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
}

func deleteEntry(rel *catalog.Relation, rowids *column.Column) logrec.Entry {
	ids := append([]uint64(nil), column.Values[uint64](rowids)...)
	return logrec.Entry{Kind: logrec.Delete, Relation: rel.ID, Version: rel.Version, Rows: len(ids), RowIDs: ids}
}

// update runs UPDATE rel SET: the new rows are logged, not the expressions. Key columns cannot be set.
func (e *Engine) update(ctx context.Context, rel *catalog.Relation, alias, condition string, set map[int]string) (*Answer, error) {
	return e.change(ctx, rel, func(rd *readable) ([]logrec.Entry, int, error) {
		shown := []string{`"$rowid"`}
		for i, f := range rel.Fields {
			value := duck.QuoteIdent(f.Name)
			if v, ok := set[i]; ok {
				value = fmt.Sprintf("CAST((%s) AS %s)", v, f.Type)
			}
			shown = append(shown, value)
		}
		sql := "SELECT " + strings.Join(shown, ", ") + " FROM " + source(rel, alias) + where(condition)
		cols, n, err := e.readNow(ctx, rd, sql, rd.all())
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
}
