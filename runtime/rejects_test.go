package runtime

import (
	"context"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"tidemill/runtime/decode"
	"tidemill/state/column"
)

// several appends good rows to t, and to u when it is there, and a bad row of each to their rejects, in one commit.
func several(t *testing.T, e *Engine, seq uint64) AppendResult {
	t.Helper()
	part := func(table string) TableRows {
		rel, err := e.Catalog().LookupTable(table)
		if err != nil {
			t.Fatal(err)
		}
		return TableRows{Relation: rel.ID, Version: rel.Version, N: 2, Cols: []column.Column{column.Of(column.T(column.Int64), []int64{int64(seq), 2}, nil)},
			Bad: []decode.BadRow{{RowError: decode.RowError{Row: 3, Offset: 7, Column: "v", Value: "x", Reason: "no number"}, Raw: []byte("x")}}}
	}
	p := part("t")
	res, err := e.Append(context.Background(), AppendRequest{Relation: p.Relation, Version: p.Version, Cols: p.Cols, N: p.N, Bad: p.Bad,
		More: []TableRows{part("u")}, Producer: "p", Seq: seq, Hash: seq})
	if err != nil {
		t.Fatal(err)
	}
	return res
}

// TestRejects: rows of several tables and their rejects are one commit, counted as sent, repeated as one, and there
// after a crash, a checkpoint and a restart.
func TestRejects(t *testing.T) {
	fs := vfs.NewCrashableMem()
	e := openTest(t, Options{Dir: "/data", FS: fs})
	show(t, e, "CREATE TABLE t (v BIGINT)")
	show(t, e, "CREATE TABLE u (v BIGINT)")
	show(t, e, "CREATE MATERIALIZED VIEW n AS SELECT v, count(*) AS n FROM t GROUP BY v")
	check := func(when string, res AppendResult, commit uint64, duplicate bool) {
		t.Helper()
		if want := (AppendResult{Commit: commit, Accepted: 4, Rejected: 2, Duplicate: duplicate}); res != want {
			t.Errorf("%s: %+v, want %+v", when, res, want)
		}
	}
	first := several(t, e, 1)
	check("first", first, 6, false) // after two definitions of rejects
	second := several(t, e, 2)
	check("second", second, 7, false)
	check("repeat", several(t, e, 1), first.Commit, true)
	if s := e.Stats(); s.Rows != 8 || s.Rejected != 4 {
		t.Errorf("%d rows appended, %d rejected", s.Rows, s.Rejected)
	}
	for _, when := range []string{"replayed", "from a checkpoint"} {
		if when == "replayed" {
			fs = fs.CrashClone(vfs.CrashCloneCfg{})
			defer e.Close()
		} else if err := e.Close(); err != nil {
			t.Fatal(err)
		}
		e = openTest(t, Options{Dir: "/data", FS: fs})
		check(when, several(t, e, 2), second.Commit, true)
		expect(t, e, `SELECT seq, row_number, byte_offset, column_name, reason, "value", raw, producer FROM "t$rejects" ORDER BY seq`,
			`1 3 7 "v" "no number" "x" "x" "p"`+"\n"+`2 3 7 "v" "no number" "x" "x" "p"`)
		expect(t, e, `SELECT count(*) FROM "u$rejects"`, "2")
		expect(t, e, "SELECT * FROM n ORDER BY v", "1 1\n2 3")
	}
	show(t, e, "DROP TABLE t CASCADE")
	if r := e.Catalog().Rejects(1); r != nil {
		t.Errorf("%s outlives its table", r.Name)
	}
	expect(t, e, `SELECT count(*) FROM "u$rejects"`, "2")
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
}
