package image_test

import (
	"errors"
	"fmt"
	"maps"
	"testing"

	"tidemill/state/column"
	"tidemill/state/column/columntest"
	"tidemill/state/image"
)

// TestSlots: marked at random and refreshed at random, a snapshot shows the output as of the last
// refresh, and never changes; only chunks with a mark are built.
func TestSlots(t *testing.T) {
	r := columntest.Rand(t)
	var s image.Slots
	limit := 0
	output := map[int]int64{} // slot to value, where there is one
	stale := map[int]bool{}   // chunks
	build := func(lo, hi int) ([]column.Column, int, error) {
		if lo%image.SlotRows != 0 || hi > limit || hi-lo > image.SlotRows || !stale[lo/image.SlotRows] {
			return nil, 0, fmt.Errorf("build %d to %d of %d", lo, hi, limit)
		}
		var at, vals []int64
		for i := lo; i < hi; i++ {
			if v, ok := output[i]; ok {
				at, vals = append(at, int64(i)), append(vals, v)
			}
		}
		bigint := column.T(column.Int64)
		return []column.Column{column.Of(bigint, at, nil), column.Of(bigint, vals, nil)}, len(at), nil
	}
	show := func(sn *image.Snapshot) map[int]int64 {
		got := map[int]int64{}
		for _, c := range sn.Chunks {
			cols, err := c.Columns()
			if err != nil || c.Live != nil {
				t.Fatal(err, c.Live)
			}
			for i, at := range column.Values[int64](&cols[0]) {
				got[int(at)] = column.Values[int64](&cols[1])[i]
			}
		}
		if int64(len(got)) != sn.Rows {
			t.Fatalf("%d rows, announced %d", len(got), sn.Rows)
		}
		return got
	}
	type frozenSlots struct {
		snap *image.Snapshot
		then map[int]int64
	}
	var snaps []frozenSlots
	for range 60 {
		if r.IntN(3) == 0 {
			limit += r.IntN(3_000)
			for i := range limit {
				if _, ok := output[i]; !ok && r.IntN(2) == 0 {
					output[i] = 0
					s.Mark([]int32{int32(i)})
					stale[i/image.SlotRows] = true
				}
			}
		}
		for range r.IntN(20) {
			if limit == 0 {
				break
			}
			i := r.IntN(limit)
			if output[i] = r.Int64(); r.IntN(3) == 0 {
				delete(output, i)
			}
			s.Mark([]int32{int32(i)})
			stale[i/image.SlotRows] = true
		}
		if len(stale) > 0 {
			for k := range (limit-1)/image.SlotRows + 1 { // chunks before the first mark
				stale[k] = stale[k] || len(snaps) == 0
			}
		}
		if s.Stale() != (len(stale) > 0) {
			t.Fatal("stale", s.Stale(), stale)
		}
		if err := s.Refresh(limit, build); err != nil {
			t.Fatal(err)
		}
		if s.Stale() {
			t.Fatal("stale after a refresh")
		}
		clear(stale)
		snaps = append(snaps, frozenSlots{s.Snapshot(), maps.Clone(output)})
	}
	for i, f := range snaps {
		if !maps.Equal(show(f.snap), f.then) {
			t.Fatal("snapshot", i, "differs")
		}
	}
}

// TestSlotsShrinkAndFail: a refresh that fails leaves its chunk stale, a limit below a chunk empties
// it, and Reset forgets everything.
func TestSlotsShrinkAndFail(t *testing.T) {
	var s image.Slots
	broken := errors.New("no output")
	all := func(lo, hi int) ([]column.Column, int, error) {
		return []column.Column{column.Nulls(column.T(column.Int64), hi-lo)}, hi - lo, nil
	}
	s.Mark(nil)
	if s.Stale() || s.Refresh(0, all) != nil || s.Snapshot().Rows != 0 {
		t.Fatal("stale without a mark")
	}
	s.Mark([]int32{2*image.SlotRows + 5})
	err := s.Refresh(3*image.SlotRows, func(lo, hi int) ([]column.Column, int, error) {
		if lo > 0 {
			return nil, 0, broken
		}
		return all(lo, hi)
	})
	if !errors.Is(err, broken) || !s.Stale() {
		t.Fatal(err, s.Stale())
	}
	if err := s.Refresh(2*image.SlotRows+10, all); err != nil {
		t.Fatal(err)
	}
	if sn := s.Snapshot(); sn.Rows != 2*image.SlotRows+10 || len(sn.Chunks) != 3 {
		t.Fatal(sn.Rows)
	}
	s.Mark([]int32{0, image.SlotRows, 2 * image.SlotRows})
	if err := s.Refresh(image.SlotRows, all); err != nil || s.Snapshot().Rows != image.SlotRows {
		t.Fatal(err, s.Snapshot().Rows)
	}
	s.MarkAll(image.SlotRows + 1)
	if err := s.Refresh(image.SlotRows+1, all); err != nil || s.Snapshot().Rows != image.SlotRows+1 {
		t.Fatal(err, s.Snapshot().Rows)
	}
	if s.Reset(); s.Stale() || s.Snapshot().Rows != 0 {
		t.Fatal("Reset left something")
	}
}
