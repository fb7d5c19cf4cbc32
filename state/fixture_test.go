package state

import (
	"context"
	"flag"
	"fmt"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
)

var rewriteFixture = flag.Bool("rewrite-fixture", false, "write the fixture of the current format anew")

// fillFixture writes what the fixture holds.
func fillFixture(t *testing.T, db *DB) {
	cp := db.NewCheckpoint(42)
	for i := range 100 {
		cp.Put(5, fmt.Append(nil, "key", i), fmt.Append(nil, "value", i))
	}
	cp.SetMeta("catalog", []byte("a catalog"))
	must(t, cp.Commit(context.Background()))
}

// TestOldFormats opens a directory of every format that ever was.
func TestOldFormats(t *testing.T) {
	const dir = "testdata/format1"
	if *rewriteFixture {
		must(t, vfs.Default.RemoveAll(dir))
		db, err := Open(Options{Dir: dir, FS: vfs.Default})
		must(t, err)
		fillFixture(t, db)
		must(t, db.Close())
	}
	fs := vfs.NewMem()
	if ok, err := vfs.Clone(vfs.Default, fs, dir, "state"); err != nil || !ok {
		t.Fatalf("copy %s: %v %v", dir, ok, err)
	}
	db := openTest(t, fs)
	if db.Applied() != 42 || db.HashSeed() == 0 {
		t.Fatalf("applied %d, seed %x", db.Applied(), db.HashSeed())
	}
	n := 0
	must(t, db.Keyspace(5).Scan(nil, nil, func(k, v []byte) bool {
		if string(v) != "value"+string(k[3:]) {
			t.Fatalf("%q is %q", k, v)
		}
		n++
		return true
	}))
	if v, ok, err := db.Meta("catalog"); n != 100 || string(v) != "a catalog" || !ok || err != nil {
		t.Fatalf("%d entries, catalog %q %v %v", n, v, ok, err)
	}
	must(t, db.Close())
}
