package main

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"tidemill/cmd/tidemill/internal/shell"
	"tidemill/views/catalog"
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
		var names []string
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			if !f.Hidden {
				names = append(names, f.Name)
			}
		})
		if best := catalog.Nearest(e.GetSpecifiedName(), names, 2); best != "" {
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
