package views

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"runtime"
	"sync/atomic"

	"tidemill/operators"
	"tidemill/operators/zset"
	"tidemill/state"
	"tidemill/state/column"
	"tidemill/state/image"
	"tidemill/state/rowkey"
	"tidemill/views/catalog"
)

// Delta is what a commit changes in a relation, in batches of any size.
type Delta []*zset.Batch

// Table is a base table: its rows by rowid and, with a primary key, the index from key to rowid.
type Table struct {
	Rel   *catalog.Relation
	Rows  *image.Rows
	index *state.Table // nil without a primary key
	ids   *rowids
	types []column.Type // of the key

	commit  uint64
	slots   []int32
	keys    *rowkey.Encoder
	killed  []uint64      // of the running commit's winners, scratch
	copying chan struct{} // closed when the rows that the commit appended are in the image, or nil
	first   uint64        // rowid of the first row that the running commit appends
	undo    []uint64      // rows that the running commit has killed
}

func newTable(db *state.DB, rel *catalog.Relation, rows *image.Rows, warm int64) (*Table, error) {
	t := &Table{Rel: rel, Rows: rows}
	if len(rel.PrimaryKey) == 0 {
		return t, nil
	}
	for _, k := range rel.PrimaryKey {
		t.types = append(t.types, rel.Fields[k].Type)
	}
	t.ids, t.keys = &rowids{}, rowkey.NewEncoder(t.types)
	var err error
	t.index, err = state.NewTable(db, state.TableOptions{Keyspace: IndexKeyspace(rel.ID), Mode: state.ByteKeys, WarmBytes: warm}, t.ids)
	return t, err
}

// Keyed reports whether the table has a primary key.
func (t *Table) Keyed() bool { return t.index != nil }

func (t *Table) begin(commit uint64) {
	t.commit, t.first, t.undo = commit, t.Rows.Next(), t.undo[:0]
	if t.index != nil {
		t.index.Begin(commit)
	}
}

func (t *Table) publish() {
	if t.commit == 0 {
		return
	}
	t.settle()
	t.Rows.Publish()
	if t.index != nil {
		t.index.Publish(t.commit)
	}
	t.commit = 0
}

// void undoes the running commit. Its rowids are not used again.
func (t *Table) void() error {
	t.settle()
	for _, id := range t.undo {
		if id >= t.first {
			continue
		}
		if _, err := t.Rows.Revive(id); err != nil {
			return err
		}
	}
	for id := t.first; id < t.Rows.Next(); id++ {
		if _, err := t.Rows.Kill(id); err != nil {
			return err
		}
	}
	if t.index != nil {
		t.index.Void()
	}
	t.commit = 0
	return nil
}

// Caches returns what checkpoints and eviction go through.
func (t *Table) Caches() []operators.Cache {
	if t.index == nil {
		return nil
	}
	return []operators.Cache{t.index}
}

// append adds rows; in a keyed table each replaces its key's row, the last of a key wins, and a row
// marked in deleted removes it. The delta is nil unless wanted.
func (t *Table) append(cols []column.Column, n int, deleted []byte, wanted bool) (Delta, error) {
	if n == 0 {
		return nil, nil
	}
	if t.index != nil {
		return t.upsert(cols, n, deleted, wanted)
	}
	if !wanted {
		t.Rows.Append(cols, n)
		return nil, nil
	}
	// The views need the rows as they came, not the image of them: it is made beside their step.
	t.settle()
	done := make(chan struct{})
	t.copying = done
	go func() {
		t.Rows.Append(cols, n)
		close(done)
	}()
	return Delta{{Cols: cols, N: n}}, nil
}

// settle waits until the rows that the commit has appended are in the image.
func (t *Table) settle() {
	if t.copying != nil {
		<-t.copying
		t.copying = nil
	}
}

func (t *Table) upsert(cols []column.Column, n int, deleted []byte, wanted bool) (Delta, error) {
	if cap(t.slots) < n {
		t.slots = make([]int32, n)
	}
	slots := t.slots[:n]
	key := make([]column.Column, len(t.types))
	for i, k := range t.Rel.PrimaryKey {
		key[i] = cols[k]
	}
	arena, offs := t.keys.Keys(key, n)
	if err := t.index.FindBytes(arena, offs, slots); err != nil {
		return nil, err
	}
	t.index.Touch(slots)

	// The last row of a key wins: pending marks, from the end, the slots already decided.
	var win []int32
	t.killed = t.killed[:0]
	for i := n - 1; i >= 0; i-- {
		s := slots[i]
		if t.ids.cur[s]&pending != 0 {
			continue
		}
		if old := t.ids.cur[s]; old != 0 {
			t.killed = append(t.killed, old)
		}
		t.ids.cur[s] = pending
		if deleted == nil || !column.Bit(deleted, i) {
			win = append(win, int32(i))
		}
	}
	for i, j := 0, len(win)-1; i < j; i, j = i+1, j-1 {
		win[i], win[j] = win[j], win[i]
	}
	for _, s := range slots {
		t.ids.cur[s] = 0
	}

	var delta Delta
	old, err := t.kill(t.killed, wanted)
	if err != nil {
		return nil, err
	}
	if old != nil {
		delta = append(delta, old)
	}
	if len(win) == 0 {
		return delta, nil
	}
	rows := &zset.Batch{Cols: cols, N: n}
	if len(win) < n {
		rows = rows.Gather(win)
	}
	first := t.Rows.Append(rows.Cols, rows.N)
	for k, i := range win {
		t.ids.cur[slots[i]] = first + uint64(k)
	}
	if wanted {
		delta = append(delta, rows)
	}
	return delta, nil
}

// pending marks a slot whose winning row has been found but has no rowid yet.
const pending = 1 << 63

// kill removes rows by rowid and returns their retraction when wanted.
func (t *Table) kill(ids []uint64, wanted bool) (*zset.Batch, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	t.settle()
	var out *zset.Batch
	if wanted {
		cols, err := t.Rows.Gather(ids)
		if err != nil {
			return nil, err
		}
		out = (&zset.Batch{Cols: cols, N: len(ids)}).Negate()
	}
	for _, id := range ids {
		there, err := t.Rows.Kill(id)
		if err != nil {
			return nil, err
		}
		if !there {
			return nil, fmt.Errorf("table %s: row %d is not there", t.Rel.Name, id)
		}
		t.undo = append(t.undo, id)
	}
	return out, nil
}

// delete removes rows by rowid.
func (t *Table) delete(ids []uint64, wanted bool) (Delta, error) {
	b, err := t.kill(ids, wanted)
	if b == nil {
		return nil, err
	}
	return Delta{b}, err
}

// Find returns the rowid of the row whose key has this encoding (rowkey's key form), as of the newest published
// commit. It is the committer's, between commits.
func (t *Table) Find(key []byte) (rowid uint64, there bool, err error) {
	found, raw, err := t.index.ReadBytes(key, newest, func(slot int32, _ bool) { rowid = t.ids.cur[slot] })
	if err != nil || !found {
		return 0, false, err
	}
	if raw != nil {
		rowid, _ = binary.Uvarint(raw)
	}
	return rowid, true, nil
}

// newest is a commit that everything is published at.
var newest = func() *atomic.Uint64 {
	a := &atomic.Uint64{}
	a.Store(math.MaxUint64)
	return a
}()

// truncate removes all rows, in batches of a chunk.
func (t *Table) truncate(wanted bool) (Delta, error) {
	t.settle()
	var out Delta
	for _, c := range t.Rows.Snapshot().Chunks {
		cols, err := c.Columns()
		if err != nil {
			return nil, err
		}
		var ids []uint64
		var sel []int32
		for i := range c.N {
			if c.Live == nil || column.Bit(c.Live, i) {
				ids, sel = append(ids, c.RowID(i)), append(sel, int32(i))
			}
		}
		var d Delta
		if t.index != nil {
			b := (&zset.Batch{Cols: cols, N: c.N}).Gather(sel)
			d, err = t.upsert(b.Cols, b.N, column.NewBitmap(b.N, true), wanted)
		} else {
			d, err = t.delete(ids, wanted)
		}
		if err != nil {
			return nil, err
		}
		out = append(out, d...)
	}
	return out, nil
}

// errMoved says that a row was rewritten between the index and the directory: look again.
var errMoved = errors.New("the key's row is not in the table's chunks")

// Lookup returns the row of a key as of the newest published commit, as columns of one row; nil when there
// is none. key holds one row of the key's columns. It may run beside the committer.
func (t *Table) Lookup(key []column.Column, published *atomic.Uint64) ([]column.Column, error) {
	if t.index == nil {
		return nil, ErrNoKey
	}
	k := t.keys.AppendKey(nil, key, 0)
	for tries := 0; ; tries++ {
		cols, err := t.lookup(k, published)
		if !errors.Is(err, errMoved) || tries == maxLookups {
			return cols, err
		}
	}
}

// maxLookups is how often a lookup looks again. A row moves when a checkpoint rewrites its chunk after it was
// killed, seconds apart: to meet that so often in a row, index and rows must disagree.
const maxLookups = 100

func (t *Table) lookup(key []byte, published *atomic.Uint64) ([]column.Column, error) {
	var id uint64
	found, raw, err := t.index.ReadBytes(key, published, func(slot int32, previous bool) {
		id = t.ids.cur[slot]
		if previous {
			id = t.ids.prev[slot]
		}
	})
	if err != nil || !found {
		return nil, err
	}
	if raw != nil {
		id, _ = binary.Uvarint(raw)
	}
	chunk, i, err := t.Rows.Directory().Find(id)
	if err != nil {
		return nil, err
	}
	if chunk == nil {
		return nil, errMoved
	}
	cols, err := chunk.Columns()
	if err != nil {
		return nil, err
	}
	row := make([]column.Column, len(cols))
	for c := range cols { // copies: a mapped file goes with its chunk
		row[c] = cols[c].Gather([]int32{int32(i)})
	}
	runtime.KeepAlive(chunk)
	return row, nil
}

// rowids are the cells of a key index: the rowid of the key's row, 0 for none.
type rowids struct{ cur, prev []uint64 }

func (r *rowids) Grow(n int) {
	for len(r.cur) < n {
		r.cur, r.prev = append(r.cur, 0), append(r.prev, 0)
	}
}

func (r *rowids) Save(slots []int32) {
	for _, s := range slots {
		r.prev[s] = r.cur[s]
	}
}

func (r *rowids) Restore(slots []int32) {
	for _, s := range slots {
		r.cur[s] = r.prev[s]
	}
}

func (r *rowids) Reset(slot int32) { r.cur[slot], r.prev[slot] = 0, 0 }

func (r *rowids) Encode(dst []byte, slot int32) []byte { return binary.AppendUvarint(dst, r.cur[slot]) }

func (r *rowids) Decode(slot int32, b []byte) ([]byte, error) {
	v, n := binary.Uvarint(b)
	if n <= 0 {
		return nil, errors.New("rowid is cut off")
	}
	r.cur[slot], r.prev[slot] = v, v
	return b[n:], nil
}

func (r *rowids) Empty(slot int32) bool { return r.cur[slot] == 0 }

func (r *rowids) Bytes() int64 { return 8 * int64(cap(r.cur)+cap(r.prev)) }
