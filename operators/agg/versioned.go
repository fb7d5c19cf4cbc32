package agg

import "unsafe"

// versioned is two versions of a plain value per slot: values whose assignment is a copy.
type versioned[T any] struct{ cur, prev []T }

// Grow makes slots below n exist.
func (v *versioned[T]) Grow(n int) {
	for len(v.cur) < n {
		var zero T
		v.cur, v.prev = append(v.cur, zero), append(v.prev, zero)
	}
}

// Save copies current values to previous ones.
func (v *versioned[T]) Save(slots []int32) {
	for _, s := range slots {
		v.prev[s] = v.cur[s]
	}
}

// Restore copies previous values to current ones.
func (v *versioned[T]) Restore(slots []int32) {
	for _, s := range slots {
		v.cur[s] = v.prev[s]
	}
}

// Reset zeroes a slot.
func (v *versioned[T]) Reset(slot int32) {
	var zero T
	v.cur[slot], v.prev[slot] = zero, zero
}

// Bytes returns the memory of both versions, without what values point to.
func (v *versioned[T]) Bytes() int64 {
	var zero T
	return int64(cap(v.cur)+cap(v.prev)) * int64(unsafe.Sizeof(zero))
}

func (v *versioned[T]) at(prev bool) []T {
	if prev {
		return v.prev
	}
	return v.cur
}
