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

// definition is the payload of a Define entry: what a statement makes of the catalog, with everything
// decided, so that a replay plans nothing. JSON; the names are frozen.
type definition struct {
	Create *catalog.Relation `json:"create,omitempty"`
	Drop   []uint32          `json:"drop,omitempty"` // ids, followers before what they follow
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
	var d definition
	if err := json.Unmarshal(payload, &d); err != nil {
		return nil, fmt.Errorf("read definition: %w", err)
	}
	cat := e.catalog.Load()
	for _, id := range d.Drop {
		rel := cat.ByID(id)
		e.graph.Remove(rel)
		cat = cat.Without(id)
		e.dropped = append(e.dropped, id)
	}
	if len(d.Drop) > 0 {
		e.lookups.Store(&sync.Map{})
	}
	e.defined = cat
	if d.Create == nil {
		return nil, nil
	}
	rel := *d.Create
	rel.CreatedAt = n
	e.defined = cat.With(&rel)
	if rel.Kind == catalog.View {
		return e.graph.AddView(&rel)
	}
	_, err := e.graph.AddTable(&rel, image.NewRows(types(&rel)))
	return nil, err
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
		payload, err := json.Marshal(&definition{Create: d.Create, Drop: d.Drop})
		if err != nil {
			return 0, fmt.Errorf("encode definition: %w", err)
		}
		var commit uint64
		err = e.do(ctx, func() error {
			if e.catalog.Load() != cat {
				return errCatalogMoved
			}
			if d.Create != nil {
				if err := e.graph.Check(d.Create); err != nil {
					return err
				}
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

// Definition is a change of the catalog: relations dropped, then one created.
type Definition struct {
	Create *catalog.Relation // ID from Catalog.NextID
	Drop   []uint32
}
