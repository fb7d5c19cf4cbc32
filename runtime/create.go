package runtime

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"tidemill/state/column"
	"tidemill/views"
	"tidemill/views/catalog"
	"tidemill/views/duck"
	"tidemill/views/plan"
	"tidemill/views/plan/token"
)

// createTable runs CREATE TABLE. OR REPLACE makes an empty table in place of the one that is there, and fills the views that
// follow it anew.
func (e *Engine) createTable(ctx context.Context, st *catalog.Statement) (*Answer, error) {
	if err := checkName(st.Name); err != nil {
		return nil, err
	}
	commit, err := e.Define(ctx, func(cat *catalog.Catalog) ([]catalog.Change, error) {
		old, rest, err := e.existing(cat, st, catalog.Table)
		if err != nil || rest == nil {
			return nil, err
		}
		r, err := e.planTable(ctx, rest, st)
		if err != nil {
			return nil, err
		}
		return e.replacing(cat, old, rest, r)
	})
	return created(commit, err)
}

// existing looks at what CREATE finds under its name: nothing, or what OR REPLACE is to take the place of, which comes
// back as old. rest is the catalog without that and all that follows it. A nil rest without an error says that there is
// nothing to do.
func (e *Engine) existing(cat *catalog.Catalog, st *catalog.Statement, kind catalog.Kind) (old *catalog.Relation, rest *catalog.Catalog, err error) {
	old, err = cat.Lookup(st.Name)
	switch {
	case err != nil:
		return nil, cat, nil // a schema that is not there is found by Create
	case st.OrReplace && old.Kind == kind:
		rest, _, err = cat.Drop(old.Name, kind, true)
		return old, rest, err
	case st.IfNotExists && old.Kind == kind:
		return nil, nil, nil
	}
	hint := "drop it first, or use IF NOT EXISTS or OR REPLACE"
	if old.Kind != kind {
		hint = "drop it first, or take another name"
	}
	return nil, nil, &catalog.NameError{Name: old.Name, Kind: old.Kind, Err: catalog.ErrExists, Hint: hint}
}

// replacing returns the changes that make r, in place of old and with what follows it if old is there. The followers
// are planned again from their own text over r. rest is cat without them.
func (e *Engine) replacing(cat *catalog.Catalog, old *catalog.Relation, rest *catalog.Catalog, r *catalog.Relation) ([]catalog.Change, error) {
	next, _, err := rest.Create(*r)
	if err != nil {
		return nil, err
	}
	created := []catalog.Change{{Create: r}}
	if old == nil {
		return created, nil
	}
	followers := cat.Dependents(old.ID)
	for _, f := range followers {
		if f.RejectsOf == old.ID { // the new table has rejected nothing
			continue
		}
		again, err := e.planAgain(next, f)
		if err == nil {
			next, _, err = next.Create(*again)
		}
		if err != nil {
			return nil, &catalog.DependentsError{Name: old.Name, Kind: old.Kind, Verb: "replace", What: "it would break", Dependents: []string{f.Name}, Cause: unplaced(err),
				Way: "drop or replace " + f.Name + " first, or keep the columns that it uses"}
		}
		created = append(created, catalog.Change{Create: again})
	}
	dropped := append([]*catalog.Relation{old}, followers...)
	slices.Reverse(dropped)
	return append(dropping(dropped), created...), nil
}

// planAgain plans a view that is there over other relations than it was planned over.
func (e *Engine) planAgain(cat *catalog.Catalog, view *catalog.Relation) (*catalog.Relation, error) {
	st, err := catalog.Parse(view.SQL)
	if err != nil {
		return nil, err
	}
	again, err := e.planView(cat, &st)
	if err == nil {
		again.Name, again.Comment = view.Name, view.Comment
		if len(again.Fields) == len(view.Fields) {
			again.Comments = view.Comments
		}
	}
	return again, err
}

// unplaced takes the place out of an error about another text than the statement's.
func unplaced(err error) error {
	return errors.New(moved(err, "", func(int) int { return -1 }).Error())
}

// planTable reads a CREATE TABLE.
func (e *Engine) planTable(ctx context.Context, cat *catalog.Catalog, st *catalog.Statement) (rel *catalog.Relation, err error) {
	err = e.planner.with(cat, func(p *duck.Planner) error {
		info, err := p.CreateTable(inScratch(st))
		if err != nil {
			return err
		}
		rel = &catalog.Relation{Name: st.Name, Kind: catalog.Table, Fields: info.Fields, SQL: st.Text,
			PrimaryKey: info.PrimaryKey, Defaults: info.Defaults}
		rel.DefaultValues, err = e.defaults(ctx, p, info)
		return err
	})
	return rel, err
}

// inScratch returns a CREATE TABLE without the schema before the name, at the same places.
func inScratch(st *catalog.Statement) string {
	schema, name, _ := token.Cut(st.Name)
	if schema == "" && !strings.Contains(st.Text[:st.NameEnd-st.Span.Start], ".") {
		return st.Text
	}
	at, end := st.NameAt-st.Span.Start, st.NameEnd-st.Span.Start
	quoted := duck.QuoteIdent(name)
	return st.Text[:at] + strings.Repeat(" ", max(end-at-len(quoted), 0)) + quoted + st.Text[end:]
}

// ErrReservedName is returned for a relation whose name begins with "$" or "tidemill_", or ends as the
// rejects of a view do: the engine's own names do.
var ErrReservedName = errors.New("the name is reserved")

func checkName(full string) error {
	schema, name, _ := token.Cut(full)
	low := strings.ToLower(name)
	if strings.HasPrefix(low, "$") || strings.HasPrefix(low, "tidemill_") || strings.HasSuffix(low, views.RejectsSuffix) || strings.EqualFold(schema, systemSchema) {
		return fmt.Errorf("%s: %w; choose another", full, ErrReservedName)
	}
	return nil
}

// systemSchema is the schema of what the engine tells about itself.
const systemSchema = "tidemill"

// defaults evaluates the DEFAULTs, which must be constants.
func (e *Engine) defaults(ctx context.Context, p *duck.Planner, info *duck.TableInfo) ([]*catalog.Value, error) {
	var out []*catalog.Value
	for i, text := range info.Defaults {
		if text == "" {
			continue
		}
		f := info.Fields[i]
		sql := fmt.Sprintf("SELECT CAST((%s) AS %s) AS v", text, f.Type)
		if _, err := plan.Build(p, e.eval, sql, func(string) (string, []column.Field, bool) { return "", nil, false }); err != nil {
			return nil, fmt.Errorf("DEFAULT of column %s: %w", f.Name, err)
		}
		rows, err := e.Query(ctx, sql, nil)
		if err != nil {
			return nil, fmt.Errorf("DEFAULT of column %s: %w", f.Name, err)
		}
		cols, n, err := rows.ReadAll()
		rows.Close()
		if err != nil || n != 1 {
			return nil, fmt.Errorf("DEFAULT of column %s: %d values: %w", f.Name, n, err)
		}
		if out == nil {
			out = make([]*catalog.Value, len(info.Fields))
		}
		out[i] = &catalog.Value{Null: cols[0].IsNull(0)}
		if !out[i].Null {
			out[i].Raw = slices.Clone(cols[0].Raw(0))
		}
	}
	return out, nil
}

func created(commit uint64, err error) (*Answer, error) {
	if err != nil {
		return nil, err
	}
	t := column.T(column.Int64)
	return &Answer{Commit: commit, N: 1, Fields: []column.Field{{Name: "commit", Type: t}},
		Cols: []column.Column{column.Of(t, []int64{int64(commit)}, nil)}}, nil
}

// planView binds a view's SELECT and decides all that a replay must not decide again.
func (e *Engine) planView(cat *catalog.Catalog, st *catalog.Statement) (*catalog.Relation, error) {
	rel := &catalog.Relation{Name: st.Name, Kind: catalog.View, SQL: st.Text, TimeZone: "UTC"}
	err := e.planner.with(cat, func(p *duck.Planner) (err error) {
		rel.Plan, err = plan.Build(p, e.eval, st.Select, cat.Schema)
		return err
	})
	if err != nil {
		return nil, atOffset(err, st)
	}
	if len(st.Columns) > len(rel.Plan.Schema) {
		return nil, &plan.Error{Position: -1, Message: fmt.Sprintf("%d column names for %d columns", len(st.Columns), len(rel.Plan.Schema)),
			Hint: "name as many columns as the SELECT has, or fewer"}
	}
	rel.Plan.Schema = slices.Clone(rel.Plan.Schema)
	for i, c := range st.Columns {
		rel.Plan.Schema[i].Name = c
	}
	rel.Fields = rel.Plan.Schema
	if rel.DependsOn, err = e.named(cat, st.Select); err != nil {
		return nil, err
	}
	return rel, views.CheckAggregates(rel.Plan)
}

// named returns the relations that a SELECT names. The plan may read fewer: a condition that is never true leaves
// nothing to read.
func (e *Engine) named(cat *catalog.Catalog, sel string) ([]uint32, error) {
	x, _, err := e.reader.enter()
	if err != nil {
		return nil, err
	}
	defer e.reader.leave()
	names, err := x.TableNames(sel)
	if err != nil {
		return nil, err
	}
	var ids []uint32
	for _, n := range names {
		if rel, err := cat.Lookup(n); err == nil {
			ids = append(ids, rel.ID)
		}
	}
	return ids, nil
}

// createView runs CREATE MATERIALIZED VIEW. OR REPLACE takes the place of the view that is there, and fills the views
// that follow it anew.
func (e *Engine) createView(ctx context.Context, st *catalog.Statement) (*Answer, error) {
	if err := checkName(st.Name); err != nil {
		return nil, err
	}
	commit, err := e.Define(ctx, func(cat *catalog.Catalog) ([]catalog.Change, error) {
		old, rest, err := e.existing(cat, st, catalog.View)
		if err != nil || rest == nil {
			return nil, err
		}
		if old != nil {
			if err := e.checkCycle(cat, old, st); err != nil {
				return nil, err
			}
		}
		rel, err := e.planView(rest, st)
		if err != nil {
			return nil, err
		}
		return e.replacing(cat, old, rest, rel)
	})
	return created(commit, err)
}

// checkCycle refuses a view's new SELECT that reads the view itself or one that follows it.
func (e *Engine) checkCycle(cat *catalog.Catalog, old *catalog.Relation, st *catalog.Statement) error {
	read, err := e.named(cat, st.Select)
	if err != nil {
		return atOffset(err, st)
	}
	var through []string
	for _, r := range append([]*catalog.Relation{old}, cat.Dependents(old.ID)...) {
		if slices.Contains(read, r.ID) {
			through = append(through, r.Name)
		}
	}
	if through != nil {
		return &catalog.DependentsError{Name: old.Name, Kind: old.Kind, Verb: "replace", What: "it would follow itself through", Dependents: through,
			Way: "read what " + old.Name + " reads, or give the view another name"}
	}
	return nil
}

// drop runs DROP TABLE and DROP MATERIALIZED VIEW.
func (e *Engine) drop(ctx context.Context, st *catalog.Statement) (*Answer, error) {
	commit, err := e.Define(ctx, func(cat *catalog.Catalog) ([]catalog.Change, error) {
		_, dropped, err := cat.Drop(st.Name, st.DropKind, st.Cascade)
		if st.IfExists && (errors.Is(err, catalog.ErrUnknownRelation) || errors.Is(err, catalog.ErrUnknownSchema)) {
			return nil, nil
		}
		return dropping(dropped), err
	})
	return created(commit, err)
}

// createSchema runs CREATE SCHEMA.
func (e *Engine) createSchema(ctx context.Context, st *catalog.Statement) (*Answer, error) {
	commit, err := e.Define(ctx, func(cat *catalog.Catalog) ([]catalog.Change, error) {
		if st.IfNotExists && cat.HasSchema(st.Name) {
			return nil, nil
		}
		return []catalog.Change{{CreateSchema: st.Name}}, nil
	})
	return created(commit, err)
}

// dropSchema runs DROP SCHEMA; with CASCADE what is in it goes too, and what follows that.
func (e *Engine) dropSchema(ctx context.Context, st *catalog.Statement) (*Answer, error) {
	commit, err := e.Define(ctx, func(cat *catalog.Catalog) ([]catalog.Change, error) {
		if st.IfExists && !cat.HasSchema(st.Name) {
			return nil, nil
		}
		var changes []catalog.Change
		rest := cat
		for in := rest.InSchema(st.Name); st.Cascade && len(in) > 0; in = rest.InSchema(st.Name) {
			next, dropped, err := rest.Drop(in[0].Name, in[0].Kind, true)
			if err != nil {
				return nil, err
			}
			rest, changes = next, append(changes, dropping(dropped)...)
		}
		return append(changes, catalog.Change{DropSchema: st.Name}), nil
	})
	return created(commit, err)
}

// atOffset moves an error's place in a view's SELECT to its place in the statement.
func atOffset(err error, st *catalog.Statement) error {
	return moved(err, st.Text, func(pos int) int { return pos + st.SelectAt - st.Span.Start })
}

// moved moves the place of an error about a part of a statement to where place says it is in text.
func moved(err error, text string, place func(pos int) int) error {
	move := func(pos, line, col *int) {
		if *pos < 0 {
			return
		}
		*line, *col = 0, 0
		if *pos = place(*pos); *pos >= 0 && *pos <= len(text) {
			*line, *col = lineOf(text, *pos)
		} else {
			*pos = -1
		}
	}
	var pe *plan.Error
	if errors.As(err, &pe) {
		move(&pe.Position, &pe.Line, &pe.Col)
	}
	var se *duck.SQLError
	if errors.As(err, &se) {
		move(&se.Position, &se.Line, &se.Column)
	}
	return err
}

// lineOf returns the line of a byte of text, from 1, and its character in the line, from 1.
func lineOf(text string, pos int) (line, col int) {
	before := text[:pos]
	return 1 + strings.Count(before, "\n"), 1 + utf8.RuneCountInString(before[strings.LastIndexByte(before, '\n')+1:])
}
