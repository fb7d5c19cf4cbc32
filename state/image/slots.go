package image

import "tidemill/state/column"

// SlotRows is how many slots share a chunk. A group that changed costs the rebuild of its chunk at
// the next read; doubled, a read after one change costs twice as much; halved, a full read has twice
// as many chunks to walk.
const SlotRows = 4096

// Slots is the image of an operator's output, which is kept by slot. The operator marks slots whose
// output may have changed; Refresh rebuilds their chunks, which snapshots share until then. It is the
// committer's.
type Slots struct {
	chunks []ScanChunk
	stale  []bool // per chunk
	any    bool
	rows   []int64 // live per chunk
}

// Mark says that the output of these slots may have changed.
func (s *Slots) Mark(slots []int32) {
	for _, i := range slots {
		k := int(i) / SlotRows
		for k >= len(s.stale) {
			s.stale = append(s.stale, true)
			s.chunks = append(s.chunks, ScanChunk{})
			s.rows = append(s.rows, 0)
		}
		s.stale[k] = true
	}
	s.any = s.any || len(slots) > 0
}

// Stale reports whether a Refresh has something to do.
func (s *Slots) Stale() bool { return s.any }

// Reset forgets all chunks.
func (s *Slots) Reset() { *s = Slots{} }

// Refresh rebuilds the chunks of marked slots. build returns the output of slots lo to hi (not
// included), as columns of hi-lo rows, and the bitmap of those that are there (nil for all).
func (s *Slots) Refresh(limit int, build func(lo, hi int) ([]column.Column, []byte, error)) error {
	if !s.any {
		return nil
	}
	for k := range s.stale {
		if !s.stale[k] {
			continue
		}
		lo, hi := k*SlotRows, min((k+1)*SlotRows, limit)
		if lo >= hi {
			s.chunks[k], s.rows[k], s.stale[k] = ScanChunk{}, 0, false
			continue
		}
		cols, live, err := build(lo, hi)
		if err != nil {
			return err
		}
		n := int64(hi - lo)
		if live != nil {
			n = 0
			for i := range hi - lo {
				if column.Bit(live, i) {
					n++
				}
			}
		}
		s.chunks[k] = ScanChunk{&Chunk{Base: uint64(lo) + 1, N: hi - lo, cols: cols}, live}
		s.rows[k], s.stale[k] = n, false
	}
	s.any = false
	return nil
}

// Snapshot returns the output as of the last Refresh.
func (s *Slots) Snapshot() *Snapshot {
	out := &Snapshot{}
	for k := range s.chunks {
		if s.rows[k] > 0 {
			out.Chunks = append(out.Chunks, s.chunks[k])
			out.Rows += s.rows[k]
		}
	}
	return out
}
