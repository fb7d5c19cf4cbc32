package viewtest

import (
	"fmt"
	"regexp"
	"strings"

	"tidemill/state/column"
)

// relation is a table or an accepted view, as the generator knows it.
type relation struct {
	name  string
	cols  []col
	depth int // views under it; 0 for a table
	table *table
	view  *view

	bases  map[string]bool // all that a view reads, and what that reads
	pushes bool            // rejects may be fewer
	known  bool            // the oracle's answers below are still right
	want   [][]cell
	before [][]cell // want before the last change
	bad    string   // how many rows are rejected
}

// view is a definition.
type view struct {
	Name  string
	Block *block
	reads []string
	cols  []col
	depth int
	// lookup is the outputs that show the group columns, in their order, when all of them are shown.
	lookup []int
}

// newView makes a view over some relations.
func (w *world) newView() *view {
	v := w.anyView()
	for range 4 {
		if w.r.IntN(8) == 0 || w.x.o.gives(v) {
			break
		}
		v = w.anyView()
	}
	return v
}

func (w *world) anyView() *view {
	v := &view{Name: fmt.Sprintf("v%d", w.nextID())}
	var pool []*relation
	for _, r := range w.relations() {
		if r.depth < 7 {
			pool = append(pool, r)
		}
	}
	w.safe = w.r.IntN(5) < 2
	v.Block, v.cols = w.newBlock(v, pool, 0)
	if b := v.Block; b.Grouped && !b.Distinct && len(b.Groups) > 0 && b.Sets == "" {
		for g := range b.Groups {
			for i, o := range b.Outs {
				if o.sql == groupName(g) {
					v.lookup = append(v.lookup, i)
					break
				}
			}
		}
		if len(v.lookup) != len(b.Groups) {
			v.lookup = nil
		}
	}
	return v
}

func (w *world) newBlock(v *view, pool []*relation, nested int) (*block, []col) {
	b := &block{}
	scope := w.newSource(v, b, pool, nested)
	g := &generator{r: w.r, scope: scope, safe: w.safe}
	conditions := pick(w.r, []int{0, 0, 0, 0, 1, 1, 2})
	for range conditions {
		b.Where = append(b.Where, w.condition(g))
	}
	kind := w.r.IntN(10)
	if kind < 6 {
		scope = w.group(b, g)
		g = &generator{r: w.r, scope: scope, safe: g.safe, grouped: true}
		if w.r.IntN(6) == 0 {
			b.Having = append(b.Having, w.condition(g))
		}
	} else if kind == 6 {
		b.Distinct = true
	}
	cols := w.outputs(b, g)
	if b.hollow() {
		b.Outs = append(b.Outs, output{expression{sql: aggName(0), typ: b.Aggs[0].typ}, fmt.Sprintf("c%d", len(cols))})
		cols = append(cols, col{name: fmt.Sprintf("c%d", len(cols)), typ: b.Aggs[0].typ, exact: b.Aggs[0].exact, loose: b.Aggs[0].loose})
	}
	b.prune()
	b.pruneSource()
	return b, cols
}

// pruneSource removes outputs of a nested block that b does not use and that can fail: what nobody reads is not
// computed, so that it rejects nothing.
func (b *block) pruneSource() {
	for _, s := range b.From {
		if s.Block != nil && !s.Block.Distinct {
			b.pruneBlock(s.Block)
		}
	}
}

func (b *block) pruneBlock(in *block) {
	used := " "
	add := func(es ...expression) {
		for _, e := range es {
			used += e.sql + " "
		}
	}
	add(b.Where...)
	add(b.Groups...)
	for _, a := range b.Aggs {
		if a.Arg != nil {
			add(*a.Arg)
		}
		if a.Arg2 != nil {
			add(*a.Arg2)
		}
		if a.Filter != nil {
			add(*a.Filter)
		}
	}
	for _, o := range b.Outs {
		add(o.expression)
	}
	var kept []output
	for _, o := range in.Outs {
		if regexp.MustCompile(`\b` + o.Name + `\b`).MatchString(used) {
			kept = append(kept, o)
		}
	}
	if len(kept) == 0 {
		kept = append(kept, output{expression{sql: "1"}, "c0"})
	}
	in.Outs = kept
	if in.hollow() { // some aggregate makes it one row, of which nothing else is computed
		in.Aggs = []aggregate{{Func: "count", expression: expression{typ: column.T(column.Int64)}}}
		in.Outs = append(in.Outs, output{expression{sql: aggName(0), typ: column.T(column.Int64)}, "c1"})
	}
	in.prune()
	in.pruneSource()
}

// fallible reports whether a row of the block may fail.
func (b *block) fallible() bool {
	var all []expression
	all = append(append(append(all, b.Where...), b.Groups...), b.Having...)
	for _, a := range b.Aggs {
		if all = append(all, a.expression); a.Arg != nil {
			all = append(all, *a.Arg)
		}
		if a.Arg2 != nil {
			all = append(all, *a.Arg2)
		}
		if a.Filter != nil {
			all = append(all, *a.Filter)
		}
	}
	for _, o := range b.Outs {
		all = append(all, o.expression)
	}
	for _, e := range all {
		if e.fallible {
			return true
		}
	}
	for _, s := range b.From {
		if s.Block != nil && s.Block.fallible() {
			return true
		}
	}
	return false
}

// pushes reports whether a condition stands over something in the same statement that can fail. The planner may
// evaluate it first, and then rejects no rows that it drops.
func (b *block) pushes() bool {
	in := *b
	in.Where, in.Having = nil, nil
	if len(b.Having) > 0 && (in.fallible() || b.fallible()) {
		return true
	}
	for _, s := range b.From {
		if s.Block != nil && (s.Block.pushes() || len(b.Where)+len(b.Having) > 0 && s.Block.fallible()) {
			return true
		}
	}
	return false
}

// hollow reports whether the block is an aggregate without groups whose SQL would have no aggregate, and so be none.
func (b *block) hollow() bool { return b.Grouped && len(b.Groups) == 0 && !b.shows(`"$a`) }

// shows reports whether an output or HAVING has the text.
func (b *block) shows(text string) bool {
	for _, o := range b.Outs {
		if strings.Contains(o.sql, text) {
			return true
		}
	}
	for _, h := range b.Having {
		if strings.Contains(h.sql, text) {
			return true
		}
	}
	return false
}

// condition is a predicate that many rows pass.
func (w *world) condition(g *generator) expression {
	e := g.any(column.T(column.Bool), 2)
	switch w.r.IntN(8) {
	case 0, 1:
		e.sql = "coalesce((" + e.sql + "), TRUE)"
	case 2, 3, 4:
		e.sql = "(" + e.sql + ") IS NOT TRUE"
	case 5, 6:
		n := g.any(column.T(column.Bool), 1)
		n.sql = "(" + e.sql + ") IS DISTINCT FROM (" + n.sql + ")"
		n.fallible = n.fallible || e.fallible
		return n
	}
	return e
}

// newSource chooses what the block reads.
func (w *world) newSource(v *view, b *block, pool []*relation, nested int) []col {
	if nested < 2 && w.r.IntN(5) == 0 {
		in, cols := w.newBlock(v, pool, nested+1)
		b.From, b.CTE = []source{{Block: in}}, w.r.IntN(2) == 0
		if w.r.IntN(4) == 0 { // UNION ALL with the same of fewer rows
			other := *in
			scope := in.From[0].scope
			other.Where = append([]expression{}, in.Where...)
			if other.Where = append(other.Where, w.condition(&generator{r: w.r, scope: scope, safe: w.safe})); w.r.IntN(2) == 0 {
				other.Where = other.Where[len(other.Where)-1:]
			}
			b.From = append(b.From, source{Block: &other})
		}
		b.From[0].scope = cols
		return cols
	}
	rel := pick(w.r, pool)
	if w.r.IntN(2) == 0 { // chains are what matters
		for range 3 {
			if r := pick(w.r, pool); r.depth > rel.depth {
				rel = r
			}
		}
	}
	v.read(rel)
	cols := rel.cols
	b.From = []source{{Relation: rel.name, scope: cols}}
	if w.r.IntN(6) == 0 {
		for _, other := range pool {
			if sameTypes(cols, other.cols) && w.r.IntN(2) == 0 {
				v.read(other)
				b.From = append(b.From, source{Relation: other.name})
				cols = append([]col{}, cols...)
				for i := range cols {
					cols[i].exact = cols[i].exact && other.cols[i].exact
					cols[i].loose = max(cols[i].loose, other.cols[i].loose)
				}
				break
			}
		}
	}
	return cols
}

func (v *view) read(r *relation) {
	v.reads = append(v.reads, r.name)
	v.depth = max(v.depth, r.depth+1)
}

func sameTypes(a, b []col) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i].typ != b[i].typ {
			return false
		}
	}
	return true
}

// group makes GROUP BY and aggregates, and returns the columns that follow.
func (w *world) group(b *block, g *generator) []col {
	b.Grouped = true
	var out []col
	for range pick(w.r, []int{0, 1, 1, 1, 2, 3}) {
		e := w.key(g)
		dup := false
		for _, o := range b.Groups {
			dup = dup || o.sql == e.sql
		}
		if dup || strings.HasPrefix(e.sql, "CAST(NULL") {
			continue
		}
		out = append(out, col{name: groupName(len(b.Groups)), typ: e.typ, exact: e.exact, loose: groupLooseness(e.typ)})
		b.Groups = append(b.Groups, e)
	}
	if len(b.Groups) > 0 && w.r.IntN(6) == 0 {
		b.Sets = pick(w.r, []string{"ROLLUP", "CUBE"})
		for _, e := range b.Groups {
			if !strings.ContainsAny(e.sql, "c$") { // a group by a constant is none
				b.Sets = ""
			}
		}
	}
	for range 1 + w.r.IntN(3) {
		a := w.aggregate(g)
		out = append(out, col{name: aggName(len(b.Aggs)), typ: a.typ, exact: a.exact, loose: a.loose})
		b.Aggs = append(b.Aggs, a)
	}
	return out
}

// key is an expression to group by: a column most of the time.
func (w *world) key(g *generator) expression {
	for range 5 {
		if len(g.scope) == 0 || w.r.IntN(3) == 0 {
			break
		}
		if c := pick(w.r, g.scope); c.loose == strict {
			return expression{sql: c.name, typ: c.typ, exact: c.exact}
		}
	}
	t := someType(w.r)
	e := g.any(t, 1)
	for range 3 {
		if strings.ContainsAny(e.sql, "c$") {
			break
		}
		e = g.any(t, 2)
	}
	return e
}

func (w *world) aggregate(g *generator) aggregate {
	a := aggregate{}
	if w.r.IntN(2) == 0 && w.formed(g, &a) {
		if w.r.IntN(4) == 0 {
			f := g.any(column.T(column.Bool), 1)
			a.Filter = &f
		}
		return a
	}
	big, double, huge := column.T(column.Int64), column.T(column.Double), column.T(column.HugeInt)
	arg := func(t column.Type, depth int) expression { return g.any(t, depth) }
	var e expression
	switch w.r.IntN(8) {
	case 0:
		a.Func, a.typ = "count", big
	case 1:
		e = arg(someType(w.r), 1)
		a.Func, a.Arg, a.typ, a.Distinct = "count", &e, big, w.r.IntN(2) == 0
	case 2, 3:
		if w.r.IntN(4) == 0 && w.wideSum(g, &a) {
			break
		}
		a.Func, a.Distinct = pick(w.r, []string{"sum", "avg"}), w.r.IntN(5) == 0
		e = w.summand(g, a.Distinct)
		a.Arg = &e
		switch {
		case a.Func == "avg":
			a.typ, a.loose = double, lastBits
		case e.typ.Floating():
			a.typ, a.exact = double, true
		case e.typ.Kind == column.Decimal:
			a.typ, a.exact = column.DecimalOf(38, int(e.typ.Scale)), true
		default:
			a.typ, a.exact = huge, true
		}
	case 4, 5, 6:
		e = arg(someType(w.r), 1)
		if len(g.scope) > 0 && w.r.IntN(2) == 0 {
			if c := pick(w.r, g.scope); c.loose != equalBits {
				e = expression{sql: c.name, typ: c.typ, exact: c.exact, loose: c.loose}
			}
		}
		a.Func, a.Arg, a.typ, a.exact, a.loose = pick(w.r, []string{"min", "max"}), &e, e.typ, e.exact, max(e.loose, groupLooseness(e.typ))
	default:
		e = arg(column.T(column.Bool), 1)
		a.Func, a.Arg, a.typ = "count", &e, big
	}
	if w.r.IntN(4) == 0 {
		f := g.any(column.T(column.Bool), 1)
		a.Filter = &f
	}
	return a
}

// wideSum makes the sum of a column that may not fit its type.
func (w *world) wideSum(g *generator, a *aggregate) bool {
	for range 4 {
		if len(g.scope) == 0 || g.safe {
			return false
		}
		c := pick(w.r, g.scope)
		if c.loose != strict || c.typ.Kind != column.HugeInt && (c.typ.Kind != column.Decimal || c.typ.Width < 38) {
			continue
		}
		a.Func, a.Wide, a.Arg = "sum", true, &expression{sql: c.name, typ: c.typ, exact: c.exact}
		a.typ, a.fallible = c.typ, true
		return true
	}
	return false
}

// summand is an expression whose sum every order of adding gives alike, within its type.
func (w *world) summand(g *generator, distinct bool) expression {
	var fits []col
	for _, c := range g.scope {
		number := c.typ.Integer() || c.typ.Kind == column.Decimal || c.typ.Floating()
		small := c.typ.Integer() && c.typ.Kind != column.HugeInt
		if number && c.loose == strict && (c.exact || small) {
			fits = append(fits, c)
		}
	}
	if len(fits) > 0 && w.r.IntN(4) > 0 {
		c := pick(w.r, fits)
		return expression{sql: c.name, typ: c.typ, exact: c.exact}
	}
	return g.any(column.T(pick(w.r, []column.Kind{column.Int8, column.Int16, column.Int32, column.Int64, column.UInt8})), 1)
}

// outputs makes the SELECT list, and returns the block's columns.
func (w *world) outputs(b *block, g *generator) []col {
	var out []col
	id := w.nextID() // DuckDB prefers an alias to a column of the same name in HAVING: names are never the same
	add := func(e expression) {
		name := fmt.Sprintf("c%d_%d", id, len(out))
		b.Outs = append(b.Outs, output{e, name})
		out = append(out, col{name: name, typ: e.typ, exact: e.exact, loose: e.loose})
	}
	if b.Grouped && w.r.IntN(3) > 0 {
		for _, c := range g.scope {
			add(expression{sql: c.name, typ: c.typ, exact: c.exact, loose: c.loose})
		}
		if w.r.IntN(3) > 0 {
			return out
		}
	}
	for len(out) == 0 || w.r.IntN(3) > 0 && len(out) < 8 {
		if len(g.scope) > 0 && w.r.IntN(3) > 0 {
			c := pick(w.r, g.scope)
			e := expression{sql: c.name, typ: c.typ, exact: c.exact, loose: c.loose}
			if b.Distinct && c.loose != strict {
				continue
			}
			add(e)
			continue
		}
		t := someType(w.r)
		add(g.any(t, 3))
	}
	if b.Distinct {
		for i := range out {
			out[i].loose = max(out[i].loose, groupLooseness(out[i].typ))
		}
	}
	return out
}
