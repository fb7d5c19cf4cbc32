package plan

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"tidemill/views/plan/token"
)

// sessionFunctions are functions that DuckDB calls consistent, or folds before a plan can show them,
// but that read the clock, the session or the build. A name with a number of arguments is refused
// with that number only.
var sessionFunctions = map[string]struct {
	args int // -1 for any
	what string
}{
	"age":                    {1, "the clock"},
	"current_date":           {-1, "the clock"},
	"today":                  {-1, "the clock"},
	"now":                    {-1, "the clock"},
	"get_current_timestamp":  {-1, "the clock"},
	"get_current_time":       {-1, "the clock"},
	"transaction_timestamp":  {-1, "the clock"},
	"current_localtimestamp": {-1, "the clock"},
	"current_localtime":      {-1, "the clock"},
	"current_setting":        {-1, "the session"},
	"getvariable":            {-1, "the session"},
	"current_schema":         {-1, "the session"},
	"current_schemas":        {-1, "the session"},
	"current_database":       {-1, "the session"},
	"in_search_path":         {-1, "the session"},
	"version":                {-1, "the version of DuckDB"},
	"alias":                  {-1, "how the query is written"},
	"random":                 {-1, "chance"},
	"uuid":                   {-1, "chance"},
	"gen_random_uuid":        {-1, "chance"},
	"nextval":                {-1, "a sequence"},
	"currval":                {-1, "a sequence"},
}

// folded are the functions that are constants in every plan, so that only the text shows them.
var folded = map[string]bool{"getvariable": true}

// spellings are the ways to write a function that the plan names otherwise.
var spellings = map[string][]string{
	"get_current_timestamp":  {"CURRENT_TIMESTAMP"},
	"get_current_time":       {"CURRENT_TIME"},
	"current_localtimestamp": {"LOCALTIMESTAMP"},
	"current_localtime":      {"LOCALTIME"},
}

// checkVolatile refuses functions whose value does not follow from the rows. It reads the plan before
// optimisation, because the optimiser folds now() and its like to constants. The set volatile is
// DuckDB's: function name to stability.
func checkVolatile(rawPlan []byte, sql string, volatile map[string]string) error {
	var plan any
	if err := json.Unmarshal(quoteFloats(rawPlan), &plan); err != nil {
		return malformed("%v", err)
	}
	if e := findVolatile(plan, sql, volatile); e != nil {
		return e
	}
	toks := token.Scan(sql)
	for i := 0; i+1 < len(toks); i++ {
		name := strings.ToLower(toks[i].Text(sql))
		if toks[i].Kind == token.Word && folded[name] && toks[i+1].Is(sql, "(") {
			return volatileError(name, sessionFunctions[name].what).at(toks[i].Start)
		}
	}
	return nil
}

// findVolatile walks a plan's JSON for the first function that is refused.
func findVolatile(v any, sql string, volatile map[string]string) *Error {
	switch v := v.(type) {
	case []any:
		for _, x := range v {
			if e := findVolatile(x, sql, volatile); e != nil {
				return e
			}
		}
	case map[string]any:
		if e := volatileFunction(v, sql, volatile); e != nil {
			return e
		}
		for _, k := range sortedKeys(v) {
			if e := findVolatile(v[k], sql, volatile); e != nil {
				return e
			}
		}
	}
	return nil
}

func sortedKeys(m map[string]any) []string { return slices.Sorted(maps.Keys(m)) }

func volatileFunction(v map[string]any, sql string, volatile map[string]string) *Error {
	class, _ := v["expression_class"].(string)
	name, _ := v["name"].(string)
	if name == "" || class != "BOUND_FUNCTION" && class != "BOUND_AGGREGATE" && class != "BOUND_WINDOW" {
		return nil
	}
	what := ""
	args, _ := v["children"].([]any)
	if s, ok := sessionFunctions[name]; ok && (s.args < 0 || s.args == len(args)) {
		what = s.what
	} else if stability := volatile[name]; stability == "VOLATILE" {
		what = "more than its arguments"
	} else if stability != "" && stability != "CONSISTENT" {
		what = "the query that calls it"
	}
	if what == "" {
		return nil
	}
	word := strings.ToUpper(name)
	find := append([]string{word + " (", word}, spellings[name]...)
	if name == "error" && findPhrase(sql, find) < 0 {
		return nil // DuckDB's own guard of a scalar subquery, which Decode names better
	}
	for _, s := range spellings[name] {
		if findPhrase(sql, []string{s}) >= 0 {
			name = strings.ToLower(s)
		}
	}
	e := volatileError(name, what)
	e.find = find
	if pos, ok := v["query_location"].(float64); ok && pos >= 0 && pos < float64(len(sql)) {
		e.Position = int(pos)
	}
	return e
}

func volatileError(name, what string) *Error {
	e := unsupported("the function "+name, "")
	e.Message += ": its value depends on " + what
	switch what {
	case "the clock":
		e.Hint = "store the time in a column when the row is appended, or compare with the clock in the query that reads the view"
	case "the session":
		e.Hint = "write the value into the statement"
	default:
		e.Hint = "store the value in a column when the row is appended"
	}
	return e
}
