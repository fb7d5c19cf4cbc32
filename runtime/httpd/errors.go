package httpd

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"strings"
	"time"
	"unicode/utf8"

	"tidemill/runtime"
	"tidemill/runtime/commitlog"
	"tidemill/runtime/decode"
	"tidemill/runtime/logrec"
	"tidemill/state"
	"tidemill/state/column"
	"tidemill/views"
	"tidemill/views/catalog"
	"tidemill/views/duck"
	"tidemill/views/plan"
)

// retrySoon is the Retry-After of pressure that passes by itself.
const retrySoon = time.Second

// translate is the one place where errors become answers. It copies, since callers fill in more.
func (s *Server) translate(err error) *Problem {
	p := problemOf(err)
	if p.Detail == "" {
		p.Detail = err.Error()
	}
	return p
}

func problemOf(err error) *Problem {
	if p, ok := errors.AsType[*Problem](err); ok {
		c := *p
		return &c
	}
	// A stopped engine wraps what stopped it, which must not be taken for this request's own fault.
	if _, ok := errors.AsType[*runtime.FailedError](err); ok {
		return &Problem{Status: http.StatusServiceUnavailable, Slug: "stopped", SQLState: "58030",
			Hint: "reads go on; look at the disk and restart the server. A producer repeats the append with the same seq"}
	}
	if errors.Is(err, runtime.ErrCancelled) { // wrapped by what it interrupted
		return &Problem{Status: http.StatusServiceUnavailable, Slug: "cancelled", SQLState: "57014", RetryAfter: retrySoon,
			Detail: "the query was ended by CANCEL QUERY or DELETE /queries/{id}", Hint: "somebody with admin access ended it"}
	}
	if e, ok := errors.AsType[*runtime.AccessError](err); ok {
		return &Problem{Status: http.StatusForbidden, Slug: "forbidden", SQLState: "42501", Detail: e.Statement + " is not for this token",
			Hint: "use a token for " + accessNames[e.Needs]}
	}
	for _, translate := range []func(error) *Problem{statementProblem, bodyProblem, appendProblem, pressureProblem} {
		if p := translate(err); p != nil {
			return p
		}
	}
	for _, k := range sentinels {
		if errors.Is(err, k.err) {
			p := k.problem
			return &p
		}
	}
	return &Problem{Status: http.StatusInternalServerError, Slug: "internal", SQLState: "XX000",
		Hint: "this is a defect of Tidemill or damage on disk: the server's log has the details"}
}

// accessNames are the words for levels of access, in token files and hints.
var accessNames = map[runtime.Access]string{runtime.ToRead: "read", runtime.ToWrite: "write", runtime.ToAdmin: "admin"}

// sentinels are the errors that need no fields. More particular ones, which wrap others, come first.
var sentinels = []struct {
	err     error
	problem Problem
}{
	{runtime.ErrDiskFull, Problem{Status: http.StatusInsufficientStorage, Slug: "disk-full", SQLState: "53100",
		Hint: "nothing of it was applied: make room and send it again"}},
	{runtime.ErrSchemaChanged, Problem{Status: http.StatusConflict, Slug: "schema-changed", SQLState: "40001",
		Hint: "nothing of it was applied: send it again for the table as it is now"}},
	{runtime.ErrSeqReused, Problem{Status: http.StatusConflict, Slug: "seq-reused", SQLState: "23505",
		Hint: "a repeat must have the same body; new rows need the next seq"}},
	{decode.ErrTooLarge, Problem{Status: http.StatusRequestEntityTooLarge, Slug: "too-large", SQLState: "54000", Hint: "send it in several requests, or compress it less"}},
	{decode.ErrEncoding, Problem{Status: http.StatusUnsupportedMediaType, Slug: "unknown-encoding", SQLState: "0A000", Hint: "send gzip, zstd or no Content-Encoding"}},
	{decode.ErrCorrupt, Problem{Status: http.StatusBadRequest, Slug: "bad-body", SQLState: "22P03", Hint: "compress the body again"}},
	{catalog.ErrUnknownRelation, Problem{Status: http.StatusNotFound, Slug: "unknown-relation", SQLState: "42P01", Hint: "GET /stats lists the relations"}},
	{catalog.ErrUnknownSchema, Problem{Status: http.StatusNotFound, Slug: "unknown-schema", SQLState: "3F000", Hint: "CREATE SCHEMA makes one"}},
	{catalog.ErrUnknownColumn, Problem{Status: http.StatusBadRequest, Slug: "unknown-column", SQLState: "42703", Hint: "DESCRIBE lists a relation's columns"}},
	{catalog.ErrExists, Problem{Status: http.StatusConflict, Slug: "exists", SQLState: "42P07", Hint: "take another name, drop it first, or write IF NOT EXISTS"}},
	{catalog.ErrWrongKind, Problem{Status: http.StatusConflict, Slug: "wrong-kind", SQLState: "42809", Hint: "append to the tables that a view reads, it follows them"}},
	{views.ErrNoKey, Problem{Status: http.StatusConflict, Slug: "no-key", SQLState: "55000",
		Hint: "look up keyed tables and views that show all their grouping columns; read others with POST /sql"}},
	{views.ErrTooManyOperators, Problem{Status: http.StatusBadRequest, Slug: "too-complex", SQLState: "54000", Hint: "split the view in two"}},
	{runtime.ErrNoQuery, Problem{Status: http.StatusNotFound, Slug: "unknown-query", SQLState: "42704", Hint: "it may have ended: GET /queries lists what runs"}},
	{runtime.ErrReservedName, Problem{Status: http.StatusBadRequest, Slug: "reserved-name", SQLState: "42939", Hint: "take another name"}},
	{column.ErrText, Problem{Status: http.StatusBadRequest, Slug: "bad-value", SQLState: "22P02", Hint: "write the value as SQL does"}},
	{column.ErrNotLossless, Problem{Status: http.StatusBadRequest, Slug: "not-exact", SQLState: "22003", Hint: "cast the column to VARCHAR, or ask for JSON"}},
	{runtime.ErrClosed, closing},
	{duck.ErrClosed, closing},
	{state.ErrClosed, closing},
	{commitlog.ErrClosed, closing},
	{commitlog.ErrTooLarge, Problem{Status: http.StatusRequestEntityTooLarge, Slug: "too-large", SQLState: "54000", Hint: "change or append fewer rows at a time"}},
	{commitlog.ErrNoSegment, Problem{Status: http.StatusServiceUnavailable, Slug: "no-segment", SQLState: "58030", RetryAfter: retrySoon,
		Hint: "nothing of it was applied: look at the disk and send it again"}},
	{state.ErrFailed, broken}, {commitlog.ErrFailed, broken},
	// What follows is met when a directory is opened or when our own code is wrong, never by a request.
	{runtime.ErrLocked, internal}, {runtime.ErrNotOurs, internal}, {runtime.ErrNewerFormat, internal},
	{state.ErrNotOurs, internal}, {state.ErrNewerFormat, internal}, {state.ErrOrder, internal}, {state.ErrTooLarge, internal}, {state.ErrCorrupt, internal},
	{commitlog.ErrOrder, internal}, {commitlog.ErrTrimmed, internal}, {commitlog.ErrVersion, internal},
	{column.ErrMalformed, internal}, {logrec.ErrMalformed, internal},
}

var (
	closing = Problem{Status: http.StatusServiceUnavailable, Slug: "closing", SQLState: "57P01", RetryAfter: 2 * time.Second,
		Hint: "the server is shutting down: send it again when it is back, an append with the same seq"}
	broken = Problem{Status: http.StatusServiceUnavailable, Slug: "stopped", SQLState: "58030",
		Hint: "look at the disk and restart the server"}
	internal = Problem{Status: http.StatusInternalServerError, Slug: "internal", SQLState: "XX000",
		Hint: "this is a defect of Tidemill or damage on disk: the server's log has the details"}
)

// appendProblem translates what the committer says about an append or a change.
func appendProblem(err error) *Problem {
	if e, ok := errors.AsType[*runtime.SeqError](err); ok {
		p := &Problem{Status: http.StatusConflict, Slug: "seq", SQLState: "55000", Expected: e.Last + 1,
			Hint: "nothing of it was applied: send the appends that are missing first, or go on from expected"}
		if e.Prev != nil {
			p.Hint = "nothing of it was applied: somebody else has appended for this producer; expected is its next seq"
		}
		return p
	}
	if e, ok := errors.AsType[*runtime.UnsupportedError](err); ok {
		return &Problem{Status: http.StatusBadRequest, Slug: "not-supported", SQLState: "0A000", Hint: e.Hint}
	}
	if e, ok := errors.AsType[*runtime.TransactionError](err); ok {
		return &Problem{Status: http.StatusBadRequest, Slug: "transaction", SQLState: "25000", Hint: e.Hint}
	}
	if e, ok := errors.AsType[*runtime.ConflictError](err); ok {
		return &Problem{Status: http.StatusConflict, Slug: "conflict", SQLState: e.State, Table: e.Table, Hint: e.Hint}
	}
	if e, ok := errors.AsType[*runtime.NotNullError](err); ok {
		return &Problem{Status: http.StatusBadRequest, Slug: "bad-row", SQLState: "23502", Table: e.Table, Column: e.Column, Row: e.Row, Value: "null",
			Hint: "nothing of the statement was applied"}
	}
	if e, ok := errors.AsType[*runtime.KeyError](err); ok {
		p := &Problem{Status: http.StatusBadRequest, Slug: "bad-key", SQLState: "22023", Table: e.Relation,
			Hint: "give " + strings.Join(e.Columns, ",") + ", comma-separated and percent-encoded"}
		if e.Cause != nil {
			p.SQLState = "22P02"
		}
		return p
	}
	return nil
}

// pressureProblem translates what passes.
func pressureProblem(err error) *Problem {
	switch {
	case errors.Is(err, runtime.ErrBusy):
		return &Problem{Status: http.StatusServiceUnavailable, Slug: "busy", SQLState: "53000", RetryAfter: retrySoon,
			Hint: "nothing of it was applied: send it again"}
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		return &Problem{Status: http.StatusServiceUnavailable, Slug: "cancelled", SQLState: "57014", RetryAfter: retrySoon,
			Hint: "an append may or may not have been applied: repeat it with the same producer and seq"}
	}
	return nil
}

// bodyProblem translates what decoders say. The caller adds the table.
func bodyProblem(err error) *Problem {
	if e, ok := errors.AsType[*decode.RowError](err); ok {
		p := &Problem{Status: http.StatusBadRequest, Slug: "bad-row", SQLState: "22P02", Table: e.Table, Row: e.Row, Column: e.Column, Value: e.Value,
			Position: e.Offset, Placed: e.Offset >= 0, Hint: "nothing of the body was applied: correct the row and send it again"}
		switch {
		case strings.Contains(e.Reason, "NOT NULL"):
			p.SQLState = "23502"
		case strings.Contains(e.Reason, "no such column"):
			p.SQLState = "42703"
		case strings.Contains(e.Reason, "no such table"):
			p.Status, p.Slug, p.SQLState = http.StatusNotFound, "unknown-relation", "42P01"
			p.Hint = "nothing of the body was applied: GET /stats lists the tables"
		}
		if e.Row == 0 {
			p.Hint = "nothing of the body was applied: name the table's columns in the first line, or say header=0 when it is a row"
		}
		return p
	}
	if e, ok := errors.AsType[*decode.StreamError](err); ok {
		return &Problem{Status: http.StatusBadRequest, Slug: "bad-body", SQLState: "22P03", Position: e.Offset, Placed: true,
			Hint: "nothing of the body was applied: send an Arrow IPC stream, or name another Content-Type"}
	}
	if e, ok := errors.AsType[*decode.SchemaError](err); ok {
		p := &Problem{Status: http.StatusBadRequest, Slug: "bad-schema", SQLState: "42804", Column: e.Column,
			Hint: "nothing of the body was applied: cast the column before sending it"}
		switch {
		case e.Table == "":
			p.SQLState, p.Hint = "42703", "nothing of the body was applied: leave the column out, or add it to the table"
		case e.Arrow == "":
			p.SQLState, p.Hint = "23502", "nothing of the body was applied: send the column too"
		}
		return p
	}
	return nil
}

// statementProblem translates what is said about SQL.
func statementProblem(err error) *Problem {
	if e, ok := errors.AsType[*catalog.DependentsError](err); ok {
		return &Problem{Status: http.StatusConflict, Slug: "dependents", SQLState: "2BP01", Table: e.Name, Dependents: e.Dependents,
			Hint: cmp.Or(e.Way, "drop "+strings.Join(e.Dependents, ", ")+" first, or write CASCADE")}
	}
	if e, ok := errors.AsType[*catalog.SyntaxError](err); ok {
		return (&Problem{Status: http.StatusBadRequest, Slug: "bad-sql", SQLState: "42601", Detail: e.Message, Hint: e.Hint}).at(e.Position)
	}
	if e, ok := errors.AsType[*catalog.NameError](err); ok {
		p := problemOf(e.Err)
		p.Detail, p.Table, p.Hint = e.Error(), e.Name, cmp.Or(e.Hint, p.Hint)
		return p
	}
	if e, ok := errors.AsType[*plan.Error](err); ok {
		p := &Problem{Status: http.StatusBadRequest, Slug: "not-maintained", SQLState: "0A000", Detail: e.Message, Hint: e.Hint}
		if e.Construct == "" {
			p.Slug, p.SQLState = "bad-sql", "42000"
		}
		return p.at(e.Position)
	}
	if e, ok := errors.AsType[*duck.SQLError](err); ok {
		return sqlProblem(e).at(e.Position)
	}
	return nil
}

// at sets the place in a statement; statementError completes it.
func (p *Problem) at(position int) *Problem {
	p.Position, p.Placed = position, position >= 0
	return p
}

// sqlStatuses are the SQLSTATEs of DuckDB's errors that are not plain bad requests.
var sqlStatuses = map[string]struct {
	status int
	slug   string
	retry  time.Duration
}{
	"42P01": {http.StatusNotFound, "unknown-relation", 0},
	"42P07": {http.StatusConflict, "exists", 0},
	"2BP01": {http.StatusConflict, "dependents", 0},
	"42501": {http.StatusForbidden, "forbidden", 0},
	"57014": {http.StatusServiceUnavailable, "cancelled", retrySoon},
	"53200": {http.StatusServiceUnavailable, "out-of-memory", retrySoon},
	"58030": {http.StatusInternalServerError, "internal", 0},
}

func sqlProblem(e *duck.SQLError) *Problem {
	p := &Problem{Status: http.StatusBadRequest, Slug: "bad-sql", SQLState: e.SQLState, Detail: e.Message, Hint: e.Hint}
	if k, ok := sqlStatuses[e.SQLState]; ok {
		p.Status, p.Slug, p.RetryAfter = k.status, k.slug, k.retry
	}
	if p.Slug == "unknown-relation" && (p.Hint == "" || strings.Contains(p.Hint, "\"pg_") || strings.Contains(p.Hint, "duckdb_")) {
		p.Hint = "GET /stats lists the relations" // DuckDB's guess was one of its own
	}
	if e.Kind == "Internal" || e.Kind == "Fatal" {
		p.Status, p.Slug = http.StatusInternalServerError, "internal"
	}
	return p
}

// locate moves a problem's place from a statement to the text that it begins at from, and names line and
// column there.
func (p *Problem) locate(text string, from int) {
	if !p.Placed {
		return
	}
	p.Position = min(p.Position+from, len(text))
	before := text[:p.Position]
	p.Line = 1 + strings.Count(before, "\n")
	p.LineColumn = 1 + utf8.RuneCountInString(before[strings.LastIndexByte(before, '\n')+1:])
}
