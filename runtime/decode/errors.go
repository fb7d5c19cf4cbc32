package decode

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

// ErrTooLarge says that a body, or what it would become when it is uncompressed or decoded, is over
// a limit. Errors wrap it with the limit that was hit.
var ErrTooLarge = errors.New("body too large")

// ErrEncoding says that a body has a content encoding that is not known.
var ErrEncoding = errors.New("unknown content encoding")

// ErrCorrupt says that a compressed body is damaged or cut short.
var ErrCorrupt = errors.New("damaged compressed body")

// RowError says which row of a body cannot be taken, and why.
type RowError struct {
	Row    int    // from 1, bad ones counted; 0 is a CSV body's header
	Offset int    // the byte in the body where the trouble starts; -1 when rows have no bytes of their own (Arrow)
	Table  string // in a body for several tables
	Column string // empty when no single column is at fault
	Value  string // the value as it was written, shortened to 100 bytes
	Reason string
}

// Error names the row, the column and the place.
func (e *RowError) Error() string {
	var s strings.Builder
	if s.WriteString("header"); e.Row > 0 {
		s.Reset()
		fmt.Fprintf(&s, "row %d", e.Row)
	}
	if e.Table != "" {
		fmt.Fprintf(&s, ", table %q", e.Table)
	}
	if e.Column != "" {
		fmt.Fprintf(&s, ", column %q", e.Column)
	}
	if e.Offset >= 0 {
		fmt.Fprintf(&s, " (byte %d)", e.Offset)
	}
	s.WriteString(": " + e.Reason)
	if e.Value != "" {
		fmt.Fprintf(&s, ": %s", e.Value)
	}
	return s.String()
}

func isRowError(err error) bool {
	_, ok := err.(*RowError)
	return ok
}

// StreamError says that the bytes of an Arrow stream are not a valid stream, and where.
type StreamError struct {
	Message int // from 1; the schema is message 1
	Offset  int // the byte in the body where the message starts, or the buffer at fault
	Reason  string
}

// Error names the message and the place.
func (e *StreamError) Error() string {
	return fmt.Sprintf("arrow stream, message %d (byte %d): %s", e.Message, e.Offset, e.Reason)
}

// SchemaError says that an Arrow stream's schema does not fit the table.
type SchemaError struct {
	Column string
	Arrow  string // the stream's type of the column, empty when the stream lacks it
	Table  string // the table's type of the column, empty when the table lacks it
	Reason string
}

// Error names the column and both types.
func (e *SchemaError) Error() string {
	s := fmt.Sprintf("column %q", e.Column)
	if e.Arrow != "" {
		s += " is " + e.Arrow + " in the Arrow stream"
	}
	if e.Table != "" && e.Arrow != "" {
		s += " and"
	}
	if e.Table != "" {
		s += " is " + e.Table + " in the table"
	}
	return s + ": " + e.Reason
}

// maxShown is the length to which values in errors are cut: enough to recognise one, too little to
// fill a log.
const maxShown = 100

// shorten returns b as text for an error, cut at a whole character.
func shorten(b []byte) string {
	if len(b) <= maxShown {
		return strings.ToValidUTF8(string(b), "\uFFFD")
	}
	n := maxShown - 3
	for n > maxShown-3-utf8.UTFMax && !utf8.RuneStart(b[n]) {
		n--
	}
	s := strings.ToValidUTF8(string(b[:n]), "\uFFFD")
	for len(s) > maxShown-3 { // replacement characters are longer than what they replace
		_, w := utf8.DecodeLastRuneInString(s)
		s = s[:len(s)-w]
	}
	return s + "..."
}
