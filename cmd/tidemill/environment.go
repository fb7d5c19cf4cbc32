package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// environmentPrefix stands before every variable that sets a flag.
const environmentPrefix = "TIDEMILL_"

// variableOf returns the variable of a flag: max-body is TIDEMILL_MAX_BODY.
func variableOf(flag string) string {
	return environmentPrefix + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
}

// fromEnvironment sets the flags that the command line did not give from their variables. An empty variable
// counts as none.
func fromEnvironment(flags *pflag.FlagSet, lookup func(string) string) error {
	var errs []error
	flags.VisitAll(func(f *pflag.Flag) {
		value := lookup(variableOf(f.Name))
		if f.Changed || f.Name == "help" || value == "" {
			return
		}
		if err := flags.Set(f.Name, value); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", variableOf(f.Name), err))
		}
	})
	return errors.Join(errs...)
}

// required refuses a command whose flag has no value from either side.
func required(cmd *cobra.Command, flag string) error {
	if f := cmd.Flags().Lookup(flag); f.Value.String() == "" {
		_, usage := pflag.UnquoteUsage(f)
		return fmt.Errorf("--%s is missing: %s (or set %s)", flag, usage, variableOf(flag))
	}
	return nil
}
