package runtime

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	"tidemill/runtime/logrec"
	"tidemill/state/column"
	"tidemill/state/image"
	"tidemill/views"
	"tidemill/views/catalog"
)

// Definition is a change of the catalog: one relation, with its followers, dropped, or one created. It is
// the payload of a Define entry, with everything decided, so that a replay plans nothing. JSON; the
// names are frozen.
type Definition struct {
	Create *catalog.Relation `json:"create,omitempty"`
	Drop   *DropRelation     `json:"drop,omitempty"`
}

// DropRelation names a relation that goes, with all that follow it.
type DropRelation struct {
	Name string       `json:"name"`
	Kind catalog.Kind `json:"kind"`
}

func types(rel *catalog.Relation) []column.Type {
	out := make([]column.Type, len(rel.Fields))
	for i, f := range rel.Fields {
		out[i] = f.Type
	}
	return out
}

// define applies a definition in commit n. A view that it creates is returned: it is filled by the
// commit's step.
func (e *Engine) define(n uint64, payload []byte) (*views.View, error) {
	var d Definition
	if err := json.Unmarshal(payload, &d); err != nil {
		return nil, fmt.Errorf("read definition: %w", err)
	}
	cat := e.catalog.Load()
	if d.Drop != nil {
		next, dropped, err := cat.Drop(d.Drop.Name, d.Drop.Kind, true)
		if err != nil {
			return nil, err
		}
		e.defined, e.removed = next, dropped
		return nil, nil
	}
	d.Create.CreatedAt = n
	next, rel, err := cat.Create(*d.Create)
	if err != nil {
		return nil, err
	}
	e.defined = next
	if rel.Kind == catalog.View {
		return e.graph.AddView(rel)
	}
	_, err = e.graph.AddTable(rel, image.NewRows(types(rel)))
	return nil, err
}

// remove takes out what the commit has dropped.
func (e *Engine) remove() {
	for _, rel := range e.removed {
		e.graph.Remove(rel)
		e.dropped = append(e.dropped, rel.ID)
	}
	if e.removed != nil {
		e.lookups.Store(&sync.Map{})
	}
	e.removed = nil
}

// errCatalogMoved says that the catalog is not the one that a statement was planned for.
var errCatalogMoved = errors.New("the catalog has changed meanwhile")

// Define makes a commit that changes the catalog as plan says. plan is called with the newest catalog, off
// the committer, and again if another definition comes first; it returns nil when there is nothing to do.
func (e *Engine) Define(ctx context.Context, plan func(*catalog.Catalog) (*Definition, error)) (uint64, error) {
	for {
		cat := e.catalog.Load()
		d, err := plan(cat)
		if err != nil || d == nil {
			return e.Commit(), err
		}
		payload, err := json.Marshal(d)
		if err != nil {
			return 0, fmt.Errorf("encode definition: %w", err)
		}
		var commit uint64
		err = e.do(ctx, func() error {
			if e.catalog.Load() != cat {
				return errCatalogMoved
			}
			if err := e.check(cat, d); err != nil {
				return err
			}
			rec := &logrec.Record{Micros: e.now(), Entries: []logrec.Entry{{Kind: logrec.Define, Payload: payload}}}
			commit, err = e.commit(rec)
			return err
		})
		if !errors.Is(err, errCatalogMoved) {
			return commit, err
		}
	}
}

// check finds what would fail in the commit, and then in every replay: the committer has no way back from it.
func (e *Engine) check(cat *catalog.Catalog, d *Definition) error {
	if d.Create == nil {
		return nil
	}
	_, rel, err := cat.Create(*d.Create)
	if err != nil {
		return err
	}
	return e.graph.Check(rel)
}
