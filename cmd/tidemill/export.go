package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"tidemill/cmd/tidemill/internal/client"
	"tidemill/cmd/tidemill/internal/export"
	"tidemill/cmd/tidemill/internal/table"
)

func exportCommand() *cobra.Command {
	t := target{}
	format := ""
	cmd := &cobra.Command{
		Use:   "export RELATION|QUERY FILE",
		Short: "Write a relation or the answer of a query to a file",
		Long: `Export writes a table, a view or the answer of a query, as of one commit, to a file. The format goes by the
file's suffix: .csv, .json, .ndjson, .arrow (an IPC file), .arrows (an IPC stream) or .parquet; .gz or .zst after it
compresses. "-" is standard output, with --format. The file appears when it is whole.`,
		Example: `  tidemill export by_region by_region.csv
  tidemill export flights flights.parquet
  tidemill export 'SELECT * FROM by_user WHERE total > 100 ORDER BY total DESC' top.ndjson.gz
  tidemill export by_region - --format csv`,
		Args: argsOf(cobra.ExactArgs(2)),
		RunE: func(cmd *cobra.Command, args []string) error {
			return t.with(cmd, func(ctx context.Context, c *client.Client) error {
				res, err := export.Run(ctx, c, export.Options{What: args[0], File: args[1], Format: export.Format(format), Stdout: cmd.OutOrStdout()})
				if err != nil {
					return err
				}
				if args[1] != "-" {
					fmt.Fprintf(cmd.ErrOrStderr(), "wrote %s to %s\n", table.Bytes(res.Bytes), args[1])
				}
				return nil
			})
		},
	}
	t.add(cmd)
	cmd.Flags().StringVar(&format, "format", "", "csv, json, ndjson, arrow, arrows or parquet; by default the file's suffix")
	_ = cmd.RegisterFlagCompletionFunc("format", cobra.FixedCompletions([]string{"csv", "json", "ndjson", "arrow", "arrows", "parquet"}, cobra.ShellCompDirectiveNoFileComp))
	cmd.ValidArgsFunction = t.completeTable
	return cmd
}
