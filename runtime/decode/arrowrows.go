package decode

import "tidemill/state/column"

// finish joins the batches, fills the columns that the stream lacks and checks NOT NULL.
func (s *stream) finish() (*Rows, error) {
	a := s.a
	r := &Rows{Cols: make([]column.Column, len(a.fields)), N: s.n}
	given := make([]bool, len(a.fields)+1)
	for i := range a.binds {
		b := &a.binds[i]
		given[b.col] = true
		c, err := s.join(b, s.parts[i])
		if err != nil {
			return nil, err
		}
		if b.col == len(a.fields) {
			if r.Deleted, err = deletedBits(&c); err != nil {
				return nil, err
			}
			continue
		}
		r.Cols[b.col] = c
	}
	for i := range a.fields {
		if given[i] {
			continue
		}
		if err := s.absent(r, i); err != nil {
			return nil, err
		}
	}
	for i, f := range a.fields {
		if given[i] && (f.NotNull || a.opt.isKey(i)) && r.Cols[i].Valid != nil {
			if row := firstNull(&r.Cols[i], r, a.opt.isKey(i)); row >= 0 {
				return nil, &RowError{Row: row + 1, Offset: -1, Column: f.Name, Value: "null", Reason: notNull}
			}
		}
	}
	return r, nil
}

// join concatenates a field's batches.
func (s *stream) join(b *bind, parts []column.Column) (column.Column, error) {
	if len(parts) == 1 {
		return parts[0], nil
	}
	refs := make([]*column.Column, len(parts))
	for i := range parts {
		refs[i] = &parts[i]
	}
	if err := s.budgetConcat(refs); err != nil {
		return column.Column{}, err
	}
	return column.Concat(s.a.columnType(b.col), refs...), nil
}

// absent fills a column that the stream lacks.
func (s *stream) absent(r *Rows, col int) error {
	f := s.a.fields[col]
	if (f.NotNull || s.a.opt.isKey(col)) && !s.a.opt.hasDefault(col) {
		for i := range r.N {
			if r.Deleted == nil || !column.Bit(r.Deleted, i) {
				return &SchemaError{Column: f.Name, Table: f.Type.String(), Reason: "the stream lacks it, the column is NOT NULL and has no DEFAULT"}
			}
		}
	}
	n := int64(r.N)
	if err := s.budget.take(n*int64(max(f.Type.Size(), 4)) + n/4 + 16); err != nil {
		return err
	}
	r.Cols[col] = column.Nulls(f.Type, r.N)
	if r.Present == nil {
		r.Present = make([][]byte, len(s.a.fields))
	}
	r.Present[col] = column.NewBitmap(r.N, false)
	return nil
}

// firstNull returns the first row that is NULL in c and may not be: a deleted one may, outside the
// key.
func firstNull(c *column.Column, r *Rows, key bool) int {
	for i := range c.N {
		if c.IsNull(i) && (key || r.Deleted == nil || !column.Bit(r.Deleted, i)) {
			return i
		}
	}
	return -1
}

// deletedBits turns the booleans of DeletedField into a bitmap, nil when all are false.
func deletedBits(c *column.Column) ([]byte, error) {
	if c.Valid != nil {
		row := 0
		for !c.IsNull(row) {
			row++
		}
		return nil, &RowError{Row: row + 1, Offset: -1, Column: DeletedField, Value: "null", Reason: "must be true or false"}
	}
	var bits []byte
	for i, v := range c.Data[:c.N] {
		if v != 0 {
			if bits == nil {
				bits = column.NewBitmap(c.N, false)
			}
			column.SetBit(bits, i)
		}
	}
	return bits, nil
}
