package catalog

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

// The errors of names, found with errors.Is in the NameErrors that wrap them.
var (
	// ErrUnknownRelation: a statement names a relation that there is not.
	ErrUnknownRelation = errors.New("relation does not exist")
	// ErrExists: a relation is created under a name that is taken.
	ErrExists = errors.New("relation already exists")
	// ErrUnknownSchema: a statement names a schema that there is not.
	ErrUnknownSchema = errors.New("schema does not exist")
	// ErrUnknownColumn: ALTER or COMMENT names a column that the relation has not.
	ErrUnknownColumn = errors.New("column does not exist")
	// ErrWrongKind: a statement for tables names a view, or the other way round.
	ErrWrongKind = errors.New("relation is of another kind")
)

// NameError is an error about one relation's name.
type NameError struct {
	Name string
	Kind Kind  // of the relation there is; empty with ErrUnknownRelation
	Err  error // ErrUnknownRelation, ErrExists or ErrWrongKind
	Hint string
}

// Error says it in a sentence for the user.
func (e *NameError) Error() string {
	switch e.Err {
	case ErrUnknownSchema:
		return fmt.Sprintf("schema %q does not exist", e.Name)
	case ErrUnknownColumn:
		return fmt.Sprintf("column %q does not exist", e.Name)
	case ErrUnknownRelation:
		return fmt.Sprintf("relation %q does not exist", e.Name)
	case ErrExists:
		return fmt.Sprintf("%s %q already exists", e.Kind, e.Name)
	case ErrWrongKind:
		return fmt.Sprintf("%q is a %s", e.Name, e.Kind)
	default:
		return fmt.Sprintf("relation %q: %v", e.Name, e.Err)
	}
}

// Unwrap returns the sentinel.
func (e *NameError) Unwrap() error { return e.Err }

// DependentsError refuses to drop or change what others need.
type DependentsError struct {
	Name string
	Kind Kind
	// Verb is what cannot be done; empty for "drop". What says how the dependents need it; empty for "followed by".
	Verb, What string
	Cause      error    // of the first dependent, or nil
	Way        string   // out of it; empty for that of a DROP
	Dependents []string // all of them, also those that follow a follower, each before its followers
}

// Error names the views.
func (e *DependentsError) Error() string {
	quoted := make([]string, len(e.Dependents))
	for i, d := range e.Dependents {
		quoted[i] = fmt.Sprintf("%q", d)
	}
	text := fmt.Sprintf("cannot %s %s %q: %s %s", cmp.Or(e.Verb, "drop"), e.Kind, e.Name, cmp.Or(e.What, "followed by"), strings.Join(quoted, ", "))
	if e.Cause != nil {
		text += ": " + e.Cause.Error()
	}
	return text
}

// Hint tells the way out.
func (e *DependentsError) Hint() string {
	return cmp.Or(e.Way, "drop the views first, or use DROP ... CASCADE to drop them all")
}

// SyntaxError is a statement that this package cannot read, or refuses.
type SyntaxError struct {
	Position  int // byte offset in the text
	Line, Col int // of Position, from 1; Col in characters
	Message   string
	Hint      string
}

// Error returns the message with its place, without the hint.
func (e *SyntaxError) Error() string {
	return fmt.Sprintf("%s (line %d, column %d)", e.Message, e.Line, e.Col)
}

func syntaxError(sql string, pos int, hint, format string, args ...any) *SyntaxError {
	pos = min(pos, len(sql))
	before := sql[:pos]
	return &SyntaxError{
		Position: pos, Line: 1 + strings.Count(before, "\n"),
		Col:     1 + utf8.RuneCountInString(before[strings.LastIndexByte(before, '\n')+1:]),
		Message: fmt.Sprintf(format, args...), Hint: hint,
	}
}
