package expr

import (
	"strconv"
	"strings"

	"tidemill/state/column"
)

// SQL returns e as DuckDB SQL that binds to the same functions with the same types: every constant
// carries its type, every cast is written, every operator stands in parentheses. The function col
// names input column i; its answer is put in as it is.
// DuckDB without its rewriting of expressions gives the values of this package for it, and fails on the same rows.
func (e *Expr) SQL(col func(i int) string) string {
	var b strings.Builder
	p := printer{b: &b, col: col}
	p.expr(e)
	return b.String()
}

// Display returns e for people to read: SQL that leaves open what an AND or OR does when one of its arguments fails.
func (e *Expr) Display(col func(i int) string) string {
	var b strings.Builder
	p := printer{b: &b, col: col, people: true}
	p.expr(e)
	return b.String()
}

type printer struct {
	b      *strings.Builder
	col    func(i int) string
	people bool
}

// infix are the functions that are written between their two arguments.
var infix = map[string]bool{
	"+": true, "-": true, "*": true, "/": true, "//": true, "%": true, "||": true,
	"=": true, "<>": true, "<": true, "<=": true, ">": true, ">=": true,
	"&": true, "|": true, "<<": true, ">>": true,
}

// grammarNames are function names that DuckDB's grammar treats specially when they are not quoted.
var grammarNames = map[string]bool{
	"left": true, "right": true, "position": true, "substring": true, "overlay": true, "trim": true,
	"extract": true, "if": true, "isnull": true, "notnull": true, "row": true, "struct": true,
	"list": true, "map": true, "array": true, "like": true, "ilike": true, "glob": true,
	"similar": true, "overlaps": true, "between": true, "exists": true, "coalesce": true,
	"nullif": true, "values": true, "interval": true, "timestamp": true, "time": true, "char": true,
	"columns": true, "grouping": true, "grouping_id": true, "collation": true, "try_cast": true,
	"current_date": true, "normalize": true, "treat": true, "unpack": true, "error": false,
}

func (p printer) expr(e *Expr) {
	b := p.b
	switch e.Kind {
	case Column:
		b.WriteString(p.col(e.Col))
	case Constant:
		writeConstant(b, e.Type, e.Const)
	case Call:
		p.call(e)
	case Cast:
		p.around("CAST(", e.Args[0], " AS "+e.Type.String()+")")
	case TryCast:
		p.around("TRY_CAST(", e.Args[0], " AS "+e.Type.String()+")")
	case Try:
		p.around("TRY(", e.Args[0], ")")
	case Case:
		b.WriteString("CASE")
		n := len(e.Args) &^ 1
		for i := 0; i < n; i += 2 {
			p.around(" WHEN ", e.Args[i], "")
			p.around(" THEN ", e.Args[i+1], "")
		}
		if n < len(e.Args) {
			p.around(" ELSE ", e.Args[n], "")
		}
		b.WriteString(" END")
	case And:
		p.conjunction(e, " AND ", "FALSE")
	case Or:
		p.conjunction(e, " OR ", "TRUE")
	case Not:
		p.around("(NOT ", e.Args[0], ")")
	case IsNull:
		p.around("(", e.Args[0], " IS NULL)")
	case IsNotNull:
		p.around("(", e.Args[0], " IS NOT NULL)")
	case In, NotIn:
		b.WriteByte('(')
		p.expr(e.Args[0])
		if e.Kind == NotIn {
			b.WriteString(" NOT")
		}
		p.list(" IN (", e.Args[1:], ", ", "))")
	case Coalesce:
		p.coalesce(e)
	case Distinct:
		p.list("(", e.Args, " IS DISTINCT FROM ", ")")
	case NotDistinct:
		p.list("(", e.Args, " IS NOT DISTINCT FROM ", ")")
	case Opaque:
		p.opaque(e)
	default:
		panic("expr: node of unknown kind " + string(e.Kind))
	}
}

func (p printer) around(before string, e *Expr, after string) {
	p.b.WriteString(before)
	p.expr(e)
	p.b.WriteString(after)
}

func (p printer) list(before string, es []*Expr, between, after string) {
	p.b.WriteString(before)
	for i, e := range es {
		if i > 0 {
			p.b.WriteString(between)
		}
		p.expr(e)
	}
	p.b.WriteString(after)
}

// call prints a function call. A DECIMAL result is cast to its type: bound decimal arithmetic has
// its arguments widened already, and binding the printed form would widen the result once more.
func (p printer) call(e *Expr) {
	decimal := e.Type.Kind == column.Decimal
	if decimal {
		p.b.WriteString("CAST(")
	}
	switch {
	case infix[e.Func] && len(e.Args) == 2:
		p.list("(", e.Args, " "+e.Func+" ", ")")
	case e.Func == "-" && len(e.Args) == 1:
		p.around("(- ", e.Args[0], ")")
	default:
		p.list(functionName(e.Func)+"(", e.Args, ", ", ")")
	}
	if decimal {
		p.b.WriteString(" AS " + e.Type.String() + ")")
	}
}

// functionName returns a function's name, quoted when it would not be read as one.
func functionName(name string) string {
	plain := name != "" && !grammarNames[name]
	for i := 0; i < len(name) && plain; i++ {
		c := name[i]
		plain = c >= 'a' && c <= 'z' || c == '_' || i > 0 && c >= '0' && c <= '9'
	}
	if plain {
		return name
	}
	return `"` + strings.ReplaceAll(name, `"`, `""`) + `"`
}

// opaque prints the text of an Opaque node with {0}, {1}, ... replaced by the arguments.
func (p printer) opaque(e *Expr) {
	s := e.Text
	for {
		i := strings.IndexByte(s, '{')
		if i < 0 {
			break
		}
		j := i + 1
		for j < len(s) && s[j] >= '0' && s[j] <= '9' {
			j++
		}
		arg, err := strconv.Atoi(s[i+1 : j])
		if j == len(s) || s[j] != '}' || err != nil || arg >= len(e.Args) {
			p.b.WriteString(s[:i+1])
			s = s[i+1:]
			continue
		}
		p.b.WriteString(s[:i])
		p.expr(e.Args[arg])
		s = s[j+1:]
	}
	p.b.WriteString(s)
}

// conjunction prints an AND or OR of which an argument decides even when another one fails: DuckDB's own fails then,
// or does not, by the order in which it takes the arguments.
func (p printer) conjunction(e *Expr, between, deciding string) {
	if p.people || !Fallible(e) {
		p.list("(", e.Args, between, ")")
		return
	}
	p.b.WriteString("CASE")
	for _, a := range e.Args {
		if Fallible(a) {
			p.around(" WHEN (TRY(", a, ") = "+deciding+")")
		} else {
			p.around(" WHEN (", a, " = "+deciding+")")
		}
		p.b.WriteString(" THEN " + deciding)
	}
	p.list(" ELSE (", e.Args, between, ") END")
}

// coalesce prints a COALESCE as a CASE: DuckDB 1.5 reads outside of memory, and may crash, where TRY goes over the
// rows of a COALESCE one by one.
func (p printer) coalesce(e *Expr) {
	last := len(e.Args) - 1
	p.b.WriteString("CASE")
	for _, a := range e.Args[:last] {
		p.around(" WHEN ", a, " IS NOT NULL")
		p.around(" THEN ", a, "")
	}
	p.around(" ELSE ", e.Args[last], " END")
}
