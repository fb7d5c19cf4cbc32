package plan

import (
	"bytes"
	"errors"
	"testing"

	"tidemill/state/column"
)

// fuzzPlans are plans as DuckDB 1.5.6 writes them, cut to what is read.
var fuzzPlans = []string{
	`{"error":false,"plans":[{"type":"LOGICAL_PROJECTION","children":[{"type":"LOGICAL_FILTER","children":[{"type":"LOGICAL_GET","children":[],"returned_types":[{"id":"INTEGER"},{"id":"VARCHAR"}],"names":["a","s"],"projection_ids":[],"table_filters":{"filters":[{"key":1,"value":{"filter_type":"CONJUNCTION_AND","child_filters":[{"filter_type":"CONSTANT_COMPARISON","comparison_type":"COMPARE_EQUAL","constant":{"type":{"id":"VARCHAR"},"is_null":false,"value":"x"}}]}}]},"name":"seq_scan","function_data":{"table":"t"},"column_indexes":[{"index":1},{"index":0}]}],"expressions":[{"expression_class":"BOUND_COMPARISON","type":"COMPARE_GREATERTHAN","left":{"expression_class":"BOUND_REF","return_type":{"id":"INTEGER"},"index":1},"right":{"expression_class":"BOUND_CONSTANT","value":{"type":{"id":"INTEGER"},"is_null":false,"value":3}}}],"projection_map":[1]}],"expressions":[{"expression_class":"BOUND_REF","return_type":{"id":"INTEGER"},"index":0}]}]}`,
	`{"error":false,"plans":[{"type":"LOGICAL_AGGREGATE_AND_GROUP_BY","children":[{"type":"LOGICAL_GET","children":[],"returned_types":[{"id":"INTEGER"},{"id":"VARCHAR"}],"projection_ids":[],"name":"seq_scan","function_data":{"table":"t"},"column_indexes":[{"index":0}]}],"expressions":[{"expression_class":"BOUND_AGGREGATE","return_type":{"id":"HUGEINT"},"children":[{"expression_class":"BOUND_REF","return_type":{"id":"INTEGER"},"index":0}],"name":"sum","aggregate_type":"DISTINCT","filter":null}],"groups":[{"expression_class":"BOUND_REF","return_type":{"id":"INTEGER"},"index":0}],"grouping_sets":[[0]]}]}`,
	`{"error":false,"plans":[{"type":"LOGICAL_MATERIALIZED_CTE","table_index":0,"children":[{"type":"LOGICAL_EXPRESSION_GET","children":[{"type":"LOGICAL_DUMMY_SCAN"}],"expr_types":[{"id":"DOUBLE"}],"expressions":[[{"expression_class":"BOUND_CONSTANT","value":{"type":{"id":"DOUBLE"},"is_null":false,"value":NaN}}]]},{"type":"LOGICAL_UNION","children":[{"type":"LOGICAL_CTE_REF","cte_index":0},{"type":"LOGICAL_DISTINCT","children":[{"type":"LOGICAL_CTE_REF","cte_index":0}],"distinct_type":"DISTINCT","distinct_targets":[{"expression_class":"BOUND_REF","index":0}]}]}]}]}`,
	`{"error":false,"plans":[{"type":"LOGICAL_PROJECTION","children":[{"type":"LOGICAL_DUMMY_SCAN"}],"expressions":[{"expression_class":"BOUND_FUNCTION","return_type":{"id":"BOOLEAN"},"children":[{"expression_class":"BOUND_CONSTANT","value":{"type":{"id":"LIST","type_info":{"child_type":{"id":"INTEGER"}}},"is_null":false,"value":{"children":[{"type":{"id":"INTEGER"},"is_null":false,"value":1}]}}},{"expression_class":"BOUND_CASE","return_type":{"id":"INTEGER"},"case_checks":[{"when_expr":{"expression_class":"BOUND_CONSTANT","value":{"type":{"id":"BOOLEAN"},"is_null":false,"value":true}},"then_expr":{"expression_class":"BOUND_CONSTANT","value":{"type":{"id":"INTEGER"},"is_null":true}}}],"else_expr":{"expression_class":"BOUND_CAST","return_type":{"id":"INTEGER"},"child":{"expression_class":"BOUND_CONSTANT","value":{"type":{"id":"DECIMAL","type_info":{"width":4,"scale":2}},"is_null":false,"value":1234}}}}],"name":"list_contains"}]}]}`,
	`{"error":true,"error_type":"binder","error_message":"no\nhint","position":"7"}`,
}

// FuzzDecode checks that whatever the text is, Decode returns an *Error or a tree that is well formed
// before and after the rules.
func FuzzDecode(f *testing.F) {
	for _, p := range fuzzPlans {
		f.Add([]byte(p))
	}
	schema := []column.Field{{Name: "a", Type: column.T(column.Int32)}, {Name: "s", Type: column.T(column.Varchar)}}
	lookup := func(name string) (string, []column.Field, bool) { return "t", schema, name == "t" }
	f.Fuzz(func(t *testing.T, text []byte) {
		n, err := Decode(text, lookup)
		if err != nil {
			var e *Error
			if !errors.As(err, &e) {
				t.Fatalf("error of type %T: %v", err, err)
			}
			e.locate("SELECT a FROM t")
			return
		}
		if err := check(n); err != nil {
			t.Fatalf("decoded: %v", err)
		}
		if err := check(Optimize(n)); err != nil {
			t.Fatalf("after the rules: %v", err)
		}
		Explain(n, nil)
	})
}

func TestFuzzPlansDecode(t *testing.T) {
	schema := []column.Field{{Name: "a", Type: column.T(column.Int32)}, {Name: "s", Type: column.T(column.Varchar)}}
	lookup := func(name string) (string, []column.Field, bool) { return "t", schema, name == "t" }
	for i, p := range fuzzPlans[:4] {
		n, err := Decode([]byte(p), lookup)
		if err != nil {
			t.Errorf("plan %d: %v", i, err)
			continue
		}
		t.Logf("%s", Explain(n, nil))
	}
}

// TestDecodeNeedsDefaults checks that a plan without its empty and default values, from which columns
// cannot be told, is refused.
func TestDecodeNeedsDefaults(t *testing.T) {
	text := bytes.Replace([]byte(fuzzPlans[0]), []byte(`"projection_ids":[],`), nil, 1)
	lookup := func(string) (string, []column.Field, bool) {
		return "t", []column.Field{{Name: "a", Type: column.T(column.Int32)}, {Name: "s", Type: column.T(column.Varchar)}}, true
	}
	if n, err := Decode(text, lookup); err == nil {
		t.Fatalf("decoded to\n%s", Explain(n, nil))
	}
}
