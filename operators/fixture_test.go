package operators_test

import (
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"tidemill/operators"
	"tidemill/state"
)

func openDB(t testing.TB) *state.DB {
	t.Helper()
	db, err := state.Open(state.Options{Dir: "state", FS: vfs.NewMem()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	return db
}

func newAggregate(t testing.TB, c operators.AggregateConfig) *operators.Aggregate {
	t.Helper()
	a, err := operators.NewAggregate(c)
	if err != nil {
		t.Fatal(err)
	}
	return a
}
