package runtime

import (
	"errors"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"tidemill/state/column"
)

// logSyncs fails the syncs of the log while it is set.
type logSyncs struct{ atomic.Bool }

// MaybeError implements errorfs.Injector.
func (l *logSyncs) MaybeError(op errorfs.Op) error {
	sync := op.Kind == errorfs.OpFileSync || op.Kind == errorfs.OpFileSyncData || op.Kind == errorfs.OpFileSyncTo
	if l.Load() && sync && strings.Contains(op.Path, "/"+logDir+"/") {
		return syscall.EIO
	}
	return nil
}

// String implements errorfs.Injector.
func (*logSyncs) String() string { return "syncs of the log" }

// TestFailedSync: an append whose fsync fails is not acknowledged, and no reader sees it.
func TestFailedSync(t *testing.T) {
	fs, bad := vfs.NewCrashableMem(), &logSyncs{}
	e := openTest(t, Options{Dir: "/data", FS: errorfs.Wrap(fs, bad)})
	show(t, e, "CREATE TABLE t (v BIGINT)")
	show(t, e, "CREATE MATERIALIZED VIEW n AS SELECT v, count(*) AS n FROM t GROUP BY v")
	if _, err := appendValue(e, 7, "p", 1, nil); err != nil {
		t.Fatal(err)
	}
	before := e.Commit()
	bad.Store(true)
	var failed *FailedError
	if res, err := appendValue(e, 7, "p", 2, nil); !errors.As(err, &failed) {
		t.Errorf("acknowledged as %+v, %v", res, err)
	}
	if got := e.Commit(); got != before {
		t.Errorf("commit %d is published, %d was the last to be durable", got, before)
	}
	_, row, err := e.LookupRow("n", []string{"7"})
	if err != nil || row == nil || column.Values[int64](&row[1])[0] != 1 {
		t.Errorf("a lookup finds %v, %v", row, err)
	}
	if _, err := appendValue(e, 7, "p", 3, nil); !errors.As(err, &failed) {
		t.Errorf("the next append: %v", err)
	}
	crashed := fs.CrashClone(vfs.CrashCloneCfg{})
	if err := e.Close(); !errors.As(err, &failed) {
		t.Errorf("close: %v", err)
	}
	e = openTest(t, Options{Dir: "/data", FS: crashed})
	expect(t, e, "SELECT * FROM n", "7 1")
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
}
