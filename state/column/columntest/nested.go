package columntest

import (
	"fmt"
	"math/rand/v2"

	"tidemill/state/column"
)

// MustParse reads a type, or panics.
func MustParse(s string) column.Type {
	t, err := column.ParseType(s)
	if err != nil {
		panic(err)
	}
	return t
}

// Nested returns ENUMs of two widths and some nested types.
func Nested() []column.Type {
	labels := make([]string, 300)
	for i := range labels {
		labels[i] = fmt.Sprintf("l%d", 299-i)
	}
	wide, err := column.EnumOf(labels)
	if err != nil {
		panic(err)
	}
	ts := []column.Type{wide}
	for _, s := range []string{
		"ENUM('sad', 'ok', 'it''s')", "INTEGER[]", "VARCHAR[]", "DOUBLE[3]", "BOOLEAN[]", "STRUCT(a INTEGER, b VARCHAR)",
		"MAP(VARCHAR, INTEGER)", "UNION(num INTEGER, str VARCHAR)", "INTEGER[][]", "STRUCT(a INTEGER, \"B c\" DOUBLE[])[]",
		"STRUCT(s STRUCT(x INTERVAL, y UUID), l VARCHAR[2][])", "MAP(INTEGER, STRUCT(a FLOAT, b DATE[]))",
		"UNION(n DOUBLE, l INTEGER[], s STRUCT(a BIGINT))[]", "INTERVAL[]", "DECIMAL(4,1)[2]", "ENUM('x', 'y')[]",
	} {
		ts = append(ts, MustParse(s))
	}
	return ts
}

// RandomType returns a random type whose parts nest at most depth deep.
func RandomType(r *rand.Rand, depth int) column.Type {
	plain := Plain()
	if depth == 0 || r.IntN(3) == 0 {
		return plain[r.IntN(len(plain))]
	}
	members := func() []column.Member {
		var ms []column.Member
		for i := range 1 + r.IntN(3) {
			ms = append(ms, column.Member{Name: []string{"a", "B", "c d"}[i], Type: RandomType(r, depth-1)})
		}
		return ms
	}
	switch r.IntN(6) {
	case 0:
		return column.ArrayOf(RandomType(r, depth-1), 1+r.IntN(3))
	case 1:
		return column.StructOf(members()...)
	case 2:
		return column.MapOf(plain[r.IntN(len(plain))], RandomType(r, depth-1))
	case 3:
		return column.UnionOf(members()...)
	case 4:
		return MustParse("ENUM('z', 'a', 'm')")
	}
	return column.ListOf(RandomType(r, depth-1))
}

// appendNested appends a random value of a nested type; parts are NULL now and then, keys of maps are
// neither that nor twice in a map.
func appendNested(r *rand.Rand, b *column.Builder) {
	part := func(k *column.Builder) {
		if r.IntN(6) == 0 {
			k.AppendNull()
		} else {
			appendValue(r, k)
		}
	}
	t := b.Type()
	switch t.Kind {
	case column.List:
		for range r.IntN(4) {
			part(b.Kid(0))
		}
	case column.Array:
		for range t.Length() {
			part(b.Kid(0))
		}
	case column.Map:
		seen := map[string]bool{}
		for range r.IntN(4) {
			key := Random(r, t.Elem().Kids()[0], 1)
			if key.IsNull(0) || seen[string(column.AppendText(nil, &key, 0))] {
				continue
			}
			seen[string(column.AppendText(nil, &key, 0))] = true
			entry := b.Kid(0)
			entry.Kid(0).AppendFrom(&key, 0)
			part(entry.Kid(1))
			entry.Close()
		}
	case column.Struct:
		for k := range t.Kids() {
			part(b.Kid(k))
		}
	case column.Union:
		tag := r.IntN(len(t.Kids()) - 1)
		column.Append(b.Kid(0), uint8(tag))
		for k := 1; k < len(t.Kids()); k++ {
			if k-1 == tag {
				part(b.Kid(k))
			} else {
				b.Kid(k).AppendNull()
			}
		}
	}
	b.Close()
}
