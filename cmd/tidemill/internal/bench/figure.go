package bench

import (
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"tidemill/cmd/tidemill/internal/client"
)

// Figure is one measured case.
type Figure struct {
	Scenario string  `json:"scenario"`
	Case     string  `json:"case"`
	Rate     float64 `json:"rate,omitempty"`
	Unit     string  `json:"unit,omitempty"` // of the rate
	// P50 and P99 are of the requests that the rate counts, in milliseconds.
	P50    float64 `json:"p50_ms,omitempty"`
	P99    float64 `json:"p99_ms,omitempty"`
	PeakMB int64   `json:"peak_mb,omitempty"` // of the server's process; 0 when it is not ours
	Right  bool    `json:"right"`             // every answer
	Wrong  string  `json:"wrong,omitempty"`   // the first answer that was not
}

// timed fills in a rate of things done, and the latencies of the requests.
func (f *Figure) timed(n float64, unit string, took time.Duration, l *client.Latencies) *Figure {
	f.Rate, f.Unit = n/took.Seconds(), unit
	q := l.Quantiles(.5, .99)
	f.P50, f.P99 = q[0].Seconds()*1000, q[1].Seconds()*1000
	return f
}

// judge sets whether answers were right: err is what the check of them said.
func (f *Figure) judge(err error) *Figure {
	f.Right = err == nil
	if err != nil {
		f.Wrong = err.Error()
	}
	return f
}

const lineFormat = "%-10s %-34s %20s %11s %11s %9s  %s\n"

func (r *runner) header() {
	fmt.Fprintf(r.Out, lineFormat, "scenario", "case", "rate", "p50", "p99", "peak", "answers")
}

// report prints a figure, and writes it with the machine as a line of JSON.
func (r *runner) report(f *Figure) error {
	f.Scenario = r.scenario
	rate, peak, answers := "", "", "right"
	if f.Unit != "" {
		rate = grouped(int64(f.Rate)) + " " + f.Unit
	}
	if f.PeakMB > 0 {
		peak = strconv.FormatInt(f.PeakMB, 10) + " MB"
	}
	if !f.Right {
		answers = "WRONG: " + f.Wrong
		r.wrong++
	}
	fmt.Fprintf(r.Out, lineFormat, f.Scenario, f.Case, rate, millis(f.P50), millis(f.P99), peak, answers)
	if r.JSON == nil {
		return nil
	}
	line := struct {
		*Figure
		Version string    `json:"version,omitempty"`
		Time    time.Time `json:"time"`
		Machine *Machine  `json:"machine"`
	}{f, r.Version, time.Now().UTC().Truncate(time.Second), r.machine}
	return json.NewEncoder(r.JSON).Encode(line)
}

func millis(ms float64) string {
	if ms == 0 {
		return ""
	}
	return fmt.Sprintf("%.2f ms", ms)
}

// grouped writes a positive integer with commas.
func grouped(n int64) string {
	text := strconv.FormatInt(n, 10)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}

// count writes a number of things.
func count(n int, thing string) string {
	if n != 1 {
		thing += "s"
	}
	return grouped(int64(n)) + " " + thing
}
