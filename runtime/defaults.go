package runtime

import (
	"fmt"

	"tidemill/runtime/decode"
	"tidemill/state/column"
	"tidemill/views/catalog"
)

// FillDefaults gives the rows of a body the DEFAULT of each column that they left out. A column without one
// stays NULL; where it is NOT NULL the decoder has refused the row.
func FillDefaults(rel *catalog.Relation, rows *decode.Rows) {
	if rows.Present == nil || rel.DefaultValues == nil {
		return
	}
	for c, d := range rel.DefaultValues {
		present := rows.Present[c]
		if d == nil || d.Null || present == nil {
			continue
		}
		b := column.NewBuilder(rel.Fields[c].Type, rows.N)
		for i := range rows.N {
			if column.Bit(present, i) || rows.Deleted != nil && column.Bit(rows.Deleted, i) {
				b.AppendFrom(&rows.Cols[c], i)
			} else {
				b.AppendRaw(d.Raw)
			}
		}
		rows.Cols[c] = b.Finish()
	}
}

// DecodeOptions returns what a decoder of the table's bodies has to know.
func DecodeOptions(rel *catalog.Relation) decode.Options {
	o := decode.Options{Key: rel.PrimaryKey}
	if rel.DefaultValues != nil {
		o.HasDefault = make([]bool, len(rel.Fields))
		for c, d := range rel.DefaultValues {
			o.HasDefault[c] = d != nil && !d.Null
		}
	}
	return o
}

// checkNotNull refuses a NULL in a NOT NULL column of rows that a statement made.
func checkNotNull(rel *catalog.Relation, cols []column.Column) error {
	for c, f := range rel.Fields {
		if !f.NotNull || cols[c].Valid == nil {
			continue
		}
		for i := range cols[c].N {
			if cols[c].IsNull(i) {
				return &NotNullError{Table: rel.Name, Column: f.Name, Row: i + 1}
			}
		}
	}
	return nil
}

// NotNullError says that a statement would put a NULL where the table has none.
type NotNullError struct {
	Table, Column string
	Row           int // of the statement's rows, from 1
}

// Error names table, column and row.
func (e *NotNullError) Error() string {
	return fmt.Sprintf("row %d has NULL for column %s of table %s, which is NOT NULL", e.Row, e.Column, e.Table)
}
