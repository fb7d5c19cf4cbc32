package crashtest

import (
	"errors"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"tidemill/runtime"
)

var flipsFlag = flag.Int("crash.flips", 24, "bits to flip")

// kindOf returns what a file of a directory is; "" for those whose bytes mean nothing.
func kindOf(name string) string {
	base := path.Base(name)
	switch {
	case base == "LOCK":
		return ""
	case strings.Contains(name, "/log/"):
		return "log segment"
	case strings.HasSuffix(base, ".chunk"):
		return "chunk file"
	case strings.HasSuffix(base, ".sst"):
		return "state table"
	case strings.HasPrefix(base, "MANIFEST"):
		return "state manifest"
	}
	return "other state file"
}

// files lists all files under dir.
func files(fs vfs.FS, dir string) (names []string, err error) {
	list, err := fs.List(dir)
	for _, n := range list {
		full := fs.PathJoin(dir, n)
		st, err := fs.Stat(full)
		if err != nil {
			return nil, err
		}
		if !st.IsDir() {
			names = append(names, full)
			continue
		}
		sub, err := files(fs, full)
		if err != nil {
			return nil, err
		}
		names = append(names, sub...)
	}
	slices.Sort(names)
	return names, err
}

// shelf is a directory at rest and what it must answer.
type shelf struct {
	name   string
	fs     *vfs.MemFS
	ledger *ledger
	kinds  map[string][]string // files
	// tail says that the process was killed: damage to the last records of the log cannot be told from a torn
	// write, and takes the last append of each producer and the last statement.
	tail bool
}

func makeShelf(r *rand.Rand, killed bool) (*shelf, error) {
	fs := vfs.NewCrashableMem()
	s := &shelf{name: "closed", ledger: &ledger{seed: r.Uint64()}, kinds: map[string][]string{}, tail: killed}
	o := options(fs)
	if killed {
		s.name, o.Replay, o.Memory = "killed", 1<<40, 256<<20 // no checkpoint: all of it is in the log
	}
	e, err := runtime.Open(o)
	if err != nil {
		return nil, err
	}
	w := &run{e: e, l: s.ledger}
	if err := create(e); err != nil {
		return nil, errors.Join(err, e.Close())
	}
	w.start(r, 40)
	w.wg.Wait()
	s.fs = fs
	if killed {
		s.fs = fs.CrashClone(vfs.CrashCloneCfg{})
	}
	if err := errors.Join(w.err, e.Close()); err != nil {
		return nil, err
	}
	names, err := files(s.fs, dataDir)
	for _, n := range names {
		if k := kindOf(n); k != "" {
			s.kinds[k] = append(s.kinds[k], n)
		}
	}
	return s, err
}

// flip damages a copy and reads all of it. It returns whether the damage was reported.
func (s *shelf) flip(r *rand.Rand, name string) (told bool, err error) {
	fs := s.fs.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: 100, RNG: rand.New(rand.NewPCG(1, 1))})
	b, err := fs.UnsafeGetFileDataBuffer(name)
	if err != nil || len(b) == 0 {
		return false, err
	}
	at := r.IntN(len(b))
	if r.IntN(3) == 0 {
		at = min(r.IntN(256), len(b)-1) // headers
	}
	bit := byte(1) << r.IntN(8)
	b[at] ^= bit
	acked, sent := s.ledger.bounds()
	if s.tail && strings.Contains(name, "/log/") {
		for p := range clients {
			acked.appends[p] = max(0, acked.appends[p]-1)
		}
		acked.statements = max(0, acked.statements-1)
	}
	ln := &lineage{r: r}
	w, _, _, err := ln.open(&clone{fs: fs, ledger: s.ledger, acked: acked, sent: sent}, false)
	if w != nil {
		if cerr := w.e.Close(); err == nil && cerr != nil {
			err = cerr
		}
	}
	var lost *lostError
	if errors.As(err, &lost) {
		return false, fmt.Errorf("%s directory: bit %d of byte %d of %d of %s: %w", s.name, bit, at, len(b), name, err)
	}
	base, _, _ := strings.Cut(path.Base(name), ".") // Pebble names its tables by their number
	if err != nil && !strings.Contains(err.Error(), base) && !strings.Contains(err.Error(), dataDir) {
		return true, fmt.Errorf("%s directory: bit %d of byte %d of %d of %s: the error names no file: %w", s.name, bit, at, len(b), name, err)
	}
	return err != nil, nil
}

// TestFlips flips a bit in each kind of file: what is read is what was written, or an error that names a file.
func TestFlips(t *testing.T) {
	r, seed := newRand(t)
	var shelves []*shelf
	for _, killed := range []bool{false, true} {
		s, err := makeShelf(r, killed)
		if err != nil {
			t.Fatalf("-crash.seed %d: %v", seed, err)
		}
		shelves = append(shelves, s)
	}
	told, same := map[string]int{}, map[string]int{}
	wrong := 0
	for i := range *flipsFlag {
		s := shelves[i%2]
		kinds := slices.Sorted(maps.Keys(s.kinds))
		kind := kinds[i/2%len(kinds)]
		name := s.kinds[kind][r.IntN(len(s.kinds[kind]))]
		reported, err := s.flip(r, name)
		if err != nil {
			t.Errorf("-crash.seed %d: %v", seed, err)
			if wrong++; wrong > 9 {
				t.FailNow()
			}
		}
		if reported {
			told[kind]++
		} else {
			same[kind]++
		}
	}
	for _, k := range slices.Sorted(maps.Keys(shelves[0].kinds)) {
		t.Logf("%-16s %4d reported, %4d without effect", k, told[k], same[k])
	}
}
