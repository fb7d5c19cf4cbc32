package runtime

import (
	"strings"
	"sync"
	"sync/atomic"

	"tidemill/state/column"
	"tidemill/views"
	"tidemill/views/plan/token"
)

// points are the shapes of queries that are answered by a lookup instead of the read engine:
//
//	SELECT a, b FROM relation WHERE key = 1 AND key2 = 'x'
//
// A shape is the text with its constants left out. The first query of a shape goes to DuckDB as every other does; only
// when that has bound it, with the columns that the relation has by these names, do others of the shape take the short
// way. So names, keywords and types are DuckDB's to judge, and what is left is to compare a key column with a constant of
// its own type. Shapes are forgotten when the catalog changes.
type points struct {
	known atomic.Pointer[pointShapes]
}

type pointShapes struct {
	rd     *readable
	shapes sync.Map // text to *pointRead, nil for one that is not to be read so
	n      atomic.Int64
}

// maxShapes bounds the shapes that are known.
const maxShapes = 1024

// pointRead is how a shape is read. It is immutable.
type pointRead struct {
	lookup *views.Lookup
	cols   []int // of the relation, in the order of the answer
	fields []column.Field
	key    []int // for each of lookup.Key the place of its constant
}

// pointQuery is a query that has the form.
type pointQuery struct {
	shape     string
	relation  string
	columns   []string // nil for all
	keys      []string
	constants []token.Token
	negative  []bool
}

// parsePoint reads a query of the form; false for any other.
func parsePoint(sql string, toks []token.Token) (*pointQuery, bool) {
	if len(toks) < 8 || !toks[0].Is(sql, "SELECT") {
		return nil, false
	}
	q, i := &pointQuery{}, 1
	word := func() string {
		if i < len(toks) && toks[i].Kind == token.Word {
			i++
			return toks[i-1].Text(sql)
		}
		return ""
	}
	is := func(s string) bool {
		if i < len(toks) && toks[i].Is(sql, s) {
			i++
			return true
		}
		return false
	}
	if !is("*") {
		for more := true; more; more = is(",") {
			q.columns = append(q.columns, word())
		}
	}
	if !is("FROM") {
		return nil, false
	}
	if q.relation = word(); !is("WHERE") {
		return nil, false
	}
	for more := true; more; more = is("AND") {
		q.keys = append(q.keys, word())
		if !is("=") {
			return nil, false
		}
		q.negative = append(q.negative, is("-"))
		if i >= len(toks) || toks[i].Kind != token.Number && toks[i].Kind != token.String {
			return nil, false
		}
		q.constants = append(q.constants, toks[i])
		i++
	}
	if i < len(toks) {
		return nil, false
	}
	q.setShape(sql, toks)
	return q, true
}

func (q *pointQuery) setShape(sql string, toks []token.Token) {
	var b strings.Builder
	for _, t := range toks {
		switch t.Kind {
		case token.Number:
			b.WriteByte('0')
		case token.String:
			b.WriteByte('\'')
		default:
			b.WriteString(t.Text(sql))
		}
		b.WriteByte(' ')
	}
	q.shape = b.String()
}

// readPoint answers a query of a shape that is known; nil when DuckDB has to.
func (e *Engine) readPoint(sql string, q *pointQuery) (*Answer, error) {
	known := e.points.known.Load()
	if known == nil || known.rd != e.readable.Load() {
		return nil, nil
	}
	v, ok := known.shapes.Load(q.shape)
	if !ok || v.(*pointRead) == nil {
		return nil, nil
	}
	p := v.(*pointRead)
	key := make([]column.Column, len(p.key))
	for i, at := range p.key {
		t := p.lookup.Fields[p.lookup.Key[i]].Type
		raw, ok := constant(t, sql, q.constants[at], q.negative[at])
		if !ok {
			return nil, nil
		}
		b := column.NewBuilder(t, 1)
		b.AppendRaw(raw)
		key[i] = b.Finish()
	}
	// A commit may be published while the row is read: then it is not known of which of the two it is.
	for range 4 {
		commit := e.Commit()
		row, err := p.lookup.Find(key, &e.published)
		if err != nil {
			return nil, err
		}
		if e.Commit() != commit || known.rd != e.readable.Load() {
			continue
		}
		e.stats.lookups.Add(1)
		a := &Answer{Fields: p.fields, Cols: make([]column.Column, len(p.cols)), Commit: commit, From: Computed}
		for i, c := range p.cols {
			if row == nil {
				a.Cols[i] = column.NewBuilder(p.fields[i].Type, 0).Finish()
				continue
			}
			a.Cols[i], a.N = row[c], 1
		}
		return a, nil
	}
	return nil, nil
}

// constant reads a constant of a key column's own type: an integer for integers, a plain text for VARCHAR. What
// would be converted to be compared is DuckDB's.
func constant(t column.Type, sql string, tok token.Token, negative bool) ([]byte, bool) {
	text := tok.Text(sql)
	switch {
	case t.Integer() && tok.Kind == token.Number && len(text) <= 18 && strings.Trim(text, "0123456789") == "":
		if negative {
			text = "-" + text
		}
	case t.Kind == column.Varchar && tok.Kind == token.String && !negative && text[0] == '\'' && !strings.Contains(text[1:len(text)-1], "'"):
		text = text[1 : len(text)-1]
	default:
		return nil, false
	}
	raw, err := column.ParseText(t, text)
	return raw, err == nil
}

// learnPoint notes how a shape is read, after DuckDB has answered a query of it with these columns.
func (e *Engine) learnPoint(q *pointQuery, got []ResultField) {
	rd := e.readable.Load()
	known := e.points.known.Load()
	if known == nil || known.rd != rd {
		known = &pointShapes{rd: rd}
		e.points.known.Store(known)
	}
	if _, ok := known.shapes.Load(q.shape); ok || known.n.Add(1) > maxShapes {
		return
	}
	known.shapes.Store(q.shape, e.planPoint(rd, q, got))
}

func (e *Engine) planPoint(rd *readable, q *pointQuery, got []ResultField) *pointRead {
	rel, err := rd.catalog.Lookup(q.relation)
	if err != nil {
		return nil
	}
	l, err := e.lookupOf(rel)
	if err != nil || len(l.Key) != len(q.keys) {
		return nil
	}
	p := &pointRead{lookup: l}
	place := func(name string) int {
		for i, f := range rel.Fields {
			if strings.EqualFold(f.Name, name) {
				return i
			}
		}
		return -1
	}
	for _, k := range l.Key {
		at := -1
		for i, name := range q.keys {
			if place(name) == k {
				at = i
			}
		}
		if at < 0 {
			return nil
		}
		p.key = append(p.key, at)
	}
	if q.columns == nil {
		for i := range rel.Fields {
			p.cols = append(p.cols, i)
		}
	}
	for _, name := range q.columns {
		p.cols = append(p.cols, place(name))
	}
	if len(got) != len(p.cols) {
		return nil
	}
	for i, c := range p.cols {
		if c < 0 || rel.Fields[c].Type != got[i].Type || !sameInArrow(got[i].Type) {
			return nil
		}
		p.fields = append(p.fields, column.Field{Name: got[i].Name, Type: got[i].Type})
	}
	return p
}

// sameInArrow says for which types DuckDB's Arrow form is ours.
func sameInArrow(t column.Type) bool {
	switch t.Kind {
	case column.HugeInt, column.UUID, column.Interval, column.TimestampTZ, column.Time, column.Blob:
		return false
	}
	return true
}
