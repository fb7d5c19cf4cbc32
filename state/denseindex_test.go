package state

import (
	"testing"
)

// TestFixedIndexAgainstMap walks keys that make the index an array and a hash table by turns.
func TestFixedIndexAgainstMap(t *testing.T) {
	rng := newRand(t)
	dense, hashed := 0, 0
	for range 60 {
		var x fixedIndex
		x.init(rng.Uint64())
		x.growKeys(1 << 14)
		want := map[uint64]int32{}
		var free []int32
		next := int32(0)
		base := []uint64{0, 1 << 63, ^uint64(0) - 5000, rng.Uint64()}[rng.IntN(4)]
		far := rng.IntN(3) == 0
		for range 6000 {
			key := base + uint64(rng.IntN(4000))
			if far && rng.IntN(500) == 0 {
				key = rng.Uint64()
			}
			s, there := want[key]
			if got := x.find(key); there && got != s || !there && got != -1 {
				t.Fatalf("key %d is found at %d, want %d, %t", key, got, s, there)
			}
			switch {
			case !there:
				if n := len(free); n > 0 {
					s, free = free[n-1], free[:n-1]
				} else {
					s = next
					next++
				}
				x.insert(key, s)
				want[key] = s
			case rng.IntN(3) == 0:
				x.remove(s)
				delete(want, key)
				free = append(free, s)
			}
			if x.dense.on() {
				dense++
			} else {
				hashed++
			}
		}
		keys := make([]uint64, 0, len(want)+2)
		for k := range want {
			keys = append(keys, k)
		}
		keys = append(keys, base+5000, base-1)
		out := make([]int32, len(keys))
		x.findAll(keys, out, nil)
		for i, k := range keys {
			if s, there := want[k]; there && out[i] != s || !there && out[i] != -1 {
				t.Fatalf("key %d is found at %d by findAll, want %d, %t", k, out[i], s, there)
			}
		}
		if x.n != len(want) {
			t.Fatalf("%d keys, want %d", x.n, len(want))
		}
	}
	if dense == 0 || hashed == 0 {
		t.Fatalf("%d steps as an array, %d as a hash table: both are to be met", dense, hashed)
	}
}
