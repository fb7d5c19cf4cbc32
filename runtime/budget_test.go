package runtime

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

func TestSharesFitTheWhole(t *testing.T) {
	for _, memory := range []int64{1 << 30, DefaultMemory, 64 << 30} {
		b := divide(memory)
		var sum int64
		for _, s := range b.shares() {
			sum += s
		}
		if sum > memory || HeapBytes(memory)+b.state+b.plain+b.asWritten > memory {
			t.Errorf("of %d: shares %v, heap %d", memory, b.shares(), HeapBytes(memory))
		}
	}
}

// TestRelationsKeepTheirShare reads a view whose image is larger than the share: the next commit drops the image and
// evicts, and what is read after is right.
func TestRelationsKeepTheirShare(t *testing.T) {
	e := openTest(t, Options{Dir: t.TempDir(), Memory: 1 << 20})
	defer e.Close()
	const n = 30000
	show(t, e, "CREATE TABLE t (k BIGINT, v BIGINT)")
	show(t, e, "CREATE MATERIALIZED VIEW s AS SELECT k, sum(v) AS v FROM t GROUP BY k")
	show(t, e, fmt.Sprintf("INSERT INTO t SELECT i, 1 FROM range(%d) r(i)", n))
	for i := range 3 {
		expect(t, e, "SELECT count(*), sum(v) FROM s", fmt.Sprintf("%d %d", n, n+i))
		if m := e.Stats().Memory; i == 0 && m[ImagesPart] == 0 {
			t.Fatalf("no image after a read: %v", m)
		}
		must(t, e.do(context.Background(), func() error {
			e.looked = e.looked.Add(-lookEvery)
			return nil
		}))
		show(t, e, fmt.Sprintf("INSERT INTO t VALUES (%d, 1)", i))
		if err := e.Checkpoint(context.Background()); err != nil { // what is dirty cannot go
			t.Fatal(err)
		}
		must(t, e.do(context.Background(), func() error {
			e.looked = e.looked.Add(-lookEvery)
			e.maintain()
			return nil
		}))
		st := e.Stats()
		var sum int64
		for _, p := range []string{TablesPart, ViewsPart, ImagesPart, CheckpointPart} {
			sum += st.Memory[p]
		}
		if sum > st.MemoryShares[RelationsAccount] || st.Evicted == 0 {
			t.Fatalf("share %d, in use %d: %v, %d evicted", st.MemoryShares[RelationsAccount], sum, st.Memory, st.Evicted)
		}
	}
}

// TestQueriesSpill asks what does not fit the share of queries.
func TestQueriesSpill(t *testing.T) {
	dir := t.TempDir()
	left := filepath.Join(dir, spillDir, "left.tmp")
	must(t, os.MkdirAll(filepath.Dir(left), 0o755))
	must(t, os.WriteFile(left, []byte("of a crash"), 0o644))
	e := openTest(t, Options{Dir: dir})
	if _, err := os.Stat(left); !os.IsNotExist(err) {
		t.Fatalf("a file from before the crash is there: %v", err)
	}
	e.reader.o.MemoryLimit = 24 << 20 // the read engine is not open yet
	expect(t, e, "SELECT count(*) FROM (SELECT k, md5(k::VARCHAR) || md5((-k)::VARCHAR) AS t FROM range(400000) r(k) ORDER BY t OFFSET 10) WHERE t <> ''", "399990")
	if st := e.Stats(); st.Memory[QueriesAccount] > 24<<20 || st.SpilledBytes != 0 {
		t.Errorf("queries hold %d bytes and %d on disk when none runs", st.Memory[QueriesAccount], st.SpilledBytes)
	}
	must(t, e.Close())
	if names, err := os.ReadDir(filepath.Join(dir, spillDir)); len(names) > 0 || err != nil {
		t.Errorf("left after close: %v, %v", names, err)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
