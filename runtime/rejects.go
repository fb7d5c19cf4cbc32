package runtime

import (
	"context"
	"fmt"

	"tidemill/state/column"
	"tidemill/views"
	"tidemill/views/catalog"
	"tidemill/views/plan/token"
)

// Rejected rows of appends to t are kept in the table "t$rejects". It is a table like any other, in the log, in
// chunk files, in views that follow it, and rows leave it by DELETE; only appends to t put rows into it, each in the
// commit of the rows that were good. It comes to be before the first append that may need it and goes with t.
//
// A view's rejects are something else: an integral over what its operators refuse, that a retraction takes
// out again. A row that never was in a table cannot be retracted, so there is nothing to keep in step.

// rejectFields are the columns of such a table. They are frozen: tables of that shape are in catalogs.
var rejectFields = []column.Field{
	{Name: "rejected_at", Type: column.T(column.TimestampTZ), NotNull: true},
	{Name: "producer", Type: column.T(column.Varchar)},
	{Name: "seq", Type: column.T(column.UInt64)},
	{Name: "row_number", Type: column.T(column.Int64), NotNull: true}, // in the body, from 1
	{Name: "byte_offset", Type: column.T(column.Int64)},               // of the fault in the body, from 0
	{Name: "column_name", Type: column.T(column.Varchar)},
	{Name: "reason", Type: column.T(column.Varchar), NotNull: true},
	{Name: "value", Type: column.T(column.Varchar)}, // at fault, cut to 100 bytes
	{Name: "raw", Type: column.T(column.Blob)},      // the row as it was sent
}

// rejected returns the bad rows of a part as rows of its table's rejects, none when there are none.
func (e *Engine) rejected(ctx context.Context, req *AppendRequest, p *TableRows) ([]TableRows, error) {
	rel, err := e.rejectsOf(ctx, p.Relation)
	if err != nil || len(p.Bad) == 0 {
		return nil, err
	}
	b := make([]*column.Builder, len(rejectFields))
	for i, f := range rejectFields {
		b[i] = column.NewBuilder(f.Type, len(p.Bad))
	}
	now := e.opts.Now().UnixMicro()
	text := func(at int, s string) {
		if s == "" {
			b[at].AppendNull()
		} else {
			b[at].AppendString(s)
		}
	}
	for i := range p.Bad {
		bad := &p.Bad[i]
		column.Append(b[0], now)
		if text(1, req.Producer); req.Producer == "" {
			b[2].AppendNull()
		} else {
			column.Append(b[2], req.Seq)
		}
		column.Append(b[3], int64(bad.Row))
		if bad.Offset < 0 {
			b[4].AppendNull()
		} else {
			column.Append(b[4], int64(bad.Offset))
		}
		text(5, bad.Column)
		b[6].AppendString(bad.Reason)
		text(7, bad.Value)
		b[8].AppendRaw(bad.Raw)
	}
	out := TableRows{Relation: rel.ID, Version: rel.Version, N: len(p.Bad), Cols: make([]column.Column, len(b))}
	for i := range b {
		out.Cols[i] = b[i].Finish()
	}
	return []TableRows{out}, nil
}

// rejectsName returns the name of the relation that keeps a relation's rejected rows.
func rejectsName(full string) string {
	schema, name, _ := token.Cut(full)
	return token.Join(schema, name+views.RejectsSuffix)
}

// rejectsOf returns the table of a table's rejects, which it makes if there is none.
func (e *Engine) rejectsOf(ctx context.Context, table uint32) (*catalog.Relation, error) {
	if r := e.Catalog().Rejects(table); r != nil {
		return r, nil
	}
	_, err := e.Define(ctx, func(cat *catalog.Catalog) ([]catalog.Change, error) {
		rel := cat.ByID(table)
		if rel == nil {
			return nil, ErrSchemaChanged
		}
		if cat.Rejects(table) != nil {
			return nil, nil
		}
		return []catalog.Change{{Create: &catalog.Relation{Name: rejectsName(rel.Name), Kind: catalog.Table, Fields: rejectFields, RejectsOf: table}}}, nil
	})
	if err != nil {
		return nil, err
	}
	if r := e.Catalog().Rejects(table); r != nil {
		return r, nil
	}
	return nil, ErrSchemaChanged
}

// Appendable returns the table of that name for an append, by whatever door. Errors are *catalog.NameError.
func Appendable(cat *catalog.Catalog, name string) (*catalog.Relation, error) {
	rel, err := cat.LookupTable(name)
	if err == nil && rel.RejectsOf != 0 {
		err = &catalog.NameError{Name: rel.Name, Kind: rel.Kind, Err: fmt.Errorf("it keeps the rejected rows of another table: %w", catalog.ErrWrongKind),
			Hint: "appends with on_error=row fill it: read it, delete from it, append to its table"}
	}
	return rel, err
}
