package decode

import "tidemill/state/column"

// target is a column of the table being filled: fixed-width values are stored by row number into
// room laid out beforehand and zeroed, so that a row which leaves the column out costs nothing; text
// is appended.
type target struct {
	field           column.Field
	col             int // its place among the fields
	size            int // of a fixed-width value, 0 for text
	row             int // the last row, from 1, that gave this column
	key, hasDefault bool
	data            []byte
	offs            []int32
	nested          *column.Builder // of a nested type, in place of data, offs and valid
	// valid and present have room for all rows and are all ones; they are made when the first bit
	// must be cleared.
	valid, present []byte
}

// ones returns a bitmap of at least n ones.
func ones(n int) []byte {
	b := make([]byte, (n+7)/8)
	for i := range b {
		b[i] = 0xff
	}
	return b
}

// setNull makes row n NULL.
func (c *target) setNull(n, room int) {
	if c.nested != nil {
		c.nested.AppendNull()
		return
	}
	if c.valid == nil {
		c.valid = ones(room)
	}
	column.ClearBit(c.valid, n)
	if c.size == 0 {
		c.offs[n+1] = int32(len(c.data))
	}
}

// grow doubles the room for rows.
func (d *filler) grow() error { return d.makeRoom(max(64, 2*d.room)) }

func (d *filler) makeRoom(rows int) error {
	cost := int64(0)
	for i := range d.cols {
		cost += int64(rows-d.room) * int64(max(d.cols[i].size, 4))
	}
	if err := d.budget.take(cost); err != nil {
		return err
	}
	for i := range d.cols {
		c := &d.cols[i]
		if c.nested != nil {
			c.present = moreOnes(c.present, rows)
			continue
		}
		if c.size == 0 {
			offs := make([]int32, rows+1)
			copy(offs, c.offs)
			c.offs = offs
		} else {
			data := make([]byte, rows*c.size)
			copy(data, c.data)
			c.data = data
		}
		c.valid, c.present = moreOnes(c.valid, rows), moreOnes(c.present, rows)
	}
	if d.deleted != nil {
		d.deleted = append(d.deleted, make([]byte, (rows+7)/8-len(d.deleted))...)
	}
	d.room = rows
	return nil
}

func moreOnes(b []byte, n int) []byte {
	if b == nil {
		return nil
	}
	out := ones(n)
	copy(out, b)
	return out
}

// finish hands the targets over as columns.
func (d *filler) finish() *Rows {
	r := &Rows{Cols: make([]column.Column, len(d.cols)), N: d.n, Bad: d.bad}
	if d.partial {
		r.Present = make([][]byte, len(d.cols))
	}
	for i := range d.cols {
		c := &d.cols[i]
		out := column.Column{Type: c.field.Type, N: d.n, Valid: trimBits(c.valid, d.n)}
		if c.nested != nil {
			out = c.nested.Finish()
		} else if c.size == 0 {
			out.Data, out.Offsets = c.data, c.offs[:d.n+1]
			if d.n > 0 {
				d.textRate[i] = int64(len(c.data))/int64(d.n) + 1
			}
		} else {
			out.Data = c.data[:d.n*c.size]
		}
		r.Cols[i] = out
		if d.partial {
			r.Present[i] = trimBits(c.present, d.n)
		}
	}
	r.Deleted = trimBits(d.deleted, d.n)
	clear(d.cols)
	return r
}

// trimBits cuts a bitmap to n bits, the bits past them cleared.
func trimBits(b []byte, n int) []byte {
	if b == nil {
		return nil
	}
	b = b[:(n+7)/8]
	if r := n & 7; r != 0 {
		b[len(b)-1] &= 1<<r - 1
	}
	return b
}
