package shell

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"tidemill/cmd/tidemill/internal/table"
)

// metaCommand is a command that begins with a backslash.
type metaCommand struct {
	name, args, help string
	run              func(s *Session, ctx context.Context, args string) error
}

// metas returns the commands, one a line.
func metas() []metaCommand {
	return []metaCommand{
		{`\?`, "", "show these commands", (*Session).help},
		{`\d`, "[NAME]", "list the relations, or describe one", (*Session).describe},
		{`\timing`, "[on|off]", "show how long each statement took", (*Session).setTiming},
		{`\x`, "[on|off|auto]", "show one record below the other", (*Session).setExpanded},
		{`\format`, "table|json|csv|arrow", "how answers are printed", (*Session).setFormat},
		{`\maxrows`, "N", "how many rows of a table are shown; 0 is all", (*Session).setMaxRows},
		{`\copy`, "TABLE from FILE | RELATION|(QUERY) to FILE", "append a file, or write one", (*Session).copyFile},
		{`\i`, "FILE", "run the statements of a file", (*Session).include},
		{`\set`, "ON_ERROR_STOP on|off", "whether a script ends at its first error", (*Session).set},
		{`\conninfo`, "", "show where this is connected to", (*Session).connInfo},
		{`\q`, "", "quit", (*Session).leave},
	}
}

// usageError is a command that is written wrongly.
type usageError struct{ text string }

// Error says what is wrong.
func (e *usageError) Error() string { return e.text }

func usage(format string, args ...any) error { return &usageError{fmt.Sprintf(format, args...)} }

// meta runs a command.
func (s *Session) meta(ctx context.Context, line string) error {
	name, args, _ := strings.Cut(strings.TrimRight(line, "; \t"), " ")
	args = strings.TrimSpace(args)
	for _, m := range metas() {
		if m.name == name {
			return m.run(s, ctx, args)
		}
	}
	if name == `\h` || name == `\help` {
		return s.help(ctx, "")
	}
	if name == `\quit` || name == `\exit` {
		return s.leave(ctx, "")
	}
	if strings.HasPrefix(name, `\d`) && args != "" { // psql's \dt, \dv, \d+
		return s.describe(ctx, args)
	}
	if name == `\dt` || name == `\dv` || name == `\d+` || name == `\l` {
		return s.describe(ctx, "")
	}
	return usage(`unknown command %s: \? lists them`, name)
}

func (s *Session) help(context.Context, string) error {
	wide := 0
	for _, m := range metas() {
		wide = max(wide, len(m.name)+1+len(m.args))
	}
	for _, m := range metas() {
		fmt.Fprintf(s.Out, "  %-*s  %s\n", wide, m.name+" "+m.args, m.help)
	}
	fmt.Fprintf(s.Out, "\nStatements end with a semicolon. Ctrl-C cancels what runs, ctrl-D quits, tab completes, ctrl-R searches the history.\n")
	return nil
}

// onOff reads a switch; an empty text turns it over.
func onOff(text string, now bool) (bool, error) {
	switch strings.ToLower(text) {
	case "":
		return !now, nil
	case "on", "1", "true":
		return true, nil
	case "off", "0", "false":
		return false, nil
	}
	return now, usage("%q is neither on nor off", text)
}

func (s *Session) setTiming(_ context.Context, args string) error {
	var err error
	if s.timing, err = onOff(args, s.timing); err != nil {
		return err
	}
	s.say("timing is %s", onOffText(s.timing))
	return nil
}

func (s *Session) setExpanded(_ context.Context, args string) error {
	if strings.EqualFold(args, "auto") {
		s.expanded = whenTooWide
		s.say("records are shown one below the other when a table would be too wide")
		return nil
	}
	on, err := onOff(args, s.expanded == expandedRecords)
	if err != nil {
		return err
	}
	s.expanded = wide
	if on {
		s.expanded = expandedRecords
	}
	s.say("expanded display is %s", onOffText(on))
	return nil
}

func (s *Session) setFormat(_ context.Context, args string) error {
	f, err := ParseFormat(args)
	if err != nil {
		return usage("%v", err)
	}
	s.Format = f
	return nil
}

func (s *Session) setMaxRows(_ context.Context, args string) error {
	n, err := strconv.ParseInt(args, 10, 64)
	if err != nil || n < 0 {
		return usage(`\maxrows takes a number of rows; it is %d now`, s.MaxRows)
	}
	s.MaxRows = n
	return nil
}

func (s *Session) set(_ context.Context, args string) error {
	name, value, _ := strings.Cut(args, " ")
	if !strings.EqualFold(name, "ON_ERROR_STOP") {
		return usage(`\set knows ON_ERROR_STOP, which is %s now`, onOffText(!s.KeepGoing))
	}
	stop, err := onOff(strings.TrimSpace(value), false)
	s.KeepGoing = !stop
	return err
}

func (s *Session) connInfo(ctx context.Context, _ string) error {
	stats, err := s.Client.Stats(ctx)
	if err != nil {
		return err
	}
	fmt.Fprintf(s.Out, "%s, commit %s, %d relations\n", s.Where, table.Group(int64(stats.Commit)), len(stats.Relations))
	return nil
}

func (s *Session) leave(context.Context, string) error {
	s.quit = true
	return nil
}

// maxIncludes bounds files that run files.
const maxIncludes = 16

func (s *Session) include(ctx context.Context, args string) error {
	path := unquote(args)
	if path == "" {
		return usage(`\i takes a file`)
	}
	if s.depth >= maxIncludes {
		return usage(`\i %s: files include each other %d deep`, path, maxIncludes)
	}
	f, err := os.Open(expandHome(path))
	if err != nil {
		return err
	}
	defer f.Close()
	s.depth++
	err = s.RunFrom(ctx, f)
	s.depth--
	if errors.Is(err, ErrFailed) {
		fmt.Fprintf(s.Err, "in %s\n", path)
	}
	return err
}

// say tells of a setting, to people only.
func (s *Session) say(format string, args ...any) {
	if s.Tags {
		fmt.Fprintf(s.Out, format+"\n", args...)
	}
}

func onOffText(on bool) string {
	if on {
		return "on"
	}
	return "off"
}

// unquote takes quotes off a file's name.
func unquote(s string) string {
	if len(s) >= 2 && (s[0] == '\'' || s[0] == '"') && s[len(s)-1] == s[0] {
		return s[1 : len(s)-1]
	}
	return s
}

func expandHome(path string) string {
	if rest, ok := strings.CutPrefix(path, "~/"); ok {
		if home, err := os.UserHomeDir(); err == nil {
			return filepath.Join(home, rest)
		}
	}
	return path
}
