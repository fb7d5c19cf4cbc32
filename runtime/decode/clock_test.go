package decode

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"

	"tidemill/state/column"
)

// TestClockAgainstParseText: what the fast paths take, column.ParseText takes with the same value.
func TestClockAgainstParseText(t *testing.T) {
	seed := testSeed(t)
	r := rand.New(rand.NewPCG(seed, 0))
	kinds := []column.Kind{column.TimestampS, column.TimestampMS, column.Timestamp, column.TimestampNS, column.TimestampTZ}
	taken := 0
	for range 20_000 {
		s := fmt.Sprintf("%04d-%02d-%02d", r.IntN(10_000), r.IntN(14), r.IntN(33))
		if v, ok := dateOf([]byte(s)); ok {
			if raw, err := column.ParseText(column.T(column.Date), s); err != nil || int32(le.Uint32(raw)) != v {
				t.Fatalf("seed %d: %s is day %d, and ParseText has %v, %v", seed, s, v, raw, err)
			}
		} else if _, err := column.ParseText(column.T(column.Date), s); err == nil && s[:4] != "0000" {
			t.Fatalf("seed %d: %s is a date, and the fast path leaves it", seed, s)
		}
		s += fmt.Sprintf("%c%02d:%02d:%02d", "T "[r.IntN(2)], r.IntN(25), r.IntN(61), r.IntN(61))
		for range r.IntN(11) {
			if len(s) == 19 {
				s += "."
			}
			s += string('0' + rune(r.IntN(10)))
		}
		if r.IntN(2) == 0 {
			s += "Z"
		}
		k := kinds[r.IntN(len(kinds))]
		if v, ok := timestampOf([]byte(s), k); ok {
			taken++
			raw, err := column.ParseText(column.T(k), s)
			if err != nil || !bytes.Equal(raw, le.AppendUint64(nil, uint64(v))) {
				t.Fatalf("seed %d: %s as %s is %d, and ParseText has %v, %v", seed, s, column.T(k), v, raw, err)
			}
		}
	}
	if taken < 5000 {
		t.Errorf("seed %d: the fast path took only %d", seed, taken)
	}
}
