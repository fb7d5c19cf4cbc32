package table

import (
	"fmt"
	"io"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
)

// Options say how rows are shown.
type Options struct {
	Width    int  // of the terminal; 0 is without bound
	Unicode  bool // boxes are drawn with lines, else with ASCII
	Color    bool // names are bold and NULLs faint
	Expanded bool // one record below the other, a line for each column
	MaxRows  int64
	// Null is what NULL looks like.
	Null string
}

// sample is how many rows decide the widths; those after them are printed as they come.
const sample = 1000

// Printer prints batches of one schema. Close ends the table.
type Printer struct {
	w       io.Writer
	o       Options
	names   []string
	numeric []bool
	wanted  []int // widths
	layout  layout
	rows    [][]cell // that wait until the widths are known
	begun   bool
	n       int64 // rows that came
	printed int64
	err     error // of the first write that failed
}

// cell is a value ready to be shown.
type cell struct {
	text string
	null bool
}

// New returns a printer to w.
func New(w io.Writer, schema *arrow.Schema, o Options) *Printer {
	p := &Printer{w: w, o: o}
	for _, f := range schema.Fields() {
		p.names = append(p.names, Clean(f.Name))
		p.numeric = append(p.numeric, Numeric(f.Type))
	}
	return p
}

// Add takes the rows of a batch; the batch is the caller's. The error is that of writing.
func (p *Printer) Add(rec arrow.RecordBatch) error {
	n := rec.NumRows()
	show := n
	if p.o.MaxRows > 0 {
		show = min(n, max(0, p.o.MaxRows-p.n))
	}
	p.n += n
	if show == 0 {
		return p.err
	}
	values := make([]Value, rec.NumCols())
	for c := range values {
		values[c] = ValueOf(rec.Column(c), rec.Schema().Field(c).Metadata)
	}
	var buf []byte
	for i := range int(show) {
		row := make([]cell, len(values))
		for c, v := range values {
			if rec.Column(c).IsNull(i) {
				row[c] = cell{p.o.Null, true}
				continue
			}
			buf = v(buf[:0], i)
			row[c] = cell{text: Clean(string(buf))}
		}
		p.rows = append(p.rows, row)
		if p.begun || len(p.rows) >= sample {
			p.flush()
		}
	}
	return p.err
}

// Close prints what is left and the number of rows.
func (p *Printer) Close() error {
	p.flush()
	if !p.o.Expanded {
		p.rule(2)
	}
	p.write(p.footer() + "\n")
	return p.err
}

func (p *Printer) footer() string {
	s := fmt.Sprintf("%s rows", Group(p.n))
	if p.n == 1 {
		s = "1 row"
	}
	var notes []string
	if p.printed < p.n {
		notes = append(notes, fmt.Sprintf("%s shown", Group(p.printed)))
	}
	if !p.o.Expanded && p.layout.left(len(p.names)) > 0 {
		notes = append(notes, fmt.Sprintf("%d of %d columns shown", len(p.names)-p.layout.left(len(p.names)), len(p.names)))
	}
	if len(notes) > 0 {
		s += " (" + strings.Join(notes, ", ") + ")"
	}
	return s
}

func (p *Printer) write(s string) {
	if p.err == nil {
		_, p.err = io.WriteString(p.w, s)
	}
}

// flush prints the rows that wait, after the head of the table if they are the first.
func (p *Printer) flush() {
	if p.o.Expanded {
		p.records()
		return
	}
	if !p.begun {
		p.begun = true
		p.head()
	}
	for _, row := range p.rows {
		p.cells(row, false)
		p.printed++
	}
	p.rows = p.rows[:0]
}

func (p *Printer) head() {
	wanted := make([]int, len(p.names))
	for c, name := range p.names {
		wanted[c] = max(1, Width(name))
	}
	for _, row := range p.rows {
		for c := range row {
			wanted[c] = max(wanted[c], Width(row[c].text))
		}
	}
	p.wanted, p.layout = wanted, fit(wanted, p.o.Width, 3, 1)
	p.rule(0)
	names := make([]cell, len(p.names))
	for c, name := range p.names {
		names[c].text = name
	}
	p.cells(names, true)
	p.rule(1)
}

// rules are the parts of the horizontal lines: left, fill, between, right.
var rules = [2][3][4]string{
	{{"", "", "", ""}, {"-", "-", "-+-", "-"}, {"", "", "", ""}},
	{{"┌─", "─", "─┬─", "─┐"}, {"├─", "─", "─┼─", "─┤"}, {"└─", "─", "─┴─", "─┘"}},
}

// rule draws the line above the head, below it or at the end.
func (p *Printer) rule(which int) {
	set := 0
	if p.o.Unicode {
		set = 1
	}
	r := rules[set][which]
	if r[1] == "" {
		return
	}
	var b strings.Builder
	b.WriteString(r[0])
	for i, w := range p.layout.widths {
		if i > 0 {
			b.WriteString(r[2])
		}
		b.WriteString(strings.Repeat(r[1], w))
	}
	b.WriteString(r[3] + "\n")
	p.write(b.String())
}

func (p *Printer) cells(row []cell, head bool) {
	left, between, right := " ", " | ", ""
	if p.o.Unicode {
		left, between, right = "│ ", " │ ", " │"
	}
	var b strings.Builder
	b.WriteString(left)
	for i, c := range p.layout.shown {
		if i > 0 {
			b.WriteString(between)
		}
		w := p.layout.widths[i]
		if c < 0 {
			b.WriteString(Cut("…", w))
			continue
		}
		last := right == "" && i == len(p.layout.shown)-1
		if late := Width(row[c].text); p.numeric[c] && p.printed >= sample && w >= p.wanted[c] {
			w = max(w, late) // a number is not cut because those before it were smaller
		}
		p.cell(&b, row[c], w, p.numeric[c], head, last)
	}
	p.write(b.String() + right + "\n")
}

// The styles of colour terminals.
const (
	bold  = "\x1b[1m"
	faint = "\x1b[2m"
	plain = "\x1b[0m"
)

func (p *Printer) cell(b *strings.Builder, c cell, width int, right, head, last bool) {
	text := c.text
	if p.o.Width > 0 {
		text = Cut(text, width)
	}
	style := ""
	if p.o.Color && head {
		style = bold
	} else if p.o.Color && c.null {
		style = faint
	}
	if last && !right {
		width = 0 // nothing after it has to be straight
	}
	b.WriteString(style)
	pad(b, text, width, right)
	if style != "" {
		b.WriteString(plain)
	}
}

// records prints the rows that wait one below the other.
func (p *Printer) records() {
	names := 0
	for _, n := range p.names {
		names = max(names, Width(n))
	}
	between, dash := " | ", "-"
	if p.o.Unicode {
		between, dash = " │ ", "─"
	}
	for _, row := range p.rows {
		p.printed++
		title := fmt.Sprintf("%s[ record %d ]", dash, p.printed)
		long := names + 20
		if p.o.Width > 0 {
			long = min(long, p.o.Width)
		}
		var b strings.Builder
		b.WriteString(title + strings.Repeat(dash, max(0, long-Width(title))) + "\n")
		for c, name := range p.names {
			p.cell(&b, cell{text: name}, min(names, max(p.o.Width/2, minWidth)), false, true, false)
			b.WriteString(between)
			p.cell(&b, row[c], max(1, p.o.Width-names-3), false, false, true)
			b.WriteByte('\n')
		}
		p.write(b.String())
	}
	p.rows, p.begun = p.rows[:0], true
}

// Strings prints rows of text as a table.
func Strings(w io.Writer, names []string, numeric []bool, rows [][]string, o Options) error {
	p := &Printer{w: w, o: o, names: names, numeric: numeric, n: int64(len(rows))}
	for _, r := range rows {
		cells := make([]cell, len(r))
		for i, text := range r {
			cells[i].text = Clean(text)
		}
		p.rows = append(p.rows, cells)
	}
	return p.Close()
}
