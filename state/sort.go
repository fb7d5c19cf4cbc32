package state

import (
	"bytes"
	"cmp"
	"slices"
)

// radixFrom is the number of entries from which counting beats comparing (measured: 200 to 500).
const radixFrom = 512

// sort orders a part by key; entries of one key stay in the order in which they came.
func (cp *Checkpoint) sort(p *part) {
	if len(p.entries) < radixFrom {
		slices.SortStableFunc(p.entries, func(a, b entry) int {
			if c := cmp.Compare(a.head, b.head); c != 0 {
				return c
			}
			return bytes.Compare(cp.key(&a), cp.key(&b))
		})
		return
	}
	p.entries = radixSort(p.entries)
	for i := 0; i < len(p.entries); {
		j := i + 1
		for j < len(p.entries) && p.entries[j].head == p.entries[i].head {
			j++
		}
		if j-i > 1 {
			slices.SortStableFunc(p.entries[i:j], func(a, b entry) int {
				return bytes.Compare(cp.key(&a), cp.key(&b))
			})
		}
		i = j
	}
}

// radixSort orders entries by head, stably, a byte at a time from the last; a byte that is the same
// in all heads costs nothing.
func radixSort(from []entry) []entry {
	var counts [8][256]uint32
	for i := range from {
		h := from[i].head
		for d := range counts {
			counts[d][byte(h>>(8*d))]++
		}
	}
	to := make([]entry, len(from))
	for d := range counts {
		c := &counts[d]
		if c[byte(from[0].head>>(8*d))] == uint32(len(from)) {
			continue
		}
		var sum uint32
		for i, n := range c {
			c[i], sum = sum, sum+n
		}
		for i := range from {
			k := byte(from[i].head >> (8 * d))
			to[c[k]] = from[i]
			c[k]++
		}
		from, to = to, from
	}
	return from
}
