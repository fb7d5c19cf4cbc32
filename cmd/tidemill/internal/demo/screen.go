package demo

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"tidemill/cmd/tidemill/internal/client"
)

// screen prints what happens: with colours and lines that are refreshed on a terminal, plainly elsewhere.
type screen struct {
	out      io.Writer
	terminal bool
	drawn    bool // progress stands above the cursor
}

// The marks of a terminal.
const (
	bold  = "\x1b[1m"
	dim   = "\x1b[2m"
	green = "\x1b[32m"
	red   = "\x1b[31m"
	plain = "\x1b[0m"
	erase = "\r\x1b[K"
	up    = "\x1b[2A"
)

func (s *screen) in(mark, text string) string {
	if !s.terminal {
		return text
	}
	return mark + text + plain
}

func (s *screen) line(format string, args ...any) { fmt.Fprintf(s.out, format+"\n", args...) }

func (s *screen) heading(text string) { s.line("\n%s", s.in(bold, text)) }

// refresh is how often the progress line is new: each second as a line of its own where nothing can be redrawn.
func (s *screen) refresh() time.Duration {
	if s.terminal {
		return 250 * time.Millisecond
	}
	return time.Second
}

type progress struct {
	at, of   time.Duration
	bids     int64
	rate     float64
	p50, p99 time.Duration // of the acknowledgements since the last
	row      client.Row
}

// progress shows how far the load is: on a terminal in two lines that fit 80 columns, drawn over the last two.
func (s *screen) progress(p progress) {
	load := fmt.Sprintf("%s bids  %s/s  ack p50 %s p99 %s", thousands(p.bids), thousands(int64(p.rate)), millis(p.p50), millis(p.p99))
	views := fmt.Sprintf("valid %s  %s leads with %s  open auctions %s",
		thousands(p.row.Int("valid")), p.row.Text("leader"), money(p.row.Text("top")), thousands(p.row.Int("open")))
	if !s.terminal {
		s.line("  %4.1fs  %s  %s", p.at.Seconds(), load, views)
		return
	}
	const width = 10
	done := min(width, int(width*p.at.Seconds()/p.of.Seconds()))
	if s.drawn {
		fmt.Fprint(s.out, up)
	}
	fmt.Fprintf(s.out, "%s  %s%s  %s\n%s  %s  %s\n", erase, s.in(green, strings.Repeat("━", done)), s.in(dim, strings.Repeat("━", width-done)), load,
		erase, strings.Repeat(" ", width), views)
	s.drawn = true
}

// endProgress leaves the last progress where it is.
func (s *screen) endProgress() { s.drawn = false }

func (s *screen) verdict(p proof, err error) {
	if err != nil {
		s.line("  %s  %-11s %v", s.in(red, "WRONG "), p.relation, err)
		return
	}
	s.line("  %s  %-11s %12s rows, each compared, in %s", s.in(green, "proven"), p.relation, thousands(p.rows), seconds(p.took))
}

// table prints rows under the given columns.
func (s *screen) table(columns []string, rows []client.Row) {
	width := make([]int, len(columns))
	for i, c := range columns {
		width[i] = len(c)
		for _, r := range rows {
			width[i] = max(width[i], len(r.Text(c)))
		}
	}
	write := func(mark string, cell func(string) string) {
		var b strings.Builder
		for i, c := range columns {
			fmt.Fprintf(&b, "  %-*s", width[i], cell(c))
		}
		s.line("  %s", s.in(mark, strings.TrimRight(b.String(), " ")))
	}
	write(dim, func(c string) string { return c })
	for _, r := range rows {
		write("", r.Text)
	}
}

// thousands writes an integer with commas.
func thousands(n int64) string {
	text := strconv.FormatInt(n, 10)
	first := 0
	if n < 0 {
		first = 1
	}
	for i := len(text) - 3; i > first; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}

// money writes an exact amount with commas.
func money(amount string) string {
	whole, cents, found := strings.Cut(amount, ".")
	n, err := strconv.ParseInt(whole, 10, 64)
	if err != nil {
		return amount
	}
	if found {
		return thousands(n) + "." + cents
	}
	return thousands(n)
}

func millis(d time.Duration) string { return fmt.Sprintf("%.1f ms", d.Seconds()*1000) }

// seconds writes a duration to three digits.
func seconds(d time.Duration) string {
	if d < time.Second {
		return millis(d)
	}
	return fmt.Sprintf("%.2f s", d.Seconds())
}
