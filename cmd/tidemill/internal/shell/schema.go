package shell

import (
	"context"
	"strings"
	"sync"
	"time"

	"tidemill/cmd/tidemill/internal/client"
)

// schema remembers the names that completion offers. It asks the server when it has forgotten, and offers less
// when the server does not answer at once.
type schema struct {
	client *client.Client

	mu        sync.Mutex // guards what follows
	relations []relation // nil when forgotten
	columns   map[string][]columnName
	functions []string
}

type relation struct{ name, kind string }

type columnName struct{ name, sqlType string }

// asking is how long completion waits for the server.
const asking = 500 * time.Millisecond

func newSchema(c *client.Client) *schema { return &schema{client: c} }

// forget makes the next completion ask again: a definition has changed.
func (s *schema) forget() {
	s.mu.Lock()
	s.relations, s.columns = nil, nil
	s.mu.Unlock()
}

// Relations returns the tables and views.
func (s *schema) Relations() []relation {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.relations == nil {
		for _, r := range s.ask("SHOW TABLES") {
			s.relations = append(s.relations, relation{r.Text("name"), r.Text("kind")})
		}
	}
	return s.relations
}

// Columns returns the columns of a relation.
func (s *schema) Columns(rel string) []columnName {
	s.mu.Lock()
	defer s.mu.Unlock()
	cols, known := s.columns[rel]
	if known {
		return cols
	}
	for _, r := range s.ask("DESCRIBE " + quoteIdent(rel)) {
		cols = append(cols, columnName{r.Text("column_name"), r.Text("column_type")})
	}
	if s.columns == nil {
		s.columns = map[string][]columnName{}
	}
	s.columns[rel] = cols
	return cols
}

// Functions returns the names of DuckDB's functions.
func (s *schema) Functions() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.functions == nil {
		rows := s.ask("SELECT DISTINCT function_name FROM duckdb_functions() WHERE function_type IN ('scalar', 'aggregate', 'macro') " +
			"AND regexp_full_match(function_name, '[a-z][a-z0-9_]*') AND NOT starts_with(function_name, 'pg_') ORDER BY ALL")
		for _, r := range rows {
			s.functions = append(s.functions, r.Text("function_name"))
		}
	}
	return s.functions
}

func (s *schema) ask(sql string) []client.Row {
	ctx, cancel := context.WithTimeout(context.Background(), asking)
	defer cancel()
	rows, err := s.client.SQL(ctx, sql)
	if err != nil {
		return nil // there is just nothing to offer
	}
	return rows
}

// quoteIdent writes a name for SQL, in quotes when it needs them.
func quoteIdent(name string) string {
	plain := name != "" && (name[0] < '0' || name[0] > '9') && !isKeyword(name)
	for _, c := range name {
		plain = plain && (c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_')
	}
	if plain {
		return name
	}
	return `"` + strings.ReplaceAll(name, `"`, `""`) + `"`
}
