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

// Definition is a change of the catalog, in steps that become visible together. It is the payload of a Define entry,
// with everything decided, so that a replay plans nothing. JSON; the names are frozen.
type Definition struct {
	Changes []catalog.Change `json:"changes,omitempty"`

	// Create and Drop are what the first logs have in place of Changes: one relation made, or one with its followers gone.
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

// dropping returns the changes that drop relations, each before what it reads.
func dropping(dropped []*catalog.Relation) []catalog.Change {
	var out []catalog.Change
	for _, r := range dropped {
		out = append(out, catalog.Change{Drop: r.ID})
	}
	return out
}

// define applies a definition in commit n. The views that it creates are returned: the commit's step fills them. What
// it drops and alters stays as it is until the commit is published.
func (e *Engine) define(n uint64, payload []byte) ([]*views.View, error) {
	var d Definition
	if err := json.Unmarshal(payload, &d); err != nil {
		return nil, fmt.Errorf("read definition: %w", err)
	}
	cat := e.catalog.Load()
	changes := d.Changes
	switch {
	case d.Drop != nil:
		_, dropped, err := cat.Drop(d.Drop.Name, d.Drop.Kind, true)
		if err != nil {
			return nil, err
		}
		changes = dropping(dropped)
	case d.Create != nil:
		changes = []catalog.Change{{Create: d.Create}}
	}
	for i := range changes {
		if c := changes[i].Create; c != nil {
			c.CreatedAt = n
		}
	}
	next, effect, err := cat.Apply(changes)
	if err != nil {
		return nil, err
	}
	e.defined, e.effect = next, effect
	var born []*views.View
	for _, rel := range effect.Created {
		if rel.Kind == catalog.Table {
			if _, err := e.graph.AddTable(rel, image.NewRows(types(rel))); err != nil {
				return nil, err
			}
			continue
		}
		v, err := e.graph.AddView(rel)
		if err != nil {
			return nil, err
		}
		born = append(born, v)
	}
	return born, nil
}

// settle does to the graph what the published commit has dropped and altered.
func (e *Engine) settle() {
	effect := e.effect
	e.effect = nil
	if effect == nil {
		return
	}
	for _, rel := range effect.Dropped {
		e.graph.Remove(rel)
		e.dropped = append(e.dropped, rel.ID)
	}
	for _, a := range effect.Altered {
		if a.Alter.AddColumn != nil || a.Alter.DropColumn != nil {
			e.settleSave() // chunks are not to be replaced by those of the columns before
		}
		e.graph.Alter(a.Relation, a.Alter)
	}
	if len(effect.Dropped)+len(effect.Altered) > 0 {
		e.lookups.Store(&sync.Map{})
	}
}

// settleSave waits for the checkpoint that is on its way.
func (e *Engine) settleSave() {
	if e.saving != nil {
		e.endCheckpoint(<-e.saved)
	}
}

// imageChanges are a table's column changes as its image knows them.
func imageChanges(rel *catalog.Relation) []image.Change {
	out := make([]image.Change, len(rel.Changes))
	for i, c := range rel.Changes {
		out[i] = image.Change(c)
	}
	return out
}

// errCatalogMoved says that the catalog is not the one that a statement was planned for.
var errCatalogMoved = errors.New("the catalog has changed meanwhile")

// Define makes a commit that changes the catalog as plan says. plan is called with the newest catalog, off
// the committer, and again if another definition comes first; it returns nil when there is nothing to do.
func (e *Engine) Define(ctx context.Context, plan func(*catalog.Catalog) ([]catalog.Change, error)) (uint64, error) {
	for {
		cat := e.catalog.Load()
		changes, err := plan(cat)
		if err != nil || len(changes) == 0 {
			return e.Commit(), err
		}
		var commit uint64
		err = e.do(ctx, func() (err error) {
			if e.catalog.Load() != cat {
				return errCatalogMoved
			}
			commit, err = e.commitDefinition(cat, changes, nil)
			return err
		})
		if !errors.Is(err, errCatalogMoved) {
			return commit, err
		}
	}
}

// commitDefinition makes the commit of a definition, and of rows for the table that it makes last, if rows is not
// nil. What would fail in the commit would fail in every replay, and the committer has no way back from it: it is found
// before.
func (e *Engine) commitDefinition(cat *catalog.Catalog, changes []catalog.Change, rows func(*catalog.Relation) *logrec.Entry) (uint64, error) {
	payload, err := json.Marshal(&Definition{Changes: changes})
	if err != nil {
		return 0, fmt.Errorf("encode definition: %w", err)
	}
	_, effect, err := cat.Apply(changes)
	if err != nil {
		return 0, err
	}
	if err := e.graph.Check(effect.Created); err != nil {
		return 0, err
	}
	entries := []logrec.Entry{{Kind: logrec.Define, Payload: payload}}
	if rows != nil {
		if en := rows(effect.Created[len(effect.Created)-1]); en != nil {
			entries = append(entries, *en)
		}
	}
	return e.commit(&logrec.Record{Micros: e.now(), Entries: entries})
}
