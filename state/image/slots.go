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
	bytes  int64   // of all chunks
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

// MarkAll says that the output of all slots below n may have changed.
func (s *Slots) MarkAll(n int) {
	for i := 0; i < n; i += SlotRows {
		s.Mark([]int32{int32(i)})
	}
}

// Stale reports whether a Refresh has something to do.
func (s *Slots) Stale() bool { return s.any }

// Reset forgets all chunks.
func (s *Slots) Reset() { *s = Slots{} }

// Refresh rebuilds the chunks of marked slots. build returns the output of slots lo to hi (not
// included): the columns and number of the rows that are there.
func (s *Slots) Refresh(limit int, build func(lo, hi int) ([]column.Column, int, error)) error {
	if !s.any {
		return nil
	}
	for k := range s.stale {
		if !s.stale[k] {
			continue
		}
		lo, hi := k*SlotRows, min((k+1)*SlotRows, limit)
		var before int64
		if c := s.chunks[k].Chunk; c != nil {
			before = c.memory()
		}
		if lo >= hi {
			s.bytes -= before
			s.chunks[k], s.rows[k], s.stale[k] = ScanChunk{}, 0, false
			continue
		}
		cols, n, err := build(lo, hi)
		if err != nil {
			return err
		}
		s.chunks[k] = ScanChunk{Chunk: &Chunk{Base: uint64(lo) + 1, N: n, cols: cols}}
		s.bytes += s.chunks[k].Chunk.memory() - before
		s.rows[k], s.stale[k] = int64(n), false
	}
	s.any = false
	return nil
}

// Bytes returns the memory of all chunks.
func (s *Slots) Bytes() int64 { return s.bytes }

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
