package shell

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"tidemill/cmd/tidemill/internal/client"
	"tidemill/cmd/tidemill/internal/table"
	"tidemill/views/catalog"
)

// Options are how a session starts; commands change most of them.
type Options struct {
	Client *client.Client
	// Where is the server or the directory, for people.
	Where    string
	Out, Err io.Writer
	Format   Format
	// Width is the columns of the terminal at Out, 0 when there is none.
	Width func() int
	// Unicode and Color say what the terminal at Out can show.
	Unicode, Color bool
	// MaxRows is how many rows of an answer are shown as a table; 0 is all.
	MaxRows int64
	// Tags is whether statements without rows say what they did, in table format.
	Tags bool
	// KeepGoing goes on after a statement that failed.
	KeepGoing bool
	// Interrupt makes a context that ends when the user presses ctrl-C; nil is without.
	Interrupt func(context.Context) (context.Context, context.CancelFunc)
}

// Session runs statements. It is not safe for concurrent use.
type Session struct {
	Options
	timing   bool
	expanded expansion
	quit     bool
	schema   *schema
	now      func() time.Time
	depth    int // of files that include files
}

// expansion is whether records are printed one below the other.
type expansion int

const (
	wide expansion = iota
	expandedRecords
	whenTooWide
)

// New returns a session.
func New(o Options) *Session {
	if o.Width == nil {
		o.Width = func() int { return 0 }
	}
	if o.Interrupt == nil {
		o.Interrupt = context.WithCancel
	}
	s := &Session{Options: o, now: time.Now}
	s.schema = newSchema(o.Client)
	return s
}

// ErrFailed says that a statement failed, and that the reason has been printed.
var ErrFailed = errors.New("a statement failed")

// ConnError says that the server cannot be reached, or went away.
type ConnError struct {
	Where string
	Err   error
}

// Error names the server.
func (e *ConnError) Error() string {
	return fmt.Sprintf("cannot reach %s: %v", e.Where, e.Err)
}

// Unwrap returns the reason.
func (e *ConnError) Unwrap() error { return e.Err }

// Run runs the statements and commands of a text. The error is ErrFailed, or a *ConnError, which ends the run.
func (s *Session) Run(ctx context.Context, text string) error {
	return s.RunFrom(ctx, strings.NewReader(text))
}

// RunFrom runs the statements and commands of a script as they come. The error is ErrFailed, a *ConnError, which
// ends the run, or that of reading.
func (s *Session) RunFrom(ctx context.Context, r io.Reader) error {
	var failed error
	err := split(r, func(piece string) error {
		if s.quit || ctx.Err() != nil {
			return io.EOF
		}
		err := s.one(ctx, piece)
		if err == nil {
			return nil
		}
		if _, gone := errors.AsType[*ConnError](err); gone || !s.KeepGoing {
			return err
		}
		failed = err
		return nil
	})
	if err == nil || errors.Is(err, io.EOF) {
		err = failed
	}
	return err
}

// one runs a statement or a command and prints why it failed.
func (s *Session) one(ctx context.Context, piece string) error {
	ctx, cancel := s.Interrupt(ctx)
	defer cancel()
	var err error
	if strings.HasPrefix(piece, `\`) {
		err = s.meta(ctx, piece)
	} else {
		begun := s.now()
		err = s.statement(ctx, piece)
		if s.timing && err == nil {
			fmt.Fprintf(s.Err, "Time: %s\n", duration(s.now().Sub(begun)))
		}
	}
	if err == nil || errors.Is(err, ErrFailed) {
		return err
	}
	if ctx.Err() != nil && errors.Is(err, context.Canceled) {
		fmt.Fprintln(s.Err, "cancelled")
		return ErrFailed
	}
	if refusal, ok := errors.AsType[*client.Error](err); ok {
		s.explain(piece, refusal)
		return ErrFailed
	}
	if mine, ok := errors.AsType[*usageError](err); ok {
		fmt.Fprintf(s.Err, "%s\n", mine.text)
		return ErrFailed
	}
	if isConnection(err) {
		return &ConnError{Where: s.Where, Err: err}
	}
	fmt.Fprintf(s.Err, "error: %v\n", err)
	return ErrFailed
}

// explain prints a refusal with the place in the statement that it is about.
func (s *Session) explain(statement string, e *client.Error) {
	fmt.Fprintf(s.Err, "%s %s\n", s.red("error:"), table.Clean(e.Detail))
	if e.Line > 0 {
		lines := strings.Split(statement, "\n")
		if e.Line <= len(lines) {
			line := strings.TrimRight(lines[e.Line-1], "\r")
			head := fmt.Sprintf("line %d: ", e.Line)
			runes := []rune(line)
			at := min(max(e.LineColumn-1, 0), len(runes))
			fmt.Fprintf(s.Err, "%s%s\n%*s^\n", head, table.Clean(line), len(head)+table.Width(table.Clean(string(runes[:at]))), "")
		}
	}
	if e.Hint != "" {
		fmt.Fprintf(s.Err, "hint: %s\n", table.Clean(e.Hint))
	}
}

func (s *Session) red(text string) string {
	if !s.Color {
		return text
	}
	return "\x1b[31m" + text + "\x1b[0m"
}

// statement runs one statement and prints its answer.
func (s *Session) statement(ctx context.Context, sql string) error {
	st, err := catalog.Parse(sql)
	rows := err != nil // the server knows what is wrong with it
	switch st.Kind {
	case catalog.Query, catalog.ShowTables, catalog.Describe, catalog.ExplainNew, catalog.ExplainView, catalog.Unsupported:
		rows = true
	default:
		s.schema.forget()
	}
	if s.Format == FormatTable && !rows {
		return s.change(ctx, sql, &st)
	}
	return s.answer(ctx, sql)
}

// change runs a statement that answers with a commit, and says so as psql does: INSERT 2.
func (s *Session) change(ctx context.Context, sql string, st *catalog.Statement) error {
	rows, err := s.Client.SQL(ctx, sql)
	if err != nil {
		return err
	}
	if !s.Tags {
		return nil
	}
	tag := string(st.Kind)
	if st.Kind == catalog.Drop {
		tag += " " + strings.ToUpper(string(st.DropKind))
	}
	var commit int64
	if len(rows) > 0 {
		if _, counted := rows[0]["count"]; counted {
			tag += " " + table.Group(rows[0].Int("count"))
		}
		commit = rows[0].Int("commit")
	}
	fmt.Fprintf(s.Out, "%s (commit %d)\n", tag, commit)
	return nil
}

// duration writes a duration with three digits.
func duration(d time.Duration) string {
	switch {
	case d < time.Millisecond:
		return fmt.Sprintf("%.3f ms", float64(d)/1e6)
	case d < time.Second:
		return fmt.Sprintf("%.1f ms", float64(d)/1e6)
	case d < time.Minute:
		return fmt.Sprintf("%.2f s", d.Seconds())
	}
	return d.Round(time.Second).String()
}
