package httpd

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// apiDocument is what the tests read of the OpenAPI document.
type apiDocument struct {
	Paths map[string]map[string]struct {
		OperationID string                    `yaml:"operationId"`
		Responses   map[string]map[string]any `yaml:"responses"`
		Parameters  []map[string]any          `yaml:"parameters"`
		Security    *[]map[string]any         `yaml:"security"`
	} `yaml:"paths"`
	Components struct {
		Parameters map[string]struct{ Name string } `yaml:"parameters"`
	} `yaml:"components"`
}

func readAPI(t *testing.T) *apiDocument {
	t.Helper()
	var d apiDocument
	if err := yaml.Unmarshal(apiText, &d); err != nil {
		t.Fatal(err)
	}
	return &d
}

// examplePath fills a path's parameters.
var examplePath = strings.NewReplacer("{table}", "kv", "{relation}", "kv", "{key}", "1", "{producer}", "p", "{id}", "1")

// TestAPIRoutes holds the document against the server: each path is a call, with these methods and no others, and every
// call and method has its place in the document.
func TestAPIRoutes(t *testing.T) {
	d := readAPI(t)
	documented := map[route][]string{}
	for path, ops := range d.Paths {
		r := routeOf(examplePath.Replace(path))
		if r == routeUnknown {
			t.Errorf("%s is documented, and not there", path)
		}
		for method, op := range ops {
			method = strings.ToUpper(method)
			documented[r] = append(documented[r], method)
			if !slices.Contains(methods[r], method) {
				t.Errorf("%s %s is documented, and not taken", method, path)
			}
			if op.OperationID == "" || op.Responses["default"] == nil {
				t.Errorf("%s %s has no operationId or no default answer", method, path)
			}
			if open := op.Security != nil && len(*op.Security) == 0; open != r.open() {
				t.Errorf("%s %s: open is %v in the document and %v here", method, path, open, r.open())
			}
		}
	}
	for r := routeSQL; r < routes; r++ {
		for _, method := range methods[r] {
			if method != http.MethodHead && !slices.Contains(documented[r], method) {
				t.Errorf("%s of %s is not documented", method, routeNames[r])
			}
		}
	}
}

// TestAPIParameters: /sql knows the parameters that the document gives it, and no others.
func TestAPIParameters(t *testing.T) {
	d := readAPI(t)
	for method, want := range map[string][]string{"get": sqlParams, "post": sqlParams[:len(sqlParams)-2]} {
		var got []string
		for _, p := range d.Paths["/sql"][method].Parameters {
			name, _ := p["name"].(string)
			if ref, ok := p["$ref"].(string); ok {
				name = d.Components.Parameters[strings.TrimPrefix(ref, "#/components/parameters/")].Name
			}
			got = append(got, name)
		}
		slices.Sort(got)
		want = slices.Sorted(slices.Values(want))
		if !slices.Equal(got, want) {
			t.Errorf("%s /sql: documented %v, known %v", method, got, want)
		}
	}
}

// TestAPIStatuses calls every operation well and badly: a good answer has the documented status and type, a bad one is a problem.
func TestAPIStatuses(t *testing.T) {
	d := readAPI(t)
	e := openEngine(t)
	if _, err := e.Execute(t.Context(), "CREATE TABLE kv (id BIGINT PRIMARY KEY, name VARCHAR)"); err != nil {
		t.Fatal(err)
	}
	_, addr := serve(t, e, Options{})
	bodies := map[string]string{"/sql": "SELECT 1", "/append/{table}": `{"id": 1}`, "/append": `{"kv": {"id": 1}}`}
	for path, ops := range d.Paths {
		for method, op := range ops {
			for _, query := range []string{"", "?q=SELECT+1", "?nonsense=1"} {
				req, err := http.NewRequest(strings.ToUpper(method), "http://"+addr+examplePath.Replace(path)+query, strings.NewReader(bodies[path]))
				if err != nil {
					t.Fatal(err)
				}
				res, err := http.DefaultClient.Do(req)
				if err != nil {
					t.Fatal(err)
				}
				res.Body.Close()
				switch {
				case res.StatusCode >= 500:
					t.Errorf("%s %s%s: %d", method, path, query, res.StatusCode)
				case res.StatusCode >= 400:
					if got := res.Header.Get("Content-Type"); got != typeProblem[0] {
						t.Errorf("%s %s%s: %d as %s", method, path, query, res.StatusCode, got)
					}
				case op.Responses[res.Status[:3]] == nil:
					t.Errorf("%s %s%s: status %d is not documented", method, path, query, res.StatusCode)
				}
			}
		}
	}
}
