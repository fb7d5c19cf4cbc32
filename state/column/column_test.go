package column_test

import (
	"strings"
	"testing"

	"tidemill/state/column"
	"tidemill/state/column/columntest"
)

// rows returns the rows of c at sel by appending them one by one: the plain twin of Gather, Slice,
// Concat and Repeat.
func rows(c *column.Column, sel ...int32) column.Column {
	b := column.NewBuilder(c.Type, 0)
	for _, i := range sel {
		b.AppendFrom(c, int(i))
	}
	return b.Finish()
}

func span(lo, hi int) (sel []int32) {
	for i := lo; i < hi; i++ {
		sel = append(sel, int32(i))
	}
	return sel
}

func same(t *testing.T, what string, got, want column.Column) {
	t.Helper()
	if d := columntest.Diff(&got, &want); d != "" {
		t.Fatalf("%s: %s", what, d)
	}
	nulls := 0
	for i := range got.N {
		if got.IsNull(i) {
			nulls++
			if !got.Type.Nested() && strings.Trim(string(got.Raw(i)), "\x00") != "" {
				t.Fatalf("%s: bytes under a NULL", what)
			}
		}
	}
	if got.NullCount() != nulls || got.HasNulls() != (nulls > 0) {
		t.Fatalf("%s: %d NULLs, %d counted", what, nulls, got.NullCount())
	}
}

func TestRearranging(t *testing.T) {
	r := columntest.Rand(t)
	for _, typ := range columntest.Types() {
		whole := columntest.Random(r, typ, 130)
		for range 10 {
			lo := r.IntN(131)
			hi := lo + r.IntN(131-lo)
			c := whole.Slice(lo, hi)
			same(t, "slice", c, rows(&whole, span(lo, hi)...))
			if c.N == 0 {
				continue
			}
			sel := make([]int32, r.IntN(50))
			for i := range sel {
				sel[i] = int32(r.IntN(c.N))
			}
			same(t, "gather of a slice", c.Gather(sel), rows(&c, sel...))
			other := c.Gather(sel)
			at, differ := make([]int32, len(sel)), make([]bool, len(sel))
			for i := range at {
				at[i] = int32(r.IntN(c.N))
			}
			column.Differ(&c, &other, at, span(0, len(sel)), differ)
			for i, d := range differ {
				x, y := c.Gather(at[i:i+1]), c.Gather(sel[i:i+1])
				if d != (columntest.Diff(&x, &y) != "") {
					t.Fatalf("%v: rows %d and %d differ: %v", typ, at[i], sel[i], d)
				}
			}
			k := int32(r.IntN(c.N))
			same(t, "repeat", c.Repeat(int(k), 3), rows(&c, k, k, k))
			mid := r.IntN(c.N + 1)
			a, b := c.Slice(0, mid), c.Slice(mid, c.N)
			same(t, "concat of slices", column.Concat(typ, &a, &b), rows(&c, span(0, c.N)...))
			same(t, "slice of a slice", b.Slice(0, b.N/2), rows(&c, span(mid, mid+b.N/2)...))
		}
		same(t, "concat of nothing", column.Concat(typ), rows(&whole))
		nulls := column.Nulls(typ, 11)
		same(t, "nulls", column.Concat(typ, &whole, &nulls), func() column.Column {
			b := column.NewBuilder(typ, 0)
			b.AppendColumn(&whole)
			for range 11 {
				b.AppendNull()
			}
			return b.Finish()
		}())
	}
}

func TestBuilderMixes(t *testing.T) {
	r := columntest.Rand(t)
	for _, typ := range columntest.Types() {
		b, twin := column.NewBuilder(typ, 4), column.NewBuilder(typ, 0)
		for range 20 {
			p := columntest.Random(r, typ, r.IntN(20))
			b.AppendColumn(&p)
			for i := range p.N {
				twin.AppendFrom(&p, i)
			}
			if r.IntN(2) == 0 {
				b.AppendNull()
				twin.AppendNull()
			}
		}
		if b.Len() != twin.Len() || b.DataLen() != twin.DataLen() {
			t.Fatalf("%v: %d rows, %d bytes", typ, b.Len(), b.DataLen())
		}
		same(t, typ.String(), b.Finish(), twin.Finish())
	}
}

func TestValuesAndOf(t *testing.T) {
	c := column.Of(column.T(column.Int32), []int32{1, -2}, nil)
	if v := column.Values[int32](&c); len(v) != 2 || v[1] != -2 || c.Size() != 8 {
		t.Fatal(v)
	}
	empty := column.Of(column.T(column.Int32), []int32(nil), nil)
	if len(column.Values[int32](&empty)) != 0 {
		t.Fatal("values of an empty column")
	}
	for name, f := range map[string]func(){
		"values": func() { column.Values[int64](&c) },
		"of":     func() { column.Of(column.T(column.Int64), []int32{1}, nil) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s of another size did not panic", name)
				}
			}()
			f()
		}()
	}
	s := column.OfStrings(column.T(column.Blob), []string{"", "ab"})
	if s.Str(0) != "" || s.Str(1) != "ab" || string(s.Raw(1)) != "ab" {
		t.Fatal(s)
	}
}

func TestBitmaps(t *testing.T) {
	r := columntest.Rand(t)
	for _, n := range []int{0, 1, 7, 8, 9, 64, 65, 200} {
		ones := column.NewBitmap(n, true)
		c := column.Column{Type: column.T(column.Int8), N: n, Valid: ones, Data: make([]byte, n)}
		if c.NullCount() != 0 {
			t.Fatalf("%d ones: %d NULLs", n, c.NullCount())
		}
		if n&7 != 0 && ones[len(ones)-1]>>(n&7) != 0 {
			t.Fatal("bits past the end are set")
		}
		a, b := column.NewBitmap(n, false), column.NewBitmap(n, true)
		for i := range n {
			if r.IntN(2) == 0 {
				column.SetBit(a, i)
			}
			if r.IntN(2) == 0 {
				column.ClearBit(b, i)
			}
		}
		both := column.And(a, b)
		for i := range n {
			if column.Bit(both, i) != (column.Bit(a, i) && column.Bit(b, i)) {
				t.Fatal("and")
			}
		}
		if column.And(nil, nil) != nil || n > 0 && (&column.And(a, nil)[0] != &a[0] || &column.And(nil, b)[0] != &b[0]) {
			t.Fatal("and with all ones")
		}
	}
}

func TestTypes(t *testing.T) {
	for _, typ := range columntest.Types() {
		if back, err := column.ParseType(typ.String()); err != nil || back != typ {
			t.Errorf("%v reads back as %v, %v", typ, back, err)
		}
		if (typ.Varlen() || typ.Nested()) != (typ.Size() == 0) {
			t.Errorf("%v: size %d", typ, typ.Size())
		}
	}
	for text, want := range map[string]column.Type{
		" timestamptz ": column.T(column.TimestampTZ), "int": column.T(column.Int32), "decimal(9, 2)": column.DecimalOf(9, 2),
		"struct(\"A b\" int, \"select\" text[ ])": column.StructOf(column.Member{Name: "A b", Type: column.T(column.Int32)},
			column.Member{Name: "select", Type: column.ListOf(column.T(column.Varchar))}),
		"STRUCT(INTEGER, timestamp with time zone)": column.StructOf(column.Member{Type: column.T(column.Int32)}, column.Member{Type: column.T(column.TimestampTZ)}),
		"map(time with time zone, uhugeint[2][])":   column.MapOf(column.T(column.TimeTZ), column.ListOf(column.ArrayOf(column.T(column.UHugeInt), 2))),
		"text": column.T(column.Varchar), "real": column.T(column.Float), "DECIMAL(5)": column.DecimalOf(5, 0), "decimal": column.DecimalOf(18, 3),
	} {
		if got, err := column.ParseType(text); err != nil || got != want {
			t.Errorf("%q: %v, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "LIST", "DECIMAL(39,0)", "DECIMAL(3,4)", "DECIMAL(0,0)", "DECIMAL(3,1", "DECIMAL(3,1)x", "DECIMAL(3,1,1)",
		"INTEGER[", "INTEGER[0]", "INTEGER[100001]", "STRUCT()", "STRUCT(a)", "STRUCT(a INTEGER", "ENUM()", "ENUM('a', 'a')", "ENUM('a)", "ENUM(a)",
		"MAP(INTEGER)", "UNION()", "TIMESTAMP WITH", strings.Repeat("STRUCT(a ", 100) + "INTEGER" + strings.Repeat(")", 100), "INTEGER" + strings.Repeat("[]", 100)} {
		if got, err := column.ParseType(text); err == nil {
			t.Errorf("%q is taken as %v", text, got)
		}
	}
	if s := (column.Type{Kind: 99}).String(); s != "INVALID(99)" {
		t.Error(s)
	}
}
