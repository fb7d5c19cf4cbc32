package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	stdruntime "runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"tidemill/state/column"
	"tidemill/views/duck"
)

// build is what this binary was made of.
type build struct {
	Version  string `json:"version"`
	Commit   string `json:"commit,omitempty"` // of its sources, when it was built from a clone
	Modified bool   `json:"modified,omitempty"`
	Go       string `json:"go"`
	DuckDB   string `json:"duckdb,omitempty"`
	Platform string `json:"platform"`
}

// version is set by the linker for releases: -ldflags "-X main.version=v1.2.3".
var version string

// buildVersion reads what the Go tool has built in.
func buildVersion() build {
	b := build{Version: version, Go: stdruntime.Version(), Platform: stdruntime.GOOS + "/" + stdruntime.GOARCH}
	info, ok := debug.ReadBuildInfo()
	if ok {
		for _, s := range info.Settings {
			switch s.Key {
			case "vcs.revision":
				b.Commit = s.Value
			case "vcs.modified":
				b.Modified = s.Value == "true"
			}
		}
		if b.Version == "" && info.Main.Version != "(devel)" {
			b.Version = info.Main.Version
		}
	}
	if b.Version == "" {
		b.Version = "devel"
	}
	return b
}

// duckVersion asks DuckDB itself, since another library may have been linked.
func duckVersion(ctx context.Context) (string, error) {
	x, err := duck.OpenExec(duck.Options{Threads: 1})
	if err != nil {
		return "", err
	}
	defer x.Close()
	rows, err := x.Query(ctx, "SELECT library_version FROM pragma_version()", nil, nil)
	if err != nil {
		return "", err
	}
	defer rows.Close()
	cols, _, err := rows.NextColumns()
	if err != nil {
		return "", fmt.Errorf("ask DuckDB for its version: %w", err)
	}
	var s string
	return s, json.Unmarshal(column.AppendJSON(nil, &cols[0], 0), &s)
}

func versionCommand() *cobra.Command {
	asJSON := false
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print the version, and what it is built with",
		Example: `  tidemill version
  tidemill version --json`,
		Args: argsOf(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			b := buildVersion()
			var err error
			if b.DuckDB, err = duckVersion(cmd.Context()); err != nil {
				return err
			}
			return printVersion(cmd.OutOrStdout(), &b, asJSON)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print an object")
	return cmd
}

func printVersion(w io.Writer, b *build, asJSON bool) error {
	if asJSON {
		return json.NewEncoder(w).Encode(b)
	}
	commit := ""
	if b.Commit != "" {
		commit = "\ncommit   " + b.Commit
		if b.Modified {
			commit += " (modified)"
		}
	}
	_, err := fmt.Fprintf(w, "tidemill %s%s\ngo       %s\nduckdb   %s\nplatform %s\n", b.Version, commit, b.Go, b.DuckDB, b.Platform)
	return err
}
