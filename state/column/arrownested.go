package column

import (
	"fmt"
	"unsafe"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// The names that Arrow's own builders give the parts of lists and maps.
const (
	arrowItem  = "item"
	arrowEntry = "entries"
)

func kidField(name string, t Type) arrow.Field { return ArrowField(Field{Name: name, Type: t}) }

func nestedArrowType(t Type) arrow.DataType {
	switch t.Kind {
	case Enum:
		index := map[uint8]arrow.DataType{1: arrow.PrimitiveTypes.Uint8, 2: arrow.PrimitiveTypes.Uint16, 4: arrow.PrimitiveTypes.Uint32}[t.Width]
		return &arrow.DictionaryType{IndexType: index, ValueType: arrow.BinaryTypes.String}
	case List:
		return arrow.ListOfField(kidField(arrowItem, t.Elem()))
	case Array:
		return arrow.FixedSizeListOfField(int32(t.Length()), kidField(arrowItem, t.Elem()))
	case Map:
		key, value := kidField("key", t.Elem().Kids()[0]), kidField("value", t.Elem().Kids()[1])
		key.Nullable = false
		return arrow.MapOfFields(key, value)
	case Struct:
		return arrow.StructOf(memberFields(t)...)
	}
	fields := append(memberFields(t), arrow.Field{Type: arrow.Null, Nullable: true})
	codes := make([]arrow.UnionTypeCode, len(fields))
	for i := range codes {
		codes[i] = arrow.UnionTypeCode(i)
	}
	return arrow.SparseUnionOf(fields, codes)
}

func memberFields(t Type) []arrow.Field {
	var fields []arrow.Field
	for _, m := range t.Members() {
		fields = append(fields, kidField(m.Name, m.Type))
	}
	return fields
}

// nestedArrow is ToArrow for ENUM and the nested types. The caller releases the data.
func nestedArrow(c *Column) (arrow.ArrayData, error) {
	dt := ArrowType(c.Type)
	nulls := c.NullCount()
	bufs := make([]*memory.Buffer, 1, 2)
	if nulls > 0 {
		bufs[0] = memory.NewBufferBytes(c.Valid)
	}
	if c.Type.Kind == Enum {
		labels := OfStrings(T(Varchar), c.Type.Labels())
		dict, err := ToArrow(&labels)
		if err != nil {
			return nil, err
		}
		defer dict.Release()
		bufs = append(bufs, memory.NewBufferBytes(c.Data[:c.N*c.Type.Size()]))
		return array.NewDataWithDictionary(dt, c.N, bufs, nulls, 0, dict.Data().(*array.Data)), nil
	}
	if c.Type.Kind == Union {
		return unionArrow(c, dt)
	}
	u := c.used()
	if c.Type.Kind == List || c.Type.Kind == Map {
		bufs = append(bufs, memory.NewBufferBytes(u.rebasedOffsets()))
	}
	kids, err := arrowKids(u.Kids)
	if err != nil {
		return nil, err
	}
	defer releaseAll(kids)
	if c.Type.Kind == Map { // the entries are of Arrow's own type of struct
		entries := array.NewData(dt.(*arrow.MapType).Elem(), kids[0].Len(), kids[0].Buffers(), kids[0].Children(), kids[0].NullN(), 0)
		kids[0].Release()
		kids[0] = entries
	}
	return array.NewData(dt, c.N, bufs, kids, nulls, 0), nil
}

func arrowKids(kids []Column) ([]arrow.ArrayData, error) {
	var out []arrow.ArrayData
	for i := range kids {
		a, err := ToArrow(&kids[i])
		if err != nil {
			releaseAll(out)
			return nil, fmt.Errorf("%v: %w", kids[i].Type, err)
		}
		a.Data().Retain()
		out = append(out, a.Data())
		a.Release()
	}
	return out, nil
}

func releaseAll(ds []arrow.ArrayData) {
	for _, d := range ds {
		d.Release()
	}
}

// unionArrow makes a sparse union; its last member is for the NULLs.
func unionArrow(c *Column, dt arrow.DataType) (arrow.ArrayData, error) {
	kids, err := arrowKids(c.Kids[1:])
	if err != nil {
		return nil, err
	}
	kids = append(kids, array.NewData(arrow.Null, c.N, []*memory.Buffer{nil}, nil, c.N, 0))
	defer releaseAll(kids)
	tags := c.Kids[0].Data[:c.N]
	if c.NullCount() > 0 {
		tags = append([]byte(nil), tags...)
		for i := range tags {
			if c.IsNull(i) {
				tags[i] = byte(len(kids) - 1)
			}
		}
	}
	return array.NewData(dt, c.N, []*memory.Buffer{nil, memory.NewBufferBytes(tags)}, kids, 0, 0), nil
}

func fromNestedArrowType(dt arrow.DataType) (Type, error) {
	kid := func(f arrow.Field) (Type, error) { return FromArrowType(f.Type, f.Metadata) }
	switch dt := dt.(type) {
	case *arrow.ListType:
		elem, err := kid(dt.ElemField())
		if err != nil {
			return Type{}, err
		}
		return ListOf(elem), nil
	case *arrow.FixedSizeListType:
		elem, err := kid(dt.ElemField())
		if err != nil {
			return Type{}, err
		}
		if n := int(dt.Len()); n >= 1 && n <= MaxArrayLength {
			return ArrayOf(elem, n), nil
		}
	case *arrow.MapType:
		key, err := kid(dt.KeyField())
		if err != nil {
			return Type{}, err
		}
		value, err := kid(dt.ItemField())
		if err != nil {
			return Type{}, err
		}
		return MapOf(key, value), nil
	case arrow.NestedType:
		var members []Member
		for _, f := range dt.Fields() {
			if f.Type.ID() == arrow.NULL && f.Name == "" { // for a UNION's NULLs
				continue
			}
			t, err := kid(f)
			if err != nil {
				return Type{}, err
			}
			members = append(members, Member{f.Name, t})
		}
		_, union := dt.(arrow.UnionType)
		switch {
		case union && len(members) >= 1 && len(members) <= maxUnionMembers:
			return UnionOf(members...), nil
		case !union && len(members) >= 1:
			return StructOf(members...), nil
		}
	}
	return Type{}, fmt.Errorf("type %s of Arrow is not supported", dt)
}

// nestedInput reads an ENUM or a nested type. Members are matched by place; their names are the caller's to
// compare.
func (a arrowInput) nestedInput(t Type) (Column, error) {
	c := Column{Type: t, N: a.Len(), Valid: a.valid}
	kid := func(k, lo, n int, t Type) (Column, error) {
		if k >= len(a.Children()) || lo < 0 || lo+n > a.Children()[k].Len() {
			return Column{}, fmt.Errorf("%v: rows %d to %d of kid %d are not there", a.dt, lo, lo+n, k)
		}
		d := a.Children()[k]
		part := array.NewSliceData(d, int64(lo), int64(lo+n))
		defer part.Release()
		return fromArrow(part, t)
	}
	switch dt := a.dt.(type) {
	case *arrow.ListType, *arrow.MapType:
		if t.Kind != List && t.Kind != Map {
			return c, errNoConversion
		}
		offs := []int32{0}
		if c.N > 0 {
			var err error
			if offs, err = bufferValues[int32](a, 1, a.Offset(), c.N+1); err != nil {
				return c, err
			}
		}
		c.Offsets = make([]int32, c.N+1)
		for i, o := range offs {
			if c.Offsets[i] = o - offs[0]; c.Offsets[i] < 0 || i > 0 && o < offs[i-1] {
				return c, fmt.Errorf("row %d: offsets do not ascend", i)
			}
		}
		elems, err := kid(0, int(offs[0]), int(c.Offsets[c.N]), t.Elem())
		if err != nil {
			return c, err
		}
		c.Kids = []Column{elems}
	case *arrow.FixedSizeListType:
		if t.Kind != Array || t.Length() != int(dt.Len()) {
			return c, errNoConversion
		}
		n := t.Length()
		elems, err := kid(0, a.Offset()*n, c.N*n, t.Elem())
		if err != nil {
			return c, err
		}
		c.Kids = []Column{elems}
	case *arrow.StructType:
		if t.Kind != Struct || len(t.Kids()) != dt.NumFields() {
			return c, errNoConversion
		}
		for k, kt := range t.Kids() {
			part, err := kid(k, a.Offset(), c.N, kt)
			if err != nil {
				return c, err
			}
			c.Kids = append(c.Kids, part)
		}
	case *arrow.SparseUnionType:
		return a.sparseUnion(t, dt, kid)
	default:
		return c, errNoConversion
	}
	return c.Canonical(), nil
}

func (a arrowInput) sparseUnion(t Type, dt *arrow.SparseUnionType, kid func(k, lo, n int, t Type) (Column, error)) (Column, error) {
	members := len(t.Kids()) - 1
	if t.Kind != Union || dt.NumFields() < members || dt.NumFields() > members+1 {
		return Column{}, errNoConversion
	}
	codes, err := bufferValues[int8](a, 1, a.Offset(), a.Len())
	if err != nil {
		return Column{}, err
	}
	c := Column{Type: t, N: a.Len(), Valid: NewBitmap(a.Len(), true)}
	tags := make([]uint8, c.N)
	for i, code := range codes {
		k := -1
		for f, tc := range dt.TypeCodes() {
			if tc == code {
				k = f
			}
		}
		switch {
		case k < 0:
			return Column{}, fmt.Errorf("row %d: type code %d", i, code)
		case k == members:
			ClearBit(c.Valid, i)
		default:
			tags[i] = uint8(k)
		}
	}
	if countBits(c.Valid, c.N) == c.N {
		c.Valid = nil
	}
	c.Kids = []Column{Of(T(UInt8), tags, nil)}
	for k, kt := range t.Kids()[1:] {
		part, err := kid(k, a.Offset(), c.N, kt)
		if err != nil {
			return Column{}, err
		}
		c.Kids = append(c.Kids, part)
	}
	return c.Canonical(), nil
}

// enumOf returns texts as the places that they have among the labels of t.
func (c *Column) enumOf(t Type) (Column, error) {
	data := make([]byte, c.N*t.Size())
	for i := range c.N {
		if c.IsNull(i) {
			continue
		}
		p, ok := t.Place(c.Str(i))
		if !ok {
			return Column{}, fmt.Errorf("row %d: %q is no label of it: %w", i, c.Str(i), ErrNotLossless)
		}
		copy(data[i*t.Size():(i+1)*t.Size()], unsafe.Slice((*byte)(unsafe.Pointer(&p)), 4))
	}
	return Column{Type: t, N: c.N, Valid: c.Valid, Data: data}, nil
}
