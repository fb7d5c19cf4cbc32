//go:build linux && !race

package decode

import (
	"math/rand/v2"
	"os"
	"os/exec"
	"runtime/debug"
	"strconv"
	"testing"

	"golang.org/x/sys/unix"
)

// TestArrowUnderAddressLimit feeds damaged streams to a process that may map 4 GiB and no more: one
// length that is believed kills it, which no recover can prevent. The race detector needs more
// address space than that, so this file is left out there.
func TestArrowUnderAddressLimit(t *testing.T) {
	const env = "TIDEMILL_DECODE_UNDER_LIMIT"
	if s := os.Getenv(env); s != "" {
		seed, err := strconv.ParseUint(s, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		feedUnderLimit(t, seed)
		return
	}
	seed := testSeed(t)
	cmd := exec.Command(os.Args[0], "-test.run=^TestArrowUnderAddressLimit$")
	cmd.Env = append(os.Environ(), env+"="+strconv.FormatUint(seed, 10))
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("seed %d: the process died: %v\n%s", seed, err, out)
	}
}

func feedUnderLimit(t *testing.T, seed uint64) {
	const limit = 4 << 30
	if err := unix.Setrlimit(unix.RLIMIT_AS, &unix.Rlimit{Cur: limit, Max: limit}); err != nil {
		t.Fatal(err)
	}
	debug.SetMemoryLimit(256 << 20)
	table, seeds := arrowSeeds(t)
	r := rand.New(rand.NewPCG(seed, 0))
	d := NewArrow(table, Options{}) // the default bound, as a server has it
	for i := range 20_000 {
		if rows, err := d.Decode(mutate(r, seeds[i%len(seeds)])); err == nil && rows.N < 1000 {
			checkRows(t, rows)
		}
	}
}
