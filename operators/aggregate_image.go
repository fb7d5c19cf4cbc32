package operators

import (
	"tidemill/operators/zset"
	"tidemill/state/column"
	"tidemill/state/image"
)

// Snapshot returns the output rows as of the last published commit. State that is small is loaded for
// it; of larger state, the groups that are only on disk are read from there each time.
func (a *Aggregate) Snapshot() (*image.Snapshot, error) {
	a.noteEvicted()
	if err := a.warm(); err != nil {
		return nil, err
	}
	a.image.Mark(a.table.Freed()) // evicted since the last commit
	a.table.ReleaseFreed()
	if complete := a.table.Complete(); complete != a.whole {
		a.whole = complete
		a.image.MarkAll(a.table.Slots())
	}
	if err := a.image.Refresh(a.table.Slots(), a.buildChunk); err != nil {
		return nil, err
	}
	snap := a.image.Snapshot()
	if a.whole {
		return snap, nil
	}
	return snap, a.addEvicted(snap)
}

// ImageBytes returns the bytes of the image that snapshots have made. It is the committer's.
func (a *Aggregate) ImageBytes() int64 { return a.image.Bytes() }

// DropImage forgets the image: the next snapshot makes it again. Snapshots that were taken stay. It is the
// committer's.
func (a *Aggregate) DropImage() {
	if a.image.Bytes() == 0 {
		return
	}
	a.image.Reset()
	a.image.MarkAll(a.table.Slots())
}

// noteEvicted remembers that groups have gone to disk, before anything loads them again, which it may do
// into other slots: when all are back, the image is made anew.
func (a *Aggregate) noteEvicted() { a.whole = a.whole && a.table.Complete() }

// warm loads the groups that are only on disk if all of them are few.
func (a *Aggregate) warm() error {
	if a.table.Complete() {
		return nil
	}
	// Snappy about halves such entries, and an entry takes about twice its bytes in memory.
	n, err := a.c.DB.Keyspace(a.c.Keyspace).DiskBytes()
	if err != nil || 4*n > a.c.WarmBytes {
		return err
	}
	return a.table.Warm()
}

// addEvicted adds the rows of groups that are only on disk.
func (a *Aggregate) addEvicted(snap *image.Snapshot) error {
	builders := newBuilders(a.outT, image.SlotRows)
	n := 0
	end := func() {
		if n > 0 {
			snap.Chunks = append(snap.Chunks, image.ScanChunk{Chunk: image.NewChunk(finish(builders), n)})
			snap.Rows += int64(n)
		}
		builders, n = newBuilders(a.outT, image.SlotRows), 0
	}
	var err error
	eachErr := a.table.Each(func(s int32) bool {
		if a.table.Live(s) {
			return true // in the image
		}
		var b *zset.Batch
		if b, err = a.rows([]int32{s}); err != nil {
			return false
		}
		if b != nil {
			for i := range b.Cols {
				builders[i].AppendFrom(&b.Cols[i], 0)
			}
			if n++; n == image.SlotRows {
				end()
			}
		}
		return true
	})
	end()
	if err == nil {
		err = eachErr
	}
	return err
}

func (a *Aggregate) buildChunk(lo, hi int) ([]column.Column, int, error) {
	slots := make([]int32, 0, hi-lo)
	for s := lo; s < hi; s++ {
		if a.table.Live(int32(s)) && a.present(int32(s), false) {
			slots = append(slots, int32(s))
		}
	}
	b, err := a.rows(slots)
	if b == nil || err != nil {
		return nil, 0, err
	}
	return b.Cols, b.N, nil
}
