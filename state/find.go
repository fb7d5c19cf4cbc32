package state

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"slices"

	"tidemill/state/column"
)

// FindFixed sets out[i] to the slot of keys[i], or of NULL where valid, a bitmap as in package
// column, has a zero; a nil valid means that there is no NULL. A key without an entry gets a slot,
// empty until a commit gives it a value; entries that are not in memory are read. It belongs
// between Begin and Publish.
func (t *Table) FindFixed(keys []uint64, valid []byte, out []int32) error {
	t.miss = t.fixed.findAll(keys, out, t.miss[:0])
	if valid != nil {
		t.maskNulls(keys, valid, out)
	}
	if len(t.miss) == 0 {
		return nil
	}
	if !t.complete {
		if err := t.fetchFixed(keys, valid); err != nil {
			return err
		}
	}
	t.create(func(r int32) {
		if valid != nil && !column.Bit(valid, int(r)) {
			if t.fixed.null < 0 {
				t.fixed.insertNull(t.bearLocked())
			}
			out[r] = t.fixed.null
			return
		}
		s := t.fixed.find(keys[r])
		if s < 0 {
			s = t.bearLocked()
			t.fixed.insert(keys[r], s)
		}
		out[r] = s
	})
	return nil
}

// maskNulls corrects what findAll said about rows that are NULL.
func (t *Table) maskNulls(keys []uint64, valid []byte, out []int32) {
	t.miss = t.miss[:0]
	for r := range keys {
		if !column.Bit(valid, r) {
			out[r] = t.fixed.null
		}
		if out[r] < 0 {
			t.miss = append(t.miss, int32(r))
		}
	}
}

// FindBytes is FindFixed for ByteKeys: key i is arena[offs[i]:offs[i+1]], for each i of out.
func (t *Table) FindBytes(arena []byte, offs []int32, out []int32) error {
	t.miss = t.byteKeys.findAll(arena, offs, out, t.miss[:0])
	if len(t.miss) == 0 {
		return nil
	}
	if !t.complete {
		if err := t.fetchBytes(arena, offs); err != nil {
			return err
		}
	}
	t.create(func(r int32) {
		key := arena[offs[r]:offs[r+1]]
		s := t.byteKeys.findKey(key)
		if s < 0 {
			s = t.bearLocked()
			t.byteKeys.insert(key, s)
		}
		out[r] = s
	})
	return nil
}

// create runs one on every missing row, in row order, under the lock in slices.
func (t *Table) create(one func(r int32)) {
	if t.commit == 0 {
		panic("state: entry created outside a commit")
	}
	t.slices(t.miss, func(part []int32) {
		for _, r := range part {
			one(r)
		}
	})
}

func (t *Table) bearLocked() int32 {
	s := t.newSlotLocked(flagEmpty | flagRecent)
	t.born = append(t.born, s)
	return s
}

// fetchBuffer collects the keys that have to be read.
type fetchBuffer struct {
	arena []byte
	keys  [][2]int // places in arena
}

func (f *fetchBuffer) reset() { f.arena, f.keys = f.arena[:0], f.keys[:0] }

func (f *fetchBuffer) done(from int) { f.keys = append(f.keys, [2]int{from, len(f.arena)}) }

func (t *Table) fetchFixed(keys []uint64, valid []byte) error {
	f := &t.fetch
	f.reset()
	for _, r := range t.miss {
		from := len(f.arena)
		f.arena = binary.BigEndian.AppendUint32(f.arena, t.ks.id)
		if valid == nil || column.Bit(valid, int(r)) {
			f.arena = binary.BigEndian.AppendUint64(f.arena, keys[r])
		}
		f.done(from)
	}
	return t.load()
}

func (t *Table) fetchBytes(arena []byte, offs []int32) error {
	f := &t.fetch
	f.reset()
	for _, r := range t.miss {
		from := len(f.arena)
		f.arena = binary.BigEndian.AppendUint32(f.arena, t.ks.id)
		f.arena = append(f.arena, arena[offs[r]:offs[r+1]]...)
		f.done(from)
	}
	return t.load()
}

// warmAfter is after how many single reads a table asks itself whether to load everything: they
// cost 4 to 5 us each, an entry of a scan a tenth of that.
const warmAfter = 1024

// load reads the entries of the collected keys that exist, in key order, each once. When single
// reads have become many and the keyspace is small it reads all of it instead.
func (t *Table) load() error {
	f := &t.fetch
	full := func(k [2]int) []byte { return f.arena[k[0]:k[1]] }
	slices.SortFunc(f.keys, func(a, b [2]int) int { return bytes.Compare(full(a), full(b)) })
	f.keys = slices.CompactFunc(f.keys, func(a, b [2]int) bool { return bytes.Equal(full(a), full(b)) })
	t.fetched += len(f.keys)
	if t.fetched >= t.warmAfter {
		if warmed, err := t.tryWarm(); warmed || err != nil {
			return err
		}
	}
	for _, k := range f.keys {
		val, closer, err := t.ks.db.p.Get(full(k))
		if isNotFound(err) {
			continue
		}
		if err != nil {
			return fmt.Errorf("read key %x: %w", full(k), err)
		}
		err = t.loadOne(full(k)[4:], val)
		if cerr := closer.Close(); err == nil {
			err = cerr
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// loadOne puts a stored entry that is not in memory into it.
func (t *Table) loadOne(key, val []byte) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	s := t.newSlotLocked(flagStored | flagRecent)
	if err := t.insertLocked(key, s); err != nil {
		return err
	}
	if t.opts.KeepFreed {
		t.loaded = append(t.loaded, s)
	}
	return t.decodeLocked(s, val)
}

// insertLocked adds a stored key to the index.
func (t *Table) insertLocked(key []byte, s int32) error {
	switch {
	case t.opts.Mode == ByteKeys:
		t.byteKeys.insert(key, s)
	case len(key) == 0:
		t.fixed.insertNull(s)
	case len(key) == 8:
		t.fixed.insert(binary.BigEndian.Uint64(key), s)
	default:
		return fmt.Errorf("%w: keyspace %d, key %x has %d bytes", ErrCorrupt, t.ks.id, key, len(key))
	}
	return nil
}

// lookup returns the slot of a key as it is stored, or -1.
func (t *Table) lookup(key []byte) int32 {
	switch {
	case t.opts.Mode == ByteKeys:
		return t.byteKeys.findKey(key)
	case len(key) == 0:
		return t.fixed.null
	case len(key) == 8:
		return t.fixed.find(binary.BigEndian.Uint64(key))
	}
	return -1
}

// tryWarm warms the table if the keyspace, unpacked, fits its WarmBytes.
func (t *Table) tryWarm() (bool, error) {
	t.fetched = 0
	n, err := t.ks.DiskBytes()
	if err != nil {
		return false, err
	}
	// Snappy about halves such entries, and an entry takes about twice its bytes in memory.
	if 4*n > t.opts.WarmBytes {
		t.warmAfter *= 2
		return false, nil
	}
	t.warmAfter = warmAfter
	return true, t.Warm()
}

// Warm loads every entry of the keyspace that is not in memory: a miss then needs no read.
func (t *Table) Warm() error {
	if t.complete {
		return nil
	}
	var err error
	scanErr := t.ks.Scan(nil, nil, func(key, val []byte) bool {
		if t.lookup(key) < 0 {
			err = t.loadOne(key, val)
		}
		return err == nil
	})
	if scanErr != nil {
		return scanErr
	}
	if err != nil {
		return err
	}
	t.mu.Lock()
	t.complete = true
	t.mu.Unlock()
	return nil
}

// Each calls fn with a slot for every entry as of the last Publish, until it returns false: first
// those in memory, then the others, one at a time in a slot that is theirs only during the call.
// The order of the first depends on the cache's history; sort where it matters.
func (t *Table) Each(fn func(slot int32) bool) error {
	for s := range int32(len(t.meta)) {
		if t.Live(s) && !fn(s) {
			return nil
		}
	}
	if t.complete {
		return nil
	}
	t.mu.Lock()
	temp := t.newSlotLocked(flagFree | flagEmpty)
	t.mu.Unlock()
	var err error
	scanErr := t.ks.Scan(nil, nil, func(key, val []byte) bool {
		if t.lookup(key) >= 0 {
			return true
		}
		if err = t.lend(temp, key, val); err != nil {
			return false
		}
		more := fn(temp)
		t.mu.Lock()
		t.unlendLocked(temp)
		t.mu.Unlock()
		return more
	})
	t.free = append(t.free, temp)
	if scanErr != nil {
		return scanErr
	}
	return err
}

// lend gives a slot outside the index a key and a value.
func (t *Table) lend(s int32, key, val []byte) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case t.opts.Mode == ByteKeys:
		w0, w1 := t.byteKeys.pack(key, 0, len(key))
		t.byteKeys.setKey(s, key, w0, w1)
	case len(key) == 0:
		t.lentNull = s
	case len(key) == 8:
		t.fixed.keys[s] = binary.BigEndian.Uint64(key)
	}
	err := t.decodeLocked(s, val)
	if err != nil {
		t.unlendLocked(s)
	}
	return err
}

func (t *Table) unlendLocked(s int32) {
	if t.opts.Mode == ByteKeys {
		t.byteKeys.clearKey(s)
	} else {
		t.fixed.keys[s], t.lentNull = 0, -1
	}
	t.dropLocked(s)
}
