package state

import "math/bits"

// fixedIndex maps uint64 keys to slots: an array while the keys lie close together, else open addressing with linear probing, entries {key, slot}
// side by side so that a hit costs one cache line, at most half full, hashed by multiplying with an
// odd number and taking the top bits.
//
// A multiplier that spreads one set of keys perfectly clusters another. The golden ratio is tried
// first: it is the best for dense integers. Whenever entries lie further from home than random
// ones would, at a resize or where one key probes too far, the next of a row of random multipliers
// is tried; so nobody who does not know the seed can choose keys that collide.
type fixedIndex struct {
	entries []fixedEntry // a power of two
	keys    []uint64     // by slot
	null    int32        // the slot of NULL, or -1
	mul     uint64
	shift   uint8
	n       int
	seed    uint64     // of the next multiplier
	dense   denseIndex // in place of entries when it is on
}

type fixedEntry struct {
	key  uint64
	slot int32 // plus one; 0 is an empty place
}

const (
	minIndex = 64
	golden   = 0x9e3779b97f4a7c15
	// maxMultipliers is how many are tried at once. Doubled, hopeless keys cost twice to insert.
	maxMultipliers = 4
	// farProbe is where an insertion gives up on the multiplier. Random keys at half load get
	// there less than once in 10^20.
	farProbe = 256
)

func (x *fixedIndex) init(seed uint64) {
	x.null, x.mul, x.seed = -1, golden, seed
	x.rebuild(minIndex)
}

// mix spreads a seed over all bits (the finaliser of splitmix64).
func mix(z uint64) uint64 {
	z += golden
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// rebuild makes a table of n places, with a multiplier under which the entries lie as near to home
// as random ones, or the best that was found.
func (x *fixedIndex) rebuild(n int) {
	old := x.entries
	x.shift = uint8(64 - bits.TrailingZeros(uint(n)))
	var best []fixedEntry
	bestMul, bestSum := x.mul, -1
	for range maxMultipliers {
		x.entries = make([]fixedEntry, n)
		sum := 0
		for i := range old {
			if old[i].slot != 0 {
				sum += x.place(old[i])
			}
		}
		if bestSum < 0 || sum < bestSum {
			best, bestMul, bestSum = x.entries, x.mul, sum
		}
		if sum <= x.n/4 { // random at a quarter full: a sixth
			break
		}
		x.seed++
		x.mul = mix(x.seed) | 1
	}
	x.entries, x.mul = best, bestMul
}

// place puts an entry into the first free place from its home, and returns the distance.
func (x *fixedIndex) place(e fixedEntry) int {
	mask := uint64(len(x.entries) - 1)
	home := e.key * x.mul >> (x.shift & 63)
	i := home
	for x.entries[i].slot != 0 {
		i = (i + 1) & mask
	}
	x.entries[i] = e
	return int((i - home) & mask)
}

func (x *fixedIndex) growKeys(n int) {
	keys := make([]uint64, n)
	copy(keys, x.keys)
	x.keys = keys
}

// find returns the slot of key or -1.
func (x *fixedIndex) find(key uint64) int32 {
	if x.dense.on() {
		return x.dense.find(key)
	}
	entries := x.entries
	mask := uint64(len(entries) - 1)
	for i := key * x.mul >> (x.shift & 63); ; i++ {
		e := &entries[i&mask]
		if e.slot == 0 {
			return -1
		}
		if e.key == key {
			return e.slot - 1
		}
	}
}

// findAll sets out to the slots of keys, -1 where there is none, and appends those rows to miss.
func (x *fixedIndex) findAll(keys []uint64, out []int32, miss []int32) []int32 {
	if x.dense.on() {
		return x.dense.findAll(keys, out, miss)
	}
	entries := x.entries
	mul, shift := x.mul, x.shift&63
	mask := uint64(len(entries) - 1)
	out = out[:len(keys)]
	for r, key := range keys {
		i := key * mul >> shift
		for {
			e := entries[i&mask]
			if e.key == key && e.slot != 0 {
				out[r] = e.slot - 1
				break
			}
			if e.slot == 0 {
				out[r] = -1
				miss = append(miss, int32(r))
				break
			}
			i++
		}
	}
	return miss
}

// insert adds a key that is not there.
func (x *fixedIndex) insert(key uint64, slot int32) {
	x.keys[slot] = key
	if x.dense.on() {
		if x.dense.set(key, slot, x.n) {
			x.n++
			return
		}
		x.leaveDense()
	}
	if 2*(x.n+1) > len(x.entries) {
		if x.enterDense(key) {
			x.dense.set(key, slot, x.n)
			x.n++
			return
		}
		x.rebuild(2 * len(x.entries))
	}
	x.n++
	if x.place(fixedEntry{key, slot + 1}) > farProbe {
		x.seed++
		x.mul = mix(x.seed) | 1
		x.rebuild(len(x.entries))
	}
}

// enterDense makes the index an array if its keys and next lie close enough together.
func (x *fixedIndex) enterDense(next uint64) bool {
	lo, hi := next, next
	for _, e := range x.entries {
		if e.slot != 0 {
			lo, hi = min(lo, e.key), max(hi, e.key)
		}
	}
	if !worthDense(lo, hi, x.n+1) {
		return false
	}
	x.dense.make(lo, hi, next)
	for _, e := range x.entries {
		if e.slot != 0 {
			x.dense.slots[e.key-x.dense.base] = e.slot
		}
	}
	x.entries = nil
	return true
}

// leaveDense makes the index a hash table again.
func (x *fixedIndex) leaveDense() {
	d := x.dense
	x.dense = denseIndex{}
	size := minIndex
	for size < 2*(x.n+1) {
		size *= 2
	}
	x.entries = make([]fixedEntry, size)
	x.shift = uint8(64 - bits.TrailingZeros(uint(size)))
	for i, s := range d.slots {
		if s != 0 {
			x.place(fixedEntry{d.base + uint64(i), s})
		}
	}
}

// insertNull adds NULL.
func (x *fixedIndex) insertNull(slot int32) {
	x.null = slot
	x.keys[slot] = 0
}

// remove takes out the key of slot; entries behind it move up, so no tombstone is left.
func (x *fixedIndex) remove(slot int32) {
	if slot == x.null {
		x.null = -1
		return
	}
	if x.dense.on() {
		x.dense.slots[x.keys[slot]-x.dense.base] = 0
		x.keys[slot] = 0
		x.n--
		return
	}
	mask := uint64(len(x.entries) - 1)
	i := x.keys[slot] * x.mul >> (x.shift & 63)
	for x.entries[i].slot != slot+1 {
		i = (i + 1) & mask
	}
	for j := i; ; {
		j = (j + 1) & mask
		e := x.entries[j]
		if e.slot == 0 {
			break
		}
		home := e.key * x.mul >> (x.shift & 63)
		if (j-home)&mask >= (j-i)&mask {
			x.entries[i] = e
			i = j
		}
	}
	x.entries[i] = fixedEntry{}
	x.keys[slot] = 0
	x.n--
}

func (x *fixedIndex) bytes() int64 {
	return 16*int64(len(x.entries)) + 4*int64(len(x.dense.slots)) + 8*int64(len(x.keys))
}
