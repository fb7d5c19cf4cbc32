package decode

import (
	"bytes"
	"unicode/utf8"

	"tidemill/state/column"
)

// readSchema binds the stream's fields to the table's columns, or finds that they still are.
func (s *stream) readSchema(f *flatbuf, schema table) error {
	a := s.a
	if a.schema != nil && bytes.Equal(a.schema, f.b) {
		return nil
	}
	if endian := f.integer(schema, 0, 2, 0); endian != 0 && !f.bad {
		return s.garbage("the stream is big-endian")
	}
	refs, pos := f.vector(schema, 1, 4)
	if f.bad {
		return s.garbage("the schema is not a valid flatbuffer")
	}
	a.schema, a.binds = nil, a.binds[:0]
	seen := make([]bool, len(a.fields)+1)
	for i := 0; i < len(refs); i += 4 {
		t := f.tableAt(pos + i + int(le.Uint32(refs[i:])))
		b, err := s.readField(f, t)
		if err != nil {
			return err
		}
		if seen[b.col] {
			return &SchemaError{Column: b.name, Arrow: b.t.name, Reason: "the stream has two fields of this name"}
		}
		seen[b.col] = true
		a.binds = append(a.binds, b)
	}
	for i, have := range seen[:len(a.fields)] {
		if !have && a.opt.isKey(i) && !a.opt.hasDefault(i) {
			return &SchemaError{Column: a.fields[i].Name, Table: a.fields[i].Type.String(), Reason: "it is part of the key, and the stream lacks it"}
		}
	}
	a.schema = bytes.Clone(f.b)
	return nil
}

// readField reads a field and finds its column.
func (s *stream) readField(f *flatbuf, t table) (bind, error) {
	fields := maxFields
	b := bind{name: f.str(t, 0), t: readType(f, t, &fields, 0)}
	b.arrays = b.t.arrays()
	if f.bad {
		return b, s.garbage("the schema is not a valid flatbuffer")
	}
	if !utf8.ValidString(b.name) {
		return b, s.garbage("a field name is not valid UTF-8")
	}
	shown := b.t.shown()
	col, ok := s.a.byName[b.name]
	if !ok {
		reason := "the table has no such column"
		if b.name == DeletedField {
			reason = "only tables with a primary key take rows with this field"
		}
		return b, &SchemaError{Column: shorten([]byte(b.name)), Arrow: shown, Reason: reason}
	}
	b.col = col
	to := s.a.columnType(col)
	reason := ""
	switch {
	case col == len(s.a.fields) && (b.t.layout != layoutBits || b.t.enc != nil):
		reason = "it must be a bool"
	default:
		reason = widens(&b.t, to)
	}
	dicts := map[int64]string{}
	for i := range s.a.binds {
		s.a.binds[i].t.dictionaries(func(t *arrowType) { dicts[t.enc.dict] = t.name })
	}
	b.t.dictionaries(func(t *arrowType) {
		if other, ok := dicts[t.enc.dict]; ok && other != t.name {
			reason = "another column uses the same dictionary for another type"
		}
		dicts[t.enc.dict] = t.name
	})
	if reason != "" {
		return b, &SchemaError{Column: b.name, Arrow: shown, Table: to.String(), Reason: reason}
	}
	return b, nil
}

// columnType returns the type of a column by its place, DeletedField included.
func (a *Arrow) columnType(col int) column.Type {
	if col == len(a.fields) {
		return column.T(column.Bool)
	}
	return a.fields[col].Type
}
