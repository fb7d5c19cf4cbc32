package state

import (
	"fmt"
	"testing"
)

// TestOrderedTreeDownwards gives a tree many keys with one beginning, then many with a smaller one, so that the first
// separator of the leftmost pages is above what their first children hold, and takes some out again.
func TestOrderedTreeDownwards(t *testing.T) {
	r := newRand(t)
	for run := range min(10, 2+2**roundsFlag) {
		var arena keyArena
		var tree orderedTree
		tree.init(&arena)
		keys := map[int32]string{}
		each := 1000 + 300*run
		for i := range 6 * each {
			key := fmt.Appendf(nil, "%c-user-%06d", 'f'-rune(r.IntN(1+i/each)), r.IntN(1_000_000))
			if tree.find(key) >= 0 {
				continue
			}
			s := int32(len(arena.refs))
			arena.set(s, key)
			tree.insert(s)
			keys[s] = string(key)
			if gone := r.Int32N(s + 1); r.IntN(8) == 0 && keys[gone] != "" {
				tree.remove(gone)
				arena.clear(gone)
				delete(keys, gone)
			}
			if i%max(1, 1000 / *roundsFlag) == 0 {
				checkOrderedTree(t, &tree, keys)
			}
		}
		checkOrderedTree(t, &tree, keys)
	}
}

func checkOrderedTree(t *testing.T, tree *orderedTree, keys map[int32]string) {
	t.Helper()
	for s, k := range keys {
		if got := tree.find([]byte(k)); got != s {
			t.Fatalf("of %d keys %q is at %d, not at %d", len(keys), k, got, s)
		}
	}
	n, last := 0, ""
	for p := tree.first; p != nil; p = p.next {
		for i := range p.n {
			k := string(tree.key(p, i))
			if n > 0 && k <= last {
				t.Fatalf("%q comes after %q", k, last)
			}
			n, last = n+1, k
		}
	}
	if n != len(keys) || tree.n != n {
		t.Fatalf("%d keys in the leaves, %d counted, want %d", n, tree.n, len(keys))
	}
}
