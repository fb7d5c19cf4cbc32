package state

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"github.com/cockroachdb/pebble/v2"
)

// OrderedOptions are the settings of NewOrdered.
type OrderedOptions struct {
	Keyspace uint32
	// WarmBytes is how large the keyspace may be, decoded, for the map to load all of it by itself
	// once reads have become many. 0 means never.
	WarmBytes int64
}

// Ordered is a write-back map from byte strings, in order, to int64 weights: the trace of group key
// and value behind min, max and count(DISTINCT). A key of weight 0 is not in it.
//
// The committer alone uses it, in the order Begin, Add and reads, then Publish or Void; Collect,
// Cleaned, Abandoned and Evict come between commits. First, Last and Scan see the weights of the
// commit in the making.
type Ordered struct {
	ks       Keyspace
	opts     OrderedOptions
	complete bool // every entry of the keyspace is in memory

	tree  orderedTree
	arena keyArena
	slots []weightSlot
	free  []int32

	commit   uint64 // in the making, 0 when none
	touched  []int32
	dirty    []int32
	inFlight []int32
	flying   *Checkpoint
	nDirty   int
	handKey  []byte // where eviction goes on

	reads     int // of Pebble, since the last look at warming
	warmAfter int
	full      []byte
}

// weightSlot is the state of one key. The flags are those of Table; flagEmpty is not used: a weight
// of 0 says it.
type weightSlot struct {
	w, prev int64
	meta    uint64
}

// NewOrdered returns the map over opts.Keyspace, with nothing in memory. If the keyspace is empty
// the map is complete from the start.
func NewOrdered(db *DB, opts OrderedOptions) (*Ordered, error) {
	o := &Ordered{ks: db.Keyspace(opts.Keyspace), opts: opts, warmAfter: warmAfter}
	o.tree.init(&o.arena)
	empty, err := o.ks.IsEmpty()
	if err != nil {
		return nil, err
	}
	o.complete = empty
	return o, nil
}

// Begin starts a commit.
func (o *Ordered) Begin(commit uint64) {
	if o.commit != 0 {
		panic(fmt.Sprintf("state: commit %d begun in commit %d", commit, o.commit))
	}
	o.commit = commit
	o.touched = o.touched[:0]
}

// Add adds w to the weight of key and returns the weights before and after. It copies key.
func (o *Ordered) Add(key []byte, w int64) (before, after int64, err error) {
	if o.commit == 0 {
		panic("state: weight added outside a commit")
	}
	s := o.tree.find(key)
	if s < 0 {
		if s, err = o.load(key); err != nil {
			return 0, 0, err
		}
	}
	e := &o.slots[s]
	if e.meta>>commitShift != o.commit {
		e.meta = o.commit<<commitShift | e.meta&(flagDirty|flagInFlight|flagStored) | flagRecent
		e.prev = e.w
		o.touched = append(o.touched, s)
	}
	before = e.w
	e.w += w
	return before, e.w, nil
}

// load returns a slot for a key that is not in memory.
func (o *Ordered) load(key []byte) (int32, error) {
	if !o.complete {
		warmed, err := o.noteRead()
		if err != nil {
			return 0, err
		}
		if warmed {
			if s := o.tree.find(key); s >= 0 {
				return s, nil
			}
			return o.insert(key, 0, 0), nil
		}
		o.full = appendKey(o.full[:0], o.ks.id, key)
		val, closer, err := o.ks.db.p.Get(o.full)
		if err == nil {
			w, derr := o.decode(key, val)
			if err := errors.Join(derr, closer.Close()); err != nil {
				return 0, err
			}
			return o.insert(key, w, flagStored|flagRecent), nil
		}
		if !isNotFound(err) {
			return 0, fmt.Errorf("read key %x: %w", o.full, err)
		}
	}
	return o.insert(key, 0, flagRecent), nil
}

func (o *Ordered) decode(key, val []byte) (int64, error) {
	w, n := binary.Varint(val)
	if n != len(val) || n <= 0 {
		return 0, fmt.Errorf("%w: keyspace %d, key %x: weight %x", ErrCorrupt, o.ks.id, key, val)
	}
	return w, nil
}

func (o *Ordered) insert(key []byte, w int64, flags uint64) int32 {
	var s int32
	if n := len(o.free); n > 0 {
		s = o.free[n-1]
		o.free = o.free[:n-1]
	} else {
		s = int32(len(o.slots))
		o.slots = append(o.slots, weightSlot{})
	}
	o.slots[s] = weightSlot{w: w, meta: flags}
	o.arena.set(s, key)
	o.tree.insert(s)
	return s
}

func (o *Ordered) remove(s int32) {
	o.tree.remove(s)
	o.arena.clear(s)
	if o.slots[s].meta&flagDirty != 0 {
		o.nDirty--
	}
	o.slots[s] = weightSlot{meta: flagFree}
	o.free = append(o.free, s)
}

// Publish ends the commit: what was touched is what the next checkpoint writes.
func (o *Ordered) Publish(commit uint64) {
	if o.commit != commit || commit == 0 {
		panic(fmt.Sprintf("state: commit %d published in commit %d", commit, o.commit))
	}
	for _, s := range o.touched {
		e := &o.slots[s]
		switch {
		case e.w == 0 && e.meta&(flagStored|flagInFlight) == 0:
			o.remove(s) // Pebble never heard of it
		case e.w == e.prev: // back where it was
		case e.meta&flagDirty == 0:
			e.meta |= flagDirty
			o.nDirty++
			o.dirty = append(o.dirty, s)
		}
	}
	o.touched, o.commit = o.touched[:0], 0
}

// Void ends the commit and undoes it. Outside of a commit it does nothing.
func (o *Ordered) Void() {
	if o.commit == 0 {
		return
	}
	for _, s := range o.touched {
		e := &o.slots[s]
		e.w = e.prev
		e.meta &= 1<<commitShift - 1
		if e.w == 0 && e.meta&(flagStored|flagInFlight) == 0 {
			o.remove(s)
		}
	}
	o.touched, o.commit = o.touched[:0], 0
}

// Collect copies the dirty entries into the checkpoint and marks them in flight. It belongs between
// commits, and the checkpoint before must have been Cleaned or Abandoned.
func (o *Ordered) Collect(cp *Checkpoint) {
	if o.commit != 0 || o.flying != nil {
		panic(fmt.Sprintf("state: checkpoint at %d collected in commit %d, another in flight: %t",
			cp.position, o.commit, o.flying != nil))
	}
	o.flying = cp
	var val [binary.MaxVarintLen64]byte
	for _, s := range o.dirty {
		e := &o.slots[s]
		if e.meta&flagDirty == 0 {
			continue // it was removed before it was ever written
		}
		if e.w == 0 {
			cp.Delete(o.ks.id, o.arena.key(s))
		} else {
			cp.Put(o.ks.id, o.arena.key(s), val[:binary.PutVarint(val[:], e.w)])
		}
		e.meta = e.meta&^flagDirty | flagInFlight | flagStored
		o.inFlight = append(o.inFlight, s)
	}
	o.dirty, o.nDirty = o.dirty[:0], 0
}

// Cleaned says that the checkpoint is durable: its entries are clean, unless changed since.
func (o *Ordered) Cleaned(cp *Checkpoint) {
	o.land(cp)
	for _, s := range o.inFlight {
		e := &o.slots[s]
		e.meta &^= flagInFlight
		if e.w == 0 && e.meta&flagDirty == 0 {
			o.remove(s)
		}
	}
	o.inFlight = o.inFlight[:0]
}

// Abandoned says that the checkpoint failed, or may have: its entries are dirty again.
func (o *Ordered) Abandoned(cp *Checkpoint) {
	o.land(cp)
	for _, s := range o.inFlight {
		e := &o.slots[s]
		e.meta &^= flagInFlight
		if e.meta&flagDirty == 0 {
			e.meta |= flagDirty
			o.nDirty++
			o.dirty = append(o.dirty, s)
		}
	}
	o.inFlight = o.inFlight[:0]
}

func (o *Ordered) land(cp *Checkpoint) {
	if o.commit != 0 || o.flying != cp {
		panic(fmt.Sprintf("state: checkpoint at %d is not the one in flight, or within commit %d", cp.position, o.commit))
	}
	o.flying = nil
}

// Len returns the number of entries in memory.
func (o *Ordered) Len() int { return o.tree.n }

// Complete reports whether all entries of the keyspace are in memory.
func (o *Ordered) Complete() bool { return o.complete }

// entryBytes is what an entry takes beside its key: 24 in the slot, 12 in the arena, and 20 in a
// page that is two thirds full.
const entryBytes = 24 + 12 + 30

// Bytes returns the memory of the entries. Evict lowers it.
func (o *Ordered) Bytes() int64 {
	return int64(o.tree.n)*entryBytes + o.arena.used - o.arena.wasted
}

// Dirty returns how many entries the next checkpoint has to write, and about how much memory they
// and those in flight take, which Evict cannot free.
func (o *Ordered) Dirty() (entries int, bytes int64) {
	if o.tree.n == 0 {
		return 0, 0
	}
	return o.nDirty, o.Bytes() / int64(o.tree.n) * int64(o.nDirty+len(o.inFlight))
}

// Evict drops clean entries that have not been used for longest, about, until Bytes is at most
// target or none is left, and returns how many it dropped.
func (o *Ordered) Evict(target int64) int {
	if o.commit != 0 {
		panic("state: eviction within a commit")
	}
	var drop []int32
	need := o.Bytes() - target
	p, i := o.tree.seek(o.handKey)
	for steps := 2 * o.tree.n; steps > 0 && need > 0; steps-- {
		if i >= p.n {
			if p, i = p.next, 0; p == nil {
				p = o.tree.first
			}
		}
		s := p.slots[i]
		i++
		e := &o.slots[s]
		switch {
		case e.meta&(flagDirty|flagInFlight|flagFree) != 0:
		case e.meta&flagRecent != 0:
			e.meta &^= flagRecent
		default:
			e.meta |= flagFree // once only
			drop = append(drop, s)
			need -= entryBytes + int64(o.arena.refs[s].n)
		}
	}
	if i < p.n {
		o.handKey = append(o.handKey[:0], o.arena.key(p.slots[i])...)
	} else {
		o.handKey = o.handKey[:0]
	}
	for _, s := range drop {
		o.remove(s)
	}
	o.complete = o.complete && len(drop) == 0
	return len(drop)
}

// noteRead counts a read of Pebble, and loads everything when there were many and it fits.
func (o *Ordered) noteRead() (warmed bool, err error) {
	if o.reads++; o.reads < o.warmAfter {
		return false, nil
	}
	o.reads = 0
	n, err := o.ks.DiskBytes()
	if err != nil {
		return false, err
	}
	if 6*n > o.opts.WarmBytes { // small values compress well
		o.warmAfter *= 2
		return false, nil
	}
	o.warmAfter = warmAfter
	return true, o.Warm()
}

// Warm loads every entry that is not in memory.
func (o *Ordered) Warm() error {
	if o.complete {
		return nil
	}
	var err error
	scanErr := o.ks.Scan(nil, nil, func(key, val []byte) bool {
		if o.tree.find(key) >= 0 {
			return true
		}
		var w int64
		if w, err = o.decode(key, val); err == nil {
			o.insert(key, w, flagStored)
		}
		return err == nil
	})
	if scanErr != nil || err != nil {
		return errors.Join(scanErr, err)
	}
	o.complete = true
	return nil
}

// successor returns the first key that is above all keys with the prefix, or nil if there is none.
func successor(prefix []byte) []byte {
	for n := len(prefix); n > 0; n-- {
		if prefix[n-1] != 0xff {
			s := slices.Clone(prefix[:n])
			s[n-1]++
			return s
		}
	}
	return nil
}

// First returns the smallest key with the prefix and its weight. The key is valid until the next
// call.
func (o *Ordered) First(prefix []byte) (key []byte, w int64, ok bool, err error) {
	if err := o.ready(); err != nil {
		return nil, 0, false, err
	}
	if o.complete {
		for p, i := o.tree.seek(prefix); p != nil; p, i = p.next, 0 {
			for ; i < p.n; i++ {
				s := p.slots[i]
				k := o.arena.key(s)
				if !bytes.HasPrefix(k, prefix) {
					return nil, 0, false, nil
				}
				if o.slots[s].w != 0 {
					return k, o.slots[s].w, true, nil
				}
			}
		}
		return nil, 0, false, nil
	}
	err = o.Scan(prefix, successor(prefix), func(k []byte, weight int64) bool {
		key, w, ok = bytes.Clone(k), weight, true
		return false
	})
	return key, w, ok, err
}

// Scan calls fn with the entries from lo to hi, not included, in order, until it returns false; a
// nil hi means to the end. The key is valid only during the call, and fn must not change the map.
func (o *Ordered) Scan(lo, hi []byte, fn func(key []byte, w int64) bool) error {
	if err := o.ready(); err != nil {
		return err
	}
	p, i := o.tree.seek(lo)
	next := func() int32 {
		for ; p != nil; p, i = p.next, 0 {
			if i < p.n {
				if s := p.slots[i]; hi == nil || bytes.Compare(o.arena.key(s), hi) < 0 {
					return s
				}
				return -1
			}
		}
		return -1
	}
	if o.complete {
		for s := next(); s >= 0; s = next() {
			i++
			if w := o.slots[s].w; w != 0 && !fn(o.arena.key(s), w) {
				return nil
			}
		}
		return nil
	}
	it, err := o.ks.iter(lo, hi)
	if err != nil {
		return err
	}
	it.First()
	err = o.merge(it, 1, next, func() { i++ }, (*pebble.Iterator).Next, fn)
	return errors.Join(err, it.Close())
}

// Last returns the largest key with the prefix and its weight. The key is valid until the next
// call.
func (o *Ordered) Last(prefix []byte) (key []byte, w int64, ok bool, err error) {
	err = o.Descend(nil, prefix, func(k []byte, weight int64) bool {
		if key, w, ok = k, weight, true; !o.complete {
			key = bytes.Clone(k)
		}
		return false
	})
	return key, w, ok, err
}

// Ascend calls fn with the entries that have the prefix, from the key lo on, which has it too, in order, until fn
// returns false. It is Scan otherwise.
func (o *Ordered) Ascend(lo, prefix []byte, fn func(key []byte, w int64) bool) error {
	return o.Scan(lo, successor(prefix), fn)
}

// Descend calls fn with the entries that have the prefix and are below the key hi, from the largest downwards, until it
// returns false; a nil hi means all. The key is valid only during the call, and fn must not change the map.
func (o *Ordered) Descend(hi, prefix []byte, fn func(key []byte, w int64) bool) error {
	if err := o.ready(); err != nil {
		return err
	}
	if hi == nil {
		hi = successor(prefix)
	}
	p, i := o.tree.last()
	if hi != nil {
		p, i = o.tree.seek(hi)
		i--
	}
	next := func() int32 {
		for p != nil {
			if i >= 0 {
				if s := p.slots[i]; bytes.HasPrefix(o.arena.key(s), prefix) {
					return s
				}
				return -1
			}
			if p = p.prev; p != nil {
				i = p.n - 1
			}
		}
		return -1
	}
	if o.complete {
		for s := next(); s >= 0; s = next() {
			i--
			if w := o.slots[s].w; w != 0 && !fn(o.arena.key(s), w) {
				return nil
			}
		}
		return nil
	}
	it, err := o.ks.iter(prefix, hi)
	if err != nil {
		return err
	}
	it.Last()
	err = o.merge(it, -1, next, func() { i-- }, (*pebble.Iterator).Prev, fn)
	return errors.Join(err, it.Close())
}

// ready comes before every ordered read: it counts those that need Pebble.
func (o *Ordered) ready() error {
	if o.complete {
		return nil
	}
	_, err := o.noteRead()
	return err
}

// merge calls fn with what memory and disk hold together, in the direction dir; what is in memory
// overrides what is on disk.
func (o *Ordered) merge(it *pebble.Iterator, dir int, next func() int32, step func(), move func(*pebble.Iterator) bool, fn func(key []byte, w int64) bool) error {
	for {
		s := next()
		c := -1 // below 0: memory first; above: disk first
		switch {
		case s < 0 && !it.Valid():
			return it.Error()
		case s < 0:
			c = 1
		case it.Valid():
			c = dir * bytes.Compare(o.arena.key(s), it.Key()[4:])
		}
		if c <= 0 {
			step()
			if c == 0 {
				move(it)
			}
			if w := o.slots[s].w; w != 0 && !fn(o.arena.key(s), w) {
				return nil
			}
			continue
		}
		val, err := it.ValueAndErr()
		if err != nil {
			return fmt.Errorf("scan keyspace %d: %w", o.ks.id, err)
		}
		w, err := o.decode(it.Key()[4:], val)
		if err != nil || !fn(it.Key()[4:], w) {
			return err
		}
		move(it)
	}
}
