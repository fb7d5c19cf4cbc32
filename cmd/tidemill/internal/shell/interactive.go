package shell

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/reeflective/readline"
)

const (
	prompt       = "tidemill> "
	continuation = "      ...> "
)

// Interactive reads statements from the terminal until the user leaves. The error is a *ConnError when the server
// was not there at the start; later it is printed, and the next statement tries again.
func (s *Session) Interactive(ctx context.Context, h *History) error {
	if err := s.greet(ctx); err != nil {
		return err
	}
	s.Tags, s.KeepGoing = true, true
	rl := s.editor(h)
	for !s.quit {
		line, err := rl.Readline()
		switch {
		case errors.Is(err, readline.ErrInterrupt):
			continue
		case errors.Is(err, io.EOF):
			fmt.Fprintln(s.Out)
			return nil
		case err != nil:
			return fmt.Errorf("read the terminal: %w", err)
		}
		if err := s.Run(ctx, line); err != nil && !errors.Is(err, ErrFailed) {
			fmt.Fprintf(s.Err, "%s %v\n", s.red("error:"), err)
		}
	}
	return nil
}

func (s *Session) greet(ctx context.Context) error {
	stats, err := s.Client.Stats(ctx)
	if err != nil {
		return &ConnError{Where: s.Where, Err: err}
	}
	relations := fmt.Sprintf("%d relations", len(stats.Relations))
	if len(stats.Relations) == 1 {
		relations = "1 relation"
	}
	fmt.Fprintf(s.Out, "Connected to %s, %s. \\? for help, \\q to quit.\n", s.Where, relations)
	return nil
}

// editor returns the line editor. A line is accepted when its statements are whole; enter before that goes on in
// the next line.
func (s *Session) editor(h *History) *readline.Shell {
	rl := readline.NewShell()
	rl.Prompt.Primary(func() string { return prompt })
	rl.Prompt.Secondary(func() string { return continuation })
	rl.AcceptMultiline = func(line []rune) bool { return complete(string(line)) }
	if s.Color {
		rl.SyntaxHighlighter = highlight
	}
	for name, value := range map[string]any{
		"multiline-column": false, "completion-ignore-case": true, "menu-complete-display-prefix": true, "bell-style": "none",
		"cursor-position-probe": false,
	} {
		_ = rl.Config.Set(name, value) // Set never fails
	}
	rl.History.Delete()
	rl.History.Add("statements", h)
	rl.Completer = func(line []rune, cursor int) readline.Completions { return s.completions(string(line[:cursor])) }
	return rl
}

// completions turns candidates into those of the editor, which replaces everything since the last white space: what
// stands there before the word is put before each.
func (s *Session) completions(text string) readline.Completions {
	word, found := Complete(text, s.schema)
	blank := text[strings.LastIndexAny(text, " \t\n")+1:]
	lead := strings.TrimSuffix(blank, word)
	var values []readline.Completion
	open := false
	for _, c := range found {
		values = append(values, readline.Completion{Value: lead + c.Text, Display: c.Text, Description: c.Description, Tag: c.Group})
		open = open || c.Open
	}
	out := readline.CompleteRaw(values)
	out.PREFIX = blank
	if open && !slices.ContainsFunc(found, func(c Candidate) bool { return !c.Open }) {
		return out.NoSpace()
	}
	return out.NoSpace('(', '/')
}
