package expr

import (
	"slices"

	"tidemill/state/column"
)

// MergeErrors returns the rows of either, with a's reason where both have one.
func MergeErrors(a, b *RowErrors) *RowErrors {
	if a == nil || len(a.Rows) == 0 {
		return b
	}
	if b == nil || len(b.Rows) == 0 {
		return a
	}
	out := &RowErrors{}
	i, j := 0, 0
	for i < len(a.Rows) || j < len(b.Rows) {
		switch {
		case j == len(b.Rows) || i < len(a.Rows) && a.Rows[i] <= b.Rows[j]:
			if j < len(b.Rows) && a.Rows[i] == b.Rows[j] {
				j++
			}
			out.add(a.Rows[i], a.Reasons[i])
			i++
		default:
			out.add(b.Rows[j], b.Reasons[j])
			j++
		}
	}
	return out
}

func (r *RowErrors) add(row int32, reason string) {
	r.Rows = append(r.Rows, row)
	r.Reasons = append(r.Reasons, reason)
}

// reason returns why a row failed, and whether it did.
func (r *RowErrors) reason(row int32) (string, bool) {
	if r == nil {
		return "", false
	}
	if i, ok := slices.BinarySearch(r.Rows, row); ok {
		return r.Reasons[i], true
	}
	return "", false
}

// keep returns the errors at the rows for which ok says so.
func (r *RowErrors) keep(ok func(row int32) bool) *RowErrors {
	if r == nil {
		return nil
	}
	var out *RowErrors
	for i, row := range r.Rows {
		if ok(row) {
			if out == nil {
				out = &RowErrors{}
			}
			out.add(row, r.Reasons[i])
		}
	}
	return out
}

// at moves errors of a part's rows to the rows of the whole.
func (r *RowErrors) at(rows []int32) *RowErrors {
	if r == nil || rows == nil {
		return r
	}
	out := &RowErrors{Reasons: r.Reasons, Rows: make([]int32, len(r.Rows))}
	for i, row := range r.Rows {
		out.Rows[i] = rows[row]
	}
	return out
}

// everywhere spreads the error of a constant over n rows.
func (r *RowErrors) everywhere(n int) *RowErrors {
	if r == nil {
		return nil
	}
	out := &RowErrors{Rows: make([]int32, n), Reasons: make([]string, n)}
	for i := range n {
		out.Rows[i], out.Reasons[i] = int32(i), r.Reasons[0]
	}
	return out
}

// mask makes the rows that failed NULL in v, which stands for n rows.
func (v *vec) mask(errs *RowErrors, n int) {
	if errs == nil || len(errs.Rows) == 0 {
		return
	}
	if v.konst {
		v.Column, v.konst, v.alias = repeat(&v.Column, n), false, false
	}
	if v.Type.Nested() {
		v.Column, v.alias = nullAt(&v.Column, errs.Rows), false
		return
	}
	if v.alias {
		v.Data, v.alias = slices.Clone(v.Data), false
	}
	if v.Valid == nil {
		v.Valid = column.NewBitmap(v.N, true)
	} else {
		v.Valid = slices.Clone(v.Valid)
	}
	for _, row := range errs.Rows {
		column.ClearBit(v.Valid, int(row))
	}
}

// nullAt returns a copy of a nested column with NULLs at rows, which ascend.
func nullAt(c *column.Column, rows []int32) column.Column {
	b := column.NewBuilder(c.Type, c.N)
	from := 0
	for _, row := range rows {
		part := c.Slice(from, int(row))
		b.AppendColumn(&part)
		b.AppendNull()
		from = int(row) + 1
	}
	part := c.Slice(from, c.N)
	b.AppendColumn(&part)
	return b.Finish()
}

// zeroNulls brings the bytes under NULLs to what package column promises; kernels leave them.
func zeroNulls(c *column.Column) {
	if c.Valid == nil || c.Type.Nested() || c.Type.Varlen() {
		return
	}
	switch c.Type.Size() {
	case 1:
		zeroFixed[uint8](c)
	case 2:
		zeroFixed[uint16](c)
	case 4:
		zeroFixed[uint32](c)
	case 8:
		zeroFixed[uint64](c)
	case 16:
		zeroFixed[column.Int128](c)
	}
}

func zeroFixed[V column.Fixed](c *column.Column) {
	vals := column.Values[V](c)
	var zero V
	for w, bits := range c.Valid {
		if bits == 0xff {
			continue
		}
		for i := w * 8; i < min(w*8+8, c.N); i++ {
			if bits>>(i&7)&1 == 0 {
				vals[i] = zero
			}
		}
	}
}
