package image

import (
	"slices"
	"sync"

	"tidemill/state/column"
)

// Change is one change of a table's columns since it was created. Chunks keep the columns that they were made with: a
// column that was added later is made up from its value when they are read, one that was dropped is left out. A
// file that a checkpoint rewrites has the columns as they are then.
type Change struct {
	Drop bool        `json:"drop,omitempty"` // else the column is added as the last
	At   int         `json:"at"`             // where the column is, or was
	Type column.Type `json:"type"`
	// Value of the rows that are there already, raw (column.Column.Raw), and Null when it is NULL.
	Null bool   `json:"null,omitempty"`
	Raw  []byte `json:"raw,omitempty"`
}

// layout says how the columns of an older chunk make those of now.
type layout struct{ from []source }

// source is a column of a chunk, or one that it lacks.
type source struct {
	at   int // -1 for one that it lacks
	fill *filling
}

// filling is a column of one value.
type filling struct {
	t    column.Type
	null bool
	raw  []byte
	once sync.Once
	full column.Column // ChunkRows rows, when the value is short
}

// longFill is the size of a value above which a column of it is made for each read and not kept.
const longFill = 32

func (f *filling) rows(n int) column.Column {
	of := func(n int) column.Column {
		if f.null {
			return column.Nulls(f.t, n)
		}
		b := column.NewBuilder(f.t, 1)
		b.AppendRaw(f.raw)
		one := b.Finish()
		return one.Repeat(0, n)
	}
	if len(f.raw) > longFill || n > ChunkRows {
		return of(n)
	}
	f.once.Do(func() { f.full = of(ChunkRows) })
	return f.full.Slice(0, n)
}

// columns returns the columns of now of a chunk with n rows.
func (l *layout) columns(cols []column.Column, n int) []column.Column {
	if l == nil {
		return cols
	}
	out := make([]column.Column, len(l.from))
	for i, s := range l.from {
		if s.at >= 0 {
			out[i] = cols[s.at]
		} else {
			out[i] = s.fill.rows(n)
		}
	}
	return out
}

// typesAt returns the types that the table had after its first gen changes.
func (r *Rows) typesAt(gen int) []column.Type {
	types := slices.Clone(r.types)
	for _, c := range slices.Backward(r.changes[gen:]) {
		if c.Drop {
			types = slices.Insert(types, c.At, c.Type)
		} else {
			types = types[:len(types)-1]
		}
	}
	return types
}

// layout returns how chunks of that generation are read; nil for the newest.
func (r *Rows) layout(gen int) *layout {
	if gen == len(r.changes) {
		return nil
	}
	l := &layout{}
	for i := range r.typesAt(gen) {
		l.from = append(l.from, source{at: i})
	}
	for k := gen; k < len(r.changes); k++ {
		if c := r.changes[k]; c.Drop {
			l.from = slices.Delete(l.from, c.At, c.At+1)
		} else {
			l.from = append(l.from, source{-1, r.fills[k]})
		}
	}
	return l
}

// fillings makes what added columns are filled with, once for all chunks.
func fillings(changes []Change) []*filling {
	out := make([]*filling, len(changes))
	for i, c := range changes {
		if !c.Drop {
			out[i] = &filling{t: c.Type, null: c.Null, raw: c.Raw}
		}
	}
	return out
}

// Alter adds or drops a column. It touches no row; no Save may be on its way.
func (r *Rows) Alter(c Change) {
	r.seal()
	old := len(r.changes)
	r.changes = append(slices.Clip(r.changes), c)
	r.fills = append(slices.Clip(r.fills), fillings([]Change{c})...)
	if c.Drop {
		r.types = slices.Delete(slices.Clone(r.types), c.At, c.At+1)
	} else {
		r.types = append(slices.Clip(r.types), c.Type)
	}
	step := r.layout(old)
	for i := range r.sealed {
		ch := r.sealed[i].chunk
		next := &Chunk{Base: ch.Base, N: ch.N, ids: ch.ids, load: ch.load}
		if ch.load == nil {
			next.cols = step.columns(ch.cols, ch.N)
		} else {
			next.lay = r.layout(ch.load.file.entry.Generation)
		}
		r.sealed[i].chunk = next
	}
	r.sealedChanged = true
}
