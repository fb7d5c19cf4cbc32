package decode

import (
	"encoding/json"
	"fmt"
	"sort"
	"strings"
	"unsafe"

	"tidemill/state/column"
)

// The fields of a stream, and how deep they nest, are bounded: a schema may name one part many times.
const (
	maxFields = 100_000
	maxDepth  = 64
)

// arrowKid is a part of a nested type.
type arrowKid struct {
	name string
	t    arrowType
}

// arrowEncoding says that values come as places in a dictionary.
type arrowEncoding struct {
	dict  int64
	index arrowType
}

// shown is the type's name in errors.
func (t *arrowType) shown() string {
	if t.enc != nil {
		return "dictionary of " + t.name
	}
	return t.name
}

// arrays counts the arrays that one of t is made of in a batch.
func (t *arrowType) arrays() int {
	n := 1
	for i := range t.kids {
		n += t.kids[i].t.arrays()
	}
	return n
}

// dictionaries calls f for each part that comes as a dictionary.
func (t *arrowType) dictionaries(f func(*arrowType)) {
	if t.enc != nil {
		f(t)
	}
	for i := range t.kids {
		t.kids[i].t.dictionaries(f)
	}
}

// nestedType reads the type of a field that has kids.
func nestedType(f *flatbuf, field, t table, id int64, fields *int, depth int) arrowType {
	out := arrowType{name: arrowNames[id]}
	refs, pos := f.vector(field, 5, 4)
	if *fields -= len(refs) / 4; *fields < 0 || depth > maxDepth {
		f.bad = true
	}
	if f.bad || len(refs) == 0 {
		return out
	}
	for i := 0; i < len(refs) && !f.bad; i += 4 {
		kid := f.tableAt(pos + i + int(le.Uint32(refs[i:])))
		out.kids = append(out.kids, arrowKid{f.str(kid, 0), readType(f, kid, fields, depth+1)})
	}
	if f.bad {
		return out
	}
	one := len(out.kids) == 1
	switch {
	case id == arrowList && one:
		out.layout = layoutList
	case id == arrowLargeList && one:
		out.layout = layoutLargeList
	case id == arrowMap && one && out.kids[0].t.layout == layoutStruct && len(out.kids[0].t.kids) == 2:
		out.layout, out.kids[0].t.entries = layoutList, true
	case id == arrowFixedList && one:
		if n := f.integer(t, 0, 4, 0); n >= 1 && n <= column.MaxArrayLength {
			out.layout, out.length = layoutArray, int(n)
		}
	case id == arrowStruct:
		out.layout = layoutStruct
	case id == arrowUnion:
		out.dense = f.integer(t, 0, 2, 0) == 1
		out.unionCodes(f, t)
	}
	var names []string
	for i := range out.kids {
		name := out.kids[i].t.shown()
		if id == arrowStruct || id == arrowUnion {
			name = shorten([]byte(out.kids[i].name)) + ": " + name
		}
		names = append(names, name)
	}
	out.name += "<" + strings.Join(names, ", ") + ">"
	if out.layout == layoutArray {
		out.name += fmt.Sprintf("[%d]", out.length)
	}
	if out.layout == layoutNone {
		out.kids = nil
	}
	return out
}

// widensNested is widens for nested types.
func widensNested(t *arrowType, to column.Type) string {
	part := func(k int, to column.Type) string {
		if why := widens(&t.kids[k].t, to); why != "" {
			return fmt.Sprintf("%s in it and %s: %s", t.kids[k].t.shown(), to, why)
		}
		return ""
	}
	switch {
	case t.layout == layoutArray && to.Kind == column.Array && t.length != to.Length():
		return "the lengths differ"
	case t.layout == layoutArray && (to.Kind == column.Array || to.Kind == column.List),
		(t.layout == layoutList || t.layout == layoutLargeList) && to.Kind == column.List:
		return part(0, to.Elem())
	case t.layout == layoutList && to.Kind == column.Map && strings.HasPrefix(t.name, "map"):
		entry, want := &t.kids[0].t, to.Elem().Kids()
		for k := range want {
			if why := widens(&entry.kids[k].t, want[k]); why != "" {
				return fmt.Sprintf("%s in it and %s: %s", entry.kids[k].t.shown(), want[k], why)
			}
		}
		return ""
	case t.layout == layoutStruct && to.Kind == column.Struct, t.layout == layoutUnion && to.Kind == column.Union:
		seen := map[int]bool{}
		for k := range t.kids {
			if t.layout == layoutUnion && t.kids[k].isNullMember() {
				continue
			}
			at := kidNamed(to, t.kids[k].name)
			switch {
			case at < 0:
				return fmt.Sprintf("there is no part %q", shorten([]byte(t.kids[k].name)))
			case seen[at]:
				return fmt.Sprintf("it has %q twice", shorten([]byte(t.kids[k].name)))
			}
			seen[at] = true
			if why := part(k, to.Kids()[at]); why != "" {
				return why
			}
		}
		return ""
	}
	return "the types do not match"
}

// isNullMember reports whether the member of a union stands for NULLs of the union itself.
func (k *arrowKid) isNullMember() bool { return k.name == "" && k.t.layout == layoutNull }

// kidNamed returns the place of a STRUCT's field or a UNION's member among the kids, or -1.
func kidNamed(t column.Type, name string) int {
	from := 0
	if t.Kind == column.Union {
		from = 1
	}
	for k := from; k < len(t.Kids()); k++ {
		if t.KidName(k) == name {
			return k
		}
	}
	return -1
}

// nested takes the next array, of a type with kids, as a column of type to.
func (m *message) nested(t *arrowType, to column.Type, n int) (column.Column, error) {
	nulls, err := m.node(n)
	if err != nil {
		return column.Column{}, err
	}
	if t.layout == layoutUnion {
		return m.union(t, to, n)
	}
	c := column.Column{Type: to, N: n}
	if c.Valid, err = m.validity(n, nulls); err != nil {
		return c, err
	}
	if m.s.mask != nil {
		if err := m.s.budget.take(int64(len(m.s.mask))); err != nil {
			return c, err
		}
		c.Valid = column.And(c.Valid, append([]byte(nil), m.s.mask...))
	}
	switch t.layout {
	case layoutList, layoutLargeList:
		err = m.lists(t, &c)
	case layoutArray:
		err = m.arrayElements(t, &c)
	case layoutStruct:
		err = m.structKids(t, &c)
	}
	if err != nil {
		return c, err
	}
	if c.Type.Kind == column.Map {
		if err := checkKeys(&c); err != nil {
			return c, err
		}
	}
	if c.Valid == nil {
		return c, nil
	}
	if err := m.s.budget.take(int64(c.Size())); err != nil { // a copy without what lies under NULLs
		return c, err
	}
	return c.Canonical(), nil
}

// kid takes a kid of n values, of which row tells the value that each belongs to. A bad part makes the value
// bad, and parts of values that are taken for NULL are taken for NULL.
func (m *message) kid(t *arrowType, to column.Type, n int, row func(int) int) (column.Column, error) {
	if mask := m.s.mask; mask != nil {
		if err := m.s.budget.take(int64(n)/8 + 1); err != nil {
			return column.Column{}, err
		}
		m.s.mask = column.NewBitmap(n, true)
		for i := range n {
			if r := row(i); r < 8*len(mask) && !column.Bit(mask, r) {
				column.ClearBit(m.s.mask, i)
			}
		}
		defer func() { m.s.mask = mask }()
	}
	c, err := m.column(t, to, n)
	if bad, ok := err.(*badValue); ok {
		return c, &badValue{row: row(bad.row), value: bad.value, reason: "a part of the value: " + bad.reason}
	}
	return c, err
}

// kidLength returns how many values the next array says that it has, within what offsets address.
func (m *message) kidLength() (int, error) {
	n := int64(le.Uint64(m.nodes))
	if n < 0 || n > maxText-1 {
		return 0, m.s.garbage("an array of %d values", n)
	}
	return int(n), nil
}

// lists reads offsets and elements.
func (m *message) lists(t *arrowType, c *column.Column) error {
	width := 4
	if t.layout == layoutLargeList {
		width = 8
	}
	raw, err := m.offsetBuffer(c.N, width)
	if err != nil {
		return err
	}
	elems, err := m.kidLength()
	if err != nil {
		return err
	}
	switch {
	case raw == nil:
		c.Offsets = []int32{0}
	case width == 8:
		if c.Offsets, err = m.offsets(c.N); err != nil {
			return err
		}
		for i := range c.Offsets {
			o := int64(le.Uint64(raw[8*i:]))
			if o < 0 || o > int64(elems) {
				return m.s.garbage("the offsets of the lists run out of their elements")
			}
			c.Offsets[i] = int32(o)
		}
	default:
		if raw, err = m.aligned(raw); err != nil {
			return err
		}
		c.Offsets = unsafe.Slice((*int32)(unsafe.Pointer(unsafe.SliceData(raw))), c.N+1)
	}
	prev := c.Offsets[0]
	for _, o := range c.Offsets {
		if o < prev || o < 0 || int(o) > elems {
			return m.s.garbage("the offsets of the lists run backwards or out of their elements")
		}
		prev = o
	}
	kid, err := m.kid(&t.kids[0].t, c.Type.Elem(), elems, func(e int) int {
		return min(max(c.N-1, 0), sort.Search(c.N, func(row int) bool { return int(c.Offsets[row+1]) > e }))
	})
	c.Kids = []column.Column{kid}
	return err
}

// arrayElements reads the elements of a list of fixed length, which may become a LIST.
func (m *message) arrayElements(t *arrowType, c *column.Column) error {
	if int64(c.N)*int64(t.length) > maxText-1 {
		return m.s.garbage("%d arrays of %d elements", c.N, t.length)
	}
	kid, err := m.kid(&t.kids[0].t, c.Type.Elem(), c.N*t.length, func(e int) int { return e / t.length })
	if err != nil {
		return err
	}
	c.Kids = []column.Column{kid}
	if c.Type.Kind == column.List {
		if c.Offsets, err = m.offsets(c.N); err != nil {
			return err
		}
		for i := range c.Offsets {
			c.Offsets[i] = int32(i * t.length)
		}
	}
	return nil
}

// structKids reads the fields in the stream's order; those that it lacks are NULL. The entries of a map are by
// place.
func (m *message) structKids(t *arrowType, c *column.Column) error {
	same := func(i int) int { return i }
	c.Kids = make([]column.Column, len(c.Type.Kids()))
	given := make([]bool, len(c.Kids))
	for k := range t.kids {
		at := k
		if !t.entries {
			at = kidNamed(c.Type, t.kids[k].name)
		}
		var err error
		if c.Kids[at], err = m.kid(&t.kids[k].t, c.Type.Kids()[at], c.N, same); err != nil {
			return err
		}
		given[at] = true
	}
	return m.fillAbsent(c, given)
}

func (m *message) fillAbsent(c *column.Column, given []bool) error {
	for k, have := range given {
		if have {
			continue
		}
		kt := c.Type.Kids()[k]
		if err := m.s.budget.take(int64(c.N) * (nullBytes(kt) + 1)); err != nil {
			return err
		}
		c.Kids[k] = column.Nulls(kt, c.N)
	}
	return nil
}

// checkKeys refuses a map with a key that is NULL or given twice.
func checkKeys(c *column.Column) error {
	keys := &c.Kids[0].Kids[0]
	seen := map[string]bool{}
	for i := range c.N {
		if c.IsNull(i) {
			continue
		}
		clear(seen)
		from, to := c.Elements(i)
		for e := from; e < to; e++ {
			if c.Kids[0].IsNull(e) || keys.IsNull(e) {
				return &badValue{row: i, value: "null", reason: "the key of an entry is null"}
			}
			k := string(keys.Raw(e))
			if seen[k] {
				return &badValue{row: i, value: shorten(column.AppendText(nil, keys, e)), reason: "the map has the key twice"}
			}
			seen[k] = true
		}
	}
	return nil
}

// fitRaw is fit for columns for which fromRaw holds.
func (s *stream) fitRaw(to column.Type, c column.Column) (column.Column, error) {
	bad := func(i int, reason string) error {
		return &badValue{row: i, value: shorten(column.AppendText(nil, &c, i)), reason: reason}
	}
	if err := s.budget.take(int64(c.N) * int64(to.Size())); err != nil {
		return c, err
	}
	out := column.Column{Type: to, N: c.N, Valid: c.Valid, Offsets: c.Offsets, Data: c.Data}
	switch to.Kind {
	case column.JSON:
		for i := range c.N {
			if !c.IsNull(i) && !json.Valid(c.Bytes(i)) {
				return c, bad(i, "that is not JSON")
			}
		}
		return out, nil
	case column.BitString:
		for i := range c.N {
			if v := c.Bytes(i); !c.IsNull(i) && (len(v) < 2 || v[0] > 7 || v[1]|byte(0xff>>v[0]) != 0xff) {
				return c, bad(i, "that is not a BIT: a byte with the number of padding bits, and the bits behind so many ones, are wanted")
			}
		}
		return out, nil
	case column.Time, column.TimeNS:
		return s.fitTime(to, c)
	case column.TimeTZ:
		return s.fitTimeTZ(to, c)
	}
	data := make([]byte, c.N*to.Size())
	for i := range c.N {
		if c.IsNull(i) {
			continue
		}
		p, ok := to.Place(c.Str(i))
		if !ok {
			return c, bad(i, "the ENUM has no such label")
		}
		copy(data[i*to.Size():(i+1)*to.Size()], le.AppendUint32(nil, p))
	}
	return column.Column{Type: to, N: c.N, Valid: c.Valid, Data: data}, nil
}

func (s *stream) fitTime(to column.Type, c column.Column) (column.Column, error) {
	if i := outside(&c); i >= 0 {
		return c, &badValue{row: i, value: rawValue(c.Data, 8, i), reason: "the value is out of the range of " + c.Type.String()}
	}
	vals := make([]int64, c.N)
	for i, v := range column.Values[int64](&c) {
		if to.Kind == column.TimeNS {
			vals[i] = v * 1000
		} else if vals[i] = v / 1000; v%1000 != 0 {
			return c, &badValue{row: i, value: rawValue(c.Data, 8, i), reason: "the value of type time64[ns] has no exact TIME"}
		}
	}
	return column.Of(to, vals, c.Valid), nil
}

// fitTimeTZ takes blobs of 8 bytes.
func (s *stream) fitTimeTZ(to column.Type, c column.Column) (column.Column, error) {
	vals := make([]column.TimeTZValue, c.N)
	for i := range c.N {
		if c.IsNull(i) {
			continue
		}
		v := column.TimeTZValue(le.Uint64(c.Bytes(i)))
		if off := v.Offset(); v.Micros() > maxTime || off < -57599 || off > 57599 {
			return c, &badValue{row: i, value: fmt.Sprintf("%x", c.Bytes(i)), reason: "that is not a TIME WITH TIME ZONE"}
		}
		vals[i] = v
	}
	return column.Of(to, vals, c.Valid), nil
}
