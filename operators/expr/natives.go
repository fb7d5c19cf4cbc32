package expr

import (
	"slices"
	"strings"
	"sync"

	"tidemill/state/column"
)

// native is a function that has a kernel.
type native struct {
	name string
	args []column.Kind
	ret  column.Kind
	// accept tells whether a call with these kinds of arguments is one for the kernel; nil for yes.
	accept func(e *Expr) bool
	// fn is the kernel; or prepare makes one for a call and may decline with nil.
	fn      kernelFunc
	prepare func(e *Expr) kernelFunc
	// fallible tells whether a call may fail on some row; nil for no.
	fallible func(e *Expr) bool
}

func always(*Expr) bool { return true }

// families are the kernels, a function for each file. Casts are natives named "CAST".
var families = []func() []native{
	comparisons, arithmetic, division, signs, floats, decimals, temporal, temporalArithmetic, text, casts,
}

var natives = sync.OnceValue(func() map[string]*native {
	m := map[string]*native{}
	for _, family := range families {
		for _, n := range family() {
			m[nativeKey(n.name, n.args, n.ret)] = &n
		}
	}
	return m
})

func nativeKey(name string, args []column.Kind, ret column.Kind) string {
	b := append([]byte(name), 0)
	for _, a := range args {
		b = append(b, byte(a))
	}
	return string(append(b, 0, byte(ret)))
}

func nativeOf(e *Expr) *native {
	name := e.Func
	switch e.Kind {
	case Cast, TryCast:
		name = "CAST"
	case Call:
	default:
		return nil
	}
	kinds := make([]column.Kind, len(e.Args))
	for i, a := range e.Args {
		kinds[i] = a.Type.Kind
	}
	n := natives()[nativeKey(name, kinds, e.Type.Kind)]
	if n == nil || n.accept != nil && !n.accept(e) {
		return nil
	}
	return n
}

// kernelFor returns the kernel of a call or cast, or nil.
func kernelFor(e *Expr) kernelFunc {
	n := nativeOf(e)
	if n == nil {
		return nil
	}
	if n.prepare != nil {
		return n.prepare(e)
	}
	return n.fn
}

// ownRule returns the evaluation of a node whose NULLs, errors or order follow a rule of its own,
// or nil.
func ownRule(e *Expr) evalFunc {
	switch e.Kind {
	case Case:
		return runCase
	case Coalesce:
		return runCoalesce
	case And:
		return runAnd
	case Or:
		return runOr
	case Not:
		return runNot
	case IsNull:
		return runIsNull
	case IsNotNull:
		return runIsNotNull
	case Distinct, NotDistinct, In, NotIn:
		return ownComparison(e)
	case Try:
		return runTry
	case Call:
		return ownCall(e)
	}
	return nil
}

// ownComparison is ownRule for comparisons; types that have no comparer are DuckDB's.
func ownComparison(e *Expr) evalFunc {
	if comparerOf(e.Args[0].Type) == nil {
		return nil
	}
	switch e.Kind {
	case Distinct:
		return runDistinct
	case NotDistinct:
		return runNotDistinct
	case In:
		return runIn
	}
	return runNotIn
}

// ownCall is ownRule for functions: those that pass over NULL arguments.
func ownCall(e *Expr) evalFunc {
	for _, a := range e.Args {
		if a.Type != e.Type {
			return nil
		}
	}
	if e.Type.Kind == column.Interval || e.Func != "concat" && comparerOf(e.Type) == nil {
		return nil // DuckDB's greatest and least do not compare intervals by their normal form
	}
	switch {
	case e.Func == "greatest" && len(e.Args) > 0:
		return runGreatest
	case e.Func == "least" && len(e.Args) > 0:
		return runLeast
	case e.Func == "concat" && e.Type.Kind == column.Varchar && len(e.Args) > 0:
		return runConcat
	}
	return nil
}

func hasKernel(e *Expr) bool {
	return e.Kind == Column || e.Kind == Constant || ownRule(e) != nil || kernelFor(e) != nil
}

// Fallible reports whether evaluating e can fail on some row. Whatever has no kernel can: DuckDB decides.
func Fallible(e *Expr) bool {
	switch e.Kind {
	case Column, Constant, Try:
		return false
	case Call, Cast, Opaque:
		n := nativeOf(e)
		switch {
		case e.Kind == Call && ownCall(e) != nil:
		case n == nil, n.fallible != nil && n.fallible(e):
			return true
		}
	}
	return slices.ContainsFunc(e.Args, Fallible)
}

// Signature is a function that is evaluated without DuckDB.
type Signature struct {
	Func     string // "CAST" for casts; a kind of node in capitals, such as "CASE"
	Args     string // types, comma-separated; DECIMAL stands for every width and scale
	Type     string
	Fallible bool
}

// Natives returns the functions with kernels, sorted.
func Natives() []Signature {
	var out []Signature
	for _, family := range families {
		for _, n := range family() {
			names := make([]string, len(n.args))
			for i, k := range n.args {
				names[i] = kindName(k)
			}
			out = append(out, Signature{n.name, strings.Join(names, ", "), kindName(n.ret), n.fallible != nil})
		}
	}
	for _, k := range []Kind{Case, Coalesce, And, Or, Not, IsNull, IsNotNull, Distinct, NotDistinct, In, NotIn, Try} {
		out = append(out, Signature{Func: strings.ToUpper(string(k)), Args: "any type", Type: "any type"})
	}
	for _, f := range []string{"greatest", "least"} {
		out = append(out, Signature{Func: f, Args: "any type but INTERVAL, ...", Type: "any type but INTERVAL"})
	}
	out = append(out, Signature{Func: "concat", Args: "VARCHAR, ...", Type: "VARCHAR"})
	slices.SortStableFunc(out, func(a, b Signature) int { return strings.Compare(a.Func, b.Func) })
	return out
}

func kindName(k column.Kind) string {
	name, _, _ := strings.Cut(column.T(k).String(), "(")
	return name
}
