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
)

// createTable runs CREATE TABLE.
func (e *Engine) createTable(ctx context.Context, ddl string) (*Answer, error) {
	commit, err := e.Define(ctx, func(cat *catalog.Catalog) (*Definition, error) {
		var rel *catalog.Relation
		err := e.planner.with(cat, func(p *duck.Planner) error {
			info, err := p.CreateTable(ddl)
			if err != nil {
				return err
			}
			if err := checkName(info.Name); err != nil {
				return err
			}
			if old, err := cat.Lookup(info.Name); err == nil && info.IfNotExists && old.Kind == catalog.Table {
				return nil
			}
			r := &catalog.Relation{Name: info.Name, Kind: catalog.Table, Fields: info.Fields, SQL: ddl,
				PrimaryKey: info.PrimaryKey, Defaults: info.Defaults}
			if _, _, err := cat.Create(*r); err != nil {
				return err
			}
			r.DefaultValues, err = e.defaults(ctx, p, info)
			rel = r
			return err
		})
		if rel == nil || err != nil {
			return nil, err
		}
		return &Definition{Create: rel}, nil
	})
	return created(commit, err)
}

// ErrReservedName is returned for a relation whose name begins with "$" or "tidemill_", or ends as the
// rejects of a view do: the engine's own names do.
var ErrReservedName = errors.New("the name is reserved")

func checkName(name string) error {
	low := strings.ToLower(name)
	if strings.HasPrefix(low, "$") || strings.HasPrefix(low, "tidemill_") || strings.HasSuffix(low, views.RejectsSuffix) {
		return fmt.Errorf("%s: %w; choose another", name, ErrReservedName)
	}
	return nil
}

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

// createView runs CREATE MATERIALIZED VIEW.
func (e *Engine) createView(ctx context.Context, st *catalog.Statement) (*Answer, error) {
	if err := checkName(st.Name); err != nil {
		return nil, err
	}
	commit, err := e.Define(ctx, func(cat *catalog.Catalog) (*Definition, error) {
		if old, err := cat.Lookup(st.Name); err == nil {
			if st.IfNotExists && old.Kind == catalog.View {
				return nil, nil
			}
			return nil, &catalog.NameError{Name: old.Name, Kind: old.Kind, Err: catalog.ErrExists, Hint: "drop it first, or use IF NOT EXISTS"}
		}
		rel, err := e.planView(cat, st)
		return &Definition{Create: rel}, err
	})
	return created(commit, err)
}

// drop runs DROP TABLE and DROP MATERIALIZED VIEW.
func (e *Engine) drop(ctx context.Context, st *catalog.Statement) (*Answer, error) {
	commit, err := e.Define(ctx, func(cat *catalog.Catalog) (*Definition, error) {
		_, _, err := cat.Drop(st.Name, st.DropKind, st.Cascade)
		if errors.Is(err, catalog.ErrUnknownRelation) && st.IfExists {
			return nil, nil
		}
		return &Definition{Drop: &DropRelation{st.Name, st.DropKind}}, err
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
