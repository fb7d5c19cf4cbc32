package catalog

import (
	"fmt"
	"slices"

	"tidemill/state/column"
	"tidemill/views/plan/token"
)

// Change is one step of a definition; one of the fields is set. It is logged, with everything decided. The JSON names
// are frozen.
type Change struct {
	Create       *Relation `json:"create,omitempty"`
	Drop         uint32    `json:"drop,omitempty"` // a relation's id; what follows it goes first, in changes of its own
	Alter        *Alter    `json:"alter,omitempty"`
	CreateSchema string    `json:"create_schema,omitempty"`
	DropSchema   string    `json:"drop_schema,omitempty"` // without relations
	Schema       *Schema   `json:"schema,omitempty"`      // takes the place of the one of its name
}

// Schema is a name space of relations beside main.
type Schema struct {
	Name    string `json:"name"`
	Comment string `json:"comment,omitempty"`
}

// Alter changes one thing of a relation.
type Alter struct {
	ID           uint32      `json:"id"`
	Rename       string      `json:"rename,omitempty"` // the relation's new name
	SQL          string      `json:"sql,omitempty"`    // the statement that would create it as it is now
	RenameColumn *ColumnName `json:"rename_column,omitempty"`
	AddColumn    *AddColumn  `json:"add_column,omitempty"`
	DropColumn   *int        `json:"drop_column,omitempty"`
	SetDefault   *AddColumn  `json:"set_default,omitempty"`  // of column At
	SetNotNull   *ColumnFlag `json:"set_not_null,omitempty"` // whether the column refuses NULL
	Comment      *string     `json:"comment,omitempty"`      // on the relation
	OnColumn     *ColumnName `json:"on_column,omitempty"`    // a comment on a column
}

// ColumnName is a text for a column.
type ColumnName struct {
	At   int    `json:"at"`
	Text string `json:"text"`
}

// ColumnFlag is a fact about a column.
type ColumnFlag struct {
	At int  `json:"at"`
	On bool `json:"on"`
}

// AddColumn is a column that a table gets, or the DEFAULT of one.
type AddColumn struct {
	At      int          `json:"at"`
	Field   column.Field `json:"field"`
	Default string       `json:"default,omitempty"`
	// Value of the DEFAULT, and of the rows that are there; nil is NULL, or a DEFAULT that has no constant value.
	Value *Value `json:"value,omitempty"`
	// Rows is the value of the rows that are there when it is not Value.
	Rows *Value `json:"rows,omitempty"`
}

// Effect is what a list of changes does to relations, for whoever keeps their rows.
type Effect struct {
	Created []*Relation // in their order
	Dropped []*Relation // each before what it reads
	Altered []Altered
}

// Altered is a relation as an Alter leaves it.
type Altered struct {
	*Relation
	Alter *Alter
}

// Apply returns the catalog after the changes. The error is that of Create, a *NameError, or says what contradicts the
// catalog: changes are made for one catalog and applied to it.
func (c *Catalog) Apply(changes []Change) (*Catalog, *Effect, error) {
	next, effect := c.clone(), &Effect{}
	for i := range changes {
		ch := &changes[i]
		var err error
		switch {
		case ch.Create != nil:
			var rel *Relation
			if next, rel, err = next.Create(*ch.Create); err == nil {
				effect.Created = append(effect.Created, rel)
			}
		case ch.Drop != 0:
			err = next.drop(ch.Drop, effect)
		case ch.Alter != nil:
			err = next.alter(ch.Alter, effect)
		case ch.CreateSchema != "":
			err = next.createSchema(ch.CreateSchema)
		case ch.DropSchema != "":
			err = next.dropSchema(ch.DropSchema)
		case ch.Schema != nil:
			if _, ok := next.schemas[fold(ch.Schema.Name)]; !ok {
				err = &NameError{Name: ch.Schema.Name, Err: ErrUnknownSchema}
			}
			next.schemas[fold(ch.Schema.Name)] = *ch.Schema
		}
		if err != nil {
			return nil, nil, err
		}
	}
	return next, effect, nil
}

func (c *Catalog) drop(id uint32, effect *Effect) error {
	r := c.byID[id]
	if r == nil {
		return fmt.Errorf("relation %d is to be dropped and is not there", id)
	}
	if f := c.Dependents(id); len(f) > 0 {
		return fmt.Errorf("relation %s is to be dropped and is followed by %s", r.Name, f[0].Name)
	}
	delete(c.byID, id)
	delete(c.byName, fold(r.Name))
	c.order = slices.DeleteFunc(c.order, func(o uint32) bool { return o == id })
	effect.Dropped = append(effect.Dropped, r)
	return nil
}

// alter is for a catalog that nobody has yet.
func (c *Catalog) alter(a *Alter, effect *Effect) error {
	old := c.byID[a.ID]
	if old == nil {
		return fmt.Errorf("relation %d is to be altered and is not there", a.ID)
	}
	r := *old
	r.Fields, r.PrimaryKey = slices.Clone(r.Fields), slices.Clone(r.PrimaryKey)
	r.Defaults, r.DefaultValues, r.Changes = slices.Clone(r.Defaults), slices.Clone(r.DefaultValues), slices.Clone(r.Changes)
	if a.Comment == nil && a.OnColumn == nil {
		r.Version++
	}
	if a.SQL != "" {
		r.SQL = a.SQL
	}
	switch {
	case a.Rename != "":
		if id, ok := c.byName[fold(a.Rename)]; ok && id != a.ID {
			other := c.byID[id]
			return &NameError{Name: other.Name, Kind: other.Kind, Err: ErrExists, Hint: "take another name"}
		}
		delete(c.byName, fold(r.Name))
		r.Name = a.Rename
		c.byName[fold(r.Name)] = r.ID
	case a.RenameColumn != nil:
		r.Fields[a.RenameColumn.At].Name = a.RenameColumn.Text
	case a.AddColumn != nil:
		r.addColumn(a.AddColumn)
	case a.DropColumn != nil:
		r.dropColumn(*a.DropColumn)
		for _, d := range c.order { // their places of the columns behind it have changed
			if v := c.byID[d]; v.Kind == View && slices.Contains(v.DependsOn, r.ID) {
				view := *v
				view.Version++
				c.byID[d] = &view
			}
		}
	case a.SetDefault != nil:
		r.setDefault(a.SetDefault.At, a.SetDefault)
	case a.SetNotNull != nil:
		r.Fields[a.SetNotNull.At].NotNull = a.SetNotNull.On
	case a.Comment != nil:
		r.Comment = *a.Comment
	case a.OnColumn != nil:
		r.Comments = slices.Clone(r.Comments)
		if r.Comments == nil {
			r.Comments = make([]string, len(r.Fields))
		}
		r.Comments[a.OnColumn.At] = a.OnColumn.Text
	}
	if err := r.check(); err != nil {
		return err
	}
	c.byID[r.ID] = &r
	effect.Altered = append(effect.Altered, Altered{&r, a})
	return nil
}

func (r *Relation) addColumn(a *AddColumn) {
	r.Fields = append(r.Fields, a.Field)
	if r.Defaults != nil {
		r.Defaults = append(r.Defaults, "")
	}
	if r.DefaultValues != nil {
		r.DefaultValues = append(r.DefaultValues, nil)
	}
	if r.Comments != nil {
		r.Comments = append(slices.Clone(r.Comments), "")
	}
	r.setDefault(len(r.Fields)-1, a)
	change := ColumnChange{At: len(r.Fields) - 1, Type: a.Field.Type, Null: true}
	v := a.Rows
	if v == nil {
		v = a.Value
	}
	if v != nil && !v.Null {
		change.Null, change.Raw = false, v.Raw
	}
	r.Changes = append(r.Changes, change)
}

func (r *Relation) setDefault(at int, a *AddColumn) {
	if a.Default != "" || r.Defaults != nil {
		if r.Defaults == nil {
			r.Defaults = make([]string, len(r.Fields))
		}
		r.Defaults[at] = a.Default
	}
	if a.Value != nil || r.DefaultValues != nil {
		if r.DefaultValues == nil {
			r.DefaultValues = make([]*Value, len(r.Fields))
		}
		r.DefaultValues[at] = a.Value
	}
}

func (r *Relation) dropColumn(at int) {
	r.Changes = append(r.Changes, ColumnChange{Drop: true, At: at, Type: r.Fields[at].Type})
	r.Fields = slices.Delete(r.Fields, at, at+1)
	if r.Defaults != nil {
		r.Defaults = slices.Delete(r.Defaults, at, at+1)
	}
	if r.DefaultValues != nil {
		r.DefaultValues = slices.Delete(r.DefaultValues, at, at+1)
	}
	if r.Comments != nil {
		r.Comments = slices.Delete(slices.Clone(r.Comments), at, at+1)
	}
	for i, k := range r.PrimaryKey {
		if k > at {
			r.PrimaryKey[i]--
		}
	}
}

// reservedSchemas are not to be created: DuckDB and this program have them.
var reservedSchemas = map[string]bool{"main": true, "information_schema": true, "pg_catalog": true, "temp": true, "system": true, "tidemill": true}

// HasSchema reports whether a relation can be created in the schema; "" is main.
func (c *Catalog) HasSchema(name string) bool {
	_, ok := c.schemas[fold(name)]
	return ok || name == "" || fold(name) == token.MainSchema
}

// Schemas returns the schemas beside main, by name.
func (c *Catalog) Schemas() []Schema {
	out := make([]Schema, 0, len(c.schemas))
	for _, s := range c.schemas {
		out = append(out, s)
	}
	slices.SortFunc(out, func(a, b Schema) int {
		if a.Name < b.Name {
			return -1
		}
		return 1
	})
	return out
}

// InSchema returns the relations of a schema; "" is main.
func (c *Catalog) InSchema(name string) []*Relation {
	var out []*Relation
	for _, id := range c.order {
		if s, _, _ := token.Cut(c.byID[id].Name); fold(s) == fold(name) || s == "" && fold(name) == token.MainSchema {
			out = append(out, c.byID[id])
		}
	}
	return out
}

func (c *Catalog) createSchema(name string) error {
	switch {
	case reservedSchemas[fold(name)] || len(name) >= 9 && fold(name)[:9] == "tidemill_":
		return &NameError{Name: name, Kind: "schema", Err: ErrExists, Hint: "the name is reserved: take another"}
	case c.HasSchema(name):
		return &NameError{Name: name, Kind: "schema", Err: ErrExists, Hint: "use IF NOT EXISTS"}
	}
	c.schemas[fold(name)] = Schema{Name: name}
	return nil
}

func (c *Catalog) dropSchema(name string) error {
	if _, ok := c.schemas[fold(name)]; !ok {
		return &NameError{Name: name, Err: ErrUnknownSchema}
	}
	if in := c.InSchema(name); len(in) > 0 {
		e := &DependentsError{Name: name, Kind: "schema", What: "it holds"}
		for _, r := range in {
			e.Dependents = append(e.Dependents, r.Name)
		}
		return e
	}
	delete(c.schemas, fold(name))
	return nil
}
