// Command tidemill is the Tidemill server and what goes with it: serve runs it on a directory, demo shows it at
// work and proves its answers, bench measures it, version tells what it is.
//
// Commands only read flags, wire packages together and choose the exit code: 0 when all went well, 1 when
// something failed or an answer was wrong. Packages below internal do the work.
package main

import (
	"context"
	"fmt"
	"os"

	"github.com/spf13/cobra"
)

func main() { os.Exit(run(os.Args[1:])) }

// run is the program but for its exit.
func run(args []string) int {
	root := rootCommand()
	root.SetArgs(args)
	if err := root.ExecuteContext(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, "tidemill:", err)
		return 1
	}
	return 0
}

// rootCommand has every command, one a line.
func rootCommand() *cobra.Command {
	root := &cobra.Command{
		Use:   "tidemill",
		Short: "Incremental materialized views in SQL, right at the acknowledgement",
		Long: `Tidemill keeps materialized views in SQL up to date with the rows that you append. When an append is
acknowledged it is on disk, and every view that follows it already equals its SQL.`,
		Example: `  tidemill demo
  tidemill serve --dir data`,
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	root.CompletionOptions.HiddenDefaultCmd = true
	root.AddCommand(
		serveCommand(),
		demoCommand(),
		benchCommand(),
		versionCommand(),
	)
	return root
}
