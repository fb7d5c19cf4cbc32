package main

import (
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"tidemill/cmd/tidemill/internal/demo"
	"tidemill/runtime"
)

func demoCommand() *cobra.Command {
	o := demo.Options{}
	memory := size(runtime.DefaultMemory)
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Show a live flow in a temporary directory, and prove its answers",
		Long: `Demo serves a temporary directory on a loopback port, defines two tables and four views of an auction house,
and sends events over HTTP for some seconds while the views move. Then it closes the directory, opens it
again, and compares every row of every view with a recomputation from the events. The exit code is 1 when
one differs.`,
		Example: `  tidemill demo
  tidemill demo --seconds 30 --keep`,
		Args: argsOf(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if !(o.Seconds > 0) {
				return fmt.Errorf("--seconds is %g: give more than 0", o.Seconds)
			}
			ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt, syscall.SIGTERM)
			defer stop()
			limitHeap(int64(memory))
			o.Memory, o.Out, o.Terminal = int64(memory), cmd.OutOrStdout(), isTerminal(os.Stdout)
			return demo.Run(ctx, o)
		},
	}
	f := cmd.Flags()
	f.Float64Var(&o.Seconds, "seconds", 10, "how long events are sent")
	f.BoolVar(&o.Keep, "keep", false, "go on serving afterwards, with lines to try")
	f.StringVar(&o.Addr, "addr", "127.0.0.1:0", "loopback `address` to serve on; port 0 takes a free one")
	f.Var(&memory, "memory", "memory for state, rows and requests")
	return cmd
}
