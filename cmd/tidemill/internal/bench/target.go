package bench

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"tidemill/cmd/tidemill/internal/client"
)

// target is the server that one case measures.
type target struct {
	*client.Client
	process *process // nil for a server that somebody else runs
	dir     string
	prefix  string   // of relations on a server that is not ours alone
	created []string // there, to be dropped
	boot    time.Duration
}

// begin gives a case its server: a new one in an empty directory, or the one at the URL. The caller ends it.
func (r *runner) begin(ctx context.Context) (*target, error) {
	r.cases++
	if r.URL != "" {
		t := &target{Client: client.New(r.URL), prefix: fmt.Sprintf("bench_%s_%d_", r.id, r.cases)}
		_, err := t.One(ctx, "SELECT 1 AS x")
		return t, err
	}
	dir, err := os.MkdirTemp(r.Dir, "tidemill-bench-")
	if err != nil {
		return nil, err
	}
	t := &target{dir: dir}
	begun := time.Now()
	if t.process, err = startProcess(ctx, append(r.Command, "--dir", dir, "--addr", "127.0.0.1:0")); err == nil {
		t.Client = client.New("http://" + t.process.addr)
		_, err = t.One(ctx, "SELECT 1 AS x")
	}
	if err != nil {
		return nil, errors.Join(err, t.end())
	}
	t.boot = time.Since(begun)
	return t, nil
}

// end takes away what begin and define made.
func (t *target) end() error {
	if t.process == nil && t.dir == "" {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		var errs []error
		for i := len(t.created) - 1; i >= 0; i-- {
			_, err := t.SQL(ctx, "DROP "+t.created[i])
			errs = append(errs, err)
		}
		t.Close()
		return errors.Join(errs...)
	}
	if t.Client != nil {
		t.Close()
	}
	if t.process != nil {
		t.process.kill()
	}
	return os.RemoveAll(t.dir)
}

// name returns a relation's name on this server.
func (t *target) name(relation string) string { return t.prefix + relation }

// text replaces @name by the name of that relation on this server.
func (t *target) text(sql string) string { return strings.ReplaceAll(sql, "@", t.prefix) }

// define makes a relation: kind is TABLE or MATERIALIZED VIEW.
func (t *target) define(ctx context.Context, kind, name, rest string) error {
	if _, err := t.SQL(ctx, "CREATE "+kind+" "+t.name(name)+" "+t.text(rest)); err != nil {
		return err
	}
	t.created = append(t.created, kind+" "+t.name(name))
	return nil
}

// row runs a query that gives one row.
func (t *target) row(ctx context.Context, sql string) (client.Row, error) {
	return t.One(ctx, t.text(sql))
}

// memory returns the server's resident memory and its peak in MB; zeros for one that is not ours.
func (t *target) memory() (now, peak int64) {
	if t.process == nil {
		return 0, 0
	}
	return t.process.memory()
}

func (t *target) peak() int64 {
	_, peak := t.memory()
	return peak
}

// with runs fn on a server of its own.
func (r *runner) with(ctx context.Context, fn func(*target) error) error {
	t, err := r.begin(ctx)
	if err != nil {
		return err
	}
	return errors.Join(fn(t), t.end())
}
