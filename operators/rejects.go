package operators

import (
	"tidemill/operators/expr"
	"tidemill/operators/zset"
	"tidemill/state/column"
)

// Rejects collects the rows that left a flow in one commit because an expression failed on them, as a
// delta of (operator, reason, row): a reject's retraction has the same three values and cancels it.
// The zero value is empty. A nil *Rejects panics when a row is added: the caller said that none can fail.
type Rejects struct {
	operator, reason, row []string
	w                     []int64
}

// RejectFields are the columns of a view's rejects: the operator, why, and the row as JSON.
var RejectFields = []column.Field{
	{Name: "operator", Type: column.T(column.Varchar), NotNull: true},
	{Name: "reason", Type: column.T(column.Varchar), NotNull: true},
	{Name: "row", Type: column.T(column.Varchar), NotNull: true},
}

// Add adds row i of b with its weight.
func (r *Rejects) Add(operator, reason string, fields []column.Field, b *zset.Batch, i int) {
	if r == nil {
		panic("operators: " + operator + " fails, but was said not to: " + reason + " at " + RowJSON(fields, b.Cols, i))
	}
	r.operator = append(r.operator, operator)
	r.reason = append(r.reason, reason)
	r.row = append(r.row, RowJSON(fields, b.Cols, i))
	r.w = append(r.w, b.Weight(i))
}

// Batch returns the delta, or nil when there is none.
func (r *Rejects) Batch() *zset.Batch {
	if r == nil || len(r.w) == 0 {
		return nil
	}
	t := column.T(column.Varchar)
	return &zset.Batch{N: len(r.w), W: r.w, Cols: []column.Column{
		column.OfStrings(t, r.operator), column.OfStrings(t, r.reason), column.OfStrings(t, r.row)}}
}

// drop adds the failed rows and returns the others, nil when there are none.
func (r *Rejects) drop(operator string, fields []column.Field, b *zset.Batch, errs *expr.RowErrors) *zset.Batch {
	sel := make([]int32, 0, b.N-len(errs.Rows))
	k := 0
	for i := range int32(b.N) {
		if k < len(errs.Rows) && errs.Rows[k] == i {
			r.Add(operator, errs.Reasons[k], fields, b, int(i))
			k++
			continue
		}
		sel = append(sel, i)
	}
	return gatherAll(b, sel)
}

// RowJSON returns row i as a JSON object, without the columns that are absent.
func RowJSON(fields []column.Field, cols []column.Column, i int) string {
	b := []byte{'{'}
	for k := range fields {
		if cols[k].IsAbsent() {
			continue
		}
		if len(b) > 1 {
			b = append(b, ',')
		}
		b = column.AppendJSONString(b, []byte(fields[k].Name))
		b = append(b, ':')
		b = column.AppendJSON(b, &cols[k], i)
	}
	return string(append(b, '}'))
}
