package crashtest

import (
	"errors"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"tidemill/runtime"
)

var (
	clonesFlag = flag.Int("crash.clones", 16, "crash clones to take and open")
	seedFlag   = flag.Uint64("crash.seed", 1, "seed of all random choices; 0 takes one from the clock")
)

func newRand(t *testing.T) (*rand.Rand, uint64) {
	t.Helper()
	seed := *seedFlag
	if seed == 0 {
		seed = uint64(time.Now().UnixNano())
	}
	t.Logf("seed %d", seed)
	return rand.New(rand.NewPCG(seed, 0)), seed
}

// options are such that everything happens often: segments of 64 KiB, checkpoints after a few milliseconds of
// commits, caches that hold a part of the state.
func options(fs vfs.FS) runtime.Options {
	return runtime.Options{Dir: dataDir, FS: fs, SegmentBytes: 64 << 10, Memory: 1 << 20, Replay: 15 * time.Millisecond, Workers: 2}
}

// lineage is a directory that crashes, is opened, goes on and crashes again.
type lineage struct {
	t      *testing.T
	r      *rand.Rand
	count  map[string]int // clones by kind
	reopen []time.Duration
	log    func(vfs.FS) vfs.FS // wraps the file system on which the clients work; nil for none
	stats  struct{ evicted, checkpoints int64 }
}

// open opens an engine on a clone and checks it. When nested is set, a further clone is taken in recovery.
func (ln *lineage) open(c *clone, nested bool) (w *run, cam *camera, found mark, err error) {
	cam = newCamera(c.fs, c.ledger, rand.New(rand.NewPCG(ln.r.Uint64(), 3)))
	if nested {
		cam.aim("in recovery", 1+ln.r.IntN(30), func(errorfs.Op) bool { return true })
	}
	var under vfs.FS = errorfs.Wrap(c.fs, cam)
	if ln.log != nil {
		under = ln.log(under)
	}
	start := time.Now()
	e, err := runtime.Open(options(under))
	if err != nil {
		return nil, cam, found, fmt.Errorf("open: %w", err)
	}
	ln.reopen = append(ln.reopen, time.Since(start))
	cam.mu.Lock()
	cam.fits = nil
	cam.mu.Unlock()
	w = &run{e: e, l: c.ledger.at(c.sent)}
	found, err = check(w, c.acked, c.sent, ln.r)
	return w, cam, found, err
}

// verify opens a clone, and what crashes while it is opened, and checks both.
func (ln *lineage) verify(c *clone, depth int) error {
	ln.count[c.kind]++
	nested := depth < 3 && ln.r.IntN(2) == 0
	w, cam, _, err := ln.open(c, nested)
	if w != nil {
		ln.close(w)
	}
	if err != nil {
		return fmt.Errorf("clone %s: %w", c.kind, err)
	}
	for _, again := range cam.clones() {
		again.acked, again.sent = c.acked, c.sent
		if err := ln.verify(again, depth+1); err != nil {
			return fmt.Errorf("clone %s, then %w", c.kind, err)
		}
	}
	return nil
}

func (ln *lineage) close(w *run) {
	ln.stats.evicted += w.e.Stats().Evicted
	ln.stats.checkpoints += w.e.Stats().Checkpoints
	if err := w.e.Close(); err != nil && !down(err) {
		ln.t.Errorf("close: %v", err)
	}
}

// aim chooses where the next clone is taken.
func (ln *lineage) aim(cam *camera, w *run) {
	in := func(kind string) func(errorfs.Op) bool {
		return func(errorfs.Op) bool { k := w.inside.Load(); return k != nil && *k == kind }
	}
	switch ln.r.IntN(10) {
	case 0, 1, 2:
		cam.aim("in a checkpoint", 1+ln.r.IntN(25), func(op errorfs.Op) bool { return isState(op) || isChunk(op) })
	case 3, 4:
		cam.aim("in a CREATE", 1+ln.r.IntN(8), in("CREATE"))
	case 5:
		cam.aim("in a DROP", 1+ln.r.IntN(4), in("DROP"))
	default:
		cam.aim("anywhere", 1+ln.r.IntN(200), func(errorfs.Op) bool { return true })
	}
}

// live runs the clients on an open engine until a few clones have been taken.
func (ln *lineage) live(w *run, cam *camera, clones int) []*clone {
	cam.ledger = w.l
	w.start(ln.r, 50)
	idle := make(chan struct{})
	go func() { w.wg.Wait(); close(idle) }()
	for range clones {
		ln.aim(cam, w)
		select {
		case <-cam.ready:
		case <-idle:
		}
	}
	if err := viewsRight(w.e, true); err != nil {
		w.fail("while appends go on: %w", err)
	}
	w.stop.Store(true)
	<-idle
	return cam.clones()
}

// born makes a new directory with its tables.
func (ln *lineage) born(seed uint64) (*clone, error) {
	fs := vfs.NewCrashableMem()
	c := &clone{fs: fs, kind: "new", ledger: &ledger{seed: seed}}
	e, err := runtime.Open(options(fs))
	if err != nil {
		return nil, err
	}
	return c, errors.Join(create(e), e.Close())
}

// generations takes clones of one directory over several lives.
func (ln *lineage) generations(want int) error {
	c, err := ln.born(ln.r.Uint64())
	if err != nil {
		return err
	}
	for life := 0; life < 5 && ln.total() < want; life++ {
		w, cam, found, err := ln.open(c, false)
		if err != nil {
			if w != nil {
				ln.close(w)
			}
			return fmt.Errorf("life %d: %w", life, err)
		}
		known := w.l
		w.l = c.ledger.at(found)
		for p := range clients { // the check has learnt commits
			copy(w.l.commits[p], known.commits[p])
		}
		taken := ln.live(w, cam, 4)
		ln.close(w)
		if w.err != nil {
			return fmt.Errorf("life %d: %w", life, w.err)
		}
		if len(taken) == 0 {
			return nil
		}
		goes := ln.r.IntN(len(taken))
		for i, cl := range taken {
			if i == goes {
				ln.count[cl.kind]++
				continue
			}
			if err := ln.verify(cl, 0); err != nil {
				return fmt.Errorf("life %d: %w", life, err)
			}
		}
		c = taken[goes]
	}
	return ln.verify(c, 0)
}

func (ln *lineage) total() int {
	n := 0
	for _, k := range ln.count {
		n += k
	}
	return n
}

func (ln *lineage) report(t *testing.T) {
	for _, k := range slices.Sorted(maps.Keys(ln.count)) {
		t.Logf("%5d clones %s", ln.count[k], k)
	}
	if n := len(ln.reopen); n > 0 {
		slices.Sort(ln.reopen)
		t.Logf("%5d opened, half of them in %v, the slowest in %v", n, ln.reopen[n/2].Round(time.Millisecond), ln.reopen[n-1].Round(time.Millisecond))
	}
	t.Logf("%d checkpoints, %d entries evicted", ln.stats.checkpoints, ln.stats.evicted)
}

func TestCrash(t *testing.T) {
	r, seed := newRand(t)
	ln := &lineage{t: t, r: r, count: map[string]int{}}
	told := 0
	for ln.total() < *clonesFlag {
		if err := ln.generations(*clonesFlag); err != nil {
			ln.report(t)
			t.Fatalf("-crash.seed %d, after %d clones: %v", seed, ln.total(), err)
		}
		if n := ln.total(); n >= told+250 {
			told = n
			t.Logf("%d clones", n)
		}
	}
	ln.report(t)
	if ln.stats.evicted == 0 || ln.stats.checkpoints == 0 {
		t.Error("the caches held everything, or no checkpoint was taken: the test has lost its point")
	}
}

// TestWithoutFsync shows that the check sees what it is for.
func TestWithoutFsync(t *testing.T) {
	r, _ := newRand(t)
	ln := &lineage{t: t, r: r, count: map[string]int{}, log: func(fs vfs.FS) vfs.FS { return forgetful{fs} }}
	const most = 40
	for ln.total() < most {
		err := ln.generations(most)
		if err == nil {
			continue
		}
		t.Logf("found after %d clones: %v", ln.total(), err)
		return
	}
	t.Fatalf("%d clones of an engine that does not sync its log, and nothing was missing", most)
}

// TestCrashWhileNew clones at each operation of the first open and of the first definitions.
func TestCrashWhileNew(t *testing.T) {
	r, _ := newRand(t)
	step := 1
	if *clonesFlag < 1000 {
		step = 13
	}
	opened := 0
	for k := 1 + r.IntN(step); ; k += step {
		fs := vfs.NewCrashableMem()
		l := &ledger{}
		cam := newCamera(fs, l, r)
		cam.aim("new", k, func(errorfs.Op) bool { return true })
		e, err := runtime.Open(options(errorfs.Wrap(fs, cam)))
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(create(e), e.Close()); err != nil {
			t.Fatal(err)
		}
		taken := cam.clones()
		if len(taken) == 0 {
			t.Logf("%d clones", opened)
			return
		}
		if e, err = runtime.Open(options(taken[0].fs)); err != nil {
			t.Fatalf("operation %d: %v", k, err)
		}
		opened++
		var names, all []string
		for _, rel := range e.Catalog().Relations() {
			names = append(names, rel.Name)
		}
		all = append(all, "events", "accounts")
		for i := range views {
			if views[i].fixed {
				all = append(all, views[i].name)
			}
		}
		if len(names) > len(all) || strings.Join(names, " ") != strings.Join(all[:len(names)], " ") {
			t.Fatalf("operation %d: it has %v", k, names)
		}
		if err := e.Close(); err != nil {
			t.Fatalf("operation %d: %v", k, err)
		}
	}
}
