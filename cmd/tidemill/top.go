package main

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"tidemill/cmd/tidemill/internal/client"
	"tidemill/cmd/tidemill/internal/top"
)

func topCommand() *cobra.Command {
	t := target{}
	o := top.Options{}
	cmd := &cobra.Command{
		Use:   "top",
		Short: "Watch a server: rates, latencies, memory, relations",
		Long: `Top shows what a server does, refreshed in place: rows, commits and requests a second, how long they take,
what memory holds, and every relation with its size and its change. Without a terminal it prints one picture after the
other.`,
		Example: `  tidemill top
  tidemill top --url 127.0.0.1:9000 --interval 5s
  tidemill top --count 1`,
		Args: argsOf(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if o.Interval < 100*time.Millisecond {
				return wrongUsage(cmd, fmt.Errorf("--interval is %v: give 100ms or more", o.Interval))
			}
			o.Where, o.In, o.Out = t.where(), os.Stdin, cmd.OutOrStdout()
			o.Screen = isScreen(o.Out) && isScreen(os.Stdin) && o.Count == 0
			o.Unicode, o.Color = isScreen(o.Out) && unicodeLocale(), isScreen(o.Out) && isTerminal(os.Stdout)
			o.Size = func() (int, int) {
				w, h, err := term.GetSize(int(os.Stdout.Fd()))
				if err != nil || !o.Screen {
					return 0, 0
				}
				return w, h
			}
			return t.with(cmd, func(ctx context.Context, c *client.Client) error { return top.Run(ctx, c, o) })
		},
	}
	t.add(cmd)
	cmd.Flags().DurationVar(&o.Interval, "interval", time.Second, "time between two pictures")
	cmd.Flags().IntVar(&o.Count, "count", 0, "pictures to show; 0 is until you leave")
	return cmd
}
