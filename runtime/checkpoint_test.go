package runtime

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
)

// chunkWrites fails what is written to chunk files while it is set.
type chunkWrites struct{ atomic.Bool }

// MaybeError implements errorfs.Injector.
func (c *chunkWrites) MaybeError(op errorfs.Op) error {
	if c.Load() && op.Kind.ReadOrWrite() == errorfs.OpIsWrite && strings.Contains(op.Path, "/"+chunkDir+"/") {
		return syscall.EIO
	}
	return nil
}

// String implements errorfs.Injector.
func (*chunkWrites) String() string { return "writes of chunk files" }

// TestFailedCheckpointKeepsTheLog: what a checkpoint did not save is in the log, over all of its segments.
func TestFailedCheckpointKeepsTheLog(t *testing.T) {
	fs, bad := vfs.NewCrashableMem(), &chunkWrites{}
	o := Options{Dir: "/data", FS: errorfs.Wrap(fs, bad), SegmentBytes: 64 << 10}
	e := openTest(t, o)
	show(t, e, "CREATE TABLE t (v BIGINT)")
	for range 8 {
		show(t, e, "INSERT INTO t SELECT range FROM range(4000)")
	}
	bad.Store(true)
	var failed *FailedError
	if err := e.Checkpoint(context.Background()); !errors.As(err, &failed) {
		t.Fatalf("a checkpoint that cannot write its chunks: %v", err)
	}
	crashed := fs.CrashClone(vfs.CrashCloneCfg{})
	if err := e.Close(); !errors.As(err, &failed) {
		t.Errorf("close: %v", err)
	}
	o.FS = crashed
	e = openTest(t, o)
	expect(t, e, "SELECT count(*), sum(v) FROM t", "32000 63984000")
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
}
