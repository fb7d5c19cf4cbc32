package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"tidemill/runtime/httpd"
)

// tokenCommand makes tokens. The token is shown once and kept nowhere: a token file has its hash.
func tokenCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "token ACCESS NAME",
		Short: "Make a token for a token file",
		Long: `Token makes a random token for serve --token-file. The line for the file, with the token's hash, goes to the standard
output, the token itself to the standard error: it is shown this once. ACCESS is read (queries and lookups), write (appends and changes of
rows too) or admin (everything); NAME tells whose it is.`,
		Example: `  tidemill token write shop >> tokens
  tidemill serve --dir data --token-file tokens`,
		Args: cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			token, line, err := httpd.NewToken(args[0], args[1])
			if err != nil {
				return err
			}
			fmt.Fprintln(cmd.OutOrStdout(), line)
			fmt.Fprintln(cmd.ErrOrStderr(), "token:", token)
			return nil
		},
	}
}
