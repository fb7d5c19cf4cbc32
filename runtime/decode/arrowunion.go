package decode

import (
	"fmt"

	"tidemill/state/column"
)

func (t *arrowType) unionCodes(f *flatbuf, u table) {
	t.codes = map[int8]int{}
	ids, _ := f.vector(u, 1, 4)
	if len(ids) != 0 && len(ids) != 4*len(t.kids) || len(t.kids) > 128 {
		return
	}
	for k := range t.kids {
		code := int64(k)
		if len(ids) > 0 {
			code = int64(int32(le.Uint32(ids[4*k:])))
		}
		if _, twice := t.codes[int8(code)]; code < 0 || code > 127 || twice {
			return
		}
		t.codes[int8(code)] = k
	}
	t.layout = layoutUnion
}

// union reads the types, for a dense union the places, and the members.
func (m *message) union(t *arrowType, to column.Type, n int) (column.Column, error) {
	c := column.Column{Type: to, N: n, Kids: make([]column.Column, len(to.Kids()))}
	if m.version < metadataV5 {
		return c, m.s.garbage("a union in metadata version 4")
	}
	types, err := m.buffer(int64(n))
	if err != nil {
		return c, err
	}
	var places []byte
	if t.dense {
		if places, err = m.buffer(4 * int64(n)); err != nil {
			return c, err
		}
		places = places[:4*n]
	}
	types = types[:n]
	if err := m.s.budget.take(2*int64(n) + 8); err != nil {
		return c, err
	}
	tags, valid, nulls := make([]byte, n), column.NewBitmap(n, true), 0
	at := make([]int, len(t.kids)) // a kid's place in the table's type, 0 for the NULLs
	for k := range t.kids {
		if !t.kids[k].isNullMember() {
			at[k] = kidNamed(to, t.kids[k].name)
		}
	}
	for i := range n {
		k, ok := t.codes[int8(types[i])]
		switch {
		case m.s.mask != nil && !column.Bit(m.s.mask, i):
			column.ClearBit(valid, i)
			nulls++
		case !ok:
			return c, &badValue{row: i, value: fmt.Sprint(int8(types[i])), reason: "the union has no such type"}
		case at[k] == 0:
			column.ClearBit(valid, i)
			nulls++
		default:
			tags[i] = byte(at[k] - 1)
		}
	}
	c.Kids[0] = column.Of(column.T(column.UInt8), tags, nil)
	if nulls > 0 {
		c.Valid = valid
	}
	given := make([]bool, len(c.Kids))
	given[0] = true
	for k := range t.kids {
		rows := n
		if t.dense {
			if rows, err = m.kidLength(); err == nil {
				err = m.s.budget.take(8 * int64(rows))
			}
			if err != nil {
				return c, err
			}
		}
		kt := column.T(column.Int32)
		if at[k] > 0 {
			kt = to.Kids()[at[k]]
		}
		row := func(i int) int { return i }
		if t.dense {
			row = rowsOfPlaces(places, types, t.codes, k, rows)
		}
		part, err := m.kid(&t.kids[k].t, kt, rows, row)
		if err != nil {
			return c, err
		}
		if at[k] == 0 {
			continue
		}
		if t.dense {
			if part, err = m.spread(&part, at[k], tags, &c, places); err != nil {
				return c, err
			}
		}
		c.Kids[at[k]], given[at[k]] = part, true
	}
	if err := m.fillAbsent(&c, given); err != nil {
		return c, err
	}
	if err := m.s.budget.take(int64(c.Size())); err != nil {
		return c, err
	}
	return c.Canonical(), nil
}

// rowsOfPlaces tells which row of a dense union names a value of member k; row 0 for one that none does.
func rowsOfPlaces(places, types []byte, codes map[int8]int, k, values int) func(int) int {
	var of []int
	return func(i int) int {
		if of == nil {
			of = make([]int, values)
			for row := range len(places) / 4 {
				if p := int(int32(le.Uint32(places[4*row:]))); p >= 0 && p < values && codes[int8(types[row])] == k {
					of[p] = row
				}
			}
		}
		return of[i]
	}
}

// spread puts the values of a dense union's member at their rows; the others are NULL.
func (m *message) spread(part *column.Column, at int, tags []byte, c *column.Column, places []byte) (column.Column, error) {
	if err := m.s.budget.take(int64(c.N)*(nullBytes(part.Type)+1) + int64(part.Size())); err != nil {
		return *part, err
	}
	b := column.NewBuilder(part.Type, c.N)
	for i := range c.N {
		if c.IsNull(i) || int(tags[i]) != at-1 {
			b.AppendNull()
			continue
		}
		p := int(int32(le.Uint32(places[4*i:])))
		if p < 0 || p >= part.N {
			return *part, &badValue{row: i, value: fmt.Sprint(p), reason: "the value's place is outside its member"}
		}
		if err := m.s.budget.take(int64(rowSize(part, p))); err != nil { // a place may be named many times
			return *part, err
		}
		b.AppendFrom(part, p)
	}
	return b.Finish(), nil
}

// rowSize is about what row i of c takes.
func rowSize(c *column.Column, i int) int {
	if c.Type.Nested() {
		one := c.Gather([]int32{int32(i)})
		return one.Size()
	}
	return len(c.Raw(i)) + 5
}
