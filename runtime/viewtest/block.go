package viewtest

import (
	"fmt"
	"strings"

	"tidemill/state/column"
)

// block is one SELECT of a view: the parts of a query in the order in which SQL evaluates them.
type block struct {
	From     []source // several are a UNION ALL of all their columns
	CTE      bool     // the first source is written as a common table expression
	Where    []expression
	Grouped  bool // GROUP BY, or aggregates without one
	Groups   []expression
	Aggs     []aggregate
	Having   []expression // over "$g0", "$a0" ...
	Outs     []output     // over the source's columns, or over "$g0", "$a0" ...
	Distinct bool
	All      bool   // writes GROUP BY ALL
	Sets     string // ROLLUP or CUBE of all groups
}

// source is a relation, or a block in parentheses.
type source struct {
	Relation string
	Block    *block
	scope    []col
}

type output struct {
	expression
	Name string
}

type aggregate struct {
	Func     string
	Distinct bool
	Arg      *expression // nil for count(*)
	Arg2     *expression // of functions of two
	// Form is the call with # for Arg and @ for Arg2, "" for Func(#). What stands in brackets is an order that the engine
	// takes when none is written: the oracle's SQL always has it, the view's when Stated.
	Form   string
	Stated bool
	Filter *expression
	Wide   bool // a sum that its type may not hold: its group is rejected then
	expression
}

func groupName(i int) string { return fmt.Sprintf(`"$g%d"`, i) }
func aggName(i int) string   { return fmt.Sprintf(`"$a%d"`, i) }

// call writes the aggregate over the given arguments and filter, with its order in full or as the view states it.
func (a *aggregate) call(arg, arg2, filter string, full bool) string {
	if a.Arg == nil {
		arg = "*"
	}
	s := a.Func + "(" + arg + ")"
	if a.Distinct {
		s = a.Func + "(DISTINCT " + arg + ")"
	}
	if form := a.Form; form != "" {
		before, rest, open := strings.Cut(form, "[")
		if open {
			order, after, _ := strings.Cut(rest, "]")
			if form = before + after; full || a.Stated {
				form = before + order + after
			}
		}
		s = strings.NewReplacer("#", "("+arg+")", "@", "("+arg2+")").Replace(form)
	}
	if a.Filter != nil {
		s += " FILTER (WHERE " + filter + ")"
	}
	return s
}

// sql writes the block as a user does.
func (b *block) sql() string { return asUser(b.marked()) }

func (b *block) marked() string {
	var pre string
	var from []string
	for i, s := range b.From {
		switch {
		case s.Block == nil:
			from = append(from, s.Relation)
		case b.CTE && i == 0:
			pre = "WITH c0 AS (" + s.Block.marked() + ") "
			from = append(from, "c0")
		default:
			from = append(from, "("+s.Block.marked()+")")
		}
	}
	src := from[0]
	if len(from) > 1 {
		for i := range from {
			from[i] = "SELECT * FROM " + from[i]
		}
		src = "(" + strings.Join(from, " UNION ALL ") + ")"
	}
	var names []string
	for i, g := range b.Groups {
		names = append(names, groupName(i), "("+g.sql+")")
	}
	for i, a := range b.Aggs {
		var arg, arg2, filter string
		if a.Arg != nil {
			arg = a.Arg.sql
		}
		if a.Arg2 != nil {
			arg2 = a.Arg2.sql
		}
		if a.Filter != nil {
			filter = a.Filter.sql
		}
		names = append(names, aggName(i), a.call(arg, arg2, filter, false))
	}
	inline := strings.NewReplacer(names...)
	q := pre + "SELECT "
	if b.Distinct {
		q += "DISTINCT "
	}
	for i, o := range b.Outs {
		if i > 0 {
			q += ", "
		}
		q += inline.Replace(o.sql) + " AS " + o.Name
	}
	q += " FROM " + src
	if len(b.Where) > 0 {
		q += " WHERE " + conjunction(b.Where)
	}
	if len(b.Groups) > 0 && b.All && b.Sets == "" {
		q += " GROUP BY ALL"
	} else if len(b.Groups) > 0 {
		var g []string
		for _, e := range b.Groups {
			g = append(g, "("+e.sql+")")
		}
		q += " GROUP BY " + b.sets(strings.Join(g, ", "))
	}
	if len(b.Having) > 0 {
		q += " HAVING " + inline.Replace(conjunction(b.Having))
	}
	return q
}

// sets writes the list of groups with the grouping sets that are made of it.
func (b *block) sets(groups string) string {
	if b.Sets == "" {
		return groups
	}
	return b.Sets + " (" + groups + ")"
}

func conjunction(es []expression) string {
	var all []string
	for _, e := range es {
		all = append(all, "("+e.sql+")")
	}
	return strings.Join(all, " AND ")
}

// prune removes the aggregates that nothing shows: they are not in the SQL.
func (b *block) prune() {
	used := ""
	for _, o := range b.Outs {
		used += o.sql
	}
	for _, h := range b.Having {
		used += h.sql
	}
	var names []string
	var kept []aggregate
	for i, a := range b.Aggs {
		if strings.Contains(used, aggName(i)) {
			names = append(names, aggName(i), aggName(len(kept)))
			kept = append(kept, a)
		}
	}
	if len(kept) == len(b.Aggs) || len(b.Groups) == 0 && len(kept) == 0 {
		return
	}
	b.Aggs = kept
	r := strings.NewReplacer(names...)
	b.Outs, b.Having = append([]output{}, b.Outs...), append([]expression{}, b.Having...)
	for i := range b.Outs {
		b.Outs[i].sql = r.Replace(b.Outs[i].sql)
	}
	for i := range b.Having {
		b.Having[i].sql = r.Replace(b.Having[i].sql)
	}
}

// staged is a block as queries of plain DuckDB in which nothing can fail: its rows, and for each place where a
// row can be rejected the number of those that are.
type staged struct {
	rows    string
	rejects []string
}

// stage writes the block so that every expression that can fail is in TRY, with a flag that tells its failure from
// a NULL: TRY of a struct is NULL only if something inside failed.
func (b *block) stage() staged {
	var st staged
	var from []string
	for _, s := range b.From {
		if s.Block == nil {
			from = append(from, s.Relation)
			continue
		}
		in := s.Block.stage()
		from = append(from, "("+in.rows+")")
		st.rejects = append(st.rejects, in.rejects...)
	}
	src := from[0]
	if len(from) > 1 {
		for i := range from {
			from[i] = "SELECT * FROM " + from[i]
		}
		src = "(" + strings.Join(from, " UNION ALL ") + ")"
	}
	src = st.filter(src, b.Where)
	if b.Grouped {
		src = st.group(src, b)
		src = st.filter(src, b.Having)
	}
	src = st.project(src, b.Outs)
	st.rows = "SELECT * FROM " + src
	if b.Distinct {
		st.rows = "SELECT DISTINCT * FROM " + src
	}
	return st
}

// filter keeps the rows for which all are true. A row that one of them drops is not rejected by another.
func (st *staged) filter(src string, where []expression) string {
	if len(where) == 0 {
		return src
	}
	var safe []expression
	var tries, pass, open, bad []string
	for i, e := range where {
		if !e.fallible {
			safe = append(safe, e)
			continue
		}
		f := fmt.Sprintf(`"$f%d"`, i)
		tries = append(tries, "TRY(struct_pack(v := "+e.sql+")) AS "+f)
		pass = append(pass, f+".v")
		open = append(open, "("+f+" IS NULL OR "+f+".v)")
		bad = append(bad, f+" IS NULL")
	}
	if len(safe) > 0 {
		src = "(SELECT * FROM " + src + " WHERE " + conjunction(safe) + ")"
	}
	if len(tries) == 0 {
		return src
	}
	src = "(SELECT *, " + strings.Join(tries, ", ") + " FROM " + src + ")"
	st.rejects = append(st.rejects, "SELECT count(*) FROM "+src+" WHERE "+strings.Join(open, " AND ")+" AND ("+strings.Join(bad, " OR ")+")")
	return "(SELECT * EXCLUDE (" + flags(tries) + ") FROM " + src + " WHERE " + strings.Join(pass, " AND ") + ")"
}

func flags(tries []string) string {
	var names []string
	for _, t := range tries {
		names = append(names, t[strings.LastIndex(t, " AS ")+4:])
	}
	return strings.Join(names, ", ")
}

// tried evaluates named expressions; a row on which any fails is rejected.
func (st *staged) tried(src string, names, exprs []string, fallible bool) string {
	if len(names) == 0 {
		return src
	}
	if !fallible {
		var list []string
		for i, n := range names {
			list = append(list, exprs[i]+" AS "+n)
		}
		return "(SELECT " + strings.Join(list, ", ") + " FROM " + src + ")"
	}
	var pack, list []string
	for i, n := range names {
		pack = append(pack, fmt.Sprintf("v%d := %s", i, exprs[i]))
		list = append(list, fmt.Sprintf(`"$t".v%d AS %s`, i, n))
	}
	src = "(SELECT TRY(struct_pack(" + strings.Join(pack, ", ") + `)) AS "$t" FROM ` + src + ")"
	st.rejects = append(st.rejects, "SELECT count(*) FROM "+src+` WHERE "$t" IS NULL`)
	return "(SELECT " + strings.Join(list, ", ") + " FROM " + src + ` WHERE "$t" IS NOT NULL)`
}

// group evaluates groups, filters and arguments (only where the filter is true), then aggregates.
func (st *staged) group(src string, b *block) string {
	names, exprs := []string{`"$one"`}, []string{"1"}
	fallible := false
	add := func(name, sql string, f bool) {
		names, exprs, fallible = append(names, name), append(exprs, sql), fallible || f
	}
	var shown, by []string
	for i, g := range b.Groups {
		add(groupName(i), g.sql, g.fallible)
		shown, by = append(shown, groupName(i)), append(by, groupName(i))
	}
	for i, a := range b.Aggs {
		arg, arg2, filter := fmt.Sprintf(`"$x%d"`, i), fmt.Sprintf(`"$y%d"`, i), fmt.Sprintf(`"$w%d"`, i)
		if a.Filter != nil {
			add(filter, a.Filter.sql, a.Filter.fallible)
		}
		for name, x := range map[string]*expression{arg: a.Arg, arg2: a.Arg2} {
			if x == nil {
				continue
			}
			sql := x.sql
			if a.Filter != nil {
				sql = "CASE WHEN " + a.Filter.sql + " THEN " + sql + " END"
			}
			add(name, sql, x.fallible)
		}
		if a.Wide {
			shown = append(shown, a.halfSums(i, arg, filter))
		} else {
			shown = append(shown, a.call(arg, arg2, filter, true)+" AS "+aggName(i))
		}
	}
	src = st.tried(src, names, exprs, fallible)
	q := "(SELECT " + strings.Join(shown, ", ") + " FROM " + src
	if len(by) > 0 {
		q += " GROUP BY " + b.sets(strings.Join(by, ", "))
	}
	return st.fitting(q+")", b)
}

// fitting puts the halves of wide sums together; a group with a sum that does not fit its type is rejected.
func (st *staged) fitting(src string, b *block) string {
	var names, exprs []string
	wide := false
	for i := range b.Groups {
		names, exprs = append(names, groupName(i)), append(exprs, groupName(i))
	}
	for i, a := range b.Aggs {
		e := aggName(i)
		if a.Wide {
			e, wide = wholeSum(fmt.Sprintf(`"$h%d"`, i), fmt.Sprintf(`"$l%d"`, i), a.typ), true
		}
		names, exprs = append(names, aggName(i)), append(exprs, e)
	}
	if !wide {
		return src
	}
	return st.tried(src, names, exprs, true)
}

// half is the number at which wide sums are split: sums of either part stay within HUGEINT.
const half = "10000000000000000000::HUGEINT"

// halfSums adds what is above and below half, in units of the last digit.
func (a *aggregate) halfSums(i int, arg, filter string) string {
	unit := arg
	if a.Arg.typ.Kind == column.Decimal {
		unit = "CAST(replace(CAST(" + arg + " AS VARCHAR), '.', '') AS HUGEINT)"
	}
	return fmt.Sprintf(`%s AS "$h%d", %s AS "$l%d"`, a.call(unit+" // "+half, "", filter, true), i, a.call(unit+" % "+half, "", filter, true), i)
}

// wholeSum fails if the type does not hold the sum of two halves.
func wholeSum(high, low string, t column.Type) string {
	sum := "(" + high + " * " + half + " + " + low + ")"
	if t.Kind != column.Decimal {
		return sum
	}
	one := "1" + strings.Repeat("0", int(t.Scale)) + "::HUGEINT"
	return fmt.Sprintf("CAST(CASE WHEN %s < 0 THEN '-' ELSE '' END || CAST(abs(%s) // %s AS VARCHAR) || '.' || lpad(CAST(abs(%s) %% %s AS VARCHAR), %d, '0') AS %s)",
		sum, sum, one, sum, one, t.Scale, t)
}

func (st *staged) project(src string, outs []output) string {
	var names, exprs []string
	fallible := false
	for _, o := range outs {
		names, exprs, fallible = append(names, o.Name), append(exprs, o.sql), fallible || o.fallible
	}
	return st.tried(src, names, exprs, fallible)
}
