package state

import (
	"bytes"
	"encoding/binary"
	"math/bits"

	"github.com/zeebo/xxh3"
)

// byteIndex maps byte strings to slots, by open addressing as fixedIndex does. A key is compared as
// two words: up to 15 bytes are packed into them with their length; a longer key has its hash in
// the first word and its length in the second, and its bytes are in the arena.
type byteIndex struct {
	entries []byteEntry // a power of two
	keys    []byteKey   // by slot
	arena   []byte
	wasted  int // bytes of removed keys in the arena
	s0, s1  uint64
	n       int
	touched int32 // keeps the reads of findAll from being dropped by the compiler
}

type byteEntry struct {
	w0, w1 uint64
	slot   int32 // plus one; 0 is an empty place
}

// byteKey is a slot's key: the packed words, or for a long key w0 is its place in the arena.
type byteKey struct{ w0, w1 uint64 }

// longKey marks the second word of a key that is not packed.
const longKey = 0xff << 56

func (x *byteIndex) init(seed uint64) {
	x.s0, x.s1 = mix(seed), mix(seed+1)
	x.entries = make([]byteEntry, minIndex)
}

// pack returns the words of the key arena[lo:hi].
func (x *byteIndex) pack(arena []byte, lo, hi int) (w0, w1 uint64) {
	n := hi - lo
	if n > 15 {
		return xxh3.HashSeed(arena[lo:hi], x.s0), longKey | uint64(n)
	}
	if lo+16 <= len(arena) {
		w0 = binary.LittleEndian.Uint64(arena[lo:])
		w1 = binary.LittleEndian.Uint64(arena[lo+8:])
		if n <= 8 {
			return w0 & (1<<(8*n) - 1), uint64(n) << 56
		}
		return w0, w1&(1<<(8*(n-8))-1) | uint64(n)<<56
	}
	var b [16]byte
	copy(b[:], arena[lo:hi])
	return binary.LittleEndian.Uint64(b[:]), binary.LittleEndian.Uint64(b[8:]) | uint64(n)<<56
}

func (x *byteIndex) hash(w0, w1 uint64) uint64 {
	hi, lo := bits.Mul64(w0^x.s0, w1^x.s1)
	return hi ^ lo
}

// find returns the slot of key, whose words are given, or -1.
func (x *byteIndex) find(key []byte, w0, w1 uint64) int32 {
	mask := uint64(len(x.entries) - 1)
	for i := x.hash(w0, w1); ; i++ {
		e := &x.entries[i&mask]
		if e.slot == 0 {
			return -1
		}
		if e.w0 == w0 && e.w1 == w1 && (w1 < longKey || bytes.Equal(x.long(e.slot-1), key)) {
			return e.slot - 1
		}
	}
}

// probeRows is how many keys findAll looks for at a time: a few times what a core can have under way. The words of
// so many stay in its first level cache.
const probeRows = 64

// manyEntries is from how many places on an index does not fit a first level cache of 32 KB.
const manyEntries = 2048

// findAll sets out to the slots of the keys between offs, -1 where there is none, and appends those
// rows to miss.
//
// Where the index is larger than a core's first level cache, the places where keys should be are read first, in a loop
// without a branch that depends on them: so a core waits for many lines of memory at once, where a comparison
// in between makes it wait for one after the other.
func (x *byteIndex) findAll(arena []byte, offs []int32, out []int32, miss []int32) []int32 {
	if len(x.entries) < manyEntries {
		for r := range out {
			lo, hi := int(offs[r]), int(offs[r+1])
			w0, w1 := x.pack(arena, lo, hi)
			s := x.find(arena[lo:hi], w0, w1)
			if out[r] = s; s < 0 {
				miss = append(miss, int32(r))
			}
		}
		return miss
	}
	var words [probeRows]byteKey
	mask := uint64(len(x.entries) - 1)
	for first := 0; first < len(out); first += probeRows {
		part := out[first:min(first+probeRows, len(out))]
		any := int32(0)
		for k := range part {
			w0, w1 := x.pack(arena, int(offs[first+k]), int(offs[first+k+1]))
			words[k] = byteKey{w0, w1}
			any |= x.entries[x.hash(w0, w1)&mask].slot
		}
		x.touched |= any
		for k := range part {
			r := first + k
			s := x.find(arena[offs[r]:offs[r+1]], words[k].w0, words[k].w1)
			if part[k] = s; s < 0 {
				miss = append(miss, int32(r))
			}
		}
	}
	return miss
}

func (x *byteIndex) findKey(key []byte) int32 {
	w0, w1 := x.pack(key, 0, len(key))
	return x.find(key, w0, w1)
}

func (x *byteIndex) long(slot int32) []byte {
	k := x.keys[slot]
	return x.arena[k.w0 : k.w0+k.w1&^longKey]
}

func (x *byteIndex) place(e byteEntry) {
	mask := uint64(len(x.entries) - 1)
	i := x.hash(e.w0, e.w1) & mask
	for x.entries[i].slot != 0 {
		i = (i + 1) & mask
	}
	x.entries[i] = e
}

// insert adds a key that is not there.
func (x *byteIndex) insert(key []byte, slot int32) {
	if 2*(x.n+1) > len(x.entries) {
		old := x.entries
		x.entries = make([]byteEntry, 2*len(old))
		for _, e := range old {
			if e.slot != 0 {
				x.place(e)
			}
		}
	}
	x.n++
	w0, w1 := x.pack(key, 0, len(key))
	x.setKey(slot, key, w0, w1)
	x.place(byteEntry{w0, w1, slot + 1})
}

// setKey keeps the key of a slot, in the index or not.
func (x *byteIndex) setKey(slot int32, key []byte, w0, w1 uint64) {
	if w1 >= longKey {
		w0 = uint64(len(x.arena))
		x.arena = append(x.arena, key...)
	}
	x.keys[slot] = byteKey{w0, w1}
}

func (x *byteIndex) clearKey(slot int32) {
	if k := x.keys[slot]; k.w1 >= longKey {
		x.wasted += int(k.w1 &^ longKey)
	}
	x.keys[slot] = byteKey{}
	if x.wasted > 1<<16 && x.wasted > len(x.arena)/2 {
		x.compact()
	}
}

// compact copies the keys that are left into a new arena.
func (x *byteIndex) compact() {
	arena := make([]byte, 0, len(x.arena)-x.wasted)
	for s, k := range x.keys {
		if k.w1 >= longKey {
			at := uint64(len(arena))
			arena = append(arena, x.long(int32(s))...)
			x.keys[s].w0 = at
		}
	}
	x.arena, x.wasted = arena, 0
}

// remove takes out the key of slot; entries behind it move up, so no tombstone is left.
func (x *byteIndex) remove(slot int32) {
	k := x.keys[slot]
	w0 := k.w0
	if k.w1 >= longKey {
		w0 = xxh3.HashSeed(x.long(slot), x.s0)
	}
	mask := uint64(len(x.entries) - 1)
	i := x.hash(w0, k.w1) & mask
	for x.entries[i].slot != slot+1 {
		i = (i + 1) & mask
	}
	for j := i; ; {
		j = (j + 1) & mask
		e := x.entries[j]
		if e.slot == 0 {
			break
		}
		home := x.hash(e.w0, e.w1)
		if (j-home)&mask >= (j-i)&mask {
			x.entries[i] = e
			i = j
		}
	}
	x.entries[i] = byteEntry{}
	x.clearKey(slot)
	x.n--
}

func (x *byteIndex) growKeys(n int) {
	keys := make([]byteKey, n)
	copy(keys, x.keys)
	x.keys = keys
}

func (x *byteIndex) appendKey(dst []byte, slot int32) []byte {
	k := x.keys[slot]
	if k.w1 >= longKey {
		return append(dst, x.long(slot)...)
	}
	var b [16]byte
	binary.LittleEndian.PutUint64(b[:], k.w0)
	binary.LittleEndian.PutUint64(b[8:], k.w1)
	return append(dst, b[:k.w1>>56]...)
}

func (x *byteIndex) bytes() int64 {
	return 24*int64(len(x.entries)) + 16*int64(len(x.keys)) + int64(cap(x.arena))
}
