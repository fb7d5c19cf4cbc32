package runtime

import (
	"fmt"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// spillDir is where queries put what does not fit their share of memory. Nothing in it outlives a query that ends
// well; what a crash leaves is removed at the next start.
const spillDir = "spill"

// spillFactor bounds the spilled bytes of all queries by a multiple of Options.Memory. Free room bounds them as
// well, by half: the log needs the same disk, and without room for it appends are refused.
const spillFactor = 4

// clearSpill removes what a crash has left. The directory is locked.
func (e *Engine) clearSpill() error {
	if err := e.opts.FS.RemoveAll(e.path(spillDir)); err != nil {
		return fmt.Errorf("remove what queries left in %s: %w", e.path(spillDir), err)
	}
	return nil
}

// spill returns where the queries of one of the two read engines may spill and how many bytes, or "" where they may
// not: DuckDB knows only the disk, and a file system of tests is elsewhere. Each has a directory of its own, since
// they would give their files the same names.
func (e *Engine) spill(engine string) (dir string, maxBytes int64) {
	if e.opts.FS != vfs.Default {
		return "", 0
	}
	maxBytes = spillFactor * e.opts.Memory
	if u, err := e.opts.FS.GetDiskUsage(e.opts.Dir); err == nil {
		maxBytes = min(maxBytes, int64(u.AvailBytes/2))
	}
	return e.opts.FS.PathJoin(e.path(spillDir), engine), maxBytes / 2
}
