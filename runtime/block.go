package runtime

import (
	"context"
	"errors"
	"fmt"

	"tidemill/runtime/logrec"
	"tidemill/state/column"
	"tidemill/state/image"
	"tidemill/views/catalog"
	"tidemill/views/duck"
)

// block is statements that make one commit, or none: those between BEGIN and COMMIT, or one that changes rows. It runs
// as one task of the committer, so nothing changes between its reading and its writing. Each statement sees what those
// before it did to tables, through overlays; the tables themselves, and the views, change when the block's entries are
// committed. So whatever goes wrong before that leaves nothing behind.
type block struct {
	e      *Engine
	ctx    context.Context
	rd     *readable
	tables map[uint32]*overlay
	order  []*overlay // by their first change
	n      int        // rows changed
	params []any      // of a block of one statement
}

// inBlock runs fn on the committer and commits what it did. The answer is the number of rows changed and the commit.
func (e *Engine) inBlock(ctx context.Context, fn func(*block) error) (*Answer, error) {
	var answer *Answer
	err := e.do(ctx, func() error {
		if err := e.failure(); err != nil {
			return err
		}
		b := &block{e: e, ctx: ctx, rd: e.readable.Load(), tables: map[uint32]*overlay{}}
		if err := fn(b); err != nil {
			return err
		}
		var entries []logrec.Entry
		for _, o := range b.order {
			entries = append(entries, o.entries()...)
		}
		commit := e.Commit()
		if len(entries) > 0 {
			var err error
			if commit, err = e.commit(&logrec.Record{Micros: e.now(), Entries: entries}); err != nil {
				return err
			}
		}
		answer = counted(commit, b.n)
		return nil
	})
	return answer, err
}

// errRollback ends a block without a commit.
var errRollback = errors.New("rolled back")

// BlockError is a statement between BEGIN and COMMIT that failed, and the whole block with it.
type BlockError struct {
	Statement int // from 1: BEGIN is the first
	Err       error
}

// Error says which statement it was.
func (e *BlockError) Error() string { return e.Err.Error() }

// Unwrap returns the statement's own error.
func (e *BlockError) Unwrap() error { return e.Err }

// transaction runs BEGIN; ...; COMMIT. spans are its statements in text.
func (e *Engine) transaction(ctx context.Context, text string, spans []catalog.Span) (*Answer, error) {
	stmts := make([]catalog.Statement, len(spans))
	failed := func(i int, err error) error {
		return &BlockError{i + 1, moved(err, text, func(pos int) int { return pos + spans[i].Start })}
	}
	for i, s := range spans {
		st, err := catalog.Parse(text[s.Start:s.End])
		if err == nil {
			err = inTransaction(&st, i, len(spans))
		}
		if err != nil {
			return nil, failed(i, err)
		}
		stmts[i] = st
	}
	last := stmts[len(stmts)-1].Kind
	answer, err := e.inBlock(ctx, func(b *block) error {
		for i := 1; i < len(stmts)-1; i++ {
			if err := b.statement(&stmts[i]); err != nil {
				return failed(i, err)
			}
		}
		if last == catalog.Rollback {
			return errRollback
		}
		return nil
	})
	if errors.Is(err, errRollback) {
		return counted(e.Commit(), 0), nil
	}
	return answer, err
}

// inTransaction refuses what cannot stand at place i of n in a block.
func inTransaction(st *catalog.Statement, i, n int) error {
	switch st.Kind {
	case catalog.Begin:
		if i == 0 && n > 1 {
			return nil
		}
		if i == 0 {
			return &TransactionError{"BEGIN is not followed by COMMIT", "send BEGIN; ...; COMMIT as one text: a transaction does not outlive its request"}
		}
		return &TransactionError{"a transaction is open already", "COMMIT it first: transactions do not nest"}
	case catalog.Commit, catalog.Rollback:
		if i > 0 && i == n-1 {
			return nil
		}
		return &TransactionError{"no transaction is open", "begin it with BEGIN in the same text"}
	}
	if i == n-1 {
		return &TransactionError{"BEGIN is not followed by COMMIT", "send BEGIN; ...; COMMIT as one text: a transaction does not outlive its request"}
	}
	switch st.Kind {
	case catalog.Query, catalog.Insert, catalog.Update, catalog.Delete, catalog.Truncate:
		return nil
	case catalog.Unsupported:
		return &UnsupportedError{Words: st.Words, Hint: st.Hint}
	}
	return &TransactionError{string(st.Kind) + " cannot stand in a transaction", "a transaction holds SELECT, INSERT, UPDATE, DELETE and TRUNCATE; each definition is a commit of its own: run it before BEGIN"}
}

// TransactionError is a statement that does not fit where it stands between BEGIN and COMMIT, or outside of them.
type TransactionError struct{ Message, Hint string }

// Error returns the message.
func (e *TransactionError) Error() string { return e.Message }

// statement runs one statement in the block.
func (b *block) statement(st *catalog.Statement) error {
	if st.Kind != catalog.Query {
		return b.change(st)
	}
	rows, err := b.query(st.Text)
	if err != nil {
		return err
	}
	defer rows.Close()
	return rows.Drain()
}

// change runs a statement that changes rows.
func (b *block) change(st *catalog.Statement) error {
	find := Appendable
	if st.Kind == catalog.Delete || st.Kind == catalog.Truncate {
		find = (*catalog.Catalog).LookupTable
	}
	rel, err := find(b.rd.catalog, st.Name)
	if err != nil {
		return err
	}
	switch st.Kind {
	case catalog.Insert:
		err = b.insert(rel, st)
	case catalog.Delete:
		err = b.delete(rel, st)
	case catalog.Truncate:
		err = b.truncate(rel)
	default:
		err = b.update(rel, st)
	}
	return err
}

// overlay returns the overlay of a table that is about to change.
func (b *block) overlay(rel *catalog.Relation) *overlay {
	o := b.tables[rel.ID]
	if o == nil {
		o = newOverlay(rel, b.e.graph.Table(rel.ID))
		b.tables[rel.ID] = o
		b.order = append(b.order, o)
	}
	return o
}

// query starts a SELECT over what the block sees. It is evaluated as it is written: the optimiser takes
// TRY_CAST(x AS SMALLINT) < 5 for x < 5, also where that is NULL, and other rows would change.
func (b *block) query(sql string) (*duck.Rows, error) {
	x, _, err := b.e.asWritten.enter()
	if err != nil {
		return nil, err
	}
	defer b.e.asWritten.leave()
	return x.Query(b.ctx, sql, b.params, b)
}

// read returns all rows of a SELECT over what the block sees.
func (b *block) read(sql string) ([]column.Column, int, error) {
	rows, err := b.query(sql)
	if err != nil {
		return nil, 0, err
	}
	defer rows.Close()
	return rows.ReadAll()
}

// Relation implements duck.Snapshots. DuckDB's threads call it, one at a time, while the committer waits for the
// query, so that what it reads is at rest.
func (b *block) Relation(name string) (duck.Chunks, error) {
	if b.e.halfway {
		return nil, b.e.failure()
	}
	if rel, err := b.rd.catalog.Lookup(name); err == nil && b.tables[rel.ID] != nil {
		return b.tables[rel.ID].chunks()
	}
	if owner, ok := b.rd.owners[name]; ok {
		if o := b.follows(owner); o != nil {
			return nil, &TransactionError{fmt.Sprintf("view %s is read after a change of table %s in the same transaction", b.rd.catalog.ByID(owner).Name, o.rel.Name),
				"views move at COMMIT: read the view before the change, or write its SELECT over the table"}
		}
	}
	im, err := b.e.graph.Snapshot(name)
	if err != nil {
		return nil, err
	}
	s := &snapshot{images: map[string]*image.Snapshot{name: im}}
	return s.Relation(name)
}

// follows returns a table that the block has changed and the view follows, or nil.
func (b *block) follows(view uint32) *overlay {
	for _, o := range b.order {
		for _, d := range b.rd.catalog.Dependents(o.rel.ID) {
			if d.ID == view {
				return o
			}
		}
	}
	return nil
}
