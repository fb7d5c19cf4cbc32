package httpd

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"tidemill/runtime"
	"tidemill/runtime/commitlog"
	"tidemill/runtime/decode"
	"tidemill/runtime/logrec"
	"tidemill/state"
	"tidemill/state/column"
	"tidemill/state/image"
	"tidemill/views"
	"tidemill/views/catalog"
	"tidemill/views/duck"
	"tidemill/views/plan"
)

// TestTranslate has every exported error that can reach a request, and those that should not.
func TestTranslate(t *testing.T) {
	prev := uint64(4)
	for _, c := range []struct {
		err    error
		status int
		slug   string
		state  string
	}{
		{runtime.ErrClosed, 503, "closing", "57P01"},
		{runtime.ErrLocked, 500, "internal", "XX000"},
		{runtime.ErrNotOurs, 500, "internal", "XX000"},
		{runtime.ErrNewerFormat, 500, "internal", "XX000"},
		{runtime.ErrBusy, 503, "busy", "53000"},
		{fmt.Errorf("commit 3: %w: %w", runtime.ErrDiskFull, commitlog.ErrNoSegment), 507, "disk-full", "53100"},
		{runtime.ErrSchemaChanged, 409, "schema-changed", "40001"},
		{runtime.ErrSeqReused, 409, "seq-reused", "23505"},
		{runtime.ErrNoQuery, 404, "unknown-query", "42704"},
		{runtime.ErrCancelled, 503, "cancelled", "57014"},
		{runtime.ErrReservedName, 400, "reserved-name", "42939"},
		{&runtime.SeqError{Producer: "p", Seq: 9, Last: 3}, 409, "seq", "55000"},
		{&runtime.SeqError{Producer: "p", Seq: 9, Last: 3, Prev: &prev}, 409, "seq", "55000"},
		{&runtime.FailedError{Cause: decode.ErrTooLarge}, 503, "stopped", "58030"},
		{&runtime.KeyError{Relation: "kv", Columns: []string{"a", "b"}, Given: 1}, 400, "bad-key", "22023"},
		{&runtime.KeyError{Relation: "kv", Columns: []string{"a"}, Given: 1, Cause: errors.New("x")}, 400, "bad-key", "22P02"},
		{&runtime.NotNullError{Table: "kv", Column: "id", Row: 1}, 400, "bad-row", "23502"},
		{&runtime.UnsupportedError{Words: "ALTER TABLE"}, 400, "not-supported", "0A000"},
		{&runtime.AccessError{Statement: "DROP", Needs: runtime.ToAdmin}, 403, "forbidden", "42501"},
		{decode.ErrTooLarge, 413, "too-large", "54000"},
		{decode.ErrEncoding, 415, "unknown-encoding", "0A000"},
		{decode.ErrCorrupt, 400, "bad-body", "22P03"},
		{&decode.RowError{Row: 3, Offset: 17, Column: "id", Value: "x", Reason: "not a number"}, 400, "bad-row", "22P02"},
		{&decode.RowError{Row: 3, Offset: -1, Column: "id", Value: "null", Reason: "the column is NOT NULL"}, 400, "bad-row", "23502"},
		{&decode.StreamError{Message: 1, Reason: "cut"}, 400, "bad-body", "22P03"},
		{&decode.SchemaError{Column: "x", Arrow: "utf8", Table: "BIGINT", Reason: "no"}, 400, "bad-schema", "42804"},
		{&decode.SchemaError{Column: "x", Arrow: "utf8", Reason: "no such column"}, 400, "bad-schema", "42703"},
		{&decode.SchemaError{Column: "x", Table: "BIGINT", Reason: "lacks it"}, 400, "bad-schema", "23502"},
		{catalog.ErrUnknownRelation, 404, "unknown-relation", "42P01"},
		{catalog.ErrExists, 409, "exists", "42P07"},
		{catalog.ErrWrongKind, 409, "wrong-kind", "42809"},
		{&catalog.NameError{Name: "x", Err: catalog.ErrUnknownRelation}, 404, "unknown-relation", "42P01"},
		{&catalog.NameError{Name: "x", Kind: catalog.View, Err: catalog.ErrWrongKind}, 409, "wrong-kind", "42809"},
		{&catalog.DependentsError{Name: "t", Kind: catalog.Table, Dependents: []string{"v", "w"}}, 409, "dependents", "2BP01"},
		{&catalog.SyntaxError{Position: 3, Line: 1, Col: 4, Message: "no"}, 400, "bad-sql", "42601"},
		{&plan.Error{Construct: "window functions", Position: 7, Message: "no"}, 400, "not-maintained", "0A000"},
		{&plan.Error{Position: -1, Message: "no"}, 400, "bad-sql", "42000"},
		{duck.ErrClosed, 503, "closing", "57P01"},
		{&duck.SQLError{Kind: "Parser", SQLState: "42601", Position: 1}, 400, "bad-sql", "42601"},
		{&duck.SQLError{Kind: "Catalog", SQLState: "42P01", Position: 1}, 404, "unknown-relation", "42P01"},
		{&duck.SQLError{Kind: "Catalog", SQLState: "42P07", Position: -1}, 409, "exists", "42P07"},
		{&duck.SQLError{Kind: "Permission", SQLState: "42501", Position: -1}, 403, "forbidden", "42501"},
		{&duck.SQLError{Kind: "Out of Memory", SQLState: "53200", Position: -1}, 503, "out-of-memory", "53200"},
		{&duck.SQLError{Kind: "Interrupt", SQLState: "57014", Position: -1}, 503, "cancelled", "57014"},
		{&duck.SQLError{Kind: "Io", SQLState: "58030", Position: -1}, 500, "internal", "58030"},
		{&duck.SQLError{Kind: "Internal", SQLState: "XX000", Position: -1}, 500, "internal", "XX000"},
		{&duck.SQLError{Kind: "Unknown", SQLState: "XX000", Position: -1}, 400, "bad-sql", "XX000"},
		{views.ErrNoKey, 409, "no-key", "55000"},
		{views.ErrTooManyOperators, 400, "too-complex", "54000"},
		{commitlog.ErrFailed, 503, "stopped", "58030"},
		{commitlog.ErrClosed, 503, "closing", "57P01"},
		{commitlog.ErrTooLarge, 413, "too-large", "54000"},
		{commitlog.ErrNoSegment, 503, "no-segment", "58030"},
		{commitlog.ErrOrder, 500, "internal", "XX000"},
		{commitlog.ErrTrimmed, 500, "internal", "XX000"},
		{commitlog.ErrVersion, 500, "internal", "XX000"},
		{&commitlog.CorruptionError{File: "f", Reason: "r"}, 500, "internal", "XX000"},
		{&image.CorruptionError{}, 500, "internal", "XX000"},
		{state.ErrClosed, 503, "closing", "57P01"},
		{state.ErrFailed, 503, "stopped", "58030"},
		{state.ErrNotOurs, 500, "internal", "XX000"},
		{state.ErrNewerFormat, 500, "internal", "XX000"},
		{state.ErrOrder, 500, "internal", "XX000"},
		{state.ErrTooLarge, 500, "internal", "XX000"},
		{state.ErrCorrupt, 500, "internal", "XX000"},
		{column.ErrMalformed, 500, "internal", "XX000"},
		{column.ErrNotLossless, 400, "not-exact", "22003"},
		{column.ErrText, 400, "bad-value", "22P02"},
		{logrec.ErrMalformed, 500, "internal", "XX000"},
		{context.Canceled, 503, "cancelled", "57014"},
		{context.DeadlineExceeded, 503, "cancelled", "57014"},
		{errPanicked, 500, "internal", "XX000"},
		{errors.New("whatever"), 500, "internal", "XX000"},
	} {
		for _, err := range []error{c.err, fmt.Errorf("wrapped: %w", c.err)} {
			p := (&Server{}).translate(err)
			if p.Status != c.status || p.Slug != c.slug || p.SQLState != c.state || p.Detail == "" && c.err.Error() != "" {
				t.Errorf("%T %v: %d %s %s %q, want %d %s %s", c.err, err, p.Status, p.Slug, p.SQLState, p.Detail, c.status, c.slug, c.state)
			}
			if p.Hint == "" && p.Slug != "bad-sql" && p.SQLState == "" {
				t.Errorf("%v: neither hint nor sqlstate", err)
			}
			var m map[string]any
			if b := p.append(nil); json.Unmarshal(b, &m) != nil {
				t.Errorf("%v: not JSON: %s", err, b)
			}
		}
	}
}

// TestProblemFields shows that what an error knows is in the answer.
func TestProblemFields(t *testing.T) {
	for _, c := range []struct {
		err  error
		want string
	}{
		{&runtime.SeqError{Producer: "p", Seq: 9, Last: 3}, `"expected":4`},
		{&runtime.SeqError{Producer: "p", Seq: 9, Last: 0}, `"expected":1`},
		{&decode.RowError{Row: 3, Offset: 0, Column: `a"b`, Value: "\xff", Reason: "r"}, `"column":"a\"b","value":"` + "\uFFFD" + `","row":3,"position":0`},
		{&catalog.DependentsError{Name: "t", Dependents: []string{"v", "w"}}, `"dependents":["v","w"]`},
	} {
		if got := string((&Server{}).translate(c.err).append(nil)); !strings.Contains(got, c.want) {
			t.Errorf("%v:\n got %s want %s", c.err, got, c.want)
		}
	}
}

// TestLocate moves a place from the second statement to the whole text.
func TestLocate(t *testing.T) {
	text := "SELECT 1;\nSELECT é, x FROM t"
	p := (&Problem{}).at(len("SELECT é, "))
	p.locate(text, len("SELECT 1;\n"))
	if p.Line != 2 || p.LineColumn != 11 || text[p.Position:p.Position+1] != "x" {
		t.Errorf("got %+v", p)
	}
}
