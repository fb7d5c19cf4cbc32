package main

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"tidemill/cmd/tidemill/internal/shell"
)

// The exit codes.
const (
	exitFailed = 1 // something failed or an answer was wrong
	exitUsage  = 2 // the command line is wrong, or the server cannot be reached
)

// codedError is an error with an exit code of its own.
type codedError struct {
	error
	code int
}

// Unwrap returns the error without its code.
func (e codedError) Unwrap() error { return e.error }

// report prints an error, unless it has been already, and returns the exit code.
func report(w io.Writer, err error) int {
	code := exitFailed
	if e, ok := errors.AsType[codedError](err); ok {
		code = e.code
	} else if strings.HasPrefix(err.Error(), "unknown command ") { // cobra's own, which has no type
		code = exitUsage
	}
	if !errors.Is(err, shell.ErrFailed) {
		fmt.Fprintln(w, "tidemill:", err)
	}
	return code
}

// wrongUsage makes an error one of the command line, with the way to its help.
func wrongUsage(cmd *cobra.Command, err error) error {
	return codedError{fmt.Errorf("%w\nsee %s --help", err, cmd.CommandPath()), exitUsage}
}

// flagError explains flags that cannot be read; one that is misspelt gets the flag that was meant.
func flagError(cmd *cobra.Command, err error) error {
	if e, ok := errors.AsType[*pflag.NotExistError](err); ok {
		best, least := "", 3
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			if d := distance(e.GetSpecifiedName(), f.Name); d < least && !f.Hidden {
				best, least = f.Name, d
			}
		})
		if best != "" {
			err = fmt.Errorf("%w; did you mean --%s?", err, best)
		}
	}
	return wrongUsage(cmd, err)
}

// argsOf makes the errors of a check of arguments those of usage.
func argsOf(check cobra.PositionalArgs) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if err := check(cmd, args); err != nil {
			return wrongUsage(cmd, err)
		}
		return nil
	}
}

// distance counts the characters to insert, leave out or replace to make b of a.
func distance(a, b string) int {
	a, b = strings.ToLower(a), strings.ToLower(b)
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		last := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			next := slices.Min([]int{row[j] + 1, row[j+1] + 1, last + cost})
			last, row[j+1] = row[j+1], next
		}
	}
	return row[len(b)]
}
