package column

import "fmt"

// This file holds what the operations on columns do for nested types.

func (b *Builder) nest(n int) {
	switch b.t.Kind {
	case List, Map:
		b.offs = make([]int32, 1, n+1)
	case Array:
		n = min(n*b.t.Length(), 1<<16)
	}
	for _, k := range b.t.Kids() {
		b.kids = append(b.kids, NewBuilder(k, n))
	}
}

// Kid returns the builder of a nested type's i-th kid, to append a value's parts to before Close.
func (b *Builder) Kid(i int) *Builder { return b.kids[i] }

// Close appends a value of a nested type whose parts have been appended to the kids: any number of elements
// of a LIST or MAP, the length's of an ARRAY, one to each kid of a STRUCT or UNION. Anything else is a bug
// of the caller and panics.
func (b *Builder) Close() {
	b.endKids()
	b.mark(true)
}

// Truncate forgets all values from row n on, and parts that have been appended for a value that was not
// closed.
func (b *Builder) Truncate(n int) {
	for i := n; i < b.n; i++ {
		if b.valid != nil && !Bit(b.valid, i) {
			b.nulls--
		}
	}
	if b.n = min(b.n, n); b.valid != nil {
		b.valid = b.valid[:(b.n+7)/8]
		if r := b.n & 7; r != 0 {
			b.valid[len(b.valid)-1] &= 1<<r - 1
		}
	}
	if b.offs != nil {
		b.offs = b.offs[:b.n+1]
	}
	switch {
	case b.kids == nil && b.offs != nil:
		b.data = b.data[:b.offs[b.n]]
	case b.kids == nil:
		b.data = b.data[:b.n*b.t.Size()]
	case b.offs != nil:
		b.kids[0].Truncate(int(b.offs[b.n]))
	default:
		times := 1
		if b.t.Kind == Array {
			times = b.t.Length()
		}
		for _, k := range b.kids {
			k.Truncate(b.n * times)
		}
	}
}

// endKids settles a value's place; the kids must have its parts.
func (b *Builder) endKids() {
	if b.offs != nil {
		b.offs = append(b.offs, b.kidEnd())
		return
	}
	want := b.n + 1
	if b.t.Kind == Array {
		want *= b.t.Length()
	}
	for i, k := range b.kids {
		if k.n != want {
			panic(fmt.Sprintf("column: kid %d of %v has %d values for %d rows", i, b.t, k.n, b.n+1))
		}
	}
}

// kidEnd returns the end of the elements so far. Past 2^31 it would wrap and corrupt the column, so it
// panics: callers bound what they build.
func (b *Builder) kidEnd() int32 {
	if b.kids[0].n > maxRows {
		panic("column: elements of " + b.t.String() + " pass 2^31")
	}
	return int32(b.kids[0].n)
}

func (b *Builder) appendNestedNull() {
	if b.offs == nil {
		n := 1
		if b.t.Kind == Array {
			n = b.t.Length()
		}
		for _, k := range b.kids {
			for range n {
				k.AppendNull()
			}
		}
	}
	b.endKids()
	b.mark(false)
}

func (b *Builder) appendNestedRaw(v []byte) {
	cols, n, err := DecodeColumns(v)
	if err != nil || n != 1 || len(cols) != 1 || cols[0].Type != b.t {
		panic(fmt.Sprintf("column: %d bytes are no value of %v: %v", len(v), b.t, err))
	}
	b.AppendColumn(&cols[0])
}

// appendKids appends the parts of all rows of c, and their places.
func (b *Builder) appendKids(c *Column) {
	if b.offs == nil {
		for i, k := range b.kids {
			k.AppendColumn(&c.Kids[i])
		}
		return
	}
	part := c.Kids[0].Slice(int(c.Offsets[0]), int(c.Offsets[c.N]))
	base := int32(b.kids[0].n) - c.Offsets[0]
	b.kids[0].AppendColumn(&part)
	b.kidEnd()
	for _, o := range c.Offsets[1 : c.N+1] {
		b.offs = append(b.offs, o+base)
	}
}

// gatherKids fills in the rows of out that c has at sel.
func (c *Column) gatherKids(out *Column, sel []int32) {
	out.Kids = make([]Column, len(c.Kids))
	if c.Type.Kind == Struct || c.Type.Kind == Union {
		for i := range c.Kids {
			out.Kids[i] = c.Kids[i].Gather(sel)
		}
		return
	}
	total := 0
	if c.Offsets != nil {
		out.Offsets = make([]int32, len(sel)+1)
	}
	for k, i := range sel {
		from, to := c.Elements(int(i))
		if total += to - from; total > maxRows {
			panic("column: gathered elements of " + c.Type.String() + " pass 2^31")
		}
		if out.Offsets != nil {
			out.Offsets[k+1] = int32(total)
		}
	}
	elems := make([]int32, 0, total)
	for _, i := range sel {
		for e, to := c.Elements(int(i)); e < to; e++ {
			elems = append(elems, int32(e))
		}
	}
	out.Kids[0] = c.Kids[0].Gather(elems)
}

// sliceKids fills in rows lo to hi of c.
func (c *Column) sliceKids(out *Column, lo, hi int) {
	if c.Offsets != nil {
		out.Offsets, out.Kids = c.Offsets[lo:hi+1], c.Kids
		return
	}
	if c.Type.Kind == Array {
		lo, hi = lo*c.Type.Length(), hi*c.Type.Length()
	}
	out.Kids = make([]Column, len(c.Kids))
	for i := range c.Kids {
		out.Kids[i] = c.Kids[i].Slice(lo, hi)
	}
}

// nullKids fills in what lies under N NULLs.
func (c *Column) nullKids() {
	n := c.N
	switch c.Type.Kind {
	case List, Map:
		c.Offsets, n = make([]int32, n+1), 0
	case Array:
		n *= c.Type.Length()
	}
	for _, t := range c.Type.Kids() {
		c.Kids = append(c.Kids, Nulls(t, n))
	}
}

// used returns c with kids that hold no more than its rows: a slice of a LIST shares the elements of all.
// Its offsets begin at 0.
func (c *Column) used() Column {
	switch {
	case c.N == 0:
		return Nulls(c.Type, 0)
	case c.Offsets == nil:
		return *c
	}
	from, to := int(c.Offsets[0]), int(c.Offsets[c.N])
	if from == 0 && to == c.Kids[0].N {
		return *c
	}
	out := *c
	out.Kids = []Column{c.Kids[0].Slice(from, to)}
	if from > 0 {
		out.Offsets = make([]int32, c.N+1)
		for i := range out.Offsets {
			out.Offsets[i] = c.Offsets[i] - int32(from)
		}
	}
	return out
}

// Canonical returns c with its kids NULL wherever this package says that they are, when a source may have
// left values there. It returns c itself where nothing is to be done. Kids are not looked into.
func (c *Column) Canonical() Column {
	switch {
	case c.Offsets != nil:
		return c.emptyNullLists()
	case c.Type.Kind == Union:
		return c.oneMember()
	case c.Valid == nil:
		return *c
	}
	times := 1
	if c.Type.Kind == Array {
		times = c.Type.Length()
	}
	out := *c
	out.Kids = make([]Column, len(c.Kids))
	for i := range c.Kids {
		out.Kids[i] = c.Kids[i].nullWhere(func(k int) bool { return c.IsNull(k / times) })
	}
	return out
}

func (c *Column) emptyNullLists() Column {
	full := false
	for i := 0; i < c.N && c.Valid != nil && !full; i++ {
		full = c.IsNull(i) && c.Offsets[i] != c.Offsets[i+1]
	}
	if !full {
		return *c
	}
	out := *c
	out.Offsets = make([]int32, c.N+1)
	var elems []int32
	for i := range c.N {
		if !c.IsNull(i) {
			for e, to := c.Elements(i); e < to; e++ {
				elems = append(elems, int32(e))
			}
		}
		out.Offsets[i+1] = int32(len(elems))
	}
	out.Kids = []Column{c.Kids[0].Gather(elems)}
	return out
}

// oneMember makes the members NULL that a UNION's tag does not name, and tag and members under a NULL.
func (c *Column) oneMember() Column {
	out := *c
	out.Kids = make([]Column, len(c.Kids))
	tags := c.Kids[0].Data
	out.Kids[0] = c.Kids[0].nullWhere(c.IsNull)
	for m := 1; m < len(c.Kids); m++ {
		out.Kids[m] = c.Kids[m].nullWhere(func(i int) bool { return c.IsNull(i) || int(tags[i]) != m-1 })
	}
	return out
}

// nullWhere returns c with NULLs where null says so, c itself where they are already.
func (c *Column) nullWhere(null func(i int) bool) Column {
	change := false
	for i := 0; i < c.N && !change; i++ {
		change = null(i) && !c.IsNull(i)
	}
	if !change {
		return *c
	}
	b := NewBuilder(c.Type, c.N)
	for i := range c.N {
		if null(i) {
			b.AppendNull()
		} else {
			b.AppendFrom(c, i)
		}
	}
	return b.Finish()
}
