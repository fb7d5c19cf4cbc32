package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"tidemill/cmd/tidemill/internal/client"
	"tidemill/cmd/tidemill/internal/load"
	"tidemill/cmd/tidemill/internal/progress"
)

// appendSettings are what the flags of append say.
type appendSettings struct {
	target
	load.Options
	format, rejects string
	types           []string
	quiet           bool
}

func appendCommand() *cobra.Command {
	s := appendSettings{}
	cmd := &cobra.Command{
		Use:   "append TABLE FILE...",
		Short: "Append files to a table: CSV, JSON, NDJSON, Arrow or Parquet",
		Long: `Append reads files and appends their rows to a table. Each file's format goes by its name, or by its first
bytes: CSV, JSON (an array or an object a line), Arrow (stream or file), Parquet; text may be compressed with gzip or
zstd. "-" is standard input, where NDJSON is appended as it comes.

Each batch is acknowledged when it is on disk and in every view. Files that are appended again, or whose load was cut
by a crash, a signal or a server's restart, go on after the last acknowledged row: no row is lost or there twice. What
counts as the same load is the table and the contents of the files; --producer names it instead.`,
		Example: `  tidemill append flights flights-3m.parquet --create
  tidemill append users users.csv.gz --create --key id
  tidemill append events 'logs/*.ndjson.zst' --max-rejects 100 --rejects bad.ndjson
  tail -f app.ndjson | tidemill append events -`,
		Args: argsOf(func(_ *cobra.Command, args []string) error {
			if len(args) < 2 {
				return errors.New("name a table and at least one file, or - for standard input")
			}
			return nil
		}),
		RunE: func(cmd *cobra.Command, args []string) error { return s.run(cmd, args) },
	}
	s.add(cmd)
	f := cmd.Flags()
	f.BoolVar(&s.Create, "create", false, "make the table when it is not there, with columns inferred from the files")
	f.StringSliceVar(&s.Key, "key", nil, "primary `columns` of a table that --create makes")
	f.StringArrayVar(&s.types, "type", nil, "`COLUMN=TYPE` of a table that --create makes, instead of what is inferred")
	f.StringVar(&s.format, "format", "", "csv, json, ndjson, arrow or parquet; by default the file's suffix")
	f.StringVar(&s.Producer, "producer", "", "`name` of the load; by default made of the table and the files")
	f.BoolVar(&s.Again, "again", false, "append files that have been appended before once more")
	f.IntVar(&s.BatchRows, "batch-rows", load.DefaultBatchRows, "rows of one append, and so of one commit")
	f.Int64Var(&s.MaxRejects, "max-rejects", 0, "bad `rows` that are left out before the load fails")
	f.StringVar(&s.rejects, "rejects", "", "`file` that gets the bad rows' places and reasons")
	f.BoolVar(&s.IgnoreExtra, "ignore-extra", false, "leave out columns that the table does not have")
	f.DurationVar(&s.RetryFor, "retry-for", load.DefaultRetryFor, "how long the server may be away")
	f.BoolVarP(&s.quiet, "quiet", "q", false, "print nothing but errors")
	cmd.MarkFlagsMutuallyExclusive("producer", "again")
	_ = cmd.RegisterFlagCompletionFunc("format", cobra.FixedCompletions([]string{"csv", "json", "ndjson", "arrow", "parquet"}, cobra.ShellCompDirectiveNoFileComp))
	cmd.ValidArgsFunction = s.completeTable
	return cmd
}

func (s *appendSettings) run(cmd *cobra.Command, args []string) error {
	if err := s.check(args); err != nil {
		return wrongUsage(cmd, err)
	}
	return s.with(cmd, func(ctx context.Context, c *client.Client) error { return s.load(ctx, cmd, c) })
}

func (s *appendSettings) load(ctx context.Context, cmd *cobra.Command, c *client.Client) (err error) {
	s.Stdin = cmd.InOrStdin()
	if s.rejects != "" {
		f, err := os.Create(s.rejects)
		if err != nil {
			return codedError{err, exitUsage}
		}
		defer func() { err = errors.Join(err, f.Close()) }()
		s.Rejects = f
	}
	bar := progress.New(cmd.ErrOrStderr(), progress.Options{Name: s.Table, Terminal: isScreen(cmd.ErrOrStderr()), Quiet: s.quiet,
		Width: widthOf(cmd.ErrOrStderr()), Unicode: unicodeLocale(), Now: time.Now})
	s.Progress = bar
	res, err := load.Run(ctx, c, s.Options)
	bar.Close()
	if err != nil {
		return err
	}
	if !s.quiet {
		fmt.Fprintln(cmd.OutOrStdout(), res.Summary())
	}
	return nil
}

// check reads the flags that are more than text.
func (s *appendSettings) check(args []string) (err error) {
	s.Table, s.Files = args[0], args[1:]
	if s.Format, err = load.ParseFormat(s.format); err != nil {
		return fmt.Errorf("--format: %w", err)
	}
	if len(s.Key)+len(s.types) > 0 && !s.Create {
		return errors.New("--key and --type say how --create makes a table: add --create")
	}
	if s.BatchRows < 1 {
		return fmt.Errorf("--batch-rows is %d: give 1 or more", s.BatchRows)
	}
	if s.MaxRejects < 0 {
		return fmt.Errorf("--max-rejects is %d: give 0 or more", s.MaxRejects)
	}
	s.Types = map[string]string{}
	for _, t := range s.types {
		name, sqlType, ok := strings.Cut(t, "=")
		if !ok || name == "" || sqlType == "" {
			return fmt.Errorf("--type %q: give COLUMN=TYPE, such as zip=VARCHAR", t)
		}
		s.Types[name] = sqlType
	}
	return nil
}

// completeTable completes the first argument by the tables of the server, and the others by files.
func (t *target) completeTable(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 || t.dir != "" { // a directory may be in use
		return nil, cobra.ShellCompDirectiveDefault
	}
	c, closer, err := t.open(cmd.Context(), cmd)
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	defer closer.Close()
	stats, err := c.Stats(cmd.Context())
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var names []string
	for _, r := range stats.Relations {
		if r.Kind == "table" || cmd.Name() != "append" {
			names = append(names, r.Name+"\t"+r.Kind)
		}
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}
