package main

import (
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"tidemill/cmd/tidemill/internal/bench"
)

func benchCommand() *cobra.Command {
	o := bench.Defaults
	var embedded bool
	var jsonFile string
	memory := size(0)
	about, names := &strings.Builder{}, []string{"all"}
	for _, s := range bench.Scenarios {
		fmt.Fprintf(about, "\n  %-10s %s", s.Name, s.About)
		names = append(names, s.Name)
	}
	cmd := &cobra.Command{
		Use:   "bench SCENARIO...",
		Short: "Measure a server on this machine, and check its answers",
		Long: `Bench sends work to a server over HTTP and prints rates, latencies and the server's peak memory, with the machine
that they were measured on. Every answer is checked: the exit code is 1 when one is wrong.

Each case starts a server of its own in an empty temporary directory, or uses the one at --url, where
relations are named bench_... and dropped afterwards. Scenarios, or all:
` + about.String(),
		Example: `  tidemill bench agg
  tidemill bench flow small --seconds 5 --json figures.jsonl
  tidemill bench serving --url http://127.0.0.1:8080`,
		Args:      cobra.MinimumNArgs(1),
		ValidArgs: names,
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			scenarios, err := scenariosOf(args)
			if err != nil {
				return err
			}
			if o.URL == "" {
				self, err := os.Executable()
				if err != nil {
					return err
				}
				o.Command = []string{self, "serve", "--log-level", "info"} // it says where it listens
				if memory > 0 {
					o.Command = append(o.Command, "--memory", memory.String())
				}
			}
			if jsonFile != "" {
				f, err := os.OpenFile(jsonFile, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
				if err != nil {
					return err
				}
				defer func() { err = errors.Join(err, f.Close()) }()
				o.JSON = f
			}
			ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt, syscall.SIGTERM)
			defer stop()
			o.Out, o.Version = cmd.OutOrStdout(), buildVersion().Version
			return bench.Run(ctx, o, scenarios)
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.URL, "url", "", "measure the server at this `url`")
	f.BoolVar(&embedded, "embedded", true, "start a server for each case, unless there is a --url")
	f.StringVar(&jsonFile, "json", "", "append an object a line for each figure to this `file`")
	f.StringVar(&o.Dir, "dir", "", "`directory` for the servers' directories; the system's for temporary files by default")
	f.Float64Var(&o.Seconds, "seconds", o.Seconds, "length of each timed case")
	f.IntVar(&o.Rows, "rows", o.Rows, "rows of ingest, agg and etl")
	f.IntVar(&o.Keys, "keys", o.Keys, "groups of agg and live, rows of serving")
	f.IntVar(&o.Batch, "batch", o.Batch, "rows of an append in ingest, agg and etl")
	f.IntVar(&o.Producers, "producers", o.Producers, "producers")
	f.IntSliceVar(&o.Clients, "clients", o.Clients, "numbers of lookup clients")
	f.Var(&memory, "memory", "memory of the servers; their default by default")
	cmd.MarkFlagsMutuallyExclusive("url", "embedded")
	cmd.MarkFlagsMutuallyExclusive("url", "dir")
	cmd.MarkFlagsMutuallyExclusive("url", "memory")
	return cmd
}

// scenariosOf finds scenarios by name; all stands for every one.
func scenariosOf(names []string) ([]*bench.Scenario, error) {
	var out []*bench.Scenario
	for _, name := range names {
		if name == "all" {
			for i := range bench.Scenarios {
				out = append(out, &bench.Scenarios[i])
			}
			continue
		}
		s, err := bench.Lookup(name)
		if err != nil {
			return nil, err
		}
		out = append(out, s)
	}
	return out, nil
}
