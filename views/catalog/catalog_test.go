package catalog

import (
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"

	"tidemill/operators/expr"
	"tidemill/state/column"
	"tidemill/views/plan"
)

func table(name string) Relation {
	return Relation{
		Name: name, Kind: Table, SQL: "CREATE TABLE " + name, CreatedAt: 3,
		Fields:     []column.Field{{Name: "id", Type: column.T(column.Int64), NotNull: true}, {Name: "m", Type: column.DecimalOf(12, 2)}},
		PrimaryKey: []int{0}, Defaults: []string{"", "0.5"},
	}
}

func view(name string, reads ...string) Relation {
	fields := []column.Field{{Name: "id", Type: column.T(column.Int64)}}
	n := &plan.Node{Op: plan.Union, Schema: fields}
	for _, r := range reads {
		n.Inputs = append(n.Inputs, &plan.Node{
			Op: plan.Filter, Schema: fields,
			Exprs:  []*expr.Expr{{Kind: expr.Constant, Type: column.T(column.Bool), Const: &expr.Value{Raw: []byte{1}}}},
			Inputs: []*plan.Node{{Op: plan.Scan, Relation: r, Columns: []int{0}, Schema: fields}},
		})
	}
	return Relation{Name: name, Kind: View, SQL: "CREATE MATERIALIZED VIEW " + name, Fields: fields, Plan: n, TimeZone: "UTC"}
}

func mustCreate(t *testing.T, c *Catalog, rs ...Relation) *Catalog {
	t.Helper()
	for _, r := range rs {
		next, _, err := c.Create(r)
		if err != nil {
			t.Fatal(err)
		}
		c = next
	}
	return c
}

func relationNames(rs []*Relation) string {
	var out []string
	for _, r := range rs {
		out = append(out, r.Name)
	}
	return strings.Join(out, " ")
}

func TestCreateAndLookup(t *testing.T) {
	empty := New()
	c, r, err := empty.Create(table("Orders"))
	if err != nil {
		t.Fatal(err)
	}
	if r.ID != 1 || r.Version != 1 {
		t.Errorf("id %d, version %d", r.ID, r.Version)
	}
	if got, err := c.Lookup("oRDERS"); err != nil || got != r || c.ByID(1) != r {
		t.Errorf("lookup: %v, %v", got, err)
	}
	if name, fields, ok := c.Schema("ORDERS"); name != "Orders" || len(fields) != 2 || !ok {
		t.Errorf("schema: %s, %v, %v", name, fields, ok)
	}
	if len(empty.Relations()) != 0 {
		t.Error("the catalog before has changed")
	}
	_, _, err = c.Create(view("orders"))
	if !errors.Is(err, ErrExists) || err.Error() != `table "Orders" already exists` {
		t.Errorf("created twice: %v", err)
	}
	var e *NameError
	if _, err = c.Lookup("ordres"); !errors.Is(err, ErrUnknownRelation) || !errors.As(err, &e) || e.Hint != `did you mean "Orders"?` {
		t.Errorf("unknown: %v", err)
	}
	if _, err = c.Lookup("Örders"); err == nil {
		t.Error("found Örders")
	}
	if _, _, err = c.Create(view("v", "nope")); !errors.Is(err, ErrUnknownRelation) {
		t.Errorf("view of nothing: %v", err)
	}
	c = mustCreate(t, c, view("v", "ORDERS"))
	if _, err := c.LookupTable("V"); !errors.Is(err, ErrWrongKind) || err.Error() != `"v" is a view` {
		t.Errorf("table v: %v", err)
	}
	if _, err := c.LookupTable("orders"); err != nil {
		t.Error(err)
	}
}

func TestDependentsAndDrop(t *testing.T) {
	c := mustCreate(t, New(), table("a"), table("b"), view("v1", "a"), view("v2", "b"), view("v3", "v1", "B", "v1"), view("v4", "v3"))
	if got := relationNames(c.Dependents(1)); got != "v1 v3 v4" {
		t.Errorf("dependents of a: %s", got)
	}
	if got := relationNames(c.Dependents(2)); got != "v2 v3 v4" {
		t.Errorf("dependents of b: %s", got)
	}
	v3, _ := c.Lookup("v3")
	if !reflect.DeepEqual(v3.DependsOn, []uint32{2, 3}) {
		t.Errorf("v3 depends on %v", v3.DependsOn)
	}
	_, _, err := c.Drop("A", Table, false)
	var d *DependentsError
	if !errors.As(err, &d) || err.Error() != `cannot drop table "a": followed by "v1", "v3", "v4"` || d.Hint() == "" {
		t.Errorf("drop a: %v", err)
	}
	if _, _, err := c.Drop("v1", Table, false); !errors.Is(err, ErrWrongKind) {
		t.Errorf("drop table v1: %v", err)
	}
	next, dropped, err := c.Drop("a", Table, true)
	if err != nil || relationNames(dropped) != "v4 v3 v1 a" || relationNames(next.Relations()) != "b v2" {
		t.Errorf("drop a cascade: %s, left %s, %v", relationNames(dropped), relationNames(next.Relations()), err)
	}
	if relationNames(c.Relations()) != "a b v1 v2 v3 v4" {
		t.Error("the catalog before has changed")
	}
	next, r, err := next.Create(table("a"))
	if err != nil || r.ID != 7 {
		t.Errorf("id %d after a drop, %v", r.ID, err)
	}
	if next, _, err = next.Drop("a", Table, false); err != nil {
		t.Fatal(err)
	}
	if again := roundTrip(t, next); mustCreate(t, again, table("x")).ByID(8) == nil {
		t.Error("an id was used again after the catalog was read back")
	}
}

func roundTrip(t *testing.T, c *Catalog) *Catalog {
	t.Helper()
	text, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	back, err := Decode(text)
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(c, back) {
		t.Fatalf("read back differs: %s", text)
	}
	return back
}

func TestEncode(t *testing.T) {
	roundTrip(t, New())
	roundTrip(t, mustCreate(t, New(), table("a"), view("v", "a"), view("w", "v", "a")))
}

func TestDecodeRefuses(t *testing.T) {
	for text, want := range map[string]string{
		``:             "unexpected end",
		`{"format":3}`: "written by another version",
		`{"format":1}`: "next id is 0",
		`{"format":1,"next_id":1,"relations":[null]}`:                                                                                          "is null",
		`{"format":1,"next_id":1,"relations":[{"id":1,"name":"t","kind":"table","version":1}]}`:                                                "the next is 1",
		`{"format":1,"next_id":3,"relations":[{"id":1,"name":"t","kind":"table","version":1},{"id":2,"name":"T","kind":"table","version":1}]}`: "twice",
		`{"format":1,"next_id":3,"relations":[{"id":2,"name":"t","kind":"table","version":1},{"id":1,"name":"u","kind":"table","version":1}]}`: "not above",
		`{"format":1,"next_id":3,"relations":[{"id":1,"name":"t","kind":"sink","version":1}]}`:                                                 "there is not",
		`{"format":1,"next_id":3,"relations":[{"id":1,"name":"t","kind":"view","version":1}]}`:                                                 "no plan",
		`{"format":1,"next_id":3,"relations":[{"id":1,"name":"t","kind":"table","version":1,"depends_on":[7]}]}`:                               "relation 7",
		`{"format":1,"next_id":3,"relations":[{"id":1,"name":"t","kind":"table","version":1,"primary_key":[0]}]}`:                              "column 0 of 0",
		`{"format":1,"next_id":3,"relations":[{"id":1,"name":"t","kind":"table","version":1,"fields":[{"name":"a","type":{"k":99}}]}]}`:        "unknown type",
	} {
		if _, err := Decode([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
}

// FuzzDecode checks that Decode never panics and that what it accepts encodes to what it accepts
// again.
func FuzzDecode(f *testing.F) {
	c, _, _ := New().Create(table("a"))
	c, _, _ = c.Create(view("v", "a"))
	text, _ := json.Marshal(c)
	f.Add(text)
	f.Fuzz(func(t *testing.T, text []byte) {
		c, err := Decode(text)
		if err != nil {
			return
		}
		once, err := json.Marshal(c)
		if err != nil {
			t.Fatal(err)
		}
		again, err := Decode(once)
		if err != nil {
			t.Fatalf("%s: %v", once, err)
		}
		if twice, _ := json.Marshal(again); string(twice) != string(once) {
			t.Fatalf("%s became %s", once, twice)
		}
		for _, r := range c.Relations() {
			c.Dependents(r.ID)
		}
	})
}
