package runtime

import (
	"context"
	"errors"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"tidemill/state/column"
)

// appendValue appends a row to t, a table of one BIGINT column, as a producer.
func appendValue(e *Engine, v int64, producer string, seq uint64, prev *uint64) (AppendResult, error) {
	rel, err := e.Catalog().Lookup("t")
	if err != nil {
		return AppendResult{}, err
	}
	return e.Append(context.Background(), AppendRequest{Relation: rel.ID, Version: rel.Version, N: 1,
		Cols:     []column.Column{column.Of(column.T(column.Int64), []int64{v}, nil)},
		Producer: producer, Seq: seq, Prev: prev, Hash: uint64(v)})
}

// TestProducers repeats and skips appends: in one life, after a crash and after a clean restart.
func TestProducers(t *testing.T) {
	fs := vfs.NewCrashableMem()
	e := openTest(t, Options{Dir: "data", FS: fs})
	show(t, e, "CREATE TABLE t (v BIGINT)")
	first := map[uint64]uint64{} // seq to commit
	for seq := uint64(1); seq <= 3; seq++ {
		res, err := appendValue(e, int64(10*seq), "p", seq, nil)
		if err != nil || res.Duplicate || res.Accepted != 1 {
			t.Fatalf("seq %d: %+v, %v", seq, res, err)
		}
		first[seq] = res.Commit
	}
	check := func() {
		t.Helper()
		for seq := uint64(1); seq <= 3; seq++ {
			res, err := appendValue(e, int64(10*seq), "p", seq, nil)
			if err != nil || !res.Duplicate || res.Commit != first[seq] || res.Accepted != 1 {
				t.Errorf("seq %d again: %+v, %v", seq, res, err)
			}
		}
		var gap *SeqError
		if _, err := appendValue(e, 50, "p", 5, nil); !errors.As(err, &gap) || gap.Last != 3 {
			t.Errorf("seq 5 after 3: %v", err)
		}
		wrong := uint64(2)
		if _, err := appendValue(e, 50, "p", 5, &wrong); !errors.As(err, &gap) || gap.Last != 3 {
			t.Errorf("seq 5 with prev 2 after 3: %v", err)
		}
		if _, err := appendValue(e, 11, "p", 1, nil); !errors.Is(err, ErrSeqReused) {
			t.Errorf("seq 1 with another body: %v", err)
		}
		expect(t, e, "SELECT count(*), sum(v) FROM t", "3 60")
	}
	check()

	crashed := fs.CrashClone(vfs.CrashCloneCfg{}) // all that is not synced is lost
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	for range 2 { // replayed from the log, then read from the checkpoint that Close makes
		e = openTest(t, Options{Dir: "data", FS: crashed})
		check()
		if err := e.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
