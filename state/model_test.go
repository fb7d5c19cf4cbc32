package state

import (
	"encoding/binary"
	"errors"
	"flag"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
)

var (
	seedFlag   = flag.Uint64("seed", 1, "seed of the random tests; 0 takes one from the clock")
	roundsFlag = flag.Int("rounds", 1, "length of the random tests: a multiple of the usual")
)

// newRand returns a source whose seed is printed when the test fails.
func newRand(t testing.TB) *rand.Rand {
	seed := *seedFlag
	if seed == 0 {
		seed = uint64(time.Now().UnixNano())
	}
	t.Logf("-seed=%d", seed)
	return rand.New(rand.NewPCG(seed, 0))
}

func openTest(t testing.TB, fs vfs.FS) *DB {
	t.Helper()
	db, err := Open(Options{Dir: "state", FS: fs, MemTableBytes: 256 << 10, CacheBytes: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	return db
}

// crashClone returns what is left of fs after a crash.
func crashClone(fs *vfs.MemFS, r *rand.Rand) *vfs.MemFS {
	unsynced := []int{0, 30, 70, 100}[r.IntN(4)]
	return fs.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: unsynced, RNG: rand.New(rand.NewPCG(r.Uint64(), 2))})
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// sumCells keep an int64 a slot; an entry exists while it is not 0.
type sumCells struct{ cur, prev []int64 }

func (c *sumCells) Grow(n int) {
	c.cur = append(c.cur, make([]int64, n-len(c.cur))...)
	c.prev = append(c.prev, make([]int64, n-len(c.prev))...)
}

func (c *sumCells) Save(slots []int32) {
	for _, s := range slots {
		c.prev[s] = c.cur[s]
	}
}

func (c *sumCells) Restore(slots []int32) {
	for _, s := range slots {
		c.cur[s] = c.prev[s]
	}
}

func (c *sumCells) Reset(s int32) { c.cur[s], c.prev[s] = 0, 0 }

func (c *sumCells) Encode(dst []byte, s int32) []byte { return binary.AppendVarint(dst, c.cur[s]) }

func (c *sumCells) Decode(s int32, b []byte) ([]byte, error) {
	if c.cur[s] != 0 {
		return nil, errors.New("decoded into a slot that is not zero")
	}
	v, n := binary.Varint(b)
	if n <= 0 {
		return nil, errors.New("bad varint")
	}
	c.cur[s] = v
	return b[n:], nil
}

func (c *sumCells) Empty(s int32) bool { return c.cur[s] == 0 }

func (c *sumCells) Bytes() int64 { return 16 * int64(len(c.cur)) }

// textCells keep a string a slot and have no opinion on its existence.
type textCells struct {
	cur, prev []string
}

func (c *textCells) Grow(n int) {
	c.cur = append(c.cur, make([]string, n-len(c.cur))...)
	c.prev = append(c.prev, make([]string, n-len(c.prev))...)
}

func (c *textCells) Save(slots []int32) {
	for _, s := range slots {
		c.prev[s] = c.cur[s]
	}
}

func (c *textCells) Restore(slots []int32) {
	for _, s := range slots {
		c.cur[s] = c.prev[s]
	}
}

func (c *textCells) Reset(s int32) { c.cur[s], c.prev[s] = "", "" }

func (c *textCells) Encode(dst []byte, s int32) []byte {
	dst = binary.AppendUvarint(dst, uint64(len(c.cur[s])))
	return append(dst, c.cur[s]...)
}

func (c *textCells) Decode(s int32, b []byte) ([]byte, error) {
	if c.cur[s] != "" {
		return nil, errors.New("decoded into a slot that is not zero")
	}
	v, n := binary.Uvarint(b)
	if n <= 0 || v > uint64(len(b)-n) {
		return nil, errors.New("bad text")
	}
	c.cur[s] = string(b[n : n+int(v)])
	return b[n+int(v):], nil
}

func (c *textCells) Empty(int32) bool { return true }

func (c *textCells) Bytes() int64 { return 48 * int64(len(c.cur)) }
