package plan

import (
	"bytes"
	"strings"

	"tidemill/operators/expr"
	"tidemill/state/column"
)

func boolean(kind expr.Kind, args ...*expr.Expr) *expr.Expr {
	return &expr.Expr{Kind: kind, Type: column.T(column.Bool), Args: args}
}

func (d *decoder) exprs(list []*jexpr, in *flow) ([]*expr.Expr, error) {
	var out []*expr.Expr
	for _, j := range list {
		e, err := d.expr(j, in)
		if err != nil {
			return nil, err
		}
		out = append(out, e)
	}
	return out, nil
}

// expr decodes an expression over the columns of in. Its type must be one that columns have; values
// of other types inside it make an Opaque node of the smallest part around them.
func (d *decoder) expr(j *jexpr, in *flow) (*expr.Expr, error) {
	if j == nil {
		return nil, malformed("an expression is missing")
	}
	if t := j.typ(); t.ID != "" {
		if _, ok := t.column(); !ok {
			return nil, d.foreign(j, t)
		}
	}
	for _, c := range j.inputs() {
		if c != nil && c.isForeign() {
			return d.opaque(j, in)
		}
	}
	switch j.Class {
	case "BOUND_REF":
		return d.ref(j, in)
	case "BOUND_CONSTANT":
		return constant(j.Value)
	case "BOUND_FUNCTION":
		if namesInType[j.Name] {
			return d.opaque(j, in)
		}
		return d.call(j, in)
	case "BOUND_CAST":
		return d.cast(j, in)
	case "BOUND_COMPARISON":
		args, err := d.exprs([]*jexpr{j.Left, j.Right}, in)
		if err != nil {
			return nil, err
		}
		return comparison(j.Type, args[0], args[1])
	case "BOUND_CONJUNCTION":
		args, err := d.exprs(j.Children, in)
		if err != nil {
			return nil, err
		}
		return boolean(map[bool]expr.Kind{true: expr.And, false: expr.Or}[j.Type == "CONJUNCTION_AND"], args...), nil
	case "BOUND_OPERATOR":
		return d.operator(j, in)
	case "BOUND_CASE":
		return d.caseWhen(j, in)
	case "BOUND_BETWEEN":
		return d.between(j, in)
	default:
		word := strings.ReplaceAll(strings.TrimPrefix(j.Class, "BOUND_"), "_", " ")
		return nil, unsupported(word, "", word).at(j.pos())
	}
}

// typ returns the type of the expression's value; it is empty where the class implies it.
func (j *jexpr) typ() jtype {
	switch j.Class {
	case "BOUND_CONSTANT":
		if j.Value != nil {
			return j.Value.Type
		}
	case "BOUND_COMPARISON", "BOUND_CONJUNCTION", "BOUND_BETWEEN":
		return jtype{}
	}
	return j.Return
}

// isForeign reports whether the value is of a type that columns do not have. A bare NULL is not
// foreign: a cast gives it a type.
func (j *jexpr) isForeign() bool {
	t := j.typ()
	if t.ID == "" || t.ID == "NULL" {
		return false
	}
	_, ok := t.column()
	return !ok
}

// inputs returns the expressions that the value is computed from.
func (j *jexpr) inputs() []*jexpr {
	in := append([]*jexpr{j.Child, j.Left, j.Right, j.Input, j.Lower, j.Upper}, j.Children...)
	for _, c := range j.Checks {
		in = append(in, c.When, c.Then)
	}
	return append(in, j.Else)
}

// foreign is the error of a value whose type columns do not have.
func (d *decoder) foreign(j *jexpr, t jtype) *Error {
	hint := ""
	switch t.ID {
	case "BIGNUM":
		hint = "cast it to HUGEINT"
	case "STRUCT":
		hint = "name its fields: {'a': x}"
	case "LIST", "MAP", "ARRAY", "UNION", "VARIANT":
		hint = "take its elements, or cast it to VARCHAR"
	}
	return unsupported("a value of type "+t.name(), hint).at(j.firstPos())
}

// firstPos returns the place of the expression or, when it has none, of one that it is made of.
func (j *jexpr) firstPos() int {
	if p := j.pos(); p >= 0 {
		return p
	}
	for _, c := range j.inputs() {
		if c != nil {
			if p := c.firstPos(); p >= 0 {
				return p
			}
		}
	}
	return -1
}

func (d *decoder) ref(j *jexpr, in *flow) (*expr.Expr, error) {
	if j.Index < 0 || j.Index >= len(in.cols) {
		return nil, malformed("column %d of %d", j.Index, len(in.cols))
	}
	col := in.cols[j.Index]
	if col < 0 {
		return nil, unsupported("rowid", "give the table a key of its own", "ROWID").at(j.pos())
	}
	e := columnOf(in.node, col)
	if t, ok := j.Return.column(); !ok || t != e.Type {
		return nil, malformed("column %d (%s) is %s, not %s", j.Index, j.Alias, e.Type, j.Return.name())
	}
	return e, nil
}

// lambdaMark is in the bind data of the functions that take a lambda.
var lambdaMark = []byte(`"lambda_expr"`)

func (d *decoder) call(j *jexpr, in *flow) (*expr.Expr, error) {
	if err := d.refuseFunction(j); err != nil {
		return nil, err
	}
	args, err := d.exprs(j.Children, in)
	if err != nil {
		return nil, err
	}
	t, _ := j.Return.column()
	return &expr.Expr{Kind: expr.Call, Type: t, Func: j.Name, Args: args}, nil
}

func (d *decoder) refuseFunction(j *jexpr) error {
	word := strings.ToUpper(j.Name)
	switch {
	case bytes.Contains(j.FunctionData, lambdaMark):
		return unsupported("a lambda (in "+j.Name+")", "", word+" (", word).at(j.pos())
	case j.Name == "error":
		return unsupported("the function error", "", "ERROR (").at(j.pos())
	case j.Name == "":
		return malformed("a function without a name")
	}
	return nil
}

func (d *decoder) cast(j *jexpr, in *flow) (*expr.Expr, error) {
	t, _ := j.Return.column()
	if c := j.Child; c != nil && c.Class == "BOUND_CONSTANT" && c.Value != nil && c.Value.Null {
		return &expr.Expr{Kind: expr.Constant, Type: t, Const: &expr.Value{Null: true}}, nil
	}
	a, err := d.expr(j.Child, in)
	if err != nil {
		return nil, err
	}
	if a.Type == t { // a change of collation only
		return a, nil
	}
	e := &expr.Expr{Kind: expr.Cast, Type: t, Args: []*expr.Expr{a}}
	if j.TryCast {
		e.Kind = expr.TryCast
	}
	return e, nil
}

var comparisons = map[string]string{
	"COMPARE_EQUAL": "=", "COMPARE_NOTEQUAL": "<>", "COMPARE_LESSTHAN": "<", "COMPARE_GREATERTHAN": ">",
	"COMPARE_LESSTHANOREQUALTO": "<=", "COMPARE_GREATERTHANOREQUALTO": ">=",
}

// isComparison reports whether a Call is one of the comparisons.
func isComparison(fn string) bool {
	switch fn {
	case "=", "<>", "<", "<=", ">", ">=":
		return true
	}
	return false
}

func comparison(kind string, a, b *expr.Expr) (*expr.Expr, error) {
	switch kind {
	case "COMPARE_DISTINCT_FROM":
		return boolean(expr.Distinct, a, b), nil
	case "COMPARE_NOT_DISTINCT_FROM":
		return boolean(expr.NotDistinct, a, b), nil
	}
	op, ok := comparisons[kind]
	if !ok {
		return nil, malformed("comparison %s", kind)
	}
	e := boolean(expr.Call, a, b)
	e.Func = op
	return e, nil
}

// operators are the kinds of BOUND_OPERATOR, with the number of arguments, 0 for any.
var operators = map[string]struct {
	kind expr.Kind
	args int
}{
	"OPERATOR_NOT": {expr.Not, 1}, "OPERATOR_IS_NULL": {expr.IsNull, 1}, "OPERATOR_IS_NOT_NULL": {expr.IsNotNull, 1},
	"COMPARE_IN": {expr.In, 0}, "COMPARE_NOT_IN": {expr.NotIn, 0}, "OPERATOR_COALESCE": {expr.Coalesce, 0},
	"OPERATOR_TRY": {expr.Try, 1},
}

func (d *decoder) operator(j *jexpr, in *flow) (*expr.Expr, error) {
	op, ok := operators[j.Type]
	if !ok {
		word := strings.ReplaceAll(strings.TrimPrefix(j.Type, "OPERATOR_"), "_", " ")
		return nil, unsupported(word, "", word).at(j.pos())
	}
	args, err := d.exprs(j.Children, in)
	if err != nil {
		return nil, err
	}
	if op.args > 0 && len(args) != op.args || len(args) == 0 {
		return nil, malformed("%s with %d arguments", j.Type, len(args))
	}
	t, _ := j.Return.column()
	return &expr.Expr{Kind: op.kind, Type: t, Args: args}, nil
}

func (d *decoder) caseWhen(j *jexpr, in *flow) (*expr.Expr, error) {
	var list []*jexpr
	for _, c := range j.Checks {
		list = append(list, c.When, c.Then)
	}
	args, err := d.exprs(append(list, j.Else), in)
	if err != nil {
		return nil, err
	}
	t, _ := j.Return.column()
	return &expr.Expr{Kind: expr.Case, Type: t, Args: args}, nil
}

func (d *decoder) between(j *jexpr, in *flow) (*expr.Expr, error) {
	args, err := d.exprs([]*jexpr{j.Input, j.Lower, j.Upper}, in)
	if err != nil {
		return nil, err
	}
	bound := func(op string, inclusive bool, b *expr.Expr) *expr.Expr {
		if inclusive {
			op += "="
		}
		e := boolean(expr.Call, args[0], b)
		e.Func = op
		return e
	}
	return boolean(expr.And, bound(">", j.LowerInclusive, args[1]), bound("<", j.UpperInclusive, args[2])), nil
}
