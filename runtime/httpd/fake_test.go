package httpd

import (
	"context"
	"errors"
	"sync"
	"testing"

	"tidemill/runtime"
	"tidemill/state/column"
	"tidemill/views/catalog"
)

// fakeEngine is an engine whose answers a test decides: for what a real one does only when a disk fails.
type fakeEngine struct {
	cat     *catalog.Catalog
	admit   func(ctx context.Context, bytes int64) (func(), error)
	append  func(ctx context.Context, req runtime.AppendRequest) (runtime.AppendResult, error)
	execute func(ctx context.Context, sql string) (*runtime.Answer, error)
	lookup  func(relation string, key []string) ([]column.Field, []column.Column, error)

	mu       sync.Mutex
	err      error
	released int
}

func newFake(t testing.TB) *fakeEngine {
	t.Helper()
	cat, _, err := catalog.New().Create(catalog.Relation{Name: "kv", Kind: catalog.Table, SQL: "CREATE TABLE kv (id BIGINT PRIMARY KEY, name VARCHAR)", PrimaryKey: []int{0},
		Fields: []column.Field{{Name: "id", Type: column.T(column.Int64), NotNull: true}, {Name: "name", Type: column.T(column.Varchar)}}})
	if err != nil {
		t.Fatal(err)
	}
	return &fakeEngine{cat: cat}
}

func (f *fakeEngine) Admit(ctx context.Context, bytes int64) (func(), error) {
	if f.admit != nil {
		return f.admit(ctx, bytes)
	}
	return func() {
		f.mu.Lock()
		f.released++
		f.mu.Unlock()
	}, nil
}

func (f *fakeEngine) Append(ctx context.Context, req runtime.AppendRequest) (runtime.AppendResult, error) {
	if f.append != nil {
		return f.append(ctx, req)
	}
	return runtime.AppendResult{Commit: 7, Accepted: req.N}, nil
}

func (f *fakeEngine) Run(ctx context.Context, s runtime.Statement) (*runtime.Answer, error) {
	if f.execute != nil {
		return f.execute(ctx, s.SQL)
	}
	return nil, errors.New("no such statement in this test")
}

func (f *fakeEngine) LookupRow(relation string, key []string, nulls ...string) ([]column.Field, []column.Column, error) {
	return f.lookup(relation, key)
}

func (f *fakeEngine) Producer(context.Context, string) (runtime.ProducerState, error) {
	return runtime.ProducerState{Last: 3, Commit: 7}, nil
}

func (f *fakeEngine) Catalog() *catalog.Catalog { return f.cat }
func (f *fakeEngine) Commit() uint64            { return 7 }
func (f *fakeEngine) Stats() runtime.Stats {
	return runtime.Stats{Commit: 7, Memory: map[string]int64{"caches": 1}, MemoryShares: map[string]int64{"queries": 2}, Relations: []runtime.RelationStats{{Name: "kv", Kind: "table", Rows: 3}, {Name: "v", Kind: "view", Groups: 2}}}
}

func (f *fakeEngine) Err() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.err
}

func (f *fakeEngine) fail(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.err = err
}

// blockingAppend says that it has been entered and waits to be let go.
func blockingAppend(entered, leave chan struct{}) func(context.Context, runtime.AppendRequest) (runtime.AppendResult, error) {
	return func(_ context.Context, req runtime.AppendRequest) (runtime.AppendResult, error) {
		close(entered)
		<-leave
		return runtime.AppendResult{Commit: 8, Accepted: req.N}, nil
	}
}

func (f *fakeEngine) Queries() []runtime.QueryInfo { return nil }

func (f *fakeEngine) CancelQuery(uint64) error { return runtime.ErrNoQuery }
