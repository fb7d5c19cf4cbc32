package state

// denseIndex is an array from key to slot, for keys that lie close together: counters, ids, days. It costs one
// load a key, and keys that come in order are met in order, so that their slots' cells are too.
type denseIndex struct {
	slots []int32 // slot plus one of key base+i; 0 is an empty place
	base  uint64
}

const (
	// denseSpan is how many places a key may take when an index becomes an array: as many bytes as the two to
	// four entries of 16 bytes that the hash table has for it.
	denseSpan = 8
	// denseSlack lets a small index be an array in any case that matters.
	denseSlack = 1024
)

// worthDense reports whether n keys from lo to hi should be an array.
func worthDense(lo, hi uint64, n int) bool {
	return hi-lo < uint64(denseSpan*n+denseSlack)
}

func (d *denseIndex) on() bool { return d.slots != nil }

// make makes the array for keys from lo to hi with room to grow on the side where last, the newest, is.
func (d *denseIndex) make(lo, hi, last uint64) {
	room := (hi-lo)/2 + 64
	if last == lo && lo != hi {
		lo -= min(room, lo)
	} else {
		hi += min(room, ^uint64(0)-hi)
	}
	old, base := d.slots, d.base
	d.slots, d.base = make([]int32, hi-lo+1), lo
	if old != nil {
		copy(d.slots[base-lo:], old)
	}
}

// set puts a key into the array; it reports false when the key is too far from the others, n in number.
func (d *denseIndex) set(key uint64, slot int32, n int) bool {
	if i := key - d.base; i < uint64(len(d.slots)) {
		d.slots[i] = slot + 1
		return true
	}
	lo, hi := min(d.base, key), max(d.base+uint64(len(d.slots)-1), key)
	if !worthDense(lo, hi, n+1) {
		return false
	}
	d.make(lo, hi, key)
	d.slots[key-d.base] = slot + 1
	return true
}

func (d *denseIndex) find(key uint64) int32 {
	if i := key - d.base; i < uint64(len(d.slots)) {
		return d.slots[i] - 1
	}
	return -1
}

func (d *denseIndex) findAll(keys []uint64, out []int32, miss []int32) []int32 {
	slots, base := d.slots, d.base
	out = out[:len(keys)]
	for r, key := range keys {
		s := int32(-1)
		if i := key - base; i < uint64(len(slots)) {
			s = slots[i] - 1
		}
		out[r] = s
		if s < 0 {
			miss = append(miss, int32(r))
		}
	}
	return miss
}
