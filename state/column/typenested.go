package column

import (
	"fmt"
	"strings"
	"sync"
)

// details are the parts of a type that has parts. Nested types are few and stay: the process keeps each
// that it has met once, so that two types are equal when their details are the same pointer.
type details struct {
	sql       string
	kids      []Type   // of the column's Kids
	names     []string // of a STRUCT's fields; of a UNION's members, the tag's "" before them
	labels    []string // of an ENUM
	places    map[string]uint32
	length    int // of an ARRAY
	hidesBits bool
}

// Member is a field of a STRUCT or a member of a UNION.
type Member struct {
	Name string
	Type Type
}

// The bounds of types. DuckDB has the first two itself; the third keeps recursion off the stack's end,
// and the fourth is far above a schema that a person reads.
const (
	MaxArrayLength  = 100_000
	maxUnionMembers = 255
	maxTypeDepth    = 64
	maxTypeKids     = 100_000
)

var interned struct {
	sync.RWMutex
	bySQL map[string]*details
}

// intern returns d, or the equal one that came first. The spelling tells all that d has.
func intern(k Kind, d *details) *details {
	key := string(rune(k)) + d.sql
	interned.RLock()
	have := interned.bySQL[key]
	interned.RUnlock()
	if have != nil {
		return have
	}
	for _, kid := range d.kids {
		d.hidesBits = d.hidesBits || kid.HidesBits()
	}
	interned.Lock()
	defer interned.Unlock()
	if have := interned.bySQL[key]; have != nil {
		return have
	}
	if interned.bySQL == nil {
		interned.bySQL = map[string]*details{}
	}
	interned.bySQL[key] = d
	return d
}

// ListOf returns the type of lists of elem.
func ListOf(elem Type) Type {
	return Type{Kind: List, more: intern(List, &details{sql: elem.String() + "[]", kids: []Type{elem}})}
}

// ArrayOf returns the type of lists of n values of type elem; n is 1 to MaxArrayLength, else it panics.
func ArrayOf(elem Type, n int) Type {
	if n < 1 || n > MaxArrayLength {
		panic(fmt.Sprintf("column: ARRAY of %d", n))
	}
	return Type{Kind: Array, more: intern(Array, &details{sql: fmt.Sprintf("%v[%d]", elem, n), kids: []Type{elem}, length: n})}
}

// StructOf returns the STRUCT of these fields, at least one. Fields without a name, as row(1, 2) makes them, are
// a type that SQL cannot spell: Spellable tells.
func StructOf(fields ...Member) Type {
	return Type{Kind: Struct, more: intern(Struct, members("STRUCT", fields))}
}

// UnionOf returns the UNION of these members, 1 to 255.
func UnionOf(fields ...Member) Type {
	if len(fields) > maxUnionMembers {
		panic(fmt.Sprintf("column: UNION of %d members", len(fields)))
	}
	d := members("UNION", fields)
	d.kids = append([]Type{T(UInt8)}, d.kids...)
	d.names = append([]string{""}, d.names...)
	return Type{Kind: Union, more: intern(Union, d)}
}

func members(word string, fields []Member) *details {
	if len(fields) == 0 {
		panic("column: " + word + " of nothing")
	}
	d := &details{}
	var b strings.Builder
	b.WriteString(word + "(")
	for i, f := range fields {
		if i > 0 {
			b.WriteString(", ")
		}
		if f.Name != "" {
			b.WriteString(quoteName(f.Name) + " ")
		}
		b.WriteString(f.Type.String())
		d.kids, d.names = append(d.kids, f.Type), append(d.names, f.Name)
	}
	d.sql = b.String() + ")"
	return d
}

// MapOf returns the type of maps from key to value.
func MapOf(key, value Type) Type {
	entry := StructOf(Member{"key", key}, Member{"value", value})
	return Type{Kind: Map, more: intern(Map, &details{sql: fmt.Sprintf("MAP(%v, %v)", key, value), kids: []Type{entry}})}
}

// EnumOf returns the ENUM of these labels, which must be different. Its places are as wide as DuckDB's.
func EnumOf(labels []string) (Type, error) {
	t := Type{Kind: Enum, Width: 4}
	switch {
	case len(labels) == 0:
		return Type{}, fmt.Errorf("an ENUM needs at least one label")
	case len(labels) <= 0xff:
		t.Width = 1
	case len(labels) <= 0xffff:
		t.Width = 2
	}
	d := &details{labels: append([]string(nil), labels...), places: make(map[string]uint32, len(labels))}
	var b strings.Builder
	b.WriteString("ENUM(")
	for i, l := range labels {
		if _, twice := d.places[l]; twice {
			return Type{}, fmt.Errorf("an ENUM has the label %q twice", l)
		}
		if strings.IndexByte(l, 0) >= 0 {
			return Type{}, fmt.Errorf("the label %q of an ENUM has a zero byte", l)
		}
		d.places[l] = uint32(i)
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString("'" + strings.ReplaceAll(l, "'", "''") + "'")
	}
	d.sql = b.String() + ")"
	t.more = intern(Enum, d)
	return t, nil
}

// Kids returns the types of the Kids of a nested type's columns: the elements of a LIST or ARRAY, the
// entries (a STRUCT of key and value) of a MAP, the fields of a STRUCT, the tag (a UTINYINT) and the
// members of a UNION. Do not change it. It is nil for others.
func (t Type) Kids() []Type {
	if t.more == nil {
		return nil
	}
	return t.more.kids
}

// Elem returns the type of the elements of a LIST or ARRAY, or of the entries of a MAP.
func (t Type) Elem() Type { return t.more.kids[0] }

// Members returns the fields of a STRUCT or the members of a UNION, without the tag.
func (t Type) Members() []Member {
	from := 0
	if t.Kind == Union {
		from = 1
	}
	out := make([]Member, 0, len(t.more.kids))
	for i := from; i < len(t.more.kids); i++ {
		out = append(out, Member{t.more.names[i], t.more.kids[i]})
	}
	return out
}

// KidName returns the name of the i-th of a STRUCT's or UNION's Kids.
func (t Type) KidName(i int) string { return t.more.names[i] }

// Labels returns the labels of an ENUM. Do not change it.
func (t Type) Labels() []string { return t.more.labels }

// Place returns the place of a label of an ENUM.
func (t Type) Place(label string) (uint32, bool) {
	p, ok := t.more.places[label]
	return p, ok
}

// Length returns how many elements each value of an ARRAY has.
func (t Type) Length() int { return t.more.length }

// Spellable reports whether SQL has a spelling for t: a STRUCT without names has none.
func (t Type) Spellable() bool {
	if t.more == nil {
		return true
	}
	for i, k := range t.more.kids {
		if !k.Spellable() || t.Kind == Struct && t.more.names[i] == "" {
			return false
		}
	}
	return true
}
