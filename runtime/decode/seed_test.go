package decode

import (
	"flag"
	"math/rand/v2"
	"testing"
)

var seedFlag = flag.Uint64("decode.seed", 1, "seed of the random tests; 0 takes a new one")

// testSeed returns the seed of a random test and logs it.
func testSeed(t *testing.T) uint64 {
	seed := *seedFlag
	if seed == 0 {
		seed = rand.Uint64()
	}
	t.Logf("-decode.seed %d", seed)
	return seed
}
