package plan

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
)

// fillT gives relation t of the scripts rows on which most expressions succeed, with NULLs.
const fillT = `INSERT INTO t SELECT
	CASE WHEN i % 5 > 0 THEN i % 7 END, i % 11, CASE WHEN i % 9 > 0 THEN (i % 4)::VARCHAR END, CASE WHEN i % 6 > 0 THEN (i - 50) / 1024.0 END,
	i / 8.0, i::HUGEINT * 1000000007, TIMESTAMP '2024-01-01' + INTERVAL (i) HOUR, TIMESTAMPTZ '2024-01-01 00:00:00+00' + INTERVAL (i * 7) HOUR,
	DATE '2024-01-01' + i::INT, INTERVAL (i % 3) MONTH, ('00000000-0000-0000-0000-0000000000' || (10 + i % 80))::UUID, encode(i::VARCHAR),
	(i - 50) / 16.0, CASE WHEN i % 4 > 0 THEN i % 3 = 0 END, TIME '00:00:00' + INTERVAL (i) MINUTE
FROM range(100) r(i)`

// TestPrintedPlans compares every plan of the scripts, printed back to SQL, with the SELECT that it
// was made of, under the optimiser's full list of disabled passes and under none but those without
// which plans do not serialise.
func TestPrintedPlans(t *testing.T) {
	for name, disabled := range map[string]string{"ours": disabledOptimizers, "few": fewDisabled} {
		t.Run(name, func(t *testing.T) {
			files, err := filepath.Glob("testdata/*")
			if err != nil {
				t.Fatal(err)
			}
			compared, failing := 0, 0
			b := newBinder(t, disabled)
			for _, f := range files {
				datadriven.RunTest(t, f, func(t *testing.T, d *datadriven.TestData) string {
					switch d.Cmd {
					case "define":
						b.command(d)
						if d.CmdArgs[0].Vals[0] == "t" {
							b.exec(fillT)
						}
					case "plan", "types", "sql":
						switch b.compare(d.Input) {
						case same:
							compared++
						case failed:
							failing++
						}
					}
					return d.Expected
				})
			}
			t.Logf("%d compared, %d fail in DuckDB", compared, failing)
			if compared < 120 {
				t.Errorf("only %d plans were compared", compared)
			}
		})
	}
}

// fewDisabled leaves on what moves filters and shares expressions: Build must cope.
const fewDisabled = "statistics_propagation,empty_result_pullup,compressed_materialization," +
	"late_materialization,top_n,limit_pushdown,sampling_pushdown,sum_rewriter,build_side_probe_side," +
	"join_filter_pushdown,column_lifetime,duplicate_groups,top_n_window_elimination,unused_columns,unnest_rewriter,in_clause"

type outcome int

const (
	refused outcome = iota // the plan is an *Error
	same
	failed // the SELECT fails on the rows
)

func (b *testBinder) compare(sql string) outcome {
	n, err := Build(b, b.ev, sql, b.lookup)
	if err != nil {
		var e *Error
		if !errors.As(err, &e) {
			b.t.Errorf("%s: %v", sql, err)
		}
		return refused
	}
	text := SQL(n, displayName)
	got, err := b.rows(text)
	if err != nil {
		b.t.Errorf("%s\n%s\n%s%v", sql, text, Explain(n, nil), err)
		return same
	}
	want, err := b.rows(sql)
	if err != nil {
		return failed
	}
	if !slices.Equal(got, want) {
		b.t.Errorf("%s\n%s\n%sgot  %v\nwant %v", sql, text, Explain(n, nil), got, want)
	}
	return same
}

// rows returns the rows of a SELECT as sorted text: the values, then their types.
func (b *testBinder) rows(sql string) ([]string, error) {
	rows, err := b.db.Query(sql)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	names, err := rows.Columns()
	if err != nil {
		return nil, err
	}
	var out []string
	for rows.Next() {
		vals := make([]any, len(names))
		ptrs := make([]any, len(names))
		for i := range vals {
			ptrs[i] = &vals[i]
		}
		if err := rows.Scan(ptrs...); err != nil {
			return nil, err
		}
		types := ""
		for _, v := range vals {
			types += fmt.Sprintf(" %T", v)
		}
		out = append(out, fmt.Sprint(vals)+" :"+types)
	}
	slices.Sort(out)
	return out, rows.Err()
}

// TestPrintedPlansLeaveErrorsOut checks views over rows on which expressions fail.
func TestPrintedPlansLeaveErrorsOut(t *testing.T) {
	b := newBinder(t, disabledOptimizers)
	b.define("r", "k INTEGER, s VARCHAR, n INTEGER")
	b.exec("INSERT INTO r VALUES (1, '1', 1), (2, 'x', 2), (3, NULL, 3), (4, '4', 2147483647), (5, 'y', NULL)")
	for _, c := range []struct{ sql, want string }{
		{"SELECT k, s::INT AS v FROM r", "[1 1] [3 <nil>] [4 4]"},
		{"SELECT k, s::INT + 1 AS v, n + 1 AS w FROM r", "[1 2 2] [3 <nil> 4]"},
		{"SELECT k FROM r WHERE s::INT > 0", "[1] [4]"},
		{"SELECT k FROM r WHERE s::INT IS NULL", "[3]"},
		{"SELECT k FROM r WHERE s::INT > 0 AND k < 3", "[1]"},
		{"SELECT k FROM r WHERE s::INT > 0 OR k = 2", "[1] [2] [4]"},
		{"SELECT k, s::INT > 0 AND k > 2 AS v FROM r", "[1 false] [2 false] [3 <nil>] [4 true]"},
		{"SELECT s::INT AS v, s::INT + 1 AS w FROM r", "[1 2] [4 5] [<nil> <nil>]"},
		{"SELECT k FROM r WHERE (s::INT IN (1, 2, 3, 5, 6, 7, 8, 9, 10, 11, 12, 13)) IS NOT NULL", "[1] [4]"},
		{"SELECT k, (k * 100)::TINYINT = 5 AS v FROM r", "[1 false]"},
		{"SELECT k, TRY(s::INT) AS v FROM r", "[1 1] [2 <nil>] [3 <nil>] [4 4] [5 <nil>]"},
		{"SELECT count(*) AS c, sum(s::INT) AS v FROM r", "[3 5]"},
		{"SELECT count(*) AS c, sum(s::INT) FILTER (WHERE k < 2) AS v FROM r", "[5 1]"},
		{"SELECT count(*) AS c, count(*) FILTER (WHERE s::INT > 1) AS v FROM r", "[3 1]"},
		{"SELECT s::INT AS g, count(*) AS c FROM r GROUP BY 1", "[1 1] [4 1] [<nil> 1]"},
		{"SELECT count(*) AS c FROM (SELECT DISTINCT s::INT FROM r)", "[3]"},
		{"SELECT v FROM (SELECT s::INT AS v FROM r UNION ALL SELECT n + 1 FROM r) WHERE v > 1", "[2] [3] [4] [4]"},
		{"SELECT CASE WHEN k = 2 THEN 0 ELSE v END AS w FROM (SELECT k, s::INT AS v FROM r)", "[1] [4] [<nil>]"},
		{"SELECT x FROM (VALUES ('1'), ('x')) v(t), (SELECT 1) q(x)", ""},
		{"SELECT t::INT AS x FROM (VALUES ('1'), ('x')) v(t)", "[1]"},
		{"SELECT 'x'::INT AS x", ""},
	} {
		n, err := Build(b, b.ev, c.sql, b.lookup)
		if err != nil {
			if c.want != "" {
				t.Errorf("%s: %v", c.sql, err)
			}
			continue
		}
		rows, err := b.rows(SQL(n, displayName))
		if err != nil {
			t.Errorf("%s: %v", c.sql, err)
			continue
		}
		for i, r := range rows {
			rows[i], _, _ = strings.Cut(r, " :")
		}
		slices.Sort(rows)
		if got := strings.Join(rows, " "); got != c.want {
			t.Errorf("%s\n%s\ngot  %s\nwant %s", c.sql, Explain(n, nil), got, c.want)
		}
	}
}
