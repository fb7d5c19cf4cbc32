package views

import (
	"errors"
	"fmt"
	"maps"
	"sync"

	"tidemill/operators"
	"tidemill/operators/expr"
	"tidemill/state"
	"tidemill/state/column"
	"tidemill/state/image"
	"tidemill/views/catalog"
	"tidemill/views/plan"
)

// Options are the settings of a Graph. None of them changes an answer.
type Options struct {
	// WarmBytes is how much of an operator's state, unpacked, is loaded at once instead of entry by entry.
	WarmBytes int64
	// Workers is how many views may be stepped at once; at least 1.
	Workers int
}

// Graph is the tables and views of a catalog, at the last published commit.
type Graph struct {
	db     *state.DB
	ev     expr.Evaluator
	opts   Options
	tables map[uint32]*Table
	views  map[uint32]*View
	names  map[string]uint32 // canonical name to id
	levels [][]*View         // views whose inputs are tables and views of earlier levels
	feeds  map[uint32]bool   // tables whose delta somebody needs

	touched []*Table // begun in the running commit
}

// NewGraph returns a graph without relations. ev evaluates expressions without a kernel; it is called
// from several goroutines when Workers is more than 1.
func NewGraph(db *state.DB, ev expr.Evaluator, o Options) *Graph {
	return &Graph{db: db, ev: ev, opts: o, tables: map[uint32]*Table{}, views: map[uint32]*View{},
		names: map[string]uint32{}, feeds: map[uint32]bool{}}
}

// resolve returns the id of a relation by the name that plans have for it.
func (g *Graph) resolve(name string) (uint32, error) {
	id, ok := g.names[name]
	if !ok {
		return 0, &catalog.NameError{Name: name, Err: catalog.ErrUnknownRelation}
	}
	return id, nil
}

// AddTable adds a table whose rows are given: an empty image for a new table.
func (g *Graph) AddTable(rel *catalog.Relation, rows *image.Rows) (*Table, error) {
	t, err := newTable(g.db, rel, rows, g.opts.WarmBytes)
	if err != nil {
		return nil, err
	}
	g.tables[rel.ID], g.names[rel.Name] = t, rel.ID
	return t, nil
}

// AddView adds a view by its lowered plan. A new view is empty until a Step with it as born.
func (g *Graph) AddView(rel *catalog.Relation) (*View, error) {
	v, err := g.lower(rel)
	if err != nil {
		return nil, err
	}
	g.views[rel.ID], g.names[rel.Name] = v, rel.ID
	g.arrange()
	return v, nil
}

// Remove takes a relation out, which nothing may follow.
func (g *Graph) Remove(rel *catalog.Relation) {
	delete(g.tables, rel.ID)
	delete(g.views, rel.ID)
	if g.names[rel.Name] == rel.ID { // else one of its name has been made in the same commit
		delete(g.names, rel.Name)
	}
	g.arrange()
}

// Withdraw takes a relation out that a commit has made which is not to be; one of its name that it was to replace is
// there again.
func (g *Graph) Withdraw(rel *catalog.Relation) {
	g.Remove(rel)
	for id, t := range g.tables {
		if t.Rel.Name == rel.Name {
			g.names[rel.Name] = id
		}
	}
	for id, v := range g.views {
		if v.Rel.Name == rel.Name {
			g.names[rel.Name] = id
		}
	}
}

// Alter brings the graph to a relation as it is after a published commit has altered it. No save of the table may be
// on its way when it gets or loses a column.
func (g *Graph) Alter(rel *catalog.Relation, a *catalog.Alter) {
	t, v := g.tables[rel.ID], g.views[rel.ID]
	old := ""
	if t != nil {
		old = t.Rel.Name
		t.Rel = rel
		if a.AddColumn != nil || a.DropColumn != nil {
			t.Rows.Alter(image.Change(rel.Changes[len(rel.Changes)-1]))
			t.Rows.Publish()
		}
	} else if v != nil {
		old = v.Rel.Name
		v.Rel = rel
	}
	delete(g.names, old)
	g.names[rel.Name] = rel.ID
	if a.DropColumn != nil {
		for _, f := range g.views { // in place: operators and their plans share the lists of columns
			plan.DropColumn(f.Rel.Plan, rel.Name, *a.DropColumn)
		}
	}
	g.arrange()
}

// Table returns a table by id, or nil.
func (g *Graph) Table(id uint32) *Table { return g.tables[id] }

// View returns a view by id, or nil.
func (g *Graph) View(id uint32) *View { return g.views[id] }

// arrange finds the order in which views are stepped, and which deltas somebody needs.
func (g *Graph) arrange() {
	level := map[uint32]int{}
	var depth func(v *View) int
	depth = func(v *View) int {
		if d, ok := level[v.Rel.ID]; ok {
			return d
		}
		d := 0
		for _, id := range v.reads {
			if in := g.views[id]; in != nil {
				d = max(d, depth(in)+1)
			}
		}
		level[v.Rel.ID] = d
		return d
	}
	g.levels = nil
	for _, v := range g.views {
		d := depth(v)
		for len(g.levels) <= d {
			g.levels = append(g.levels, nil)
		}
		g.levels[d] = append(g.levels[d], v)
		v.wanted = false
	}
	for _, v := range g.views {
		v.need = make([]bool, len(v.Rel.Fields))
	}
	g.feeds = map[uint32]bool{}
	for d := len(g.levels) - 1; d >= 0; d-- {
		for _, v := range g.levels[d] {
			markWanted(v.root, v.wanted || v.tail)
			if !v.wanted && !v.tail && len(v.stages) == 0 {
				continue // only ever read as SQL over its inputs
			}
			g.require(v.root, v.need)
			for _, id := range v.reads {
				g.feeds[id] = true
				if in := g.views[id]; in != nil {
					in.wanted = true
				}
			}
		}
	}
}

// require tells n, and what is below it, which of its columns are read in commits. Views that it scans have not
// been told yet: they are of an earlier level.
func (g *Graph) require(n node, need []bool) {
	switch n := n.(type) {
	case *scan:
		n.need = need
		if v := g.views[n.relation]; v != nil {
			for i, c := range n.columns {
				v.need[c] = v.need[c] || need[i]
			}
		}
	case *linear:
		g.require(n.input, n.op.Need(need))
	case *union:
		for _, in := range n.inputs {
			g.require(in, need)
		}
	case *stage:
		g.require(n.input, n.op.Need(need))
	}
}

// markWanted tells the stages under n whether their delta is needed.
func markWanted(n node, need bool) {
	switch n := n.(type) {
	case *linear:
		markWanted(n.input, need)
	case *union:
		for _, in := range n.inputs {
			markWanted(in, need)
		}
	case *stage:
		n.wanted = need
		markWanted(n.input, true)
	}
}

// Step brings every operator to commit, given what it changes in tables, and the born views, if any, each after what
// it reads, from their inputs' contents. Publish or Void must follow. An error is the machinery's, and leaves the
// commit half done: Void it.
func (g *Graph) Step(commit uint64, tables map[uint32]Delta, born ...*View) error {
	s := &step{g: g, commit: commit, tables: tables}
	for _, v := range born {
		s.born = v
		if err := s.run(v); err != nil {
			return fmt.Errorf("view %s: %w", v.Rel.Name, err)
		}
		if s.filled == nil {
			s.filled = map[uint32]*View{}
		}
		s.filled[v.Rel.ID] = v
	}
	if len(born) > 0 {
		return nil
	}
	for _, level := range g.levels {
		if err := g.stepLevel(s, level); err != nil {
			return err
		}
	}
	return nil
}

// manyRows is how many changed rows make it worth while to step views side by side: about a
// hundred times what handing them to a goroutine costs.
const manyRows = 2048

func (g *Graph) stepLevel(s *step, level []*View) error {
	var todo []*View
	rows := 0
	for _, v := range level {
		v.delta = nil
		if s.changed(v) {
			todo = append(todo, v)
		}
	}
	for _, d := range s.tables {
		for _, b := range d {
			rows += b.N
		}
	}
	if g.opts.Workers < 2 || len(todo) < 2 || rows < manyRows {
		for _, v := range todo {
			if err := s.run(v); err != nil {
				return fmt.Errorf("view %s: %w", v.Rel.Name, err)
			}
		}
		return nil
	}
	errs := make([]error, len(todo))
	var wg sync.WaitGroup
	slots := make(chan struct{}, g.opts.Workers)
	for i, v := range todo {
		wg.Add(1)
		slots <- struct{}{}
		go func() {
			defer wg.Done()
			if err := s.run(v); err != nil {
				errs[i] = fmt.Errorf("view %s: %w", v.Rel.Name, err)
			}
			<-slots
		}()
	}
	wg.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// operators returns all operators with state of a view.
func (v *View) operators() []*operators.Aggregate {
	var ops []*operators.Aggregate
	for _, st := range v.stages {
		ops = append(ops, st.op)
	}
	if v.rejects != nil {
		ops = append(ops, v.rejects)
	}
	return ops
}

// Caches returns the caches of all the view's operators. They are the committer's.
func (v *View) Caches() []operators.Cache {
	var out []operators.Cache
	for _, op := range v.operators() {
		out = append(out, op.Caches()...)
	}
	return out
}

// ImageBytes returns the bytes of the images that reads have made of what the view keeps. It is the committer's.
func (v *View) ImageBytes() (n int64) {
	for _, op := range v.operators() {
		n += op.ImageBytes()
	}
	return n
}

// DropImages forgets these images: the next read makes them again. Snapshots that were taken stay. It is the
// committer's.
func (v *View) DropImages() {
	for _, op := range v.operators() {
		op.DropImage()
	}
}

// Publish makes the running commit visible to lookups and snapshots.
func (g *Graph) Publish() {
	for _, t := range g.touched {
		t.publish()
	}
	g.touched = g.touched[:0]
	for _, level := range g.levels {
		for _, v := range level {
			if !v.active {
				continue
			}
			for _, op := range v.operators() {
				op.Publish()
			}
			v.end()
		}
	}
}

// Void undoes the running commit, which may be half done: snapshots show what the last published commit left.
func (g *Graph) Void() error {
	for _, v := range g.views {
		if !v.active {
			continue
		}
		for _, op := range v.operators() {
			op.Void()
		}
		v.end()
	}
	var errs []error
	for _, t := range g.touched {
		errs = append(errs, t.void())
	}
	g.touched = g.touched[:0]
	return errors.Join(errs...)
}

func (v *View) end() {
	v.active, v.bad, v.delta = false, nil, nil
	for _, st := range v.stages {
		st.out = nil
	}
}

// Append changes a table in the running commit: it adds rows, or replaces those of their keys, and
// deletes the keys of rows marked in deleted. It returns what the commit's views have to know.
func (g *Graph) Append(commit uint64, id uint32, cols []column.Column, n int, deleted []byte) (Delta, error) {
	t, err := g.begin(commit, id)
	if err != nil {
		return nil, err
	}
	return t.append(cols, n, deleted, g.feeds[id])
}

// Delete removes rows of a table by rowid in the running commit.
func (g *Graph) Delete(commit uint64, id uint32, rowids []uint64) (Delta, error) {
	t, err := g.begin(commit, id)
	if err != nil {
		return nil, err
	}
	return t.delete(rowids, g.feeds[id])
}

// Truncate removes all rows of a table in the running commit.
func (g *Graph) Truncate(commit uint64, id uint32) (Delta, error) {
	t, err := g.begin(commit, id)
	if err != nil {
		return nil, err
	}
	return t.truncate(g.feeds[id])
}

func (g *Graph) begin(commit uint64, id uint32) (*Table, error) {
	t := g.tables[id]
	if t == nil {
		return nil, fmt.Errorf("change table %d: %w", id, catalog.ErrUnknownRelation)
	}
	if t.commit != commit {
		t.begin(commit)
		g.touched = append(g.touched, t)
	}
	return t, nil
}

// Caches returns every cache of the graph, for checkpoints and eviction.
func (g *Graph) Caches() []operators.Cache {
	var out []operators.Cache
	for _, t := range g.tables {
		out = append(out, t.Caches()...)
	}
	for _, v := range g.views {
		out = append(out, v.Caches()...)
	}
	return out
}

// Tables calls fn with every table.
func (g *Graph) Tables(fn func(*Table)) {
	for _, t := range g.tables {
		fn(t)
	}
}

// Views calls fn with every view.
func (g *Graph) Views(fn func(*View)) {
	for _, v := range g.views {
		fn(v)
	}
}

// Check reports whether relations could be added, one after the other: whether every operator of their plans exists.
// What fails here would fail in every replay.
func (g *Graph) Check(rels []*catalog.Relation) error {
	names := maps.Clone(g.names)
	defer func() { g.names = names }()
	g.names = maps.Clone(names)
	for _, rel := range rels {
		if rel.Kind == catalog.View {
			if _, err := g.lower(rel); err != nil {
				return err
			}
		}
		g.names[rel.Name] = rel.ID
	}
	return nil
}
