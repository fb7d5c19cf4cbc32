package plan

import "strings"

// refusals are the operators that are not maintained, in the user's words.
var refusals = map[string]struct {
	construct, hint string
	find            []string
}{
	"LOGICAL_WINDOW":        {"window functions", "", []string{"OVER", "QUALIFY"}},
	"LOGICAL_LIMIT":         {"LIMIT", "put the LIMIT in the query that reads the view", []string{"LIMIT", "OFFSET", "FETCH"}},
	"LOGICAL_TOP_N":         {"LIMIT", "put the LIMIT in the query that reads the view", []string{"LIMIT", "OFFSET", "FETCH"}},
	"LOGICAL_SAMPLE":        {"sampling", "", []string{"TABLESAMPLE", "USING SAMPLE"}},
	"LOGICAL_UNNEST":        {"UNNEST", "", []string{"UNNEST", "UNPIVOT"}},
	"LOGICAL_EXCEPT":        {"EXCEPT", "", []string{"EXCEPT"}},
	"LOGICAL_INTERSECT":     {"INTERSECT", "", []string{"INTERSECT"}},
	"LOGICAL_RECURSIVE_CTE": {"WITH RECURSIVE", "", []string{"WITH RECURSIVE", "RECURSIVE"}},
	"LOGICAL_PIVOT":         {"PIVOT", "write an aggregate with a FILTER clause for each column", []string{"PIVOT"}},
	"LOGICAL_CHUNK_GET":     {"a list of constants", "use VALUES", nil},
}

// joins are the joins' words, by DuckDB's join type.
var joins = map[string]struct {
	construct string
	find      []string
}{
	"INNER":  {"JOIN", []string{"INNER JOIN", "CROSS JOIN", "NATURAL JOIN", "LATERAL", "JOIN", fromComma}},
	"LEFT":   {"LEFT JOIN", []string{"LEFT JOIN", "LEFT OUTER JOIN", "JOIN"}},
	"RIGHT":  {"RIGHT JOIN", []string{"RIGHT JOIN", "RIGHT OUTER JOIN", "JOIN"}},
	"FULL":   {"FULL JOIN", []string{"FULL JOIN", "FULL OUTER JOIN", "JOIN"}},
	"SEMI":   {"SEMI JOIN", []string{"SEMI JOIN", "IN ( SELECT", "EXISTS"}},
	"ANTI":   {"ANTI JOIN", []string{"ANTI JOIN", "NOT IN", "NOT EXISTS", "EXISTS"}},
	"MARK":   {"IN, ANY or EXISTS with a subquery", []string{"EXISTS", "IN (", "ANY (", "ALL (", "SOME ("}},
	"SINGLE": {"a scalar subquery", []string{"( SELECT", "( WITH", "( FROM"}},
}

// refuse returns the error for an operator that is not maintained.
func refuse(j *jnode) *Error {
	if r, ok := refusals[j.Type]; ok {
		return unsupported(r.construct, r.hint, r.find...)
	}
	if strings.HasSuffix(j.Type, "_JOIN") || j.Type == "LOGICAL_CROSS_PRODUCT" {
		return refuseJoin(j)
	}
	word := strings.ReplaceAll(strings.TrimPrefix(j.Type, "LOGICAL_"), "_", " ")
	return unsupported(word, "", word)
}

func refuseJoin(j *jnode) *Error {
	kind := j.JoinType
	switch {
	case j.Type == "LOGICAL_ASOF_JOIN":
		return unsupported("ASOF JOIN", "", "ASOF")
	case j.Type == "LOGICAL_POSITIONAL_JOIN":
		return unsupported("POSITIONAL JOIN", "", "POSITIONAL")
	case j.Type == "LOGICAL_CROSS_PRODUCT" && guardsSubquery(j):
		kind = "SINGLE"
	}
	e, ok := joins[kind]
	if !ok {
		e = joins["INNER"]
	}
	return unsupported(e.construct, "", e.find...)
}

// guardsSubquery reports whether one side of a cross product is a scalar subquery: DuckDB takes the
// first row of those.
func guardsSubquery(j *jnode) bool {
	for _, c := range j.Children {
		for c != nil && len(c.Children) == 1 {
			if c.Type == "LOGICAL_AGGREGATE_AND_GROUP_BY" {
				aggs, _ := exprList(c.Exprs)
				for _, a := range aggs {
					if a != nil && a.Name == "first" {
						return true
					}
				}
			}
			c = c.Children[0]
		}
	}
	return false
}
