package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"

	"github.com/spf13/cobra"

	"tidemill/cmd/tidemill/internal/shell"
)

// sqlSettings are what the flags of sql say.
type sqlSettings struct {
	target
	commands  []string
	format    string
	keepGoing bool
	maxRows   int64
}

// screenRows is how many rows of an answer a terminal shows, unless it is told otherwise.
const screenRows = 200

func sqlCommand() *cobra.Command {
	s := sqlSettings{}
	cmd := &cobra.Command{
		Use:   "sql [FILE...]",
		Short: "Run SQL: on a terminal, from files or from -c",
		Long: `Sql runs statements on a server, or on a directory that it opens itself with --dir. Without -c and files it
reads the terminal, with history and completion, or standard input. Statements end with a semicolon; \? lists
the commands that are not SQL.

Files and -c end at the first statement that fails, unless --keep-going is given. The exit code is 0 when
all statements succeeded, 1 when one failed, and 2 when the server could not be reached or the command line is wrong.`,
		Example: `  tidemill sql
  tidemill sql --dir data
  tidemill sql -c 'SELECT * FROM by_region ORDER BY total DESC'
  tidemill sql --format csv -c 'SELECT * FROM by_user' > by_user.csv
  tidemill sql schema.sql views.sql`,
		Args: argsOf(cobra.ArbitraryArgs),
		RunE: func(cmd *cobra.Command, args []string) error { return s.run(cmd, args) },
	}
	s.add(cmd)
	f := cmd.Flags()
	f.StringArrayVarP(&s.commands, "command", "c", nil, "run this `SQL` or command; may be given several times")
	f.StringVar(&s.format, "format", string(shell.FormatTable), "table, json, csv or arrow")
	f.BoolVar(&s.keepGoing, "keep-going", false, "go on after a statement that failed")
	f.Int64Var(&s.maxRows, "max-rows", screenRows, "rows of an answer that a terminal shows; 0 is all")
	_ = cmd.RegisterFlagCompletionFunc("format", cobra.FixedCompletions([]string{"table", "json", "csv", "arrow"}, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

func (s *sqlSettings) run(cmd *cobra.Command, files []string) (err error) {
	format, err := shell.ParseFormat(s.format)
	if err != nil {
		return wrongUsage(cmd, fmt.Errorf("--format: %w", err))
	}
	c, closer, err := s.open(cmd.Context(), cmd)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closer.Close()) }()
	out := cmd.OutOrStdout()
	screen := isScreen(out)
	session := shell.New(shell.Options{Client: c, Where: s.where(), Out: out, Err: cmd.ErrOrStderr(), Format: format,
		Width: widthOf(out), Unicode: screen && unicodeLocale(), Color: screen && isTerminal(os.Stdout), KeepGoing: s.keepGoing, Interrupt: untilInterrupt})
	if screen {
		session.MaxRows, session.Tags = s.maxRows, true
	}
	return sqlExit(s.input(cmd, session, files))
}

// input runs what there is to run.
func (s *sqlSettings) input(cmd *cobra.Command, session *shell.Session, files []string) error {
	var errs []error
	stopped := false
	do := func(run func() error) {
		if !stopped {
			err := run()
			errs = append(errs, err)
			stopped = err != nil && !(s.keepGoing && errors.Is(err, shell.ErrFailed))
		}
	}
	for _, text := range s.commands {
		do(func() error { return session.Run(cmd.Context(), text) })
	}
	for _, name := range files {
		do(func() error { return runFile(cmd, session, name) })
	}
	if len(s.commands)+len(files) > 0 {
		return errors.Join(errs...)
	}
	if in, ok := cmd.InOrStdin().(*os.File); !ok || !isScreen(in) || !isScreen(cmd.OutOrStdout()) {
		return session.RunFrom(cmd.Context(), cmd.InOrStdin())
	}
	path, err := shell.HistoryPath()
	if err != nil {
		return err
	}
	history, err := shell.OpenHistory(path)
	if err != nil {
		fmt.Fprintln(cmd.ErrOrStderr(), "tidemill:", err)
		history = &shell.History{}
	}
	return session.Interactive(cmd.Context(), history)
}

func runFile(cmd *cobra.Command, session *shell.Session, name string) error {
	if name == "-" {
		return session.RunFrom(cmd.Context(), cmd.InOrStdin())
	}
	f, err := os.Open(name)
	if err != nil {
		return codedError{err, exitUsage}
	}
	defer f.Close()
	err = session.RunFrom(cmd.Context(), f)
	if errors.Is(err, shell.ErrFailed) {
		fmt.Fprintf(cmd.ErrOrStderr(), "in %s\n", name)
	}
	return err
}

// sqlExit gives an error its exit code.
func sqlExit(err error) error {
	if conn, ok := errors.AsType[*shell.ConnError](err); ok {
		return codedError{conn, exitUsage}
	}
	return err
}

// untilInterrupt returns a context that ends with ctrl-C.
func untilInterrupt(ctx context.Context) (context.Context, context.CancelFunc) {
	return signal.NotifyContext(ctx, os.Interrupt)
}

// unicodeLocale reports whether the terminal is said to show UTF-8.
func unicodeLocale() bool {
	for _, name := range []string{"LC_ALL", "LC_CTYPE", "LANG"} {
		if v := strings.ToUpper(os.Getenv(name)); v != "" {
			return strings.Contains(v, "UTF-8") || strings.Contains(v, "UTF8")
		}
	}
	return true // nothing is said: most do
}

// widthOf returns how to ask for the columns of a terminal; 0 for what is none.
func widthOf(w io.Writer) func() int {
	f, ok := w.(*os.File)
	return func() int {
		if !ok {
			return 0
		}
		return terminalWidth(f)
	}
}
