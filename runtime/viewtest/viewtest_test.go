package viewtest

import (
	"flag"
	"testing"
	"time"
)

var (
	seedFlag     = flag.Uint64("viewtest.seed", 0, "run this seed only")
	durationFlag = flag.Duration("viewtest.duration", 0, "run random seeds for so long")
	commitsFlag  = flag.Int("viewtest.commits", 25, "commits of a case")
)

// TestViews runs four seeds, one given, or as many as fit the duration.
func TestViews(t *testing.T) {
	var totals Totals
	seeds := []uint64{1, 2, 3, 4}
	if *seedFlag != 0 {
		seeds = []uint64{*seedFlag}
	}
	start := time.Now()
	first := uint64(start.UnixNano())
	for i := 0; i < len(seeds) || time.Since(start) < *durationFlag; i++ {
		seed := first + uint64(i)
		if i < len(seeds) && (*durationFlag == 0 || *seedFlag != 0) {
			seed = seeds[i]
		}
		if err := Case(seed, *commitsFlag, t.TempDir, &totals, time.Minute); err != nil {
			t.Errorf("%v", err)
			if *durationFlag == 0 {
				break
			}
		}
		if *durationFlag > 0 && i%10 == 9 {
			t.Logf("%v: %v", time.Since(start).Round(time.Second), &totals)
		}
	}
	t.Logf("%v\n%s", &totals, totals.Why())
}
