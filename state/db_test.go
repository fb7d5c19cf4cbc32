package state

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
)

func listing(t *testing.T, fs vfs.FS, dir string) string {
	names, err := fs.List(dir)
	must(t, err)
	slices.Sort(names)
	var b strings.Builder
	for _, n := range names {
		content, err := readAll(fs, fs.PathJoin(dir, n))
		must(t, err)
		fmt.Fprintf(&b, "%s %q\n", n, content)
	}
	return b.String()
}

func TestOpenRefusesOthers(t *testing.T) {
	write := func(name, content string) func(vfs.FS) error {
		return func(fs vfs.FS) error {
			f, err := fs.Create("state/"+name, vfs.WriteCategoryUnspecified)
			if err != nil {
				return err
			}
			_, err = f.Write([]byte(content))
			return errors.Join(err, f.Close())
		}
	}
	cases := []struct {
		name string
		make func(vfs.FS) error
		want error
	}{
		{"a stray file", write("notes.txt", "hello"), ErrNotOurs},
		{"another identity", write(identityFile, "something else\n"), ErrNotOurs},
		{"a newer format", write(identityFile, "tidemill state 2\n"), ErrNewerFormat},
		{"another Pebble", func(fs vfs.FS) error {
			p, err := pebble.Open("state", &pebble.Options{FS: fs, Logger: pebbleLogger{}})
			if err != nil {
				return err
			}
			return errors.Join(p.Set([]byte("k"), nil, pebble.Sync), p.Close())
		}, ErrNotOurs},
	}
	for _, c := range cases {
		fs := vfs.NewMem()
		must(t, fs.MkdirAll("state", 0o755))
		must(t, c.make(fs))
		before := listing(t, fs, "state")
		if _, err := Open(Options{Dir: "state", FS: fs}); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", c.name, err, c.want)
		}
		if after := listing(t, fs, "state"); after != before {
			t.Errorf("%s: changed from\n%s\nto\n%s", c.name, before, after)
		}
	}
}

func TestOpenChecksIdentityKey(t *testing.T) {
	fs := vfs.NewMem()
	p, err := pebble.Open("state", &pebble.Options{FS: fs, Logger: pebbleLogger{}})
	must(t, err)
	must(t, p.Set([]byte("k"), nil, pebble.Sync))
	must(t, p.Close())
	must(t, writeSynced(fs, "state", "state/"+identityFile, "tidemill state 1\n"))
	if _, err := Open(Options{Dir: "state", FS: fs}); !errors.Is(err, ErrNotOurs) {
		t.Fatalf("open: %v, want %v", err, ErrNotOurs)
	}
}

func TestSeedAndPositionStay(t *testing.T) {
	fs := vfs.NewMem()
	db := openTest(t, fs)
	seed := db.HashSeed()
	if db.Applied() != 0 {
		t.Fatalf("a new directory is at %d", db.Applied())
	}
	must(t, db.NewCheckpoint(7).Commit(context.Background()))
	if db.Applied() != 7 {
		t.Fatalf("applied %d, want 7", db.Applied())
	}
	must(t, db.Close())
	db = openTest(t, fs)
	if db.Applied() != 7 || db.HashSeed() != seed {
		t.Fatalf("reopened at %d with seed %x, want 7 and %x", db.Applied(), db.HashSeed(), seed)
	}
	must(t, db.Close())
}

func TestCheckpointOrder(t *testing.T) {
	db := openTest(t, vfs.NewMem())
	ctx := context.Background()
	cp := db.NewCheckpoint(5)
	must(t, cp.Commit(ctx))
	if err := cp.Commit(ctx); !errors.Is(err, ErrOrder) {
		t.Fatalf("second commit: %v", err)
	}
	if err := db.NewCheckpoint(4).Commit(ctx); !errors.Is(err, ErrOrder) {
		t.Fatalf("earlier position: %v", err)
	}
	must(t, db.NewCheckpoint(5).Commit(ctx))
	must(t, db.Close())
	must(t, db.Close())
	if err := db.NewCheckpoint(6).Commit(ctx); !errors.Is(err, ErrClosed) {
		t.Fatalf("after close: %v", err)
	}
}

func TestCheckpointCancelled(t *testing.T) {
	db := openTest(t, vfs.NewMem())
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	cp := db.NewCheckpoint(1)
	cp.Put(1, []byte("k"), []byte("v"))
	if err := cp.Commit(ctx); err != nil && !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	must(t, db.NewCheckpoint(2).Commit(context.Background()))
	if v, ok, err := db.Keyspace(1).Get([]byte("k")); err != nil || !ok || string(v) != "v" {
		t.Fatalf("got %q %v %v", v, ok, err)
	}
	must(t, db.Close())
}

// TestGenerations fills a keyspace in several batches, makes it live, and drops the old one.
func TestGenerations(t *testing.T) {
	fs := vfs.NewMem()
	db := openTest(t, fs)
	ctx := context.Background()
	cp := db.NewCheckpoint(1)
	cp.Put(10, []byte("old"), []byte("1"))
	must(t, cp.Commit(ctx))
	for i := range 3 {
		f := db.NewFill()
		f.Put(11, fmt.Append(nil, "new", i), bytes.Repeat([]byte{byte(i)}, 100_000))
		must(t, f.Commit(ctx))
	}
	if db.Applied() != 1 {
		t.Fatalf("a fill moved the position to %d", db.Applied())
	}
	cp = db.NewCheckpoint(2)
	cp.DeleteRange(10, nil, nil)
	cp.SetMeta("live", []byte{11})
	must(t, cp.Commit(ctx))
	must(t, db.Close())
	db = openTest(t, fs)
	ids, err := db.Keyspaces()
	must(t, err)
	if !slices.Equal(ids, []uint32{11}) {
		t.Fatalf("keyspaces %v, want 11", ids)
	}
	var keys []string
	must(t, db.Keyspace(11).Scan([]byte("new1"), nil, func(k, v []byte) bool {
		keys = append(keys, string(k))
		return true
	}))
	if !slices.Equal(keys, []string{"new1", "new2"}) {
		t.Fatalf("scan gave %q", keys)
	}
	must(t, db.Close())
}

func TestSortOrdersKeys(t *testing.T) {
	r := newRand(t)
	db := openTest(t, vfs.NewMem())
	for _, n := range []int{1, 10, radixFrom - 1, radixFrom, 5000} {
		cp := db.NewCheckpoint(1)
		keys := randomKeys(r, n)
		for i, k := range keys {
			cp.Put(3, k, binary.AppendUvarint(nil, uint64(i)))
		}
		p := cp.parts[0]
		cp.sort(p)
		order := func(e *entry) int { v, _ := binary.Uvarint(cp.value(e)); return int(v) }
		for i := 1; i < n; i++ {
			a, b := &p.entries[i-1], &p.entries[i]
			c := bytes.Compare(cp.key(a), cp.key(b))
			if c > 0 || c == 0 && order(a) > order(b) {
				t.Fatalf("%d entries: %x (%d) before %x (%d)", n, cp.key(a), order(a), cp.key(b), order(b))
			}
			if !bytes.Equal(cp.key(b), keys[order(b)]) {
				t.Fatalf("key %x has another's value", cp.key(b))
			}
		}
	}
	must(t, db.Close())
}
