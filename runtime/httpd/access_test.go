package httpd

import (
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// testTokens makes a token file with a token for each access, and returns the tokens by access.
func testTokens(t *testing.T) (*Tokens, map[string]string) {
	t.Helper()
	tokens := map[string]string{}
	text := "# tokens of a test\n\n"
	for _, access := range []string{"read", "write", "admin"} {
		token, line, err := NewToken(access, access+"er")
		if err != nil {
			t.Fatal(err)
		}
		tokens[access] = token
		text += line + "\n"
	}
	path := filepath.Join(t.TempDir(), "tokens")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	known, err := ReadTokens(path)
	if err != nil {
		t.Fatal(err)
	}
	return known, tokens
}

// TestAccess has every call with every kind of token.
func TestAccess(t *testing.T) {
	known, tokens := testTokens(t)
	e := openEngine(t)
	for _, sql := range []string{"CREATE TABLE kv (id BIGINT PRIMARY KEY, name VARCHAR)", "INSERT INTO kv VALUES (1, 'a')"} {
		if _, err := e.Execute(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
	_, addr := serve(t, e, Options{Tokens: known})
	for _, c := range []struct {
		method, path, body string
		want               string // the least access that is let in; "" for everybody
	}{
		{"GET", "/livez", "", ""}, {"GET", "/readyz", "", ""}, {"GET", "/healthz", "", ""}, {"GET", "/openapi.yaml", "", ""},
		{"GET", "/stats", "", "read"}, {"GET", "/metrics", "", "read"}, {"GET", "/lookup/kv/1", "", "read"}, {"HEAD", "/lookup/kv/1", "", "read"},
		{"GET", "/producers/p", "", "read"}, {"GET", "/sql?q=SELECT+1", "", "read"}, {"POST", "/sql", "SELECT * FROM kv", "read"},
		{"POST", "/sql", "SHOW TABLES", "read"}, {"POST", "/sql", "DESCRIBE kv", "read"}, {"POST", "/sql", "EXPLAIN CREATE MATERIALIZED VIEW v AS SELECT name FROM kv", "read"},
		{"POST", "/append/kv", `{"id": 2}`, "write"}, {"POST", "/append", `{"table": "kv", "rows": [{"id": 2}]}`, "write"},
		{"POST", "/sql", "INSERT INTO kv VALUES (3, 'c')", "write"}, {"POST", "/sql", "UPDATE kv SET name = 'x'", "write"}, {"POST", "/sql", "DELETE FROM kv WHERE id = 3", "write"},
		{"POST", "/sql", "TRUNCATE kv", "write"}, {"POST", "/sql", "BEGIN; DELETE FROM kv; ROLLBACK", "write"}, {"POST", "/sql", "SELECT 1; DELETE FROM kv", "write"},
		{"POST", "/sql", "CREATE TABLE IF NOT EXISTS kv (id BIGINT)", "admin"}, {"POST", "/sql", "CREATE MATERIALIZED VIEW IF NOT EXISTS v AS SELECT name FROM kv", "admin"},
		{"POST", "/sql", "DROP TABLE IF EXISTS nothing", "admin"}, {"POST", "/sql", "CHECKPOINT", "admin"}, {"GET", "/queries", "", "admin"},
		{"POST", "/sql", "SELECT 1; CHECKPOINT", "admin"}, {"DELETE", "/queries/999", "", "admin"}, {"POST", "/sql", "CANCEL QUERY 999", "admin"},
	} {
		for _, access := range []string{"", "wrong", "basic", "read", "write", "admin"} {
			req, err := http.NewRequest(c.method, "http://"+addr+c.path, strings.NewReader(c.body))
			if err != nil {
				t.Fatal(err)
			}
			switch access {
			case "":
			case "wrong":
				req.Header.Set("Authorization", "Bearer "+tokens["admin"]+"x")
			case "basic":
				req.Header.Set("Authorization", "Basic "+tokens["admin"])
			default:
				req.Header.Set("Authorization", "Bearer "+tokens[access])
			}
			res, err := http.DefaultClient.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			b, _ := io.ReadAll(res.Body)
			res.Body.Close()
			level := map[string]int{"": 0, "wrong": 0, "basic": 0, "read": 1, "write": 2, "admin": 3}
			want := http.StatusOK
			switch {
			case level[access] >= level[c.want]:
				if strings.Contains(c.path+c.body, "999") {
					want = http.StatusNotFound // let in, and told that there is no such query
				}
			case level[access] == 0:
				want = http.StatusUnauthorized
			default:
				want = http.StatusForbidden
			}
			if res.StatusCode != want && !(want == http.StatusOK && c.path == "/append") {
				t.Errorf("%s %s %s with %q: %d, want %d: %s", c.method, c.path, c.body, access, res.StatusCode, want, b)
			}
			if res.StatusCode == http.StatusUnauthorized && !strings.HasPrefix(res.Header.Get("WWW-Authenticate"), "Bearer") {
				t.Errorf("%s %s: no challenge", c.method, c.path)
			}
		}
	}
}

// TestTokenFiles: what a token file may hold.
func TestTokenFiles(t *testing.T) {
	_, line, err := NewToken("read", "x")
	if err != nil {
		t.Fatal(err)
	}
	hash := strings.Fields(line)[2]
	for _, c := range []struct{ text, want string }{
		{line, ""}, {"# x\n\n  " + line + "\r\n", ""}, {"", "there is no token"}, {"# x", "there is no token"},
		{"read x", "line 1: 2 words"}, {"\nall x " + hash, `line 2: access "all"`}, {"read x " + hash[7:], "64 hexadecimal digits"},
		{"read x sha256:abcd", "64 hexadecimal digits"}, {"read x y " + hash, "4 words"},
	} {
		_, err := parseTokens(strings.NewReader(c.text))
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: %v, want %s", c.text, err, c.want)
		}
	}
	for _, c := range [][2]string{{"all", "x"}, {"read", ""}, {"read", "a b"}, {"read", "#"}} {
		if _, _, err := NewToken(c[0], c[1]); err == nil {
			t.Errorf("%v is taken", c)
		}
	}
}

// TestCORS: pages of the allowed origins may call, others may not change anything.
func TestCORS(t *testing.T) {
	known, tokens := testTokens(t)
	_, addr := serve(t, openEngine(t), Options{Tokens: known, CORSOrigins: []string{"https://app.example"}})
	do := func(method, path, origin string, headers ...string) *http.Response {
		req, err := http.NewRequest(method, "http://"+addr+path, strings.NewReader("SELECT 1"))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Origin", origin)
		for i := 0; i < len(headers); i += 2 {
			req.Header.Set(headers[i], headers[i+1])
		}
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		return res
	}
	res := do("OPTIONS", "/sql", "https://app.example", "Access-Control-Request-Method", "POST")
	if res.StatusCode != 204 || res.Header.Get("Access-Control-Allow-Origin") != "https://app.example" || res.Header.Get("Access-Control-Allow-Methods") != "GET, POST" ||
		!strings.Contains(res.Header.Get("Access-Control-Allow-Headers"), "Authorization") || res.Header.Get("Vary") != "Origin" {
		t.Errorf("preflight: %d %v", res.StatusCode, res.Header)
	}
	auth := []string{"Authorization", "Bearer " + tokens["read"], "Sec-Fetch-Site", "cross-site"}
	if res = do("POST", "/sql", "https://app.example", auth...); res.StatusCode != 200 || !strings.Contains(res.Header.Get("Access-Control-Expose-Headers"), "Tidemill-Commit") {
		t.Errorf("call: %d %v", res.StatusCode, res.Header)
	}
	if res = do("POST", "/sql", "https://app.example"); res.StatusCode != 401 || res.Header.Get("Access-Control-Allow-Origin") == "" {
		t.Errorf("without a token: %d %v", res.StatusCode, res.Header)
	}
	if res = do("POST", "/sql", "https://evil.example", auth...); res.StatusCode != 403 || res.Header.Get("Access-Control-Allow-Origin") != "" {
		t.Errorf("another page: %d %v", res.StatusCode, res.Header)
	}
	if res = do("OPTIONS", "/sql", "https://evil.example", "Access-Control-Request-Method", "POST"); res.StatusCode != 405 || res.Header.Get("Access-Control-Allow-Origin") != "" {
		t.Errorf("another page's preflight: %d %v", res.StatusCode, res.Header)
	}
}
