package plan

import (
	"encoding/json"
	"strconv"
	"strings"

	"tidemill/operators/expr"
)

// opaque makes an Opaque node of an expression over values whose types columns do not have (a STRUCT
// without names, a BIGNUM) and of functions whose names of arguments are in their type. Its text is only
// what is needed to get from the arguments, which are ordinary expressions, to an ordinary value again:
//
//	row(1, a + 2) = row(b, c)  ->  "row({0}, {1}) = row({2}, {3})" of 1, a + 2, b, c
//	{'x': a}                   ->  "struct_pack("x" := {0})" of a
//
// What cannot be written so that DuckDB binds the same again is refused by name.
func (d *decoder) opaque(j *jexpr, in *flow) (*expr.Expr, error) {
	t, ok := j.typ().column()
	if j.typ().ID == "" {
		t, ok = boolean(expr.Opaque).Type, true
	}
	if !ok {
		return nil, malformed("an expression of type %s", j.typ().name())
	}
	w := opaqueWriter{d: d, in: in}
	text, err := w.text(j)
	if err != nil {
		return nil, err
	}
	return &expr.Expr{Kind: expr.Opaque, Type: t, Text: text, Args: w.args}, nil
}

type opaqueWriter struct {
	d    *decoder
	in   *flow
	args []*expr.Expr
}

func (w *opaqueWriter) arg(e *expr.Expr) string {
	w.args = append(w.args, e)
	return "{" + strconv.Itoa(len(w.args)-1) + "}"
}

// value returns the text of j: a place for an argument when nothing in it is foreign.
func (w *opaqueWriter) value(j *jexpr) (string, error) {
	if j == nil {
		return "", malformed("an expression is missing")
	}
	if j.typ().ID == "NULL" {
		return "NULL", nil
	}
	if !j.isForeign() {
		e, err := w.d.expr(j, w.in)
		if err != nil {
			return "", err
		}
		return w.arg(e), nil
	}
	return w.text(j)
}

func (w *opaqueWriter) values(list []*jexpr, between string) (string, error) {
	out := make([]string, len(list))
	for i, j := range list {
		var err error
		if out[i], err = w.value(j); err != nil {
			return "", err
		}
	}
	return strings.Join(out, between), nil
}

func (w *opaqueWriter) text(j *jexpr) (string, error) {
	switch j.Class {
	case "BOUND_FUNCTION":
		return w.function(j)
	case "BOUND_CAST":
		return w.cast(j)
	case "BOUND_CONSTANT":
		return w.constant(j.Value)
	case "BOUND_COMPARISON":
		op := comparisons[j.Type]
		switch j.Type {
		case "COMPARE_DISTINCT_FROM":
			op = "IS DISTINCT FROM"
		case "COMPARE_NOT_DISTINCT_FROM":
			op = "IS NOT DISTINCT FROM"
		}
		s, err := w.values([]*jexpr{j.Left, j.Right}, " "+op+" ")
		return "(" + s + ")", err
	case "BOUND_OPERATOR":
		return w.operator(j)
	case "BOUND_CASE":
		return w.caseWhen(j)
	default:
		return "", w.d.foreign(j, j.typ())
	}
}

// namedArguments are functions whose arguments have names that are not in the plan where they could
// be read.
var namedArguments = map[string]bool{"struct_update": true, "remap_struct": true}

// namesInType are functions whose arguments have the names that are in the type of the value.
var namesInType = map[string]bool{"struct_pack": true, "union_value": true, "struct_insert": true, "struct_update": true, "remap_struct": true}

func (w *opaqueWriter) function(j *jexpr) (string, error) {
	if err := w.d.refuseFunction(j); err != nil {
		return "", err
	}
	if namedArguments[j.Name] {
		return "", unsupported("the function "+j.Name, "").at(j.pos())
	}
	if j.IsOperator && len(j.Children) == 2 {
		s, err := w.values(j.Children, " "+j.Name+" ")
		return "(" + s + ")", err
	}
	switch j.Name {
	case "struct_pack":
		return w.named(j, 0)
	case "struct_insert":
		return w.named(j, 1)
	case "union_value":
		return w.unionValue(j)
	}
	s, err := w.values(j.Children, ", ")
	return quoteName(j.Name) + "(" + s + ")", err
}

// named writes a function that makes a STRUCT. Its first args have no names; the others make the last fields.
func (w *opaqueWriter) named(j *jexpr, first int) (string, error) {
	if j.Return.Info == nil || len(j.Return.Info.Children) < len(j.Children)-first {
		return "", malformed("%s without its names", j.Name)
	}
	names := j.Return.Info.Children[len(j.Return.Info.Children)-len(j.Children)+first:]
	out := make([]string, len(j.Children))
	for i, c := range j.Children {
		s, err := w.value(c)
		if err != nil {
			return "", err
		}
		if out[i] = s; i < first {
			continue
		}
		name := names[i-first].Name
		if strings.ContainsAny(name, "{}") {
			return "", unsupported("a struct with the field "+name, "").at(j.pos())
		}
		out[i] = quoteName(name) + " := " + s
	}
	return j.Name + "(" + strings.Join(out, ", ") + ")", nil
}

// unionValue writes the one member that union_value makes a UNION of.
func (w *opaqueWriter) unionValue(j *jexpr) (string, error) {
	members, ok := j.Return.members()
	if !ok || len(members) != 1 || len(j.Children) != 1 {
		return "", malformed("union_value without its name")
	}
	if strings.ContainsAny(members[0].Name, "{}") {
		return "", unsupported("a union with the member "+members[0].Name, "").at(j.pos())
	}
	s, err := w.value(j.Children[0])
	return "union_value(" + quoteName(members[0].Name) + " := " + s + ")", err
}

func (w *opaqueWriter) cast(j *jexpr) (string, error) {
	s, err := w.value(j.Child)
	if err != nil {
		return "", err
	}
	t, ok := j.Return.sql()
	if !ok || strings.ContainsAny(t, "{}") {
		return "", w.d.foreign(j, j.Return)
	}
	if j.TryCast {
		return "TRY_CAST(" + s + " AS " + t + ")", nil
	}
	return "CAST(" + s + " AS " + t + ")", nil
}

func (w *opaqueWriter) operator(j *jexpr) (string, error) {
	between := ", "
	s := ""
	if j.Type == "COMPARE_IN" || j.Type == "COMPARE_NOT_IN" {
		if len(j.Children) < 2 {
			return "", malformed("IN without a list")
		}
		first, err := w.value(j.Children[0])
		if err != nil {
			return "", err
		}
		s = first
		j = &jexpr{Type: j.Type, Children: j.Children[1:]}
	}
	rest, err := w.values(j.Children, between)
	if err != nil {
		return "", err
	}
	switch j.Type {
	case "COMPARE_IN":
		return "(" + s + " IN (" + rest + "))", nil
	case "COMPARE_NOT_IN":
		return "(" + s + " NOT IN (" + rest + "))", nil
	case "OPERATOR_IS_NULL":
		return "(" + rest + " IS NULL)", nil
	case "OPERATOR_IS_NOT_NULL":
		return "(" + rest + " IS NOT NULL)", nil
	case "OPERATOR_COALESCE":
		return "COALESCE(" + rest + ")", nil
	case "OPERATOR_TRY":
		return "TRY(" + rest + ")", nil
	default:
		word := strings.ReplaceAll(strings.TrimPrefix(j.Type, "OPERATOR_"), "_", " ")
		return "", unsupported(word, "", word).at(j.pos())
	}
}

func (w *opaqueWriter) caseWhen(j *jexpr) (string, error) {
	s := "CASE"
	for _, c := range j.Checks {
		when, err := w.value(c.When)
		if err != nil {
			return "", err
		}
		then, err := w.value(c.Then)
		if err != nil {
			return "", err
		}
		s += " WHEN " + when + " THEN " + then
	}
	other, err := w.value(j.Else)
	return s + " ELSE " + other + " END", err
}

// constant returns the text of a constant list, JSON or enumerated value; others cannot be written.
func (w *opaqueWriter) constant(v *jvalue) (string, error) {
	if v == nil {
		return "", malformed("a constant without a value")
	}
	if _, ok := v.Type.column(); ok {
		e, err := constant(v)
		if err != nil {
			return "", err
		}
		return w.arg(e), nil
	}
	t, ok := v.Type.sql()
	if !ok || strings.ContainsAny(t, "{}") {
		return "", unsupported("a constant of type "+v.Type.name(), "")
	}
	if v.Null {
		return "CAST(NULL AS " + t + ")", nil
	}
	switch {
	case v.Type.ID == "LIST" || v.Type.ID == "ARRAY":
		var list struct {
			Children []*jvalue `json:"children"`
		}
		if err := json.Unmarshal(v.Value, &list); err != nil {
			return "", malformed("%v", err)
		}
		out := make([]string, len(list.Children))
		for i, c := range list.Children {
			var err error
			if out[i], err = w.constant(c); err != nil {
				return "", err
			}
		}
		return "CAST([" + strings.Join(out, ", ") + "] AS " + t + ")", nil
	case t == "JSON":
		text := *v
		text.Type = jtype{ID: "VARCHAR"}
		s, err := w.constant(&text)
		return "CAST(" + s + " AS JSON)", err
	default:
		return "", unsupported("a constant of type "+v.Type.name(), "")
	}
}
