package runtime

import (
	"fmt"
	"sort"

	"tidemill/operators/zset"
	"tidemill/runtime/logrec"
	"tidemill/state/column"
	"tidemill/state/image"
	"tidemill/state/rowkey"
	"tidemill/views"
	"tidemill/views/catalog"
	"tidemill/views/duck"
)

// overlay is a table as a block has changed it so far: the published rows less those that the block has removed,
// and the rows that it has added. Nothing of it is in the table; entries says what to log. It is the committer's.
type overlay struct {
	rel   *catalog.Relation
	table *views.Table
	added []*addedRows
	next  uint64   // rowid that the next added row has while the block runs
	first uint64   // of the first added row; those below are the table's own
	dead  []uint64 // the table's own rows that were removed, of a table without a key

	emptied bool // TRUNCATE has run: nothing that was there before it is left

	// What follows is for a table with a primary key.
	enc        *rowkey.Encoder
	last       map[string]place // of each key that the block has touched, where its newest row is
	unresolved []string         // keys whose own row of the table has not been looked for

	base *image.Snapshot // taken when the block first reads the table
	live [][]byte        // of base's chunks
	hid  int             // how many of dead are out of live
}

// addedRows are rows that a statement made. A row that a later one replaced or removed is not final. A final row that
// deletes its key is not shown.
type addedRows struct {
	rows    zset.Batch
	first   uint64
	final   []byte
	deleted []byte // or nil
}

// place is a row of overlay.added.
type place struct{ batch, row int }

func newOverlay(rel *catalog.Relation, table *views.Table) *overlay {
	o := &overlay{rel: rel, table: table, first: table.Rows.Next()}
	o.next = o.first
	if table.Keyed() {
		o.enc = rowkey.NewEncoder(keyTypes(rel))
		o.last = map[string]place{}
	}
	return o
}

func keyTypes(rel *catalog.Relation) []column.Type {
	var out []column.Type
	for _, k := range rel.PrimaryKey {
		out = append(out, rel.Fields[k].Type)
	}
	return out
}

// keyOf returns the columns of the primary key.
func keyOf(rel *catalog.Relation, cols []column.Column) []column.Column {
	out := make([]column.Column, len(rel.PrimaryKey))
	for i, k := range rel.PrimaryKey {
		out[i] = cols[k]
	}
	return out
}

// add adds rows, which replace those of their keys in a table with a key; deleted marks those that only remove them.
func (o *overlay) add(cols []column.Column, n int, deleted []byte) {
	if n == 0 {
		return
	}
	a := &addedRows{rows: zset.Batch{Cols: cols, N: n}, first: o.next, final: column.NewBitmap(n, true), deleted: deleted}
	o.next += uint64(n)
	o.added = append(o.added, a)
	if o.enc == nil {
		return
	}
	key := keyOf(o.rel, cols)
	var buf []byte
	for i := range n {
		buf = o.enc.AppendKey(buf[:0], key, i)
		if old, ok := o.last[string(buf)]; ok {
			column.ClearBit(o.added[old.batch].final, old.row)
		} else if !o.emptied {
			o.unresolved = append(o.unresolved, string(buf))
		}
		o.last[string(buf)] = place{len(o.added) - 1, i}
	}
}

// remove removes rows of a table without a key by their rowids, which are all there.
func (o *overlay) remove(ids []uint64) {
	for _, id := range ids {
		if id < o.first {
			o.dead = append(o.dead, id)
			continue
		}
		k := sort.Search(len(o.added), func(k int) bool { return o.added[k].first > id }) - 1
		column.ClearBit(o.added[k].final, int(id-o.added[k].first))
	}
}

// truncate removes everything.
func (o *overlay) truncate() {
	o.emptied, o.added, o.dead, o.unresolved = true, nil, nil, nil
	if o.last != nil {
		o.last = map[string]place{}
	}
	o.base, o.live, o.hid = nil, nil, 0
}

// has reports whether a row of that key is there.
func (o *overlay) has(key []byte) (bool, error) {
	if p, ok := o.last[string(key)]; ok {
		a := o.added[p.batch]
		return a.deleted == nil || !column.Bit(a.deleted, p.row), nil
	}
	if o.emptied {
		return false, nil
	}
	_, there, err := o.table.Find(key)
	return there, err
}

// chunks returns the table's rows as the block sees them.
func (o *overlay) chunks() (duck.Chunks, error) {
	if err := o.hide(); err != nil {
		return nil, err
	}
	var out duck.Chunks
	if o.base != nil {
		for i, c := range o.base.Chunks {
			cols, err := c.Columns()
			if err != nil {
				return nil, err
			}
			out = append(out, duck.Chunk{Cols: cols, N: c.N, Live: o.live[i], BaseRowID: c.Base, RowIDs: c.RowIDs()})
		}
	}
	for _, a := range o.added {
		live := append([]byte(nil), a.final...)
		if a.deleted != nil {
			for i := range live {
				live[i] &^= a.deleted[i]
			}
		}
		out = append(out, duck.Chunk{Cols: a.rows.Cols, N: a.rows.N, Live: live, BaseRowID: a.first})
	}
	return out, nil
}

// hide takes what the block has removed of the table's own rows out of live.
func (o *overlay) hide() error {
	if o.emptied {
		return nil
	}
	if o.base == nil {
		o.base = o.table.Rows.Snapshot()
		o.live = make([][]byte, len(o.base.Chunks))
		for i, c := range o.base.Chunks {
			o.live[i] = c.Live
		}
	}
	own := map[int]bool{} // chunks whose bitmap is a copy
	kill := func(id uint64) error {
		k := sort.Search(len(o.base.Chunks), func(k int) bool { return o.base.Chunks[k].Base > id }) - 1
		if k < 0 {
			return fmt.Errorf("table %s: row %d is not there", o.rel.Name, id)
		}
		c := &o.base.Chunks[k]
		if !own[k] {
			own[k] = true
			if o.live[k] == nil {
				o.live[k] = column.NewBitmap(c.N, true)
			} else {
				o.live[k] = append([]byte(nil), o.live[k]...)
			}
		}
		i, err := c.Index(id)
		if err != nil || i < 0 {
			return fmt.Errorf("table %s: row %d is not in its chunk: %w", o.rel.Name, id, err)
		}
		column.ClearBit(o.live[k], i)
		return nil
	}
	for ; o.hid < len(o.dead); o.hid++ {
		if err := kill(o.dead[o.hid]); err != nil {
			return err
		}
	}
	for _, key := range o.unresolved {
		id, there, err := o.table.Find([]byte(key))
		if err == nil && there {
			err = kill(id)
		}
		if err != nil {
			return err
		}
	}
	o.unresolved = nil
	return nil
}

// entries returns what the block does to the table, for the log.
func (o *overlay) entries() []logrec.Entry {
	var out []logrec.Entry
	if o.emptied {
		out = append(out, logrec.Entry{Kind: logrec.Truncate, Relation: o.rel.ID, Version: o.rel.Version})
	}
	if len(o.dead) > 0 {
		out = append(out, logrec.Entry{Kind: logrec.Delete, Relation: o.rel.ID, Version: o.rel.Version, Rows: len(o.dead), RowIDs: o.dead})
	}
	var parts []*zset.Batch
	var gone []bool
	deletes := false
	for _, a := range o.added {
		var sel []int32
		for i := range a.rows.N {
			if !column.Bit(a.final, i) {
				continue
			}
			del := a.deleted != nil && column.Bit(a.deleted, i)
			sel, gone, deletes = append(sel, int32(i)), append(gone, del), deletes || del
		}
		if len(sel) == a.rows.N {
			parts = append(parts, &a.rows)
		} else if len(sel) > 0 {
			parts = append(parts, a.rows.Gather(sel))
		}
	}
	all := zset.Concat(parts...)
	if all == nil {
		return out
	}
	en := appendEntry(o.rel, all.Cols, all.N, nil)
	if deletes {
		en.Deleted = column.NewBitmap(all.N, false)
		for i, g := range gone {
			if g {
				column.SetBit(en.Deleted, i)
			}
		}
	}
	return append(out, en)
}
