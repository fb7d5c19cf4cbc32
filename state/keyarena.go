package state

// keyArena keeps the keys of slots in blocks without pointers.
type keyArena struct {
	refs   []keyRef // by slot
	blocks [][]byte
	used   int64
	wasted int64
}

type keyRef struct{ block, off, n uint32 }

// keyBlock is the size of a block. A longer key has one of its own.
const keyBlock = 1 << 18

func (a *keyArena) key(slot int32) []byte {
	r := &a.refs[slot]
	return a.blocks[r.block][r.off : r.off+r.n : r.off+r.n]
}

// set keeps a copy of key for the slot, which has none.
func (a *keyArena) set(slot int32, key []byte) {
	for int(slot) >= len(a.refs) {
		a.refs = append(a.refs, keyRef{})
	}
	last := len(a.blocks) - 1
	if last < 0 || cap(a.blocks[last])-len(a.blocks[last]) < len(key) {
		size := keyBlock
		if last < 0 {
			size = 1 << 12 // most maps are small
		}
		a.blocks = append(a.blocks, make([]byte, 0, max(size, len(key))))
		last++
		a.used += int64(cap(a.blocks[last]))
	}
	b := a.blocks[last]
	a.refs[slot] = keyRef{uint32(last), uint32(len(b)), uint32(len(key))}
	a.blocks[last] = append(b, key...)
}

// clear gives up the slot's key.
func (a *keyArena) clear(slot int32) {
	a.wasted += int64(a.refs[slot].n)
	a.refs[slot] = keyRef{}
	if a.wasted > keyBlock && a.wasted > a.used/2 {
		a.compact()
	}
}

// compact copies the keys that are left to new blocks.
func (a *keyArena) compact() {
	old, refs := a.blocks, a.refs
	a.blocks, a.used, a.wasted = nil, 0, 0
	for s, r := range refs {
		if r.n > 0 {
			a.set(int32(s), old[r.block][r.off:r.off+r.n])
		} else {
			refs[s] = keyRef{}
		}
	}
	if len(a.blocks) == 0 {
		a.blocks = [][]byte{nil} // for empty keys
	}
}
