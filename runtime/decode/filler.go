package decode

import (
	"bytes"
	"slices"

	"tidemill/state/column"
)

// filler fills the columns of a table row by row. It is what the decoders of text share: they find
// the values, it keeps them.
type filler struct {
	// Reading says how the next bodies are to be read. It may be set before each.
	Reading Reading

	fields []column.Field
	opt    Options
	byName map[string]int // DeletedField too, in a keyed table: as len(fields)

	// The body being read.
	cols    []target
	n, room int // rows taken, rows that the targets have room for
	number  int // the row being read, from 1, bad ones counted
	budget  *budget
	deleted []byte
	gone    bool // this row is deleted
	goneRow int  // the number of the row that last gave DeletedField
	nullCol int  // a NOT NULL column that this row set to null, or -1
	partial bool // some row left out some column
	bad     []BadRow
	inner   *NDJSON // reads the parts of nested values; made at the first

	minRow   int     // bytes of the shortest row that gives every column
	textRate []int64 // bytes of text a row in the last body, per column
}

func newFiller(fields []column.Field, opt Options) filler {
	f := filler{fields: fields, opt: opt, byName: make(map[string]int, len(fields)+1),
		cols: make([]target, len(fields)), textRate: make([]int64, len(fields)), minRow: 1}
	if len(opt.Key) > 0 {
		f.byName[DeletedField] = len(fields)
	}
	for i, c := range fields {
		f.byName[c.Name] = i
	}
	return f
}

// begin lays out the targets for a body: as many rows as it has lines, but never more than rows
// that give every column would fit into it. Bodies of shorter rows make the targets grow. shared is the
// budget of a body that fills several tables, nil for one of its own.
func (d *filler) begin(b []byte, shared *budget) error {
	rows := min(bytes.Count(b, []byte{'\n'})+1, len(b)/d.minRow+1)
	if shared != nil { // the other tables have most of the body, perhaps
		rows = min(rows, 64)
	}
	if d.budget = shared; shared == nil {
		d.budget = &budget{}
		d.budget.reset(&d.opt)
	}
	d.n, d.room, d.number, d.deleted, d.gone, d.goneRow, d.nullCol, d.partial, d.bad = 0, 0, 0, nil, false, 0, -1, false, nil
	for i := range d.cols {
		f := d.fields[i]
		d.cols[i] = target{field: f, col: i, size: f.Type.Size(), key: d.opt.isKey(i), hasDefault: d.opt.hasDefault(i)}
		if f.Type.Nested() {
			d.cols[i].nested = column.NewBuilder(f.Type, 0)
		}
	}
	if err := d.makeRoom(rows); err != nil {
		return err
	}
	left := int64(len(b)) // all texts together are no longer than the body
	for i := range d.cols {
		if c := &d.cols[i]; c.size == 0 && c.nested == nil {
			rate := d.textRate[i]
			if rate == 0 {
				rate = 8
			}
			size := min(rate*int64(rows)*9/8, left)
			left -= size
			c.data = make([]byte, 0, size+32)
		}
	}
	return nil
}

// end hands the rows over, or says why the body is refused. With OnErrorStop it does both.
func (d *filler) end(err error) (*Rows, error) {
	if err != nil && (d.Reading.OnError != OnErrorStop || !isRowError(err)) {
		clear(d.cols)
		return nil, err
	}
	return d.finish(), err
}

func (d *filler) markGone() {
	d.gone = true
	if d.deleted == nil {
		d.deleted = make([]byte, (d.room+7)/8)
	}
}

// settle ends a row that left out columns or is deleted. It returns the column at fault and what is wrong
// with it, if the row may not be so.
func (d *filler) settle() (col int, reason string) {
	for i := range d.cols {
		c := &d.cols[i]
		if c.row == d.number {
			continue
		}
		switch {
		case d.gone && c.key:
			return i, "a deleted row needs the key's columns, and this one is missing"
		case d.gone || c.hasDefault:
		case c.key || c.field.NotNull:
			return i, "the field is missing, the column is NOT NULL and has no DEFAULT"
		}
		if err := d.budget.take(nullBytes(c.field.Type)); err != nil && c.nested != nil {
			return i, err.Error()
		}
		c.setNull(d.n, d.room)
		if c.present == nil {
			c.present = ones(d.room)
		}
		column.ClearBit(c.present, d.n)
		d.partial = true
	}
	if d.gone {
		column.SetBit(d.deleted, d.n)
	}
	d.gone, d.nullCol = false, -1
	return 0, ""
}

// rewind forgets what the row being read has left in the targets.
func (d *filler) rewind() {
	for i := range d.cols {
		c := &d.cols[i]
		if c.nested != nil {
			c.nested.Truncate(d.n)
		} else if c.size == 0 {
			c.data = c.data[:c.offs[d.n]]
		} else {
			clear(c.data[d.n*c.size : (d.n+1)*c.size])
		}
		for _, bits := range [][]byte{c.valid, c.present} {
			if bits != nil {
				column.SetBit(bits, d.n)
			}
		}
	}
	if d.deleted != nil {
		column.ClearBit(d.deleted, d.n)
	}
	d.gone, d.nullCol = false, -1
}

// takeBack takes back the row that has just been taken, since something is wrong behind it.
func (d *filler) takeBack(err error) error {
	d.n--
	return err
}

// reject deals with the row in b[start:end], which err is about: it is kept with the bad rows and the place
// to go on from is returned, or an error is left.
func (d *filler) reject(b []byte, start, end int, err error) (next int, left error) {
	e, ok := err.(*RowError)
	if !ok || d.Reading.OnError == OnErrorAll {
		return 0, err
	}
	d.rewind()
	if d.Reading.OnError == OnErrorStop {
		return 0, err
	}
	raw := bytes.TrimRight(b[start:end], "\r\n")
	if err := d.budget.take(int64(len(raw)) + badRowBytes); err != nil {
		return 0, err
	}
	d.bad = append(d.bad, BadRow{RowError: *e, Start: start, Raw: slices.Clone(raw)})
	return end, nil
}

// lineEnd returns the place after the line that starts at b[i:].
func lineEnd(b []byte, i int) int {
	if n := bytes.IndexByte(b[min(i, len(b)):], '\n'); n >= 0 {
		return i + n + 1
	}
	return len(b)
}

// elementEnd returns the place of the comma or bracket after the array element at b[i:], brackets and strings
// counted; the body's end when there is none.
func elementEnd(b []byte, i int) int {
	depth := 0
	for i < len(b) {
		switch b[i] {
		case '"':
			for i++; i < len(b) && b[i] != '"'; i++ {
				if b[i] == '\\' {
					i++
				}
			}
		case '{', '[':
			depth++
		case '}', ']':
			if depth == 0 {
				return i
			}
			depth--
		case ',':
			if depth == 0 {
				return i
			}
		}
		i++
	}
	return len(b)
}
