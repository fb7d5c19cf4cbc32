package runtime

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"tidemill/state/column"
	"tidemill/views/catalog"
	"tidemill/views/duck"
	"tidemill/views/plan"
	"tidemill/views/plan/token"
)

// alter runs ALTER TABLE and ALTER MATERIALIZED VIEW. No row is touched: older rows are read as they are now. What a view
// is made of has to stay: a relation that is followed keeps its name, and a column that is used its name and place.
func (e *Engine) alter(ctx context.Context, st *catalog.Statement) (*Answer, error) {
	e.altering.Lock()
	defer e.altering.Unlock()
	commit, err := e.Define(ctx, func(cat *catalog.Catalog) ([]catalog.Change, error) {
		rel, err := cat.Lookup(st.Name)
		if errors.Is(err, catalog.ErrUnknownRelation) && st.IfExists {
			return nil, nil
		}
		if err == nil && rel.Kind != st.DropKind {
			err = &catalog.NameError{Name: rel.Name, Kind: rel.Kind, Err: catalog.ErrWrongKind, Hint: "use ALTER TABLE for tables and ALTER MATERIALIZED VIEW for views"}
		}
		if err == nil && rel.Kind == catalog.View && st.Action.Kind != catalog.RenameRelation {
			err = &UnsupportedError{string(st.Action.Kind) + " of a view", "use CREATE OR REPLACE MATERIALIZED VIEW with other columns"}
		}
		if err != nil {
			return nil, err
		}
		a, err := e.planAlter(ctx, cat, rel, st)
		if a == nil || err != nil {
			return nil, err
		}
		a.ID = rel.ID
		return []catalog.Change{{Alter: a}}, nil
	})
	return created(commit, err)
}

func (e *Engine) planAlter(ctx context.Context, cat *catalog.Catalog, rel *catalog.Relation, st *catalog.Statement) (*catalog.Alter, error) {
	act := &st.Action
	switch act.Kind {
	case catalog.RenameRelation:
		return planRename(cat, rel, act.To)
	case catalog.AddField:
		return e.planAddColumn(ctx, cat, rel, st)
	}
	at := slices.IndexFunc(rel.Fields, func(f column.Field) bool { return catalog.SameName(f.Name, act.Column) })
	if at < 0 {
		if act.Kind == catalog.DropField && act.IfExists {
			return nil, nil
		}
		return nil, unknownColumn(rel, act.Column)
	}
	switch act.Kind {
	case catalog.RenameField:
		if err := unused(cat, rel, at, "rename"); err != nil {
			return nil, err
		}
		if i := slices.IndexFunc(rel.Fields, func(f column.Field) bool { return catalog.SameName(f.Name, act.To) }); i >= 0 && i != at {
			return nil, &catalog.NameError{Name: rel.Name + "." + act.To, Kind: "column", Err: catalog.ErrExists, Hint: "take another name"}
		}
		return &catalog.Alter{RenameColumn: &catalog.ColumnName{At: at, Text: act.To}}, nil
	case catalog.DropField:
		if slices.Contains(rel.PrimaryKey, at) {
			return nil, &UnsupportedError{"DROP COLUMN of the key column " + act.Column, "create a table with another key, and INSERT INTO it the rows"}
		}
		if len(rel.Fields) == 1 {
			return nil, &UnsupportedError{"DROP COLUMN of the only column", "drop the table"}
		}
		if err := unused(cat, rel, at, "drop"); err != nil {
			return nil, err
		}
		return &catalog.Alter{DropColumn: &at}, nil
	case catalog.DropDefault:
		return &catalog.Alter{SetDefault: &catalog.AddColumn{At: at, Field: rel.Fields[at]}}, nil
	case catalog.SetDefaultTo:
		col, err := e.columnOf(ctx, cat, duck.QuoteIdent(rel.Fields[at].Name)+" "+rel.Fields[at].Type.String()+" DEFAULT (", act, ")")
		if err != nil {
			return nil, moveAction(err, st)
		}
		return &catalog.Alter{SetDefault: &catalog.AddColumn{At: at, Field: rel.Fields[at], Default: col.Default, Value: col.Value}}, nil
	case catalog.DropNotNull:
		if slices.Contains(rel.PrimaryKey, at) {
			return nil, &UnsupportedError{"DROP NOT NULL of the key column " + act.Column, "the columns of a primary key are never NULL"}
		}
		return &catalog.Alter{SetNotNull: &catalog.ColumnFlag{At: at}}, nil
	case catalog.SetNotNullOn:
		return nil, &UnsupportedError{"SET NOT NULL", "create a table with the constraint, and INSERT INTO it the rows"}
	}
	return nil, fmt.Errorf("alter %s: unknown action %s", rel.Name, act.Kind)
}

func unknownColumn(rel *catalog.Relation, name string) error {
	return &catalog.NameError{Name: rel.Name + "." + name, Err: catalog.ErrUnknownColumn, Hint: "DESCRIBE " + rel.Name + " lists its columns"}
}

// unused refuses to rename or drop a column that a view uses: by its plan, or by a name in its text, which must go on to be
// what it means.
func unused(cat *catalog.Catalog, rel *catalog.Relation, at int, verb string) error {
	var users []string
	for _, v := range cat.Dependents(rel.ID) {
		if v.Kind == catalog.View && slices.Contains(v.DependsOn, rel.ID) && (plan.Uses(v.Plan, rel.Name)[at] || mentions(v.SQL, rel.Fields[at].Name)) {
			users = append(users, v.Name)
		}
	}
	if users == nil {
		return nil
	}
	return &catalog.DependentsError{Name: rel.Name + "." + rel.Fields[at].Name, Kind: "column", Verb: verb, What: "used by", Dependents: users,
		Way: "drop or replace " + strings.Join(users, ", ") + " first"}
}

// mentions reports whether a text has the name.
func mentions(sql, name string) bool {
	return slices.ContainsFunc(token.Scan(sql), func(t token.Token) bool {
		n, ok := t.Name(sql)
		return ok && catalog.SameName(n, name)
	})
}

// planRename plans RENAME TO: the schema stays.
func planRename(cat *catalog.Catalog, rel *catalog.Relation, to string) (*catalog.Alter, error) {
	if f := cat.Dependents(rel.ID); len(f) > 0 {
		return nil, &catalog.DependentsError{Name: rel.Name, Kind: rel.Kind, Verb: "rename", Dependents: namesOf(f), Way: "drop them first: a view's text has the name, a table of rejects is named after it"}
	}
	schema, _, _ := token.Cut(rel.Name)
	full := token.Join(schema, to)
	if err := checkName(full); err != nil {
		return nil, err
	}
	if other, err := cat.Lookup(full); err == nil && other.ID != rel.ID {
		return nil, &catalog.NameError{Name: other.Name, Kind: other.Kind, Err: catalog.ErrExists, Hint: "take another name"}
	}
	a := &catalog.Alter{Rename: full}
	if st, err := catalog.Parse(rel.SQL); err == nil {
		a.SQL = st.Text[:st.NameAt-st.Span.Start] + duck.QuoteName(full) + st.Text[st.NameEnd-st.Span.Start:]
	}
	return a, nil
}

// planAddColumn plans ADD COLUMN: the rows that are there have the DEFAULT, evaluated once.
func (e *Engine) planAddColumn(ctx context.Context, cat *catalog.Catalog, rel *catalog.Relation, st *catalog.Statement) (*catalog.Alter, error) {
	col, err := e.columnOf(ctx, cat, "", &st.Action, "")
	if err != nil {
		return nil, moveAction(err, st)
	}
	if i := slices.IndexFunc(rel.Fields, func(f column.Field) bool { return catalog.SameName(f.Name, col.Field.Name) }); i >= 0 {
		if st.Action.IfExists {
			return nil, nil
		}
		return nil, &catalog.NameError{Name: rel.Name + "." + rel.Fields[i].Name, Kind: "column", Err: catalog.ErrExists, Hint: "take another name, or use ADD COLUMN IF NOT EXISTS"}
	}
	rows := col.Value
	if col.Rows != nil {
		rows = col.Rows
	}
	if col.Field.NotNull && (rows == nil || rows.Null) {
		return nil, &UnsupportedError{"ADD COLUMN NOT NULL without a DEFAULT", "give it a DEFAULT that is not NULL: the rows that are there have it"}
	}
	return &catalog.Alter{AddColumn: col}, nil
}

// columnOf reads the definition of one column, with text of our own around the user's.
func (e *Engine) columnOf(ctx context.Context, cat *catalog.Catalog, before string, act *catalog.Action, after string) (*catalog.AddColumn, error) {
	head := "CREATE TABLE tidemill_column (" + before
	var out *catalog.AddColumn
	err := e.planner.with(cat, func(p *duck.Planner) error {
		info, err := p.CreateTable(head + act.Text + "\n" + after + ")")
		if err != nil {
			return err
		}
		if len(info.Fields) != 1 || info.PrimaryKey != nil {
			return &UnsupportedError{"ADD COLUMN of several columns or of a key", "add one column at a time; a key is the table's from its beginning"}
		}
		values, err := e.defaults(ctx, p, info)
		if err != nil {
			return err
		}
		out = &catalog.AddColumn{Field: info.Fields[0], Default: info.Defaults[0]}
		if values != nil {
			out.Value = values[0]
		}
		return nil
	})
	return out, moved(err, head+act.Text, func(pos int) int { return pos - len(head) })
}

// moveAction moves the place of an error in an action's text to its place in the statement.
func moveAction(err error, st *catalog.Statement) error {
	return moved(err, st.Text, func(pos int) int {
		if pos < 0 {
			return -1
		}
		return pos + st.Action.TextAt - st.Span.Start
	})
}

// comment runs COMMENT ON.
func (e *Engine) comment(ctx context.Context, st *catalog.Statement) (*Answer, error) {
	commit, err := e.Define(ctx, func(cat *catalog.Catalog) ([]catalog.Change, error) {
		if st.On == "SCHEMA" {
			for _, s := range cat.Schemas() {
				if catalog.SameName(s.Name, st.Name) {
					s.Comment = st.Remark
					return []catalog.Change{{Schema: &s}}, nil
				}
			}
			return nil, &catalog.NameError{Name: st.Name, Err: catalog.ErrUnknownSchema}
		}
		rel, err := cat.Lookup(st.Name)
		if err != nil {
			return nil, err
		}
		if st.On != "COLUMN" {
			if rel.Kind != st.DropKind {
				return nil, &catalog.NameError{Name: rel.Name, Kind: rel.Kind, Err: catalog.ErrWrongKind, Hint: "COMMENT ON " + strings.ToUpper(string(rel.Kind))}
			}
			return []catalog.Change{{Alter: &catalog.Alter{ID: rel.ID, Comment: &st.Remark}}}, nil
		}
		at := slices.IndexFunc(rel.Fields, func(f column.Field) bool { return catalog.SameName(f.Name, st.Column) })
		if at < 0 {
			return nil, unknownColumn(rel, st.Column)
		}
		return []catalog.Change{{Alter: &catalog.Alter{ID: rel.ID, OnColumn: &catalog.ColumnName{At: at, Text: st.Remark}}}}, nil
	})
	return created(commit, err)
}
