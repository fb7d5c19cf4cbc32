// Package top shows a running server at a glance: what is appended and how long it takes, what is read, and how
// large each relation is, refreshed in place.
package top

import (
	"context"
	"math"
	"strconv"
	"strings"
	"time"

	"tidemill/cmd/tidemill/internal/client"
)

// sample is the server at one moment.
type sample struct {
	at    time.Time
	stats *client.Stats
	calls map[string]histogram // by what was called
}

// histogram counts requests by how long they took: bucket i has those of at most bounds[i] seconds.
type histogram struct {
	bounds []float64
	counts []float64
}

// take asks the server.
func take(ctx context.Context, c *client.Client, now func() time.Time) (*sample, error) {
	stats, err := c.Stats(ctx)
	if err != nil {
		return nil, err
	}
	text, err := c.Text(ctx, "/metrics")
	if err != nil {
		return nil, err
	}
	return &sample{at: now(), stats: stats, calls: histograms(string(text))}, nil
}

// histograms reads the latencies of requests from the text that Prometheus reads.
func histograms(text string) map[string]histogram {
	out := map[string]histogram{}
	for line := range strings.Lines(text) {
		rest, ok := strings.CutPrefix(line, "tidemill_http_request_seconds_bucket{")
		if !ok {
			continue
		}
		labels, value, ok := strings.Cut(rest, "} ")
		n, err := strconv.ParseFloat(strings.TrimSpace(value), 64)
		bound, err2 := strconv.ParseFloat(label(labels, "le"), 64)
		if !ok || err != nil || err2 != nil {
			continue
		}
		call := label(labels, "call")
		h := out[call]
		h.bounds, h.counts = append(h.bounds, bound), append(h.counts, n)
		out[call] = h
	}
	return out
}

// label returns the value of a label in a="b",c="d".
func label(labels, name string) string {
	for part := range strings.SplitSeq(labels, ",") {
		if v, ok := strings.CutPrefix(part, name+`="`); ok {
			return strings.TrimSuffix(v, `"`)
		}
	}
	return ""
}

// since returns what came after an earlier histogram.
func (h histogram) since(before histogram) histogram {
	if len(before.counts) != len(h.counts) {
		return h
	}
	out := histogram{bounds: h.bounds, counts: make([]float64, len(h.counts))}
	for i := range h.counts {
		out.counts[i] = max(0, h.counts[i]-before.counts[i])
	}
	return out
}

// total is how many requests there were.
func (h histogram) total() float64 {
	if len(h.counts) == 0 {
		return 0
	}
	return h.counts[len(h.counts)-1]
}

// quantile estimates the duration that a share of the requests did not exceed; 0 when there were none.
func (h histogram) quantile(share float64) time.Duration {
	want := share * h.total()
	if want == 0 {
		return 0
	}
	low, below := 0.0, 0.0
	for i, n := range h.counts {
		if n >= want {
			if math.IsInf(h.bounds[i], 1) {
				return time.Duration(low * 1e9)
			}
			return time.Duration((low + (h.bounds[i]-low)*(want-below)/(n-below)) * 1e9)
		}
		low, below = h.bounds[i], n
	}
	return time.Duration(low * 1e9)
}
