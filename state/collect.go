package state

import "fmt"

// Collect copies the dirty entries into the checkpoint and marks them in flight. It belongs between
// commits; the checkpoint's position is the last published commit. One checkpoint at a time: the
// one before must have been Cleaned or Abandoned.
func (t *Table) Collect(cp *Checkpoint) {
	if t.commit != 0 || t.flying != nil {
		panic(fmt.Sprintf("state: checkpoint at %d collected in commit %d, another in flight: %t",
			cp.position, t.commit, t.flying != nil))
	}
	t.flying = cp
	t.inFlight = t.inFlight[:0]
	var key []byte
	for _, s := range t.dirty {
		m := t.meta[s]
		if m&flagDirty == 0 {
			continue // it lost its entry before it was ever written
		}
		key = t.AppendKey(key[:0], s)
		if m&flagEmpty != 0 {
			cp.Delete(t.ks.id, key)
		} else {
			t.scratch = t.scratch[:0]
			for _, c := range t.cells {
				t.scratch = c.Encode(t.scratch, s)
			}
			cp.Put(t.ks.id, key, t.scratch)
		}
		t.inFlight = append(t.inFlight, s)
	}
	t.slices(t.inFlight, func(part []int32) {
		for _, s := range part {
			t.meta[s] = t.meta[s]&^flagDirty | flagInFlight | flagStored
		}
	})
	t.dirty, t.nDirty = t.dirty[:0], 0
}

// Cleaned says that the checkpoint is durable: its entries are clean, unless touched since.
func (t *Table) Cleaned(cp *Checkpoint) {
	t.land(cp, func(s int32) {
		m := t.meta[s] &^ flagInFlight
		if m&flagEmpty != 0 && m&flagDirty == 0 {
			m &^= flagStored // the checkpoint deleted it
			t.reclaim = append(t.reclaim, s)
		}
		t.meta[s] = m
	})
}

// Abandoned says that the checkpoint failed, or may have: its entries are dirty again.
func (t *Table) Abandoned(cp *Checkpoint) {
	t.land(cp, func(s int32) {
		m := t.meta[s] &^ flagInFlight
		if m&flagDirty == 0 {
			m |= flagDirty
			t.nDirty++
			t.dirty = append(t.dirty, s)
		}
		t.meta[s] = m
	})
}

func (t *Table) land(cp *Checkpoint, one func(s int32)) {
	if t.flying != cp {
		panic(fmt.Sprintf("state: checkpoint at %d is not the one in flight", cp.position))
	}
	t.slices(t.inFlight, func(part []int32) {
		for _, s := range part {
			one(s)
		}
	})
	t.inFlight, t.flying = t.inFlight[:0], nil
}

// Bytes returns the memory of the entries in memory: their share of HeldBytes. Evict lowers it.
func (t *Table) Bytes() int64 {
	if len(t.meta) == 0 {
		return 0
	}
	return int64(float64(t.HeldBytes()) * float64(t.Len()) / float64(cap(t.meta)))
}

// HeldBytes returns the memory that the table holds, room for more entries included. It does not
// fall: freed slots are used again.
func (t *Table) HeldBytes() int64 {
	n := 8*int64(cap(t.meta)) + t.fixed.bytes() + t.byteKeys.bytes()
	for _, c := range t.cells {
		n += c.Bytes()
	}
	return n
}

// IndexBytes returns the part of HeldBytes that is not in cells.
func (t *Table) IndexBytes() int64 {
	return 8*int64(cap(t.meta)) + t.fixed.bytes() + t.byteKeys.bytes()
}

// Dirty returns how many entries the next checkpoint has to write, and about how much memory they
// and those in flight take, which Evict cannot free.
func (t *Table) Dirty() (entries int, bytes int64) {
	if t.Len() == 0 {
		return 0, 0
	}
	return t.nDirty, t.Bytes() / int64(t.Len()) * int64(t.nDirty+len(t.inFlight))
}

// Evict drops clean entries that have not been used for longest, about, until Bytes is at most
// target or none is left. It belongs between commits, and returns how many it dropped.
func (t *Table) Evict(target int64) int {
	if t.commit != 0 {
		panic("state: eviction within a commit")
	}
	over := t.Bytes() - target
	if over <= 0 || t.Len() == 0 {
		return 0
	}
	want := min(int(over/max(1, t.Bytes()/int64(t.Len())))+1, t.Len())
	dropped := 0
	// Two rounds: the first may only find that everything was used recently.
	for steps := 2 * len(t.meta); steps > 0 && dropped < want; {
		t.mu.Lock()
		for range min(steps, sliceRows) {
			steps--
			if t.hand++; int(t.hand) >= len(t.meta) {
				t.hand = 0
			}
			m := t.meta[t.hand]
			if m&(flagFree|flagDirty|flagInFlight|flagEmpty) != 0 {
				continue
			}
			if m&flagRecent != 0 {
				t.meta[t.hand] = m &^ flagRecent
				continue
			}
			t.complete = false
			t.freeLocked(t.hand)
			if dropped++; dropped == want {
				break
			}
		}
		t.mu.Unlock()
	}
	return dropped
}
