package duck

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// ErrClosed is returned by the methods of a Planner, Exec or Evaluator after Close.
var ErrClosed = errors.New("duckdb instance is closed")

// SQLError is a statement that DuckDB, or this package on its behalf, refused.
type SQLError struct {
	// Kind is DuckDB's: Parser, Binder, Catalog, Conversion, Constraint, Interrupt and so on.
	Kind string
	// SQLState is the five-character SQLSTATE, XX000 where nothing fits.
	SQLState string
	// Message is one sentence, without the kind in front.
	Message string
	// Hint says what to do; it may be empty.
	Hint string
	// Position is the byte offset in the text that was handed in, -1 when there is none.
	Position int
	// Line and Column locate Position, from 1, Column in characters; both are 0 without one.
	Line, Column int

	// entry is the kind of catalog entry that a Catalog error is about, such as Table.
	entry string
}

// Error returns the message with its kind, its place and its hint.
func (e *SQLError) Error() string {
	var b strings.Builder
	b.WriteString(e.Kind)
	b.WriteString(" Error: ")
	b.WriteString(e.Message)
	if e.Position >= 0 {
		fmt.Fprintf(&b, " (line %d, column %d)", e.Line, e.Column)
	}
	if e.Hint != "" {
		b.WriteString("\nHint: ")
		b.WriteString(e.Hint)
	}
	return b.String()
}

// at sets the error's place to a byte offset in text, or to none when it lies outside.
func (e *SQLError) at(text string, position int) *SQLError {
	e.Position, e.Line, e.Column = -1, 0, 0
	if position >= 0 && position <= len(text) {
		before := text[:position]
		e.Position = position
		e.Line = 1 + strings.Count(before, "\n")
		e.Column = 1 + utf8.RuneCountInString(before[strings.LastIndexByte(before, '\n')+1:])
	}
	return e
}

// refuse makes an error of our own about text at position.
func refuse(kind, state, text string, position int, hint, format string, args ...any) *SQLError {
	e := &SQLError{Kind: kind, SQLState: state, Message: fmt.Sprintf(format, args...), Hint: hint}
	return e.at(text, position)
}

// duckError is an error as DuckDB writes it when errors_as_json is set, and as json_serialize_plan
// answers it.
type duckError struct {
	Type      string `json:"exception_type"`
	Message   string `json:"exception_message"`
	PlanType  string `json:"error_type"`
	PlanMsg   string `json:"error_message"`
	Subtype   string `json:"error_subtype"`
	Position  string `json:"position"`
	EntryType string `json:"type"`
}

// parseError makes an SQLError of DuckDB's message about text. DuckDB writes JSON, because every
// instance sets errors_as_json; a message of another form is kept whole.
func parseError(message, text string) *SQLError {
	var d duckError
	if i := strings.IndexByte(message, '{'); i >= 0 && json.Unmarshal([]byte(message[i:]), &d) == nil && d.Type+d.PlanType != "" {
		return d.toSQL(text)
	}
	kind, rest, ok := strings.Cut(message, " Error: ")
	if !ok || len(kind) > 40 || strings.Contains(kind, "\n") {
		kind, rest = "Unknown", message
	}
	return (&duckError{Type: kind, Message: rest}).toSQL(text)
}

func (d *duckError) toSQL(text string) *SQLError {
	kind, msg := d.Type, d.Message
	if kind == "" {
		kind, msg = d.PlanType, d.PlanMsg
	}
	e := &SQLError{Kind: titleKind(kind), entry: d.EntryType}
	if msg == "" {
		msg = d.Subtype
	}
	first, rest, _ := strings.Cut(strings.TrimSpace(msg), "\n")
	e.Message, e.Hint = strings.TrimSpace(first), strings.TrimSpace(rest)
	e.SQLState = sqlState(e, d.Subtype)
	pos := -1
	if p, err := strconv.Atoi(d.Position); err == nil {
		pos = p
	}
	return e.at(text, pos)
}

// titleKind gives a kind one spelling: json_serialize_plan writes "out of range", messages write
// "Out of Range", and an interrupt is INTERRUPT.
func titleKind(kind string) string {
	words := strings.Fields(strings.ToLower(kind))
	for i, w := range words {
		if w != "of" && w != "by" {
			words[i] = strings.ToUpper(w[:1]) + w[1:]
		}
	}
	return strings.Join(words, " ")
}

// stateOfKind is the SQLSTATE of each kind for which the message makes no difference.
var stateOfKind = map[string]string{
	"Parser": "42601", "Syntax": "42601", "Out of Range": "22003", "Divide by Zero": "22012",
	"Invalid Input": "22023", "Interrupt": "57014", "Out of Memory": "53200", "Permission": "42501",
	"Not Implemented": "0A000", "Io": "58030", "Transactioncontext": "25000", "Dependency": "2BP01",
	"Invalid Type": "42804", "Mismatch Type": "42804", "Parameter Not Resolved": "42P18",
	"Parameter Not Allowed": "42P02", "Invalid Configuration": "42501", "Sequence": "2200H",
	"Missing Extension": "0A000", "Object Size": "54000",
}

func sqlState(e *SQLError, subtype string) string {
	has := func(s string) bool { return strings.Contains(e.Message, s) }
	switch e.Kind {
	case "Catalog":
		return catalogState(e, subtype)
	case "Binder":
		switch {
		case subtype == "COLUMN_NOT_FOUND" || has("Referenced column") || has("does not have a column"):
			return "42703"
		case has("Ambiguous"):
			return "42702"
		case has("No function matches") || has("Function with name"):
			return "42883"
		case has("must appear in the GROUP BY"):
			return "42803"
		case has("Duplicate alias"):
			return "42712"
		case has("Referenced table"):
			return "42P01"
		case has("values were supplied") || has("Cannot mix"):
			return "42601"
		case has("Cannot compare values") || has("explicit type cast"):
			return "42804"
		}
		return "42000"
	case "Conversion":
		switch {
		case has("out of range") || has("overflow") || has("Could not cast value") || has("too large"):
			return "22003"
		case has("timestamp field") || has("date field") || has("time field") || has("timestamp format"):
			return "22007"
		}
		return "22P02"
	case "Constraint":
		switch {
		case has("NOT NULL"):
			return "23502"
		case has("Duplicate key") || has("unique") || has("UNIQUE"):
			return "23505"
		case has("CHECK"):
			return "23514"
		}
		return "23000"
	}
	if s, ok := stateOfKind[e.Kind]; ok {
		return s
	}
	return "XX000"
}

func catalogState(e *SQLError, subtype string) string {
	if strings.HasPrefix(e.Message, "Column with name") {
		return "42701"
	}
	if subtype == "ENTRY_ALREADY_EXISTS" || strings.Contains(e.Message, "already exists") {
		return "42P07"
	}
	switch kind := strings.ToLower(e.entry); {
	case kind == "table" || kind == "view" || strings.HasPrefix(e.Message, "Table with name"):
		return "42P01"
	case strings.Contains(kind, "function"):
		return "42883"
	case kind == "schema":
		return "3F000"
	}
	return "42704"
}
