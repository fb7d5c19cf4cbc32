package commitlog

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
)

var (
	crashSeed   = flag.Uint64("crash-seed", 1, "seed of the crash tests, 0 for a random one")
	crashRounds = flag.Int("crash-rounds", 150, "histories of several crashes each")
)

func seeded(t *testing.T) *rand.Rand {
	seed := *crashSeed
	if seed == 0 {
		seed = rand.Uint64()
	}
	t.Logf("run again with -crash-seed=%d", seed)
	return rand.New(rand.NewPCG(seed, 0))
}

// history drives a log and remembers what it was told, through any number of crashes.
type history struct {
	rng       *rand.Rand
	attempted map[uint64][]byte // by sequence number, the newest attempt
	acked     uint64            // synced, as Sync said
	trimmed   uint64            // Trim was asked for this
	serial    byte              // makes each attempt's payload another one
}

func newHistory(rng *rand.Rand) *history {
	return &history{rng: rng, attempted: map[uint64][]byte{}}
}

// run appends, syncs, trims and reads until an error or the given number of steps.
func (h *history) run(l *Log, steps int) error {
	for range steps {
		switch k := h.rng.IntN(20); {
		case k < 12:
			seq := l.Last() + 1
			n := h.rng.IntN(300)
			if h.rng.IntN(6) == 0 {
				n = h.rng.IntN(20000)
			}
			h.serial++
			p := payload(seq+uint64(h.serial), n)
			h.attempted[seq] = p
			if err := l.Append(seq, p[:n/2], p[n/2:]); err != nil {
				return err
			}
		case k < 18:
			if err := l.Sync(); err != nil {
				return err
			}
			h.acked = l.Last()
		case k < 19:
			h.trimmed = max(h.trimmed, l.Last()/2)
			if err := l.Trim(h.trimmed); err != nil {
				return err
			}
		default:
			if err := h.check(l); err != nil {
				return fmt.Errorf("before a crash: %w", err)
			}
		}
	}
	return nil
}

// reopen opens the log after a crash: acknowledged ⊆ recovered ⊆ attempted.
func (h *history) reopen(o Options) (*Log, error) {
	l, err := Open(o)
	if err != nil {
		return nil, err
	}
	if l.Last() < h.acked {
		return nil, fmt.Errorf("recovered up to %d, acknowledged up to %d", l.Last(), h.acked)
	}
	if err := h.check(l); err != nil {
		return nil, err
	}
	for seq := range h.attempted {
		if seq > l.Last() { // never acknowledged, and must not come back
			delete(h.attempted, seq)
		}
	}
	h.acked = l.Last()
	return l, nil
}

// check reads the log and compares each record with its newest attempt.
func (h *history) check(l *Log) error {
	first, got, err := readAll(l, 0)
	if err != nil {
		return err
	}
	if uint64(len(got)) > 0 && first > h.trimmed+1 {
		return fmt.Errorf("the first is %d, trimmed up to %d", first, h.trimmed)
	}
	if n := l.Synced(); len(got) == 0 && n > 0 || len(got) > 0 && first+uint64(len(got))-1 != n {
		return fmt.Errorf("read %d records from %d, synced up to %d", len(got), first, n)
	}
	for i, p := range got {
		seq := first + uint64(i)
		if want, ok := h.attempted[seq]; !ok || !bytes.Equal(p, want) {
			return fmt.Errorf("record %d is not its newest attempt", seq)
		}
	}
	return nil
}

// Each history crashes several times, with 0 to 100 % of what was not synced on disk, by blocks of 4 KiB.
func TestCrash(t *testing.T) {
	rng := seeded(t)
	for round := range *crashRounds {
		fs := vfs.NewCrashableMem()
		h := newHistory(rng)
		segmentBytes := int64(1024) << rng.IntN(6)
		for crash := range 5 {
			o := testOptions(fs, segmentBytes)
			o.salt, o.foreground = rng.Uint64, rng.IntN(4) > 0
			if !o.foreground {
				o.salt = nil // rng is not for two goroutines
			}
			l, err := h.reopen(o)
			if err == nil {
				err = h.run(l, rng.IntN(60))
			}
			if err != nil {
				t.Fatalf("round %d, crash %d: %v", round, crash, err)
			}
			if rng.IntN(6) == 0 {
				must(t, l.Close())
				h.acked = l.Last()
			}
			clone := fs.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: rng.IntN(5) * 25, RNG: rng})
			_ = l.Close()
			fs = clone
		}
	}
}

// For every k the k-th operation that changes the disk fails, once or from then on. After the failure nothing
// is acknowledged, but for a segment that could not be made; then the machine crashes, or only the process.
func TestFailEveryOperation(t *testing.T) {
	rng := seeded(t)
	script := rng.Uint64()
	for _, sticky := range []bool{false, true} {
		for _, unsynced := range []int{-1, 0, 50, 100} { // -1: the process dies, the machine does not
			k := 0
			for failing := true; failing; k++ {
				failing = failOperation(t, script, k, sticky, unsynced, rng)
			}
			if k < 50 {
				t.Fatalf("the script has %d operations only", k)
			}
		}
	}
}

func failOperation(t *testing.T, script uint64, k int, sticky bool, unsynced int, rng *rand.Rand) (failed bool) {
	t.Helper()
	mem := vfs.NewCrashableMem()
	ops := 0
	fs := errorfs.Wrap(mem, errorfs.InjectorFunc(func(op errorfs.Op) error {
		if op.Kind.ReadOrWrite() == errorfs.OpIsRead || op.Kind == errorfs.OpFileClose {
			return nil
		}
		ops++
		if ops-1 == k || sticky && ops-1 > k {
			failed = true
			return errorfs.ErrInjected
		}
		return nil
	}))
	h := newHistory(rand.New(rand.NewPCG(script, 1)))
	fail := func(err error) {
		t.Helper()
		t.Fatalf("operation %d, sticky %v, unsynced %d %%: %v", k, sticky, unsynced, err)
	}
	for range 3 {
		l, err := h.reopen(testOptions(fs, 4096))
		if err != nil {
			if !errors.Is(err, errorfs.ErrInjected) {
				fail(err)
			}
			break
		}
		for err = h.run(l, 25); errors.Is(err, ErrNoSegment) && !sticky; {
			err = h.run(l, 10) // it may be tried again
		}
		if err == nil {
			if err = l.Close(); err == nil {
				h.acked = l.Last()
				continue
			}
		}
		if !errors.Is(err, errorfs.ErrInjected) {
			fail(err)
		}
		if !errors.Is(err, ErrNoSegment) {
			for _, err := range []error{l.Append(l.Last()+1, nil), l.Sync(), l.Trim(1 << 40), l.Close()} {
				if !errors.Is(err, errorfs.ErrInjected) && !errors.Is(err, ErrClosed) {
					fail(fmt.Errorf("after the failure: %w", err))
				}
			}
		}
		break
	}
	after := mem
	if unsynced >= 0 {
		after = mem.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: unsynced, RNG: rng})
	}
	l, err := h.reopen(testOptions(after, 4096))
	if err == nil {
		err = h.run(l, 10)
	}
	if err == nil { // what the second process found and acknowledged must survive the machine
		_, err = h.reopen(testOptions(after.CrashClone(vfs.CrashCloneCfg{}), 4096))
	}
	if err != nil {
		fail(err)
	}
	return failed
}

// After a failed sync the records stay readable from memory and are not on disk. A process that opens the log
// then, and syncs it, must not take them for durable without writing them again.
func TestRecordsAfterFailedSyncAreWrittenAgain(t *testing.T) {
	fs := &rangeFS{FS: vfs.NewMem()}
	l := mustOpen(t, testOptions(fs, 4096))
	must(t, l.Append(1, []byte("durable")))
	must(t, l.Sync())
	must(t, l.Append(2, []byte("in the page cache only")))
	must(t, l.Append(3, []byte("and this")))
	off := l.writing.off
	fs.from, fs.to = 0, 0
	l = mustOpen(t, testOptions(fs, 4096))
	if l.Last() != 3 {
		t.Fatal(l.Last())
	}
	first := l.active().first
	from := l.active().before(first).off + recordHeaderBytes + align(int64(len("durable")))
	if fs.from != from || fs.to < off {
		t.Fatalf("wrote [%d, %d) at open, want [%d, %d)", fs.from, fs.to, from, off)
	}
}

// rangeFS remembers the last contiguous range written.
type rangeFS struct {
	vfs.FS
	from, to int64
}

func (fs *rangeFS) OpenReadWrite(name string, c vfs.DiskWriteCategory, opts ...vfs.OpenOption) (vfs.File, error) {
	f, err := fs.FS.OpenReadWrite(name, c, opts...)
	return &rangeFile{f, fs}, err
}

type rangeFile struct {
	vfs.File
	fs *rangeFS
}

func (f *rangeFile) WriteAt(b []byte, off int64) (int, error) {
	if f.fs.to < off || f.fs.from > off {
		f.fs.from = off
	}
	f.fs.to = off + int64(len(b))
	return f.File.WriteAt(b, off)
}
