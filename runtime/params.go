package runtime

import (
	"time"

	"tidemill/views/catalog"
	"tidemill/views/duck"
)

// Named is the value of a parameter $name of a statement.
type Named = duck.Named

// Number is a number that is read as SQL reads it: no digit is lost.
type Number = duck.Number

// ResultField is a column of a query's result.
type ResultField = duck.ResultField

// Statement is one statement and what goes with it.
type Statement struct {
	SQL string
	// Params are the values of $1, $2, ... or ?, or each a Named for $name: nil, bool, integers, floats, Number,
	// string, []byte and time.Time.
	Params []any
	// MaxAge accepts an answer that a commit made stale so long ago; it is refreshed for the next.
	MaxAge time.Duration
	// Access is what the request may do; beyond it the error is an *AccessError. The zero value is everything.
	Access Access
}

// Access is what a request may do. Each may do what those before it may.
type Access int

// The levels of access. Full is the zero value.
const (
	Full    Access = 0
	ToRead  Access = iota // queries and lookups
	ToWrite               // appends, INSERT, UPDATE and DELETE too
	ToAdmin               // definitions, checkpoints and other people's queries too
)

// allows says whether a request with this access may do what needs the other.
func (a Access) allows(needs Access) bool { return a == Full || a >= needs }

// AccessError is returned for a statement that needs more access than its request has; nothing was done.
type AccessError struct {
	Statement string
	Needs     Access
}

// Error names the statement.
func (e *AccessError) Error() string { return e.Statement + " needs more access than this request has" }

// accessOf returns what a statement needs. One that there is not needs nothing: it is refused by name.
func accessOf(kind catalog.StatementKind) Access {
	switch kind {
	case catalog.Query, catalog.ShowTables, catalog.Describe, catalog.ExplainNew, catalog.ExplainView, catalog.Unsupported:
		return ToRead
	case catalog.Insert, catalog.Delete, catalog.Update, catalog.Truncate, catalog.Begin, catalog.Commit, catalog.Rollback:
		return ToWrite
	}
	return ToAdmin
}

// Origin is where an answer comes from.
type Origin int

// The origins of an answer. NoQuery is that of statements that are no queries.
const (
	NoQuery   Origin = iota
	Computed         // for this request
	FromCache        // kept or computed for another, and right when the request came or later
	FromStale        // kept, and a commit has changed since what it reads
)
