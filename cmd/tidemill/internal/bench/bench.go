// Package bench measures a Tidemill server over HTTP, on the machine of whoever runs it, and checks every
// answer that it measures: a figure whose answers are wrong is printed as such, and fails the run.
//
// A scenario is a file, and a line in Scenarios. Bodies are encoded before the clock starts, so that the
// client's own work is small; but it runs on the same cores, and counts. Each case starts a server of its
// own in an empty directory, unless a URL is given: then the relations get names of their own, and are
// dropped afterwards. An acknowledgement has an fsync behind it: what one costs is printed beside the figures.
package bench

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"strings"
)

// Options say what is measured and how much. The zero value of a number is its default.
type Options struct {
	URL       string   // of a server that runs; "" starts one for each case
	Command   []string // starts a server when --dir and --addr are added
	Dir       string   // for directories of servers; "" is the system's for temporary files
	Seconds   float64  // of each timed case
	Rows      int      // of ingest, agg and etl
	Keys      int      // groups of agg and live, rows of serving
	Batch     int      // rows of an append in ingest, agg and etl
	Producers int
	Clients   []int // of serving
	Out       io.Writer
	JSON      io.Writer // gets an object a line for each figure; nil is none
	Version   string    // of the program, for JSON
}

// Defaults are the sizes at which published figures are measured.
var Defaults = Options{Seconds: 10, Rows: 10_000_000, Keys: 100_000, Batch: 100_000, Producers: 4, Clients: []int{1, 8, 32}}

func (o *Options) check() error {
	if !(o.Seconds > 0) || o.Rows < 1 || o.Keys < 1 || o.Batch < 1 || o.Producers < 1 {
		return errors.New("seconds, rows, keys, batch and producers must be more than 0")
	}
	for _, c := range o.Clients {
		if c < 1 {
			return errors.New("clients must be more than 0")
		}
	}
	return nil
}

// Scenario is one kind of work.
type Scenario struct {
	Name, About string
	run         func(context.Context, *runner) error
}

// Scenarios lists every scenario.
var Scenarios = []Scenario{
	{"ingest", "Arrow bodies into a table without views", ingest},
	{"agg", "the same, with count and sum over many keys kept", aggregate},
	{"etl", "the same, with a filter and four expressions kept", etl},
	{"flow", "NDJSON bodies of 1,000 rows through 0, 1, 2 and 3 stages", flow},
	{"live", "Arrow bodies for a while, and readers of the view meanwhile", live},
	{"small", "bodies of 1, 10 and 100 rows through 3 stages, and 64 producers of 1", small},
	{"serving", "lookups, point SQL and dashboards, quiet and beside a writer", serving},
	{"footprint", "time to the first answer, and memory at rest", footprint},
}

// Lookup finds a scenario.
func Lookup(name string) (*Scenario, error) {
	for i := range Scenarios {
		if Scenarios[i].Name == name {
			return &Scenarios[i], nil
		}
	}
	return nil, fmt.Errorf("there is no scenario %q: tidemill bench --help lists them", name)
}

// ErrWrong is returned by Run when an answer was wrong.
var ErrWrong = errors.New("answers were wrong")

// runner runs one scenario after the other.
type runner struct {
	Options
	machine  *Machine
	scenario string
	// id and cases, those begun, name relations and producers on a shared server: it remembers producers for
	// days, so a run must not meet those of one before.
	id    string
	cases int
	wrong int
}

// Run measures the scenarios in order. It goes on after a wrong answer and returns ErrWrong at the end.
func Run(ctx context.Context, o Options, scenarios []*Scenario) error {
	if err := o.check(); err != nil {
		return err
	}
	machine, err := lookAtMachine(o.Dir)
	if err != nil {
		return err
	}
	r := &runner{Options: o, machine: machine, id: strings.ToLower(rand.Text()[:8])}
	fmt.Fprintf(o.Out, "%s\n\n", machine)
	r.header()
	for _, s := range scenarios {
		r.scenario = s.Name
		if err := s.run(ctx, r); err != nil {
			return fmt.Errorf("%s: %w", s.Name, err)
		}
	}
	if r.wrong > 0 {
		return fmt.Errorf("%w: %d of the figures above", ErrWrong, r.wrong)
	}
	return nil
}
