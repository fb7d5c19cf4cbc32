package state

import (
	"encoding/binary"
	"sync/atomic"
)

// ReadFixed looks a key up as of the newest published commit, beside the committer. When the entry
// is in memory it calls f with its slot, holding the read lock: f copies what it needs from the
// cells, the previous value if previous is true: the committer may be changing the current one, which
// f must then not even look at. When the entry is on disk only, f is not called
// and raw is its stored value, as the cells encoded it one after the other.
func (t *Table) ReadFixed(key uint64, isNull bool, published *atomic.Uint64, f func(slot int32, previous bool)) (found bool, raw []byte, err error) {
	var buf [8]byte
	stored := buf[:0]
	if !isNull {
		stored = binary.BigEndian.AppendUint64(stored, key)
	}
	return t.read(stored, published, f)
}

// ReadBytes is ReadFixed for ByteKeys.
func (t *Table) ReadBytes(key []byte, published *atomic.Uint64, f func(slot int32, previous bool)) (found bool, raw []byte, err error) {
	return t.read(key, published, f)
}

// read sees one published commit whole because the committer touches a slot for commit n+1 only
// after n is in published, and under the lock: what published says while the reader holds the lock
// is n or n+1 for every slot. An entry that is not in memory is the same on disk; if it has come
// into memory while the disk was read, it may have changed, and the reader looks again.
func (t *Table) read(key []byte, published *atomic.Uint64, f func(slot int32, previous bool)) (found bool, raw []byte, err error) {
	for {
		resident, found, complete := t.readMemory(key, published, f)
		if resident || complete {
			return found, nil, nil
		}
		raw, found, err := t.ks.Get(key)
		if err != nil {
			return false, nil, err
		}
		t.mu.RLock()
		same := t.lookup(key) < 0
		t.mu.RUnlock()
		if same {
			return found, raw, nil
		}
	}
}

func (t *Table) readMemory(key []byte, published *atomic.Uint64, f func(slot int32, previous bool)) (resident, found, complete bool) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	s := t.lookup(key)
	if s < 0 {
		return false, false, t.complete
	}
	m := t.meta[s]
	previous := m>>commitShift > published.Load()
	absent := m&flagEmpty != 0
	if previous {
		absent = m&flagPrevEmpty != 0
	}
	if !absent {
		f(s, previous)
	}
	return true, !absent, true
}
