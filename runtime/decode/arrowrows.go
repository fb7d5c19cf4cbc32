package decode

import (
	"iter"

	"tidemill/state/column"
)

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
			if r.Deleted, err = s.deletedBits(&c); err != nil {
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
			for row := range nulls(&r.Cols[i], r, a.opt.isKey(i)) {
				if err := s.badRow(&RowError{Row: row + 1, Offset: -1, Column: f.Name, Value: "null", Reason: notNull}); err != nil {
					return nil, err
				}
			}
		}
	}
	if s.bad != nil {
		return s.without(r)
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
	if err := s.budget.take(n*(nullBytes(f.Type)+3) + n/4 + 16); err != nil {
		return err
	}
	r.Cols[col] = column.Nulls(f.Type, r.N)
	if r.Present == nil {
		r.Present = make([][]byte, len(s.a.fields))
	}
	r.Present[col] = column.NewBitmap(r.N, false)
	return nil
}

// nulls has the rows that are NULL in c and may not be: a deleted one may, outside the key.
func nulls(c *column.Column, r *Rows, key bool) iter.Seq[int] {
	return func(yield func(int) bool) {
		for i := range c.N {
			if c.IsNull(i) && (key || r.Deleted == nil || !column.Bit(r.Deleted, i)) && !yield(i) {
				return
			}
		}
	}
}

// badRow leaves a row out, or returns what is wrong with it.
func (s *stream) badRow(e *RowError) error {
	if s.a.Reading.OnError != OnErrorRow {
		return e
	}
	s.leaveOut(e)
	return nil
}

// leaveOut marks a row as bad, for the first reason that there is.
func (s *stream) leaveOut(e *RowError) {
	if s.bad == nil {
		s.bad = map[int]*RowError{}
	}
	if s.bad[e.Row] == nil {
		s.bad[e.Row] = e
	}
}

// without takes the bad rows out of r. They are kept as JSON objects of what could be read of them.
func (s *stream) without(r *Rows) (*Rows, error) {
	out := &Rows{Cols: make([]column.Column, len(r.Cols)), N: r.N - len(s.bad)}
	good := make([]int32, 0, out.N)
	for i := range r.N {
		e := s.bad[i+1]
		if e == nil {
			good = append(good, int32(i))
			continue
		}
		bad := BadRow{RowError: *e, Start: -1, Raw: s.text(r, i)}
		if err := s.budget.take(int64(len(bad.Raw)) + badRowBytes); err != nil {
			return nil, err
		}
		out.Bad = append(out.Bad, bad)
	}
	for i := range r.Cols {
		if err := s.budgetConcat([]*column.Column{&r.Cols[i]}); err != nil {
			return nil, err
		}
		out.Cols[i] = r.Cols[i].Gather(good)
	}
	pick := func(bits []byte) []byte {
		if bits == nil {
			return nil
		}
		to := column.NewBitmap(out.N, false)
		for k, i := range good {
			if column.Bit(bits, int(i)) {
				column.SetBit(to, k)
			}
		}
		return to
	}
	out.Deleted = pick(r.Deleted)
	if r.Present != nil {
		out.Present = make([][]byte, len(r.Present))
		for i, p := range r.Present {
			out.Present[i] = pick(p)
		}
	}
	return out, nil
}

// text returns the values of a row that the stream gave, as a JSON object.
func (s *stream) text(r *Rows, row int) []byte {
	b := []byte{'{'}
	for i, f := range s.a.fields {
		if r.Present != nil && r.Present[i] != nil {
			continue // the stream lacks the column
		}
		if len(b) > 1 {
			b = append(b, ',')
		}
		b = append(column.AppendJSONString(b, []byte(f.Name)), ':')
		b = column.AppendJSON(b, &r.Cols[i], row)
	}
	return append(b, '}')
}

// deletedBits turns the booleans of DeletedField into a bitmap, nil when all are false.
func (s *stream) deletedBits(c *column.Column) ([]byte, error) {
	for row := range c.N {
		if c.IsNull(row) {
			if err := s.badRow(&RowError{Row: row + 1, Offset: -1, Column: DeletedField, Value: "null", Reason: "must be true or false"}); err != nil {
				return nil, err
			}
		}
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
