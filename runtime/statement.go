package runtime

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"tidemill/runtime/decode"
	"tidemill/state/column"
	"tidemill/views"
	"tidemill/views/catalog"
	"tidemill/views/plan/token"
)

// Answer is what a statement gives: rows of a query, which the caller reads and closes, or a small table.
type Answer struct {
	Rows   *Rows // nil for a table
	Fields []column.Field
	Cols   []column.Column
	N      int
	Commit uint64
	// Age is how long before the request a commit changed what the answer reads; 0 unless it is FromStale.
	Age  time.Duration
	From Origin
}

// Execute runs one statement without parameters, as Run does.
func (e *Engine) Execute(ctx context.Context, sql string) (*Answer, error) {
	return e.Run(ctx, Statement{SQL: sql})
}

// Run runs one statement, or one transaction from BEGIN to COMMIT, which is one commit or none (catalog.Units
// cuts a text into these). Errors about it are *catalog.SyntaxError, *catalog.NameError,
// *catalog.DependentsError, *plan.Error, *duck.SQLError, *NotNullError, *ConflictError, *UnsupportedError and
// *TransactionError, those of a transaction's statements in a *BlockError; others are the engine's.
func (e *Engine) Run(ctx context.Context, s Statement) (_ *Answer, err error) {
	toks := withoutSemicolons(s.SQL, token.Scan(s.SQL))
	q := cacheable{params: s.Params}
	if e.results.limit > 0 && len(toks) > 0 {
		q.key = normalise(s.SQL, toks, s.Params)
		q.sql = s.SQL[toks[0].Start:toks[len(toks)-1].End]
		if a := e.results.find(&q, s.MaxAge); a != nil {
			return a, nil
		}
	}
	point, isPoint := parsePoint(s.SQL, toks)
	if isPoint = isPoint && len(s.Params) == 0; isPoint {
		if a, err := e.readPoint(s.SQL, point); a != nil || err != nil {
			return a, err
		}
	}
	if units := catalog.Units(s.SQL); len(units) == 1 && units[0].Statements > 1 {
		return e.runTransaction(ctx, &s)
	}
	st, err := catalog.Parse(s.SQL)
	if err != nil {
		return nil, err
	}
	if needs := accessOf(st.Kind); !s.Access.allows(needs) {
		return nil, &AccessError{Statement: string(st.Kind), Needs: needs}
	}
	if st.Kind != catalog.Query { // those note themselves
		var run *runningQuery
		ctx, run = e.queries.begin(ctx, st.Text)
		defer func() { run.end(err) }()
	}
	switch st.Kind {
	case catalog.Query:
		q.sql, q.volatile = st.Text, isVolatile(s.SQL, toks)
		a, err := e.answerQuery(ctx, &q, s.MaxAge)
		if isPoint && err == nil {
			e.learnPoint(point, a.Rows.Fields())
		}
		return a, err
	case catalog.Insert, catalog.Delete, catalog.Update, catalog.Truncate:
		return e.changeRows(ctx, &st, s.Params)
	}
	if len(s.Params) > 0 {
		return nil, &UnsupportedError{Words: "a parameter in " + string(st.Kind), Hint: "queries, INSERT, UPDATE and DELETE take parameters"}
	}
	return e.runOther(ctx, &st)
}

func (e *Engine) answerQuery(ctx context.Context, q *cacheable, maxAge time.Duration) (*Answer, error) {
	if e.results.limit <= 0 || q.volatile && maxAge <= 0 {
		return e.uncached(ctx, q)
	}
	return e.results.answer(ctx, q, maxAge)
}

// runTransaction checks what goes with a transaction before it runs.
func (e *Engine) runTransaction(ctx context.Context, s *Statement) (*Answer, error) {
	if !s.Access.allows(ToWrite) {
		return nil, &AccessError{Statement: "BEGIN", Needs: ToWrite}
	}
	if len(s.Params) > 0 {
		return nil, &UnsupportedError{Words: "a parameter in a transaction", Hint: "write the values into its statements"}
	}
	return e.transaction(ctx, s.SQL, catalog.Split(s.SQL))
}

// runOther runs what is no query and changes no rows.
func (e *Engine) runOther(ctx context.Context, st *catalog.Statement) (*Answer, error) {
	switch st.Kind {
	case catalog.CreateTable:
		return e.createTable(ctx, st)
	case catalog.CreateView:
		return e.createView(ctx, st)
	case catalog.Drop:
		return e.drop(ctx, st)
	case catalog.MakeSchema:
		return e.createSchema(ctx, st)
	case catalog.DropSchema:
		return e.dropSchema(ctx, st)
	case catalog.AlterTable:
		return e.alter(ctx, st)
	case catalog.Comment:
		return e.comment(ctx, st)
	case catalog.CreateAs:
		return e.createTableAs(ctx, st)
	case catalog.Begin, catalog.Commit, catalog.Rollback:
		return nil, inTransaction(st, 0, 1)
	case catalog.Checkpoint:
		err := e.Checkpoint(ctx)
		return created(e.Commit(), err)
	case catalog.CancelQuery:
		return created(e.Commit(), e.CancelQuery(st.QueryID))
	case catalog.ShowTables:
		return e.showTables(), nil
	case catalog.Describe:
		return e.describeRelation(st.Name)
	case catalog.ExplainNew, catalog.ExplainView:
		return e.explain(ctx, st)
	}
	return nil, e.unsupported(st)
}

// unsupported says what is wrong with a statement that is none of ours: DuckDB may find that it is no SQL.
func (e *Engine) unsupported(st *catalog.Statement) error {
	x, _, err := e.reader.enter()
	if err != nil {
		return err
	}
	defer e.reader.leave()
	if _, err := x.StatementKinds(st.Text); err != nil {
		return err
	}
	return &UnsupportedError{Words: st.Words, Hint: st.Hint}
}

// UnsupportedError is a statement that Tidemill does not run.
type UnsupportedError struct{ Words, Hint string }

// Error names the statement.
func (e *UnsupportedError) Error() string { return e.Words + " is not supported" }

// textTable makes an answer of text columns.
func (e *Engine) textTable(names []string, rows [][]string) *Answer {
	a := &Answer{Commit: e.Commit(), N: len(rows)}
	t := column.T(column.Varchar)
	for c, name := range names {
		b := column.NewBuilder(t, len(rows))
		for _, r := range rows {
			b.AppendString(r[c])
		}
		a.Fields = append(a.Fields, column.Field{Name: name, Type: t})
		a.Cols = append(a.Cols, b.Finish())
	}
	return a
}

func (e *Engine) showTables() *Answer {
	var rows [][]string
	for _, r := range e.Catalog().Relations() {
		rows = append(rows, []string{r.Name, string(r.Kind)})
	}
	return e.textTable([]string{"name", "kind"}, rows)
}

func (e *Engine) describeRelation(name string) (*Answer, error) {
	rel, err := e.Catalog().Lookup(name)
	if err != nil {
		return nil, err
	}
	var rows [][]string
	for i, f := range rel.Fields {
		null, key, def := "YES", "", ""
		if f.NotNull {
			null = "NO"
		}
		if slices.Contains(rel.PrimaryKey, i) {
			key = "PRI"
		}
		if rel.Defaults != nil {
			def = rel.Defaults[i]
		}
		rows = append(rows, []string{f.Name, f.Type.String(), null, key, def})
	}
	return e.textTable([]string{"column_name", "column_type", "null", "key", "default"}, rows), nil
}

// explain shows a view's operators and the state that each keeps.
func (e *Engine) explain(ctx context.Context, st *catalog.Statement) (*Answer, error) {
	cat := e.Catalog()
	var rel *catalog.Relation
	var err error
	if st.Kind == catalog.ExplainView {
		if rel, err = cat.Lookup(st.Name); err == nil && rel.Kind != catalog.View {
			err = &catalog.NameError{Name: rel.Name, Kind: rel.Kind, Err: catalog.ErrWrongKind, Hint: "EXPLAIN MATERIALIZED VIEW is for views"}
		}
	} else {
		rel, err = e.planView(cat, st)
	}
	if err != nil {
		return nil, err
	}
	var text string
	err = e.do(ctx, func() (err error) {
		text, err = e.graph.Explain(rel)
		return err
	})
	if err != nil {
		return nil, err
	}
	var rows [][]string
	for _, line := range strings.Split(strings.TrimRight(text, "\n"), "\n") {
		rows = append(rows, []string{line})
	}
	return e.textTable([]string{"plan"}, rows), nil
}

// LookupRow finds the row of a key in a keyed table or a view with a key, as of the newest commit. The key
// is given as text, a value per key column in the order of the relation's columns; a key column named in nulls is
// NULL, and its text empty. It returns nil columns when there is no such row. Errors: catalog.ErrUnknownRelation,
// views.ErrNoKey, *KeyError.
func (e *Engine) LookupRow(relation string, key []string, nulls ...string) ([]column.Field, []column.Column, error) {
	e.stats.lookups.Add(1)
	rel, err := e.Catalog().Lookup(relation)
	if err != nil {
		return nil, nil, err
	}
	l, err := e.lookupOf(rel)
	if err != nil {
		return nil, nil, err
	}
	if len(key) != len(l.Key) {
		return nil, nil, &KeyError{Relation: rel.Name, Columns: names(l), Given: len(key)}
	}
	isNull, err := nullParts(l, rel.Name, key, nulls)
	if err != nil {
		return nil, nil, err
	}
	cols := make([]column.Column, len(key))
	for i, k := range l.Key {
		f := l.Fields[k]
		if isNull != nil && isNull[i] {
			cols[i] = column.Nulls(f.Type, 1)
			continue
		}
		if cols[i], err = keyPart(f.Type, key[i]); err != nil {
			return nil, nil, &KeyError{Relation: rel.Name, Columns: names(l), Given: len(key), Cause: fmt.Errorf("column %s: %w", f.Name, err)}
		}
	}
	row, err := l.Find(cols, &e.published)
	return l.Fields, row, err
}

// keyPart reads one value of a key: a nested one is JSON.
func keyPart(t column.Type, text string) (column.Column, error) {
	if t.Nested() {
		return decode.FromJSON(t, []byte(text))
	}
	raw, err := column.ParseText(t, text)
	if err != nil {
		return column.Column{}, err
	}
	b := column.NewBuilder(t, 1)
	b.AppendRaw(raw)
	return b.Finish(), nil
}

// nullParts returns which parts of a key are NULL; nil for none.
func nullParts(l *views.Lookup, relation string, key, nulls []string) ([]bool, error) {
	var out []bool
	for _, name := range nulls {
		i := slices.IndexFunc(l.Key, func(k int) bool { return catalog.SameName(l.Fields[k].Name, name) })
		wrong := func(format string, args ...any) error {
			return &KeyError{Relation: relation, Columns: names(l), Given: len(key), Cause: fmt.Errorf(format, args...)}
		}
		if i < 0 {
			return nil, wrong("null names %q, which is not a column of the key", name)
		}
		if key[i] != "" {
			return nil, wrong("column %s is said to be NULL and has the value %q", name, key[i])
		}
		if out == nil {
			out = make([]bool, len(key))
		}
		out[i] = true
	}
	return out, nil
}

func names(l *views.Lookup) []string {
	out := make([]string, len(l.Key))
	for i, k := range l.Key {
		out[i] = l.Fields[k].Name
	}
	return out
}

// KeyError says that a key does not fit its relation.
type KeyError struct {
	Relation string
	Columns  []string // of the key
	Given    int      // values
	Cause    error    // of a value that cannot be read, or nil
}

// Error says what the key is.
func (e *KeyError) Error() string {
	if e.Cause != nil {
		return fmt.Sprintf("key of %s: %v", e.Relation, e.Cause)
	}
	return fmt.Sprintf("key of %s has %d values, but %d were given: %v", e.Relation, len(e.Columns), e.Given, e.Columns)
}

// Unwrap returns the cause.
func (e *KeyError) Unwrap() error { return e.Cause }

// lookupOf returns how a relation is looked up; it is worked out once, by the committer.
func (e *Engine) lookupOf(rel *catalog.Relation) (*views.Lookup, error) {
	known := e.lookups.Load()
	if l, ok := known.Load(rel.ID); ok {
		return l.(*views.Lookup), nil
	}
	var l *views.Lookup
	err := e.do(context.Background(), func() (err error) {
		l, err = e.graph.NewLookup(rel.ID)
		return err
	})
	if err == nil {
		known.Store(rel.ID, l)
	}
	if errors.Is(err, views.ErrNoKey) {
		err = fmt.Errorf("relation %s: %w", rel.Name, err)
	}
	return l, err
}
