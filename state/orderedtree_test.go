package state

import (
	"encoding/binary"
	"fmt"
	"testing"
)

// TestOrderedTreeDownwards fills a tree of three levels with keys that come in below those that are there, so that
// the first separators of the leftmost pages are above what their first children hold, and takes keys out again.
func TestOrderedTreeDownwards(t *testing.T) {
	r := newRand(t)
	for run := range 12 {
		var arena keyArena
		var tree orderedTree
		tree.init(&arena)
		var slots []int32
		keys := map[int32]string{}
		for i := range 12_000 {
			head := uint64(20_000 - i)
			if run%2 == 0 {
				head = uint64(r.IntN(1 + (12_000-i)/100)) // ever smaller, with many equal beginnings
			}
			key := binary.BigEndian.AppendUint64(nil, head<<(8*uint(run%4)))
			key = fmt.Appendf(key, "user-%06d", r.IntN(1_000_000))
			if tree.find(key) >= 0 {
				continue
			}
			s := int32(len(arena.refs))
			arena.set(s, key)
			tree.insert(s)
			slots, keys[s] = append(slots, s), string(key)
			if r.IntN(3) == 0 {
				at := r.IntN(len(slots))
				gone := slots[at]
				slots[at] = slots[len(slots)-1]
				slots = slots[:len(slots)-1]
				tree.remove(gone)
				arena.clear(gone)
				delete(keys, gone)
			}
		}
		for s, k := range keys {
			if got := tree.find([]byte(k)); got != s {
				t.Fatalf("run %d: key %q is at %d, not at %d", run, k, got, s)
			}
		}
		n, last := 0, ""
		for p := tree.first; p != nil; p = p.next {
			for i := range p.n {
				k := string(tree.key(p, i))
				if n > 0 && k <= last {
					t.Fatalf("run %d: %q comes after %q", run, k, last)
				}
				n, last = n+1, k
			}
		}
		if n != len(keys) || tree.n != n {
			t.Fatalf("run %d: %d keys in the leaves, %d counted, want %d", run, n, tree.n, len(keys))
		}
	}
}
