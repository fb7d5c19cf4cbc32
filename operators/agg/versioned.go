package agg

import "unsafe"

// versioned is two versions of a plain value per slot: values whose assignment is a copy. The two lie side
// by side, because with many groups a row's cost is waiting for memory: saving brings what is then changed.
type versioned[T any] struct{ v []pair[T] }

type pair[T any] struct{ cur, prev T }

// Grow makes slots below n exist.
func (v *versioned[T]) Grow(n int) { v.v = grown(v.v, n) }

// grown returns list with n elements at least, new ones zero.
func grown[T any](list []T, n int) []T {
	if n <= len(list) {
		return list
	}
	out := make([]T, n)
	copy(out, list)
	return out
}

// Save copies current values to previous ones.
func (v *versioned[T]) Save(slots []int32) {
	for _, s := range slots {
		p := &v.v[s]
		p.prev = p.cur
	}
}

// Restore copies previous values to current ones.
func (v *versioned[T]) Restore(slots []int32) {
	for _, s := range slots {
		p := &v.v[s]
		p.cur = p.prev
	}
}

// Reset zeroes a slot.
func (v *versioned[T]) Reset(slot int32) { v.v[slot] = pair[T]{} }

// Bytes returns the memory of both versions, without what values point to.
func (v *versioned[T]) Bytes() int64 {
	var p pair[T]
	return int64(cap(v.v)) * int64(unsafe.Sizeof(p))
}

func (v *versioned[T]) at(slot int32, prev bool) *T {
	if prev {
		return &v.v[slot].prev
	}
	return &v.v[slot].cur
}

// set gives both versions of a slot a value.
func (v *versioned[T]) set(slot int32, value T) { v.v[slot] = pair[T]{value, value} }
