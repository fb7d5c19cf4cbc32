package crashtest

import (
	"errors"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"syscall"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"tidemill/runtime"
)

var faultsFlag = flag.Int("crash.faults", 8, "failed file operations")

// saboteur fails the after-th operation that fits, or all from it on.
type saboteur struct {
	mu     sync.Mutex // guards all
	armed  bool
	fits   func(errorfs.Op) bool
	after  int
	sticky bool
	err    error
	hit    string // the first operation that failed
	failed int
}

// MaybeError implements errorfs.Injector.
func (s *saboteur) MaybeError(op errorfs.Op) error {
	if op.Kind.ReadOrWrite() != errorfs.OpIsWrite || op.Kind == errorfs.OpFileClose || op.Kind == errorfs.OpLock {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.armed || !s.fits(op) {
		return nil
	}
	if s.after--; s.after > 0 || s.after < 0 && !s.sticky {
		return nil
	}
	if s.failed++; s.hit == "" {
		s.hit = fmt.Sprintf("operation %d on %s", op.Kind, op.Path)
	}
	return s.err
}

// String implements errorfs.Injector.
func (s *saboteur) String() string { return "saboteur" }

func (s *saboteur) arm(on bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.armed = on
}

// fault is one kind of failure.
type fault struct {
	class  string
	opens  bool // from the beginning of Open on
	sab    *saboteur
	seed   uint64
	engine string // what became of the engine
}

func newFault(r *rand.Rand) *fault {
	f := &fault{seed: r.Uint64(), opens: r.IntN(4) == 0}
	s := &saboteur{sticky: r.IntN(2) == 0, err: syscall.EIO}
	name := "EIO"
	if r.IntN(2) == 0 {
		s.err, name = syscall.ENOSPC, "ENOSPC"
	}
	most := 0
	switch r.IntN(7) {
	case 5, 6:
		f.class, most, s.fits = "new files of log and tables", 40, func(op errorfs.Op) bool {
			return op.Kind == errorfs.OpCreate && (isLog(op) || isChunk(op))
		}
	case 0:
		f.class, most, s.fits = "any file", 900, func(errorfs.Op) bool { return true }
	case 1:
		f.class, most, s.fits = "the log", 400, isLog
	case 2:
		f.class, most, s.fits = "a sync of the log", 120, func(op errorfs.Op) bool { return isLog(op) && isSync(op) }
	case 3:
		f.class, most, s.fits = "the state", 300, isState
	default:
		f.class, most, s.fits = "chunk files", 80, isChunk
	}
	if f.opens {
		most /= 10
	}
	s.after = 1 + r.IntN(most)
	if s.sticky {
		name += " for good"
	} else {
		name += " once"
	}
	f.class += ", " + name
	f.sab = s
	return f
}

// TestFaults fails file operations: nothing is acknowledged that a crash loses, what was acknowledged stays
// readable, a full log is an error that ends when there is room, and the next open is right.
func TestFaults(t *testing.T) {
	r, seed := newRand(t)
	outcomes := map[string]int{}
	for i := range *faultsFlag {
		f := newFault(r)
		if err := f.play(r); err != nil {
			t.Fatalf("-crash.seed %d, fault %d (%s; at open %v; %s): %v", seed, i, f.class, f.opens, f.sab.hit, err)
		}
		outcomes[f.class+": "+f.engine]++
	}
	for _, k := range slices.Sorted(maps.Keys(outcomes)) {
		t.Logf("%4d %s", outcomes[k], k)
	}
}

func (f *fault) play(r *rand.Rand) error {
	fs := vfs.NewCrashableMem()
	ln := &lineage{r: r}
	l := &ledger{seed: f.seed}
	e, err := runtime.Open(options(fs))
	if err != nil {
		return err
	}
	w := &run{e: e, l: l}
	if err := create(e); err != nil {
		return errors.Join(err, e.Close())
	}
	if f.opens { // with something to recover
		w.start(r, 8)
		w.wg.Wait()
	}
	if err := errors.Join(w.err, e.Close()); err != nil {
		return err
	}
	f.sab.arm(f.opens)
	if e, err = runtime.Open(options(errorfs.Wrap(fs, f.sab))); err == nil {
		w = &run{e: e, l: l}
		f.sab.arm(true)
		err = f.work(w, r)
		f.sab.arm(false)
		if cerr := e.Close(); err == nil && cerr != nil && f.sab.hit == "" {
			err = fmt.Errorf("close: %w", cerr)
		}
		if err != nil {
			return err
		}
	} else {
		f.sab.arm(false)
		f.engine = "not opened"
		if f.sab.hit == "" {
			return fmt.Errorf("open: %w", err)
		}
	}
	c := &clone{fs: crash(fs, r), kind: "after a fault", ledger: l}
	c.acked, c.sent = l.bounds()
	again, _, _, err := ln.open(c, false)
	if again != nil {
		err = errors.Join(err, again.e.Close())
	}
	if err != nil {
		return fmt.Errorf("after it: %w", err)
	}
	return nil
}

// roomAgain takes the fault away: the engine, which has not stopped, goes on.
func (f *fault) roomAgain(w *run, r *rand.Rand) error {
	f.sab.arm(false)
	if _, _, err := rows(w.e, "CHECKPOINT"); err != nil {
		return fmt.Errorf("with room again: %w", err)
	}
	before, _ := w.l.bounds()
	again := &run{e: w.e, l: w.l}
	again.start(r, 5)
	again.wg.Wait()
	after, _ := w.l.bounds()
	for p := range clients {
		if again.err == nil && after.appends[p] == before.appends[p] {
			again.err = fmt.Errorf("with room again: producer %d stays at %d", p, after.appends[p])
		}
	}
	return errors.Join(again.err, w.e.Err())
}

// work runs clients until the fault has had its effect, and looks at what it is.
func (f *fault) work(w *run, r *rand.Rand) error {
	w.start(r, 30)
	w.wg.Wait()
	if w.err != nil {
		return w.err
	}
	failed := w.e.Err()
	if failed == nil && f.sab.hit == "" {
		f.engine = "no fault"
	} else if failed == nil {
		f.engine = "went on"
		if err := f.roomAgain(w, r); err != nil {
			return err
		}
	} else {
		f.engine = "stopped"
		if f.sab.hit == "" {
			return failed
		}
		for p := range clients {
			seq := w.l.send(p)
			if res, err := w.e.Append(background, w.prepare(p, seq)); !down(err) {
				return fmt.Errorf("after %w an append gives %v, %w", failed, res, err)
			}
		}
	}
	acked, _ := w.l.bounds()
	want := w.l.appended(acked)
	w.l.apply(want, 0, acked.statements)
	got, err := readModel(w.e)
	if err != nil {
		return fmt.Errorf("read (engine %s, %v): %w", f.engine, failed, err)
	}
	if d := difference(got, want); d != "" {
		return fmt.Errorf("read (engine %s, %v): %s", f.engine, failed, d)
	}
	if err := viewsRight(w.e, false); err != nil {
		return fmt.Errorf("read (engine %s, %v): %w", f.engine, failed, err)
	}
	return nil
}
