package catalog

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"tidemill/state/column"
	"tidemill/views/plan"
	"tidemill/views/plan/token"
)

// Kind is what a relation is.
type Kind string

// The kinds of relation. The strings are frozen.
const (
	Table Kind = "table"
	View  Kind = "view"
)

// Relation is a table or a view. One that a Catalog has handed out must not be changed.
type Relation struct {
	ID     uint32         `json:"id"` // never used again
	Name   string         `json:"name"`
	Kind   Kind           `json:"kind"`
	Fields []column.Field `json:"fields"`

	PrimaryKey []int    `json:"primary_key,omitempty"` // places in Fields, in the order of the key
	Defaults   []string `json:"defaults,omitempty"`    // a table's DEFAULT expressions, empty where there is none; or nil

	// DefaultValues has the value of each DEFAULT, nil where there is none; or it is nil.
	DefaultValues []*Value `json:"default_values,omitempty"`

	Comment  string   `json:"comment,omitempty"`
	Comments []string `json:"comments,omitempty"` // of the columns; or nil

	// Changes of a table's columns since it was created: older rows have others.
	Changes []ColumnChange `json:"changes,omitempty"`

	SQL  string     `json:"sql"`            // the statement that created it
	Plan *plan.Node `json:"plan,omitempty"` // a view's

	// RejectsOf is the id of the table whose rejected rows this table keeps, or 0.
	RejectsOf uint32 `json:"rejects_of,omitempty"`

	// Version counts the schemas that the relation has had, from 1. Log records name it.
	Version   uint32   `json:"version"`
	DependsOn []uint32 `json:"depends_on,omitempty"` // ids of the relations that a view reads, ascending; a table's rejects have the table
	CreatedAt uint64   `json:"created_at"`           // the commit that created it
	TimeZone  string   `json:"time_zone,omitempty"`  // that a view's expressions are evaluated in
}

// ColumnChange is a column that was added, as the last, or dropped. The JSON names are those of image.Change.
type ColumnChange struct {
	Drop bool        `json:"drop,omitempty"`
	At   int         `json:"at"` // where the column is, or was
	Type column.Type `json:"type"`
	Null bool        `json:"null,omitempty"` // of the rows that were there: NULL, or Raw
	Raw  []byte      `json:"raw,omitempty"`
}

// Value is the constant that a DEFAULT stands for: NULL, or a value in its raw bytes
// (column.Column.Raw).
type Value struct {
	Null bool   `json:"null,omitempty"`
	Raw  []byte `json:"raw,omitempty"`
}

// Catalog is the set of relations at one commit. It never changes, and is safe for concurrent use.
// The zero value is not ready: use New.
type Catalog struct {
	nextID uint32
	byID   map[uint32]*Relation
	byName map[string]uint32 // by folded name
	order  []uint32          // ascending, which puts every view after what it reads

	schemas map[string]Schema // beside main, by folded name
}

// New returns an empty catalog.
func New() *Catalog {
	return &Catalog{nextID: 1, byID: map[uint32]*Relation{}, byName: map[string]uint32{}, schemas: map[string]Schema{}}
}

// fold returns the form in which names are compared: DuckDB folds the ASCII letters only.
func fold(name string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'A' && r <= 'Z' {
			return r + 'a' - 'A'
		}
		return r
	}, name)
}

// SameName reports whether two names are one to SQL.
func SameName(a, b string) bool { return fold(a) == fold(b) }

// Lookup returns the relation of that name, which may have its schema and a dot before it, and quotes around either, as
// in SQL. The error is a *NameError with ErrUnknownRelation.
func (c *Catalog) Lookup(name string) (*Relation, error) {
	if id, ok := c.byName[fold(name)]; ok {
		return c.byID[id], nil
	}
	if schema, last, ok := token.Cut(name); ok {
		if id, ok := c.byName[fold(token.Join(schema, last))]; ok {
			return c.byID[id], nil
		}
		if !c.HasSchema(schema) {
			return nil, &NameError{Name: schema, Err: ErrUnknownSchema, Hint: "CREATE SCHEMA makes one"}
		}
	}
	return nil, &NameError{Name: name, Err: ErrUnknownRelation, Hint: c.similar(name)}
}

// LookupTable is Lookup for a statement that needs a table. A view is a *NameError with ErrWrongKind.
func (c *Catalog) LookupTable(name string) (*Relation, error) {
	r, err := c.Lookup(name)
	if err == nil && r.Kind != Table {
		return nil, &NameError{Name: r.Name, Kind: r.Kind, Err: ErrWrongKind, Hint: "a view follows its SELECT: change the tables that it reads"}
	}
	return r, err
}

// Schema looks a relation's columns up for package plan; it is a plan.Schemas.
func (c *Catalog) Schema(name string) (canonical string, fields []column.Field, ok bool) {
	id, ok := c.byName[fold(name)]
	if !ok {
		return "", nil, false
	}
	return c.byID[id].Name, c.byID[id].Fields, true
}

// ByID returns a relation by its id, or nil.
func (c *Catalog) ByID(id uint32) *Relation { return c.byID[id] }

// Rejects returns the table that keeps the rejected rows of a table, or nil when it has had none.
func (c *Catalog) Rejects(table uint32) *Relation {
	for _, id := range c.order {
		if r := c.byID[id]; r.RejectsOf == table && table != 0 {
			return r
		}
	}
	return nil
}

// Relations returns all relations by ascending id: every view stands after what it reads.
func (c *Catalog) Relations() []*Relation {
	out := make([]*Relation, len(c.order))
	for i, id := range c.order {
		out[i] = c.byID[id]
	}
	return out
}

// Dependents returns the views that read the relation, or a view that does, and so on: each after
// what it reads.
func (c *Catalog) Dependents(id uint32) []*Relation {
	reached := map[uint32]bool{id: true}
	var out []*Relation
	for _, v := range c.order {
		r := c.byID[v]
		if slices.ContainsFunc(r.DependsOn, func(d uint32) bool { return reached[d] }) {
			reached[v] = true
			out = append(out, r)
		}
	}
	return out
}

// Create returns a catalog with r added, and r as it has it: with its ID, its Version and, for a view,
// what it depends on by its Plan beside what r says that it does. The error is a *NameError with ErrExists or, for a relation that a
// plan scans, ErrUnknownRelation.
func (c *Catalog) Create(r Relation) (*Catalog, *Relation, error) {
	if id, ok := c.byName[fold(r.Name)]; ok {
		old := c.byID[id]
		return nil, nil, &NameError{Name: old.Name, Kind: old.Kind, Err: ErrExists, Hint: "drop it first, or use IF NOT EXISTS"}
	}
	if schema, _, _ := token.Cut(r.Name); !c.HasSchema(schema) {
		return nil, nil, &NameError{Name: schema, Err: ErrUnknownSchema, Hint: "create it first: CREATE SCHEMA " + schema}
	}
	r.ID, r.Version = c.nextID, 1
	r.Fields, r.PrimaryKey, r.Defaults = slices.Clone(r.Fields), slices.Clone(r.PrimaryKey), slices.Clone(r.Defaults)
	r.DependsOn = slices.Clone(r.DependsOn)
	if r.Plan != nil {
		for _, name := range plan.Relations(r.Plan) {
			read, err := c.Lookup(name)
			if err != nil {
				return nil, nil, err
			}
			r.DependsOn = append(r.DependsOn, read.ID)
		}
	}
	if r.RejectsOf != 0 {
		r.DependsOn = append(r.DependsOn, r.RejectsOf)
	}
	slices.Sort(r.DependsOn)
	r.DependsOn = slices.Compact(r.DependsOn)
	next := c.clone()
	if err := next.add(&r); err != nil {
		return nil, nil, err
	}
	next.nextID = r.ID + 1
	return next, &r, nil
}

// Drop returns a catalog without the relation and, with cascade, without the views that follow it, and
// all that were dropped, each before what it reads. The error is a *NameError with ErrUnknownRelation
// or ErrWrongKind, or a *DependentsError.
func (c *Catalog) Drop(name string, kind Kind, cascade bool) (*Catalog, []*Relation, error) {
	r, err := c.Lookup(name)
	if err != nil {
		return nil, nil, err
	}
	if r.Kind != kind {
		hint := "use DROP TABLE"
		if r.Kind == View {
			hint = "use DROP VIEW"
		}
		return nil, nil, &NameError{Name: r.Name, Kind: r.Kind, Err: ErrWrongKind, Hint: hint}
	}
	followers := c.Dependents(r.ID)
	e := &DependentsError{Name: r.Name, Kind: r.Kind}
	for _, f := range followers {
		if f.RejectsOf != r.ID { // they go with their table
			e.Dependents = append(e.Dependents, f.Name)
		}
	}
	if len(e.Dependents) > 0 && !cascade {
		return nil, nil, e
	}
	dropped := append([]*Relation{r}, followers...)
	slices.Reverse(dropped)
	next := c.clone()
	for _, d := range dropped {
		delete(next.byID, d.ID)
		delete(next.byName, fold(d.Name))
	}
	next.order = slices.DeleteFunc(next.order, func(id uint32) bool { return next.byID[id] == nil })
	return next, dropped, nil
}

func (c *Catalog) clone() *Catalog {
	next := &Catalog{
		nextID: c.nextID, order: slices.Clone(c.order),
		byID:   make(map[uint32]*Relation, len(c.byID)+1),
		byName: make(map[string]uint32, len(c.byName)+1), schemas: maps.Clone(c.schemas),
	}
	for id, r := range c.byID {
		next.byID[id] = r
	}
	for n, id := range c.byName {
		next.byName[n] = id
	}
	return next
}

// add checks r and puts it last. It is for a catalog that nobody has yet.
func (c *Catalog) add(r *Relation) error {
	if err := r.check(); err != nil {
		return err
	}
	if len(c.order) > 0 && r.ID <= c.order[len(c.order)-1] {
		return fmt.Errorf("relation %q: id %d is not above the one before", r.Name, r.ID)
	}
	if _, ok := c.byName[fold(r.Name)]; ok {
		return fmt.Errorf("relation %q is there twice", r.Name)
	}
	for _, d := range r.DependsOn {
		if c.byID[d] == nil {
			return fmt.Errorf("relation %q reads relation %d, which there is not", r.Name, d)
		}
	}
	c.byID[r.ID] = r
	c.byName[fold(r.Name)] = r.ID
	c.order = append(c.order, r.ID)
	return nil
}

// check returns an error when the parts of r do not fit together.
func (r *Relation) check() error {
	switch {
	case r.Name == "":
		return fmt.Errorf("relation %d has no name", r.ID)
	case r.Kind != Table && r.Kind != View:
		return fmt.Errorf("relation %q is a %q, which there is not", r.Name, r.Kind)
	case r.Kind == View && r.Plan == nil:
		return fmt.Errorf("view %q has no plan", r.Name)
	case r.ID == 0 || r.Version == 0:
		return fmt.Errorf("relation %q has id %d and version %d", r.Name, r.ID, r.Version)
	case len(r.Defaults) > 0 && len(r.Defaults) != len(r.Fields):
		return fmt.Errorf("relation %q has %d columns and %d defaults", r.Name, len(r.Fields), len(r.Defaults))
	}
	names := map[string]bool{}
	for _, f := range r.Fields {
		if names[fold(f.Name)] {
			return fmt.Errorf("relation %q has two columns %q", r.Name, f.Name)
		}
		names[fold(f.Name)] = true
		if !f.Type.Valid() {
			return fmt.Errorf("column %q of relation %q has an unknown type", f.Name, r.Name)
		}
	}
	for _, k := range r.PrimaryKey {
		if k < 0 || k >= len(r.Fields) {
			return fmt.Errorf("the key of relation %q has column %d of %d", r.Name, k, len(r.Fields))
		}
	}
	return nil
}

// similar returns a hint with the relation whose name is nearest, or none.
func (c *Catalog) similar(name string) string {
	names := make([]string, len(c.order))
	for i, id := range c.order {
		names[i] = c.byID[id].Name
	}
	best := Nearest(name, names, len(name)/2)
	if best == "" {
		return ""
	}
	return fmt.Sprintf("did you mean %q?", best)
}

// Nearest returns the first of the names that are the fewest bytes, and at most so many, away from name, without regard to the
// case of ASCII letters; "" for none. A byte inserted, deleted or replaced counts one.
func Nearest(name string, names []string, most int) string {
	best, at := "", most+1
	for _, n := range names {
		if d := distance(fold(name), fold(n)); d < at {
			best, at = n, d
		}
	}
	return best
}

// distance is the number of bytes to insert, delete or replace to make a of b.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
