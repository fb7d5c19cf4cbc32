package shell

import (
	"bufio"
	"errors"
	"io"
	"strings"

	"tidemill/views/plan/token"
)

// split calls fn with each statement of a script, as soon as its semicolon has come, and with each command: a line
// that begins with a backslash where a statement could begin. A last statement needs no semicolon. It ends with
// fn's first error, or that of reading.
func split(r io.Reader, fn func(piece string) error) error {
	in := bufio.NewReaderSize(r, 64<<10)
	pending := ""
	for {
		line, err := in.ReadString('\n')
		end := errors.Is(err, io.EOF)
		if err != nil && !end {
			return err
		}
		if strings.TrimSpace(pending) == "" && strings.HasPrefix(strings.TrimSpace(line), `\`) {
			pending = ""
			if err := fn(strings.TrimSpace(line)); err != nil {
				return err
			}
		} else if pending += line; strings.Contains(line, ";") || end {
			done, rest := statements(pending)
			for _, st := range done {
				if err := fn(st); err != nil {
					return err
				}
			}
			pending = rest
		}
		if end {
			if hasToken(pending) {
				return fn(strings.TrimSpace(pending))
			}
			return nil
		}
	}
}

// statements cuts a text at its semicolons; rest is what follows the last. Each statement keeps its comments and
// the line that it begins on, so that the lines of an error are counted from there.
func statements(text string) (done []string, rest string) {
	from := 0
	for _, t := range token.Scan(text) {
		if !t.Is(text, ";") {
			continue
		}
		if piece := text[from:t.End]; hasToken(strings.TrimSuffix(piece, ";")) {
			done = append(done, strings.TrimSpace(piece))
		}
		from = t.End
	}
	return done, text[from:]
}

// hasToken reports whether a text has anything besides white space and whole comments.
func hasToken(text string) bool { return len(token.Scan(text)) > 0 }

// complete reports whether what has been typed can be run as it is: nothing, a command, or statements with their
// semicolons.
func complete(text string) bool {
	trimmed := strings.TrimSpace(text)
	if trimmed == "" || strings.HasPrefix(trimmed, `\`) {
		return true
	}
	_, rest := statements(text)
	return !hasToken(rest)
}
