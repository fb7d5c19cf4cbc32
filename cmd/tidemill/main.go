// Command tidemill is the Tidemill server and what goes with it: serve runs it on a directory, sql is a shell, append
// and export move files in and out, top watches it, demo shows it at work and proves its answers, bench measures
// it, token makes a token for it, version tells what it is.
//
// Commands only read flags, wire packages together and choose the exit code: 0 when all went well, 1 when
// something failed or an answer was wrong, 2 when the command line is wrong or the server cannot be reached.
// Packages below internal do the work.
package main

import (
	"context"
	"os"

	"github.com/spf13/cobra"
)

func main() { os.Exit(run(os.Args[1:])) }

// run is the program but for its exit.
func run(args []string) int {
	root := rootCommand()
	root.SetArgs(args)
	if err := root.ExecuteContext(context.Background()); err != nil {
		return report(os.Stderr, err)
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
  tidemill serve --dir data
  tidemill append flights flights.parquet --create
  tidemill sql -c 'SELECT count(*) FROM flights'`,
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	root.SetFlagErrorFunc(flagError)
	root.AddCommand(
		serveCommand(),
		sqlCommand(),
		appendCommand(),
		exportCommand(),
		topCommand(),
		demoCommand(),
		benchCommand(),
		tokenCommand(),
		versionCommand(),
	)
	return root
}
