package viewtest

import (
	"flag"
	stdruntime "runtime"
	"sync"
	"testing"
	"time"
)

var (
	seedFlag     = flag.Uint64("viewtest.seed", 0, "run this seed only")
	durationFlag = flag.Duration("viewtest.duration", 0, "run random seeds for so long")
	casesFlag    = flag.Uint64("viewtest.cases", 4, "run the seeds from 1 to this")
	commitsFlag  = flag.Int("viewtest.commits", 25, "commits of a case")
)

// TestViews runs four seeds, one given, or as many fresh ones as fit the duration, which it names first. Its last line
// has the seeds and the totals.
func TestViews(t *testing.T) {
	run := &seeds{t: t, start: time.Now()}
	switch {
	case *seedFlag != 0:
		run.one(*seedFlag)
	case *durationFlag == 0:
		run.from(1, func(seed uint64) bool { return seed <= *casesFlag })
	default:
		fresh := uint64(run.start.UnixNano())
		t.Logf("seeds from %d", fresh)
		run.from(fresh, func(uint64) bool { return time.Since(run.start) < *durationFlag })
	}
	t.Logf("seeds %d to %d, %d commits each, %v: %v\n%s", run.first, run.last, *commitsFlag, time.Since(run.start).Round(time.Second), &run.totals, run.totals.Why())
}

// seeds runs cases and adds up what they did.
type seeds struct {
	t     *testing.T
	start time.Time

	mu          sync.Mutex // of what follows
	first, last uint64
	totals      Totals
	told        time.Time
}

// one runs the case of a seed.
func (s *seeds) one(seed uint64) {
	var own Totals
	err := Case(seed, *commitsFlag, s.t.TempDir, &own, time.Minute)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.first == 0 || seed < s.first {
		s.first = seed
	}
	s.last = max(s.last, seed)
	s.totals.add(&own)
	if err != nil {
		s.t.Errorf("%v", err)
	}
	if time.Since(s.told) > 30*time.Second {
		s.told = time.Now()
		s.t.Logf("%v, seed %d: %v", time.Since(s.start).Round(time.Second), seed, &s.totals)
	}
}

// from runs seeds, one on each core, while there are more and none has failed.
func (s *seeds) from(next uint64, more func(seed uint64) bool) {
	var wg sync.WaitGroup
	for range stdruntime.GOMAXPROCS(0) {
		wg.Go(func() {
			for !s.t.Failed() {
				s.mu.Lock()
				seed := next
				next++
				s.mu.Unlock()
				if !more(seed) {
					return
				}
				s.one(seed)
			}
		})
	}
	wg.Wait()
}
