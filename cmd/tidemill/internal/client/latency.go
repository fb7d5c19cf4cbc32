package client

import (
	"slices"
	"sync"
	"time"
)

// Latencies collects how long requests took. It is safe for concurrent use; the zero value is empty.
type Latencies struct {
	mu   sync.Mutex
	took []time.Duration
}

// Add takes over the durations of one client.
func (l *Latencies) Add(took ...time.Duration) {
	l.mu.Lock()
	l.took = append(l.took, took...)
	l.mu.Unlock()
}

// Len returns how many there are.
func (l *Latencies) Len() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.took)
}

// Quantiles returns the durations that the given shares do not exceed; 0 for each when there are none.
func (l *Latencies) Quantiles(shares ...float64) []time.Duration {
	l.mu.Lock()
	sorted := slices.Clone(l.took)
	l.mu.Unlock()
	slices.Sort(sorted)
	out := make([]time.Duration, len(shares))
	if len(sorted) == 0 {
		return out
	}
	for i, s := range shares {
		out[i] = sorted[int(s*float64(len(sorted)-1))]
	}
	return out
}
