package main

import (
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestFromEnvironment: a variable sets its flag unless the command line did, and errors name the variable.
func TestFromEnvironment(t *testing.T) {
	for _, c := range []struct {
		name        string
		args        []string
		environment map[string]string
		flag, want  string // the flag's value
		err         string // or part of the error
	}{
		{"nothing", nil, nil, "addr", "127.0.0.1:8080", ""},
		{"variable", nil, map[string]string{"TIDEMILL_ADDR": "127.0.0.1:1"}, "addr", "127.0.0.1:1", ""},
		{"flag", []string{"--addr", "127.0.0.1:2"}, map[string]string{"TIDEMILL_ADDR": "127.0.0.1:1"}, "addr", "127.0.0.1:2", ""},
		{"flag as the default", []string{"--addr", "127.0.0.1:8080"}, map[string]string{"TIDEMILL_ADDR": "127.0.0.1:1"}, "addr", "127.0.0.1:8080", ""},
		{"empty variable", nil, map[string]string{"TIDEMILL_ADDR": ""}, "addr", "127.0.0.1:8080", ""},
		{"size", nil, map[string]string{"TIDEMILL_MEMORY": "2GiB"}, "memory", "2GiB", ""},
		{"dashes", nil, map[string]string{"TIDEMILL_MAX_BODY": "1MB"}, "max-body", "1MB", ""},
		{"switch", nil, map[string]string{"TIDEMILL_INSECURE": "true"}, "insecure", "true", ""},
		{"bad size", nil, map[string]string{"TIDEMILL_MEMORY": "much"}, "", "", `TIDEMILL_MEMORY: `},
		{"bad switch", nil, map[string]string{"TIDEMILL_INSECURE": "perhaps"}, "", "", "TIDEMILL_INSECURE: "},
		{"help is none", nil, map[string]string{"TIDEMILL_HELP": "yes"}, "addr", "127.0.0.1:8080", ""},
	} {
		cmd := serveCommand()
		cmd.InitDefaultHelpFlag()
		if err := cmd.Flags().Parse(c.args); err != nil {
			t.Fatal(err)
		}
		err := fromEnvironment(cmd, serveFlags, func(name string) string { return c.environment[name] })
		if c.err != "" {
			if err == nil || !strings.Contains(err.Error(), c.err) {
				t.Errorf("%s: error is %v", c.name, err)
			}
			continue
		}
		if got := cmd.Flags().Lookup(c.flag).Value.String(); err != nil || got != c.want {
			t.Errorf("%s: --%s is %s, error %v", c.name, c.flag, got, err)
		}
	}
}

// TestVariables: every flag of serve is in the list, and has the variable that the documentation names.
func TestVariables(t *testing.T) {
	flags := regexp.MustCompile(`--([a-z-]+)`).FindAllStringSubmatch(serveCommand().Flags().FlagUsages(), -1)
	var names, variables []string
	for _, f := range flags {
		if !slices.Contains(names, f[1]) { // texts name flags too
			names = append(names, f[1])
		}
	}
	for _, name := range serveFlags {
		variables = append(variables, variableOf(name))
	}
	slices.Sort(names)
	if want := slices.Sorted(slices.Values(serveFlags)); !slices.Equal(names, want) {
		t.Errorf("serve has the flags %v, the list %v", names, want)
	}
	if got, want := strings.Join(variables, " "), "TIDEMILL_DIR TIDEMILL_ADDR TIDEMILL_MEMORY TIDEMILL_MAX_BODY TIDEMILL_INSECURE TIDEMILL_PPROF TIDEMILL_LOG_LEVEL TIDEMILL_LOG_FORMAT TIDEMILL_TOKEN_FILE TIDEMILL_TLS_CERT TIDEMILL_TLS_KEY "+
		"TIDEMILL_CORS_ORIGIN TIDEMILL_STATEMENT_TIMEOUT TIDEMILL_SLOW_QUERY_MS TIDEMILL_RESULT_CACHE"; got != want {
		t.Errorf("variables are %s", got)
	}
}
