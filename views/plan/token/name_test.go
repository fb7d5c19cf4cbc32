package token

import "testing"

func TestNames(t *testing.T) {
	for _, c := range []struct{ schema, name, full string }{
		{"", "t", "t"}, {"main", "t", "t"}, {"s", "t", "s.t"}, {"", "a.b", `"a.b"`}, {"s.x", `q"q`, `"s.x"."q""q"`}, {"S", "my table", "S.my table"},
	} {
		if got := Join(c.schema, c.name); got != c.full {
			t.Errorf("%q.%q is %s, want %s", c.schema, c.name, got, c.full)
		}
		want := c.schema
		if want == MainSchema {
			want = ""
		}
		if s, n, ok := Cut(c.full); !ok || s != want || n != c.name {
			t.Errorf("%s is %q.%q %v", c.full, s, n, ok)
		}
	}
	for _, c := range [][3]string{{`"t"`, "", "t"}, {`main."t"`, "", "t"}, {`"S".t`, "S", "t"}} {
		if s, n, ok := Cut(c[0]); !ok || s != c[1] || n != c[2] {
			t.Errorf("%s is %q.%q %v", c[0], s, n, ok)
		}
	}
	for _, bad := range []string{"", ".", "a.", ".b", "a.b.c", `"a`, `"a"b`} {
		if s, n, ok := Cut(bad); ok {
			t.Errorf("%q is taken for %q.%q", bad, s, n)
		}
	}
}
