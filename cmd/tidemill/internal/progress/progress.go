// Package progress shows how far a load has come: a line that is redrawn in place on a terminal, and otherwise only
// the notes, so that logs stay short.
package progress

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"tidemill/cmd/tidemill/internal/table"
)

// Options say where a bar is shown.
type Options struct {
	Name     string // what is being loaded
	Terminal bool
	Quiet    bool
	Width    func() int
	Unicode  bool
	Now      func() time.Time
}

// Bar is a line of progress. It is safe for concurrent use.
type Bar struct {
	w io.Writer
	o Options

	mu      sync.Mutex // guards what follows
	begun   time.Time
	first   int64 // rows that were there at the first report
	drawn   time.Time
	line    string
	visible bool
}

// redraw is how often the line changes: people cannot read faster.
const redraw = 50 * time.Millisecond

// New returns a bar that writes to w.
func New(w io.Writer, o Options) *Bar { return &Bar{w: w, o: o, begun: o.Now(), first: -1} }

// Note prints a line above the bar.
func (b *Bar) Note(text string) {
	if b.o.Quiet {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.clear()
	fmt.Fprintln(b.w, text)
	b.draw()
}

// At says how many rows there are, how many are rejected, and which share is done, -1 when that is not known.
func (b *Bar) At(rows, rejected int64, share float64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := b.o.Now()
	if b.first < 0 {
		b.first = rows
	}
	if !b.o.Terminal || b.o.Quiet {
		return
	}
	b.line = b.text(rows, rejected, share, now.Sub(b.begun))
	if share < 1 && now.Sub(b.drawn) < redraw && !b.drawn.IsZero() {
		return
	}
	b.drawn = now
	b.draw()
}

// text is the whole line: name, bar, share, rows, rate, what is left.
func (b *Bar) text(rows, rejected int64, share float64, took time.Duration) string {
	parts := []string{table.Cut(table.Clean(b.o.Name), 20)}
	if share >= 0 {
		parts = append(parts, bar(share, b.o.Unicode), fmt.Sprintf("%3.0f%%", 100*share))
	}
	parts = append(parts, table.Group(rows)+" rows")
	if took > 0 && rows > b.first {
		parts = append(parts, table.Rate(float64(rows-b.first)/took.Seconds())+" rows/s")
	}
	if rejected > 0 {
		parts = append(parts, table.Group(rejected)+" rejected")
	}
	if share > 0.02 && share < 1 && took > time.Second {
		left := time.Duration(float64(took) * (1 - share) / share)
		parts = append(parts, left.Round(time.Second).String()+" left")
	}
	s := strings.Join(parts, "  ")
	if w := b.o.Width(); w > 1 {
		s = table.Cut(s, w-1)
	}
	return s
}

// barWidth is how wide the bar itself is.
const barWidth = 24

func bar(share float64, unicode bool) string {
	full, empty := "#", "."
	if unicode {
		full, empty = "█", "░"
	}
	n := min(barWidth, max(0, int(share*barWidth+0.5)))
	return strings.Repeat(full, n) + strings.Repeat(empty, barWidth-n)
}

func (b *Bar) draw() {
	if b.line == "" {
		return
	}
	fmt.Fprintf(b.w, "\r%s\x1b[K", b.line)
	b.visible = true
}

func (b *Bar) clear() {
	if b.visible {
		fmt.Fprint(b.w, "\r\x1b[K")
		b.visible = false
	}
}

// Close leaves the last state in its line and begins a new one.
func (b *Bar) Close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.visible {
		b.draw()
		fmt.Fprintln(b.w)
		b.visible = false
	}
}
