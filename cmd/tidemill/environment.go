package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

// environmentPrefix stands before every variable that sets a flag.
const environmentPrefix = "TIDEMILL_"

// variableOf returns the variable of a flag: max-body is TIDEMILL_MAX_BODY.
func variableOf(flag string) string {
	return environmentPrefix + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
}

// fromEnvironment sets those of the flags that the command line did not give from their variables. An empty
// variable counts as none.
func fromEnvironment(cmd *cobra.Command, flags []string, lookup func(string) string) error {
	var errs []error
	for _, name := range flags {
		value := lookup(variableOf(name))
		if cmd.Flags().Changed(name) || value == "" {
			continue
		}
		if err := cmd.Flags().Set(name, value); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", variableOf(name), err))
		}
	}
	return errors.Join(errs...)
}

// required refuses a command whose flag has no value from either side.
func required(cmd *cobra.Command, flag string) error {
	if f := cmd.Flags().Lookup(flag); f.Value.String() == "" {
		return fmt.Errorf("--%s is missing: %s (or set %s)", flag, strings.ReplaceAll(f.Usage, "`", ""), variableOf(flag))
	}
	return nil
}
