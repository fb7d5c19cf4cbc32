package state

import (
	"bytes"
	"cmp"
	"encoding/binary"
)

// orderedTree is a B+ tree from byte string to slot. The keys themselves are in a keyArena; a page
// holds of each only sixteen bytes, those behind the prefix that all keys of the page share, so a
// search touches a few neighbouring cache lines a page and the arena once at the end. Leaves are
// linked both ways and hold no Go pointer but these links.
//
// A tree of pointers to entries (tidwall/btree) costs a cache miss at most comparisons, and a
// million objects for the collector to visit.
type orderedTree struct {
	root  *page
	first *page
	arena *keyArena
	hint  *page // the leaf of the last search: sorted input stays in it
	n     int
}

const (
	pageKeys = 64
	// maxSkip bounds the shared prefix that a page knows. Keys that differ only further on are
	// compared in the arena.
	maxSkip = 64
)

// page is a leaf (kids is nil) or an inner page, whose key i is the smallest that kids[i] may hold;
// its key 0 is never looked at.
type page struct {
	next, prev *page    // leaf
	kids       []*page  // inner
	seps       [][]byte // inner
	n          int
	skip       int // bytes that all keys share, at most maxSkip
	prefix     [maxSkip]byte
	heads      [pageKeys][2]uint64
	slots      [pageKeys]int32 // leaf
}

// head16 returns the first sixteen bytes of key, zeros behind it.
func head16(key []byte) (a, b uint64) {
	if len(key) >= 16 {
		return binary.BigEndian.Uint64(key), binary.BigEndian.Uint64(key[8:])
	}
	if len(key) >= 8 {
		return binary.BigEndian.Uint64(key), head(key[8:])
	}
	return head(key), 0
}

func (t *orderedTree) init(arena *keyArena) {
	t.root = &page{}
	t.first, t.hint, t.arena = t.root, nil, arena
	t.n = 0
}

func (t *orderedTree) key(p *page, i int) []byte {
	if p.kids != nil {
		return p.seps[i]
	}
	return t.arena.key(p.slots[i])
}

// search returns the place in p of the first key that is not below key, and whether it is key.
// Places below from are not looked at.
func (t *orderedTree) search(p *page, key []byte, from int) (int, bool) {
	if p.n <= from {
		return from, false
	}
	if p.skip > 0 {
		k := p.prefix[:p.skip]
		if len(key) < p.skip || !bytes.Equal(k, key[:p.skip]) {
			if bytes.Compare(key, k) < 0 {
				return from, false
			}
			return p.n, false
		}
	}
	a, b := head16(key[p.skip:])
	lo, hi := from, p.n
	for lo < hi {
		m := int(uint(lo+hi) >> 1)
		h := &p.heads[m&(pageKeys-1)]
		c := cmp.Compare(h[0], a)
		if c == 0 {
			c = cmp.Compare(h[1], b)
		}
		if c == 0 {
			c = bytes.Compare(t.key(p, m), key)
		}
		switch {
		case c < 0:
			lo = m + 1
		case c > 0:
			hi = m
		default:
			return m, true
		}
	}
	return lo, false
}

// kid returns which child of an inner page may hold key.
func (t *orderedTree) kid(p *page, key []byte) int {
	i, exact := t.search(p, key, 1)
	if exact {
		return i
	}
	return i - 1
}

// leaf returns the leaf that may hold key.
func (t *orderedTree) leaf(key []byte) *page {
	p := t.root
	for p.kids != nil {
		p = p.kids[t.kid(p, key)]
	}
	return p
}

// find returns the slot of key or -1, and leaves the hint at its leaf.
func (t *orderedTree) find(key []byte) int32 {
	if t.hint != nil {
		if i, exact := t.search(t.hint, key, 0); exact {
			return t.hint.slots[i]
		} else if i > 0 && i < t.hint.n {
			return -1
		}
	}
	t.hint = t.leaf(key)
	if i, exact := t.search(t.hint, key, 0); exact {
		return t.hint.slots[i]
	}
	return -1
}

// seek returns the place of the first key not below key; p.n is one past the last of the leaf.
func (t *orderedTree) seek(key []byte) (p *page, i int) {
	p = t.leaf(key)
	i, _ = t.search(p, key, 0)
	return p, i
}

// insert adds a slot whose key is in the arena and not in the tree.
func (t *orderedTree) insert(slot int32) {
	key := t.arena.key(slot)
	t.n++
	if p := t.hint; p != nil && p.n < pageKeys {
		if i, _ := t.search(p, key, 0); i > 0 && i < p.n {
			t.insertAt(p, i, key, slot, nil)
			return
		}
	}
	if right := t.insertBelow(t.root, key, slot); right != nil {
		left := t.root
		root := &page{seps: make([][]byte, 0, pageKeys), kids: make([]*page, 0, pageKeys)}
		t.root = root
		t.insertAt(root, 0, t.separator(left), 0, left)
		t.insertAt(root, 1, t.separator(right), 0, right)
	}
}

// separator returns a copy of a page's smallest key.
func (t *orderedTree) separator(p *page) []byte {
	for p.kids != nil {
		if len(p.seps[0]) > 0 {
			return p.seps[0]
		}
		p = p.kids[0]
	}
	return bytes.Clone(t.key(p, 0))
}

// insertBelow inserts under p and returns the page that p had to give its right part to, or nil.
func (t *orderedTree) insertBelow(p *page, key []byte, slot int32) *page {
	if p.kids == nil {
		i, _ := t.search(p, key, 0)
		return t.insertOrSplit(p, i, key, slot, nil)
	}
	i := t.kid(p, key)
	right := t.insertBelow(p.kids[i], key, slot)
	if right == nil {
		return nil
	}
	return t.insertOrSplit(p, i+1, t.separator(right), 0, right)
}

func (t *orderedTree) insertOrSplit(p *page, i int, key []byte, slot int32, kid *page) *page {
	if p.n < pageKeys {
		t.insertAt(p, i, key, slot, kid)
		return nil
	}
	at := pageKeys / 2
	if i == pageKeys {
		at = pageKeys - 1 // ascending input leaves full pages behind
	}
	right := t.split(p, at)
	if i <= at && !(kid != nil && i == at) {
		t.insertAt(p, i, key, slot, kid)
	} else {
		t.insertAt(right, i-at, key, slot, kid)
	}
	return right
}

func (t *orderedTree) split(p *page, at int) *page {
	right := &page{n: p.n - at, skip: p.skip, prefix: p.prefix}
	copy(right.heads[:], p.heads[at:p.n])
	if p.kids != nil {
		right.kids = append(make([]*page, 0, pageKeys), p.kids[at:]...)
		right.seps = append(make([][]byte, 0, pageKeys), p.seps[at:]...)
		clear(p.kids[at:])
		clear(p.seps[at:])
		p.kids, p.seps = p.kids[:at], p.seps[:at]
	} else {
		copy(right.slots[:], p.slots[at:p.n])
		right.next, right.prev = p.next, p
		if p.next != nil {
			p.next.prev = right
		}
		p.next = right
	}
	p.n = at
	t.reskip(p)
	t.reskip(right)
	return right
}

// insertAt puts a key into a page that has room.
func (t *orderedTree) insertAt(p *page, i int, key []byte, slot int32, kid *page) {
	if p.n == 0 {
		p.skip = 0
	} else if n := common(p.prefix[:p.skip], key); n < p.skip {
		t.setSkip(p, n)
	}
	copy(p.heads[i+1:p.n+1], p.heads[i:p.n])
	p.heads[i][0], p.heads[i][1] = head16(key[p.skip:])
	if kid != nil {
		p.kids = append(p.kids, nil)
		copy(p.kids[i+1:], p.kids[i:])
		p.kids[i] = kid
		p.seps = append(p.seps, nil)
		copy(p.seps[i+1:], p.seps[i:])
		p.seps[i] = key
	} else {
		copy(p.slots[i+1:p.n+1], p.slots[i:p.n])
		p.slots[i] = slot
	}
	p.n++
}

func common(a, b []byte) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}

// reskip makes skip as long as the keys allow: the page has just lost some. Key 0 of an inner page may be
// above key 1: its first child has been given smaller keys, and has split, since.
func (t *orderedTree) reskip(p *page) {
	if p.n == 0 {
		return
	}
	last := t.key(p, p.n-1)
	n := min(maxSkip, common(t.key(p, 0), last))
	if p.kids != nil && p.n > 1 {
		n = min(n, common(t.key(p, 1), last))
	}
	t.setSkip(p, n)
}

func (t *orderedTree) setSkip(p *page, skip int) {
	if skip == p.skip {
		return
	}
	p.skip = skip
	copy(p.prefix[:skip], t.key(p, 0))
	for i := range p.n {
		p.heads[i][0], p.heads[i][1] = head16(t.key(p, i)[skip:])
	}
}

// remove takes out the slot, whose key is still in the arena.
func (t *orderedTree) remove(slot int32) {
	t.hint = nil
	t.n--
	t.removeBelow(t.root, t.arena.key(slot))
	for t.root.kids != nil && t.root.n == 1 {
		t.root = t.root.kids[0]
	}
	if t.root.kids != nil && t.root.n == 0 {
		t.init(t.arena)
	}
}

func (t *orderedTree) removeBelow(p *page, key []byte) {
	if p.kids == nil {
		if i, exact := t.search(p, key, 0); exact {
			t.removeAt(p, i)
		}
		return
	}
	i := t.kid(p, key)
	kid := p.kids[i]
	t.removeBelow(kid, key)
	switch {
	case kid.n == 0:
		t.unlink(kid)
		t.removeAt(p, i)
	case kid.n < pageKeys/4 && i+1 < p.n && kid.n+p.kids[i+1].n <= pageKeys*3/4:
		t.merge(kid, p.kids[i+1], p.seps[i+1])
		t.removeAt(p, i+1)
	case kid.n < pageKeys/4 && i > 0 && kid.n+p.kids[i-1].n <= pageKeys*3/4:
		t.merge(p.kids[i-1], kid, p.seps[i])
		t.removeAt(p, i)
	}
}

func (t *orderedTree) removeAt(p *page, i int) {
	copy(p.heads[i:], p.heads[i+1:p.n])
	if p.kids != nil {
		p.kids = append(p.kids[:i], p.kids[i+1:]...)
		p.seps = append(p.seps[:i], p.seps[i+1:]...)
	} else {
		copy(p.slots[i:], p.slots[i+1:p.n])
	}
	p.n--
}

func (t *orderedTree) unlink(p *page) {
	if p.kids != nil {
		return
	}
	if p.next != nil {
		p.next.prev = p.prev
	}
	if p.prev != nil {
		p.prev.next = p.next
	} else {
		t.first = p.next
	}
}

// merge moves what right holds to the end of left, its neighbour. Separator is right's in their
// parent: right's own first key may be above what its first child holds by now.
func (t *orderedTree) merge(left, right *page, separator []byte) {
	if left.kids != nil {
		right.seps[0] = separator
		left.kids = append(left.kids, right.kids...)
		left.seps = append(left.seps, right.seps...)
	} else {
		copy(left.slots[left.n:], right.slots[:right.n])
		t.unlink(right)
	}
	left.n += right.n
	left.skip = -1
	t.reskip(left)
}

// last returns the place of the last key; -1 in an empty leaf.
func (t *orderedTree) last() (*page, int) {
	p := t.root
	for p.kids != nil {
		p = p.kids[p.n-1]
	}
	return p, p.n - 1
}
