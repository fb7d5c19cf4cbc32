package runtime

import (
	"context"
	"fmt"
	"strings"

	"tidemill/runtime/logrec"
	"tidemill/state/column"
	"tidemill/views/catalog"
	"tidemill/views/duck"
)

// createTableAs runs CREATE TABLE AS: the table and its rows are one commit.
func (e *Engine) createTableAs(ctx context.Context, st *catalog.Statement) (*Answer, error) {
	if err := checkName(st.Name); err != nil {
		return nil, err
	}
	var answer *Answer
	err := e.do(ctx, func() error {
		if err := e.failure(); err != nil {
			return err
		}
		b := &block{e: e, ctx: ctx, rd: e.readable.Load(), tables: map[uint32]*overlay{}}
		cat := b.rd.catalog
		old, rest, err := e.existing(cat, st, catalog.Table)
		if err != nil || rest == nil {
			answer = counted(e.Commit(), 0)
			return err
		}
		rel, cols, n, err := b.tableOf(st)
		if err != nil {
			return moved(err, st.Text, func(pos int) int { return pos + st.SelectAt - st.Span.Start })
		}
		changes, err := e.replacingWithRows(cat, old, rest, rel)
		if err != nil {
			return err
		}
		commit, err := e.commitDefinition(cat, changes, func(created *catalog.Relation) *logrec.Entry {
			if n == 0 {
				return nil
			}
			en := appendEntry(created, cols, n, nil)
			return &en
		})
		answer = counted(commit, n)
		return err
	})
	return answer, err
}

// replacingWithRows is replacing for a table that has rows at once, which views that are filled in the same commit would
// not see.
func (e *Engine) replacingWithRows(cat *catalog.Catalog, old *catalog.Relation, rest *catalog.Catalog, rel *catalog.Relation) ([]catalog.Change, error) {
	if old != nil {
		if f := cat.Dependents(old.ID); len(f) > 0 {
			return nil, &catalog.DependentsError{Name: old.Name, Kind: old.Kind, Verb: "replace with rows", Dependents: namesOf(f),
				Way: "CREATE OR REPLACE TABLE with its columns, then INSERT INTO it; or drop the views first"}
		}
	}
	return e.replacing(cat, old, rest, rel)
}

func namesOf(rels []*catalog.Relation) []string {
	out := make([]string, len(rels))
	for i, r := range rels {
		out[i] = r.Name
	}
	return out
}

// tableOf returns the table that CREATE TABLE AS makes, and its rows.
func (b *block) tableOf(st *catalog.Statement) (*catalog.Relation, []column.Column, int, error) {
	rows, err := b.query(st.Select)
	if err != nil {
		return nil, nil, 0, err
	}
	defer rows.Close()
	fields, err := rows.Columns()
	if err != nil {
		return nil, nil, 0, err
	}
	if len(st.Columns) > len(fields) {
		return nil, nil, 0, &catalog.SyntaxError{Position: -1, Message: fmt.Sprintf("%d column names for %d columns", len(st.Columns), len(fields)),
			Hint: "name as many columns as the SELECT has, or fewer"}
	}
	for i, c := range st.Columns {
		fields[i].Name = c
	}
	fields = differing(fields)
	rel := &catalog.Relation{Name: st.Name, Kind: catalog.Table, Fields: fields, SQL: tableSQL(st.Name, fields)}
	if st.NoData {
		return rel, nil, 0, nil
	}
	cols, n, err := rows.ReadAll()
	return rel, cols, n, err
}

// differing returns the fields with names that differ, whatever their case.
func differing(fields []column.Field) []column.Field {
	taken := map[string]bool{}
	for i := range fields {
		for name, k := fields[i].Name, 1; taken[strings.ToLower(fields[i].Name)]; k++ {
			fields[i].Name = fmt.Sprintf("%s_%d", name, k)
		}
		taken[strings.ToLower(fields[i].Name)] = true
	}
	return fields
}

// tableSQL writes the CREATE TABLE of plain columns.
func tableSQL(name string, fields []column.Field) string {
	parts := make([]string, len(fields))
	for i, f := range fields {
		parts[i] = duck.QuoteIdent(f.Name) + " " + f.Type.String()
	}
	return "CREATE TABLE " + duck.QuoteName(name) + " (" + strings.Join(parts, ", ") + ")"
}
