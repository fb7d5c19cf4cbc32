package image

import "tidemill/state/column"

const (
	// smallRows and smallBytes are what makes a file worth leaving alone: one with less of both is
	// merged with what is written beside it. Doubled, each checkpoint of a slow table rewrites twice as
	// much.
	smallRows  = 65_536
	smallBytes = 16 << 20
	// fileBlocks bounds a file to about a million rows, the most that one compaction rewrites for the
	// sake of a single dead quarter.
	fileBlocks = 8
)

// Save is one checkpoint of a table. Rows.Plan makes it on the committer's goroutine, Write runs on any,
// and when that checkpoint is durable or has failed, Rows.Installed or Rows.Failed takes it back on the
// committer's. A table has one Save at a time; rows may be appended and killed meanwhile.
type Save struct {
	types   []column.Type
	gen     int
	next    uint64
	runs    []*run
	bitmaps []Entry  // of chunks that stay where they are
	kept    []*Chunk // those chunks
	dropped []*File
}

// run is a stretch of chunks that is written anew, without its dead rows.
type run struct {
	chunks []ScanChunk
	dead   []int // of each chunk when planned
	files  []*File
}

// segment is a stretch of places that stand or fall together: a file, or neighbours in memory.
type segment struct {
	lo, hi  int
	file    *File
	rewrite bool
}

// Plan decides what a checkpoint of the table as it is now has to write: the chunks that are in no
// file, files of which a quarter is dead, and small files beside those. It returns nil when
// nothing has changed since the last.
func (r *Rows) Plan() *Save {
	r.seal()
	s := &Save{types: r.types, gen: len(r.changes), next: r.next}
	segs := r.segments()
	for k := 0; k < len(segs); {
		if !segs[k].rewrite {
			s.keep(r.sealed[segs[k].lo:segs[k].hi])
			k++
			continue
		}
		u := &run{}
		for ; k < len(segs) && segs[k].rewrite; k++ {
			if segs[k].file != nil {
				s.dropped = append(s.dropped, segs[k].file)
			}
			for i := segs[k].lo; i < segs[k].hi; i++ {
				p := &r.sealed[i]
				p.shared = p.live != nil
				u.chunks = append(u.chunks, ScanChunk{p.chunk, p.live})
				u.dead = append(u.dead, p.dead)
			}
		}
		s.runs = append(s.runs, u)
	}
	if len(s.runs) == 0 && len(s.bitmaps) == 0 {
		return nil
	}
	s.dropped = append(s.dropped, r.failed...)
	return s
}

// segments returns the stretches of the table, and says which are to be written.
func (r *Rows) segments() []segment {
	var segs []segment
	var small []bool
	for i := 0; i < len(r.sealed); {
		g := segment{lo: i, file: r.sealed[i].chunk.file()}
		rows, dead := 0, 0
		for ; i < len(r.sealed) && r.sealed[i].chunk.file() == g.file; i++ {
			rows += r.sealed[i].chunk.N
			dead += r.sealed[i].dead
		}
		g.hi = i
		g.rewrite = g.file == nil || dead > 0 && 4*dead >= rows
		segs = append(segs, g)
		small = append(small, g.file != nil && rows-dead < smallRows && g.file.entry.size() < smallBytes)
	}
	for k := 1; k < len(segs); k++ { // small files join their neighbours, forwards and back
		segs[k].rewrite = segs[k].rewrite || small[k] && segs[k-1].rewrite
	}
	for k := len(segs) - 2; k >= 0; k-- {
		segs[k].rewrite = segs[k].rewrite || small[k] && segs[k+1].rewrite
	}
	return segs
}

// keep plans to save what was killed in chunks that stay.
func (s *Save) keep(places []place) {
	for i := range places {
		if p := &places[i]; p.dirty {
			p.shared, p.dirty = true, false
			s.bitmaps = append(s.bitmaps, Entry{entryKey(keyLive, p.chunk.Base), p.live})
			s.kept = append(s.kept, p.chunk)
		}
	}
}

func (c *Chunk) file() *File {
	if c.load == nil {
		return nil
	}
	return c.load.file
}

// Installed puts the files of a durable checkpoint in the place of the chunks that they hold, so that
// those leave the heap, and returns the paths of files that nothing on disk refers to any more. Those
// may be removed: Write has mapped them, so snapshots read on. Rows killed since Plan stay killed.
func (r *Rows) Installed(s *Save) (obsolete []string) {
	for _, u := range s.runs {
		at := 0
		for r.sealed[at].chunk != u.chunks[0].Chunk {
			at++
		}
		fresh := u.places(r.sealed[at : at+len(u.chunks)])
		r.sealed = append(r.sealed[:at:at], append(fresh, r.sealed[at+len(u.chunks):]...)...)
		r.sealedChanged = true
	}
	r.failed = nil
	for _, f := range s.dropped {
		obsolete = append(obsolete, f.path)
	}
	return obsolete
}

// Failed undoes Plan when the checkpoint did not become durable, or may not have: what it would have
// saved is again unsaved. In case it is durable after all, the files that Write made stay until the
// next save, which writes all of their rows again, deletes their entries.
func (r *Rows) Failed(s *Save) {
	for _, u := range s.runs {
		r.failed = append(r.failed, u.files...)
	}
	k := 0 // kept chunks are in the table's order
	for i := 0; i < len(r.sealed) && k < len(s.kept); i++ {
		if r.sealed[i].chunk == s.kept[k] {
			r.sealed[i].dirty = true
			k++
		}
	}
}

// places returns the run's chunks in their files, less what has been killed since it was planned.
func (u *run) places(old []place) []place {
	var fresh []place
	for _, f := range u.files {
		fresh = f.appendPlaces(fresh, nil)
	}
	k, at := 0, 0 // a new chunk, and how many of its rows are before the old row
	for o := range old {
		if old[o].dead == u.dead[o] {
			at += old[o].chunk.N - old[o].dead
			for k < len(fresh) && at >= fresh[k].chunk.N {
				k, at = k+1, at-fresh[k].chunk.N
			}
			continue
		}
		then, now := u.chunks[o], old[o].live
		for i := range then.N {
			if !then.alive(i) {
				continue
			}
			if at == fresh[k].chunk.N {
				k, at = k+1, 0
			}
			if !bit(now, i) {
				fresh[k].kill(at)
			}
			at++
		}
	}
	return fresh
}
