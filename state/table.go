package state

import (
	"encoding/binary"
	"errors"
	"fmt"
	"sync"
)

// Cells are the values that an operator keeps for each slot of a Table, current and previous. A
// table calls them on the committer's goroutine; where it says "locked" it holds the write lock.
type Cells interface {
	// Grow makes slots below n exist, zero. Locked.
	Grow(n int)
	// Save sets previous to current for slots that a commit touches for the first time. Locked.
	Save(slots []int32)
	// Restore sets current to previous: the commit is void. Locked.
	Restore(slots []int32)
	// Reset makes the slot zero again: it has no entry any more. Locked.
	Reset(slot int32)
	// Encode appends the current value: the same value always gives the same bytes.
	Encode(dst []byte, slot int32) []byte
	// Decode sets the current value of a zero slot from the front of b and returns the rest. Locked.
	Decode(slot int32, b []byte) (rest []byte, err error)
	// Empty reports that, as far as these cells go, the entry should not exist. An entry is removed
	// when all cells of the table say so: those without an opinion return true.
	Empty(slot int32) bool
	// Bytes returns the memory held, by all slots.
	Bytes() int64
}

// Mode says what the keys of a table are.
type Mode uint8

const (
	// FixedKeys are uint64 and one NULL beside them.
	FixedKeys Mode = iota
	// ByteKeys are byte strings.
	ByteKeys
)

// TableOptions are the settings of NewTable.
type TableOptions struct {
	Keyspace uint32
	Mode     Mode
	// WarmBytes is how large the keyspace may be, decoded, for the table to load all of it by itself
	// once single reads have become many. 0 means never.
	WarmBytes int64
	// KeepFreed keeps freed slots out of use until ReleaseFreed, and remembers those that an entry was loaded
	// into, for an image that is written by slot.
	KeepFreed bool
}

// Slot flags, the low byte of a slot's meta word; the commit that last touched it is above them.
const (
	flagDirty     = 1 << iota // differs from the latest checkpoint
	flagInFlight              // in a checkpoint that is not known to be durable
	flagStored                // Pebble has, or may get, an entry
	flagEmpty                 // as of the last Publish there is no entry
	flagPrevEmpty             // as of the Publish before the touch there was none
	flagRecent                // touched or loaded since the clock's hand passed
	flagFree                  // not in the index
	commitShift   = 8
)

// sliceRows is for how many rows the committer holds a write lock at once: some tens of
// microseconds. Doubled, lookups wait twice as long behind a commit; halved, locking begins to show.
const sliceRows = 4096

// Table is the write-back cache of keyed state: a hash index from key to slot over one keyspace.
// The values are in Cells.
//
// One committer goroutine calls everything but the Read methods, in this order:
//
//	Begin(n)
//	  Find (slot per row), Touch (slots), then change the cells of touched slots; any number of times
//	Publish(n)   or   Void()
//	Collect, Cleaned, Abandoned, Evict, Warm, Each: only here, between commits
//
// Readers run beside it. The rule that makes this safe: a slot that the commit has touched is read
// in its previous value until the commit is published, so after Touch the committer may change
// current values without the lock. It takes the lock (Lock, Unlock) only to change what the values
// of several slots share, such as an arena that may move. The engine stores the published commit
// number after Publish of all tables has returned and before it begins the next commit.
//
// The committer never calls a method of the table while it holds Lock.
type Table struct {
	ks    Keyspace
	opts  TableOptions
	cells []Cells

	// mu is held by readers while they look, and by the committer while it changes what they see:
	// the fields of this group. The committer reads them without it.
	mu       sync.RWMutex
	fixed    fixedIndex
	byteKeys byteIndex
	meta     []uint64
	complete bool // every entry of the keyspace is in memory

	// The committer's own.
	commit   uint64 // in the making, 0 when none
	touched  []int32
	first    []int32 // what Touch returns
	brought  uint64  // keeps reads from being dropped by the compiler
	born     []int32 // created in this commit
	free     []int32
	freed    []int32 // waiting for ReleaseFreed
	loaded   []int32 // from disk since ReleaseFreed
	reclaim  []int32 // probably without an entry since the last Publish
	dirty    []int32
	inFlight []int32
	flying   *Checkpoint
	nDirty   int
	hand     int32 // the clock's
	lentNull int32 // the slot that Each has lent to NULL, or -1

	fetched   int // reads of single entries since the last look at warming
	warmAfter int
	scratch   []byte
	miss      []int32
	fetch     fetchBuffer
}

// NewTable returns the table over opts.Keyspace, with nothing in memory. If the keyspace is empty
// the table is complete from the start.
func NewTable(db *DB, opts TableOptions, cells ...Cells) (*Table, error) {
	t := &Table{ks: db.Keyspace(opts.Keyspace), opts: opts, cells: cells, warmAfter: warmAfter, lentNull: -1}
	empty, err := t.ks.IsEmpty()
	if err != nil {
		return nil, err
	}
	t.complete = empty
	if opts.Mode == FixedKeys {
		t.fixed.init(db.seed)
	} else {
		t.byteKeys.init(db.seed)
	}
	return t, nil
}

// Lock takes the table's write lock: readers wait. See Table for when it is needed.
func (t *Table) Lock() { t.mu.Lock() }

// Unlock releases the write lock.
func (t *Table) Unlock() { t.mu.Unlock() }

// Begin starts a commit. Commit numbers rise; the one before must be published to readers.
func (t *Table) Begin(commit uint64) {
	if t.commit != 0 {
		panic(fmt.Sprintf("state: commit %d begun in commit %d", commit, t.commit))
	}
	t.commit = commit
	t.touched, t.born = t.touched[:0], t.born[:0]
	t.slices(t.reclaim, func(part []int32) {
		for _, s := range part {
			if m := t.meta[s]; m&flagEmpty != 0 && m&(flagStored|flagInFlight|flagFree) == 0 {
				t.freeLocked(s)
			}
		}
	})
	t.reclaim = t.reclaim[:0]
}

// slices calls fn with one part of slots after the other, holding the lock for each.
func (t *Table) slices(slots []int32, fn func(part []int32)) {
	for len(slots) > 0 {
		n := min(len(slots), sliceRows)
		t.mu.Lock()
		fn(slots[:n])
		t.mu.Unlock()
		slots = slots[n:]
	}
}

// Touch tells the table that the commit is going to change the slots, which may repeat. Each is
// saved and remembered at its first touch in the commit. It returns the places in slots of those first touches,
// in the table's memory: valid until the next call.
func (t *Table) Touch(slots []int32) (first []int32) {
	t.first = t.first[:0]
	at := int32(0)
	t.slices(slots, func(part []int32) {
		saved := len(t.touched)
		for _, s := range part { // brings all that the next loop waits for, at once: see byteIndex.findAll
			t.brought |= t.meta[s]
		}
		for i, s := range part {
			m := t.meta[s]
			if m>>commitShift == t.commit {
				continue
			}
			t.meta[s] = t.commit<<commitShift | m&(flagDirty|flagInFlight|flagStored|flagEmpty) |
				m&flagEmpty<<1 | flagRecent
			t.touched, t.first = append(t.touched, s), append(t.first, at+int32(i))
		}
		at += int32(len(part))
		if fresh := t.touched[saved:]; len(fresh) > 0 {
			for _, c := range t.cells {
				c.Save(fresh)
			}
		}
	})
	return t.first
}

// Touched returns the slots touched in the commit, each once, in the order of their first touch. It
// stays valid after Publish, until the next Begin.
func (t *Table) Touched() []int32 { return t.touched }

// Publish ends the commit: what was touched is now what the next checkpoint writes.
func (t *Table) Publish(commit uint64) {
	if t.commit != commit || commit == 0 {
		panic(fmt.Sprintf("state: commit %d published in commit %d", commit, t.commit))
	}
	t.slices(t.touched, func(part []int32) {
		for _, s := range part {
			t.publishLocked(s)
		}
	})
	for _, s := range t.born {
		if t.meta[s]&flagEmpty != 0 {
			t.reclaim = append(t.reclaim, s) // found and never given a value
		}
	}
	t.commit = 0
}

func (t *Table) publishLocked(s int32) {
	m := t.meta[s] &^ flagEmpty
	if t.empty(s) {
		m |= flagEmpty
		if m&(flagStored|flagInFlight) == 0 {
			// Pebble never heard of it: nothing to write.
			if m&flagDirty != 0 {
				m &^= flagDirty
				t.nDirty--
			}
			t.meta[s] = m
			t.reclaim = append(t.reclaim, s)
			return
		}
	}
	if m&flagDirty == 0 {
		m |= flagDirty
		t.nDirty++
		t.dirty = append(t.dirty, s)
	}
	t.meta[s] = m
}

func (t *Table) empty(s int32) bool {
	for _, c := range t.cells {
		if !c.Empty(s) {
			return false
		}
	}
	return true
}

// Void ends the commit and undoes it: the values are those of before, and slots that it created are
// free. Outside of a commit it does nothing.
func (t *Table) Void() {
	if t.commit == 0 {
		return
	}
	t.slices(t.touched, func(part []int32) {
		for _, c := range t.cells {
			c.Restore(part)
		}
		for _, s := range part {
			t.meta[s] &= 1<<commitShift - 1
		}
	})
	t.slices(t.born, func(part []int32) {
		for _, s := range part {
			t.freeLocked(s)
		}
	})
	t.touched, t.born = t.touched[:0], t.born[:0]
	t.commit = 0
}

// newSlotLocked returns a slot that is not in the index yet.
func (t *Table) newSlotLocked(flags uint64) int32 {
	if n := len(t.free); n > 0 {
		s := t.free[n-1]
		t.free = t.free[:n-1]
		t.meta[s] = flags
		return s
	}
	s := len(t.meta)
	if s == cap(t.meta) {
		n := max(64, s+s/2)
		grown := make([]uint64, s, n)
		copy(grown, t.meta)
		t.meta = grown
		if t.opts.Mode == FixedKeys {
			t.fixed.growKeys(n)
		} else {
			t.byteKeys.growKeys(n)
		}
		for _, c := range t.cells {
			c.Grow(n)
		}
	}
	t.meta = append(t.meta, flags)
	return int32(s)
}

// freeLocked takes the slot out of the index and makes it free.
func (t *Table) freeLocked(s int32) {
	if t.opts.Mode == FixedKeys {
		t.fixed.remove(s)
	} else {
		t.byteKeys.remove(s)
	}
	t.dropLocked(s)
	if t.opts.KeepFreed {
		t.freed = append(t.freed, s)
	} else {
		t.free = append(t.free, s)
	}
}

func (t *Table) dropLocked(s int32) {
	for _, c := range t.cells {
		c.Reset(s)
	}
	if t.meta[s]&flagDirty != 0 {
		t.nDirty--
	}
	t.meta[s] = flagFree | flagEmpty
}

// Freed returns the slots whose place in an image is out of date although no commit touched them, since
// ReleaseFreed: those that have lost their entry, deleted or evicted, which are not used again before it, and
// those into which one was loaded, which a void commit may have done. It is always empty without KeepFreed.
func (t *Table) Freed() []int32 { return append(t.freed[:len(t.freed):len(t.freed)], t.loaded...) }

// ReleaseFreed forgets what Freed returns: slots without an entry may be used for other keys.
func (t *Table) ReleaseFreed() {
	t.free = append(t.free, t.freed...)
	t.freed, t.loaded = t.freed[:0], t.loaded[:0]
}

// Len returns the number of entries in memory, those without a value included.
func (t *Table) Len() int { return len(t.meta) - len(t.free) - len(t.freed) }

// Slots returns a number above every slot that has been used.
func (t *Table) Slots() int { return len(t.meta) }

// Complete reports whether all entries of the keyspace are in memory.
func (t *Table) Complete() bool { return t.complete }

// Live reports whether the slot has an entry as of the last Publish.
func (t *Table) Live(slot int32) bool { return t.meta[slot]&(flagEmpty|flagFree) == 0 }

// Commit returns the commit that last touched the slot; 0 when none has since it was loaded.
func (t *Table) Commit(slot int32) uint64 { return t.meta[slot] >> commitShift }

// KeyFixed returns the slot's key in a table of FixedKeys.
func (t *Table) KeyFixed(slot int32) (key uint64, isNull bool) {
	return t.fixed.keys[slot], slot == t.fixed.null || slot == t.lentNull
}

// AppendKey appends the slot's key: the bytes themselves for ByteKeys; eight big-endian bytes, none
// for NULL, for FixedKeys. It is also the entry's key in the keyspace.
func (t *Table) AppendKey(dst []byte, slot int32) []byte {
	if t.opts.Mode == ByteKeys {
		return t.byteKeys.appendKey(dst, slot)
	}
	if slot == t.fixed.null || slot == t.lentNull {
		return dst
	}
	return binary.BigEndian.AppendUint64(dst, t.fixed.keys[slot])
}

// decodeLocked loads a stored value into a zero slot.
func (t *Table) decodeLocked(s int32, val []byte) (err error) {
	for _, c := range t.cells {
		if val, err = c.Decode(s, val); err != nil {
			return t.corrupt(s, err)
		}
	}
	if len(val) != 0 {
		return t.corrupt(s, fmt.Errorf("%d bytes too many", len(val)))
	}
	return nil
}

func (t *Table) corrupt(s int32, err error) error {
	return errors.Join(fmt.Errorf("%w: keyspace %d, key %x", ErrCorrupt, t.ks.id, t.AppendKey(nil, s)), err)
}
