package lint

import (
	"go/ast"
	"go/token"
	"slices"
	"strings"
)

// timeless are the folders in which the clock is data.
var timeless = []string{"operators", "views", "state", "runtime/logrec", "runtime/commitlog"}

// guarded are the packages that read what strangers send.
var guarded = []string{"runtime/httpd", "runtime/decode"}

// checkCalls looks for calls and functions that are forbidden where the file is.
func checkCalls(r *report, s *source) {
	c := &calls{
		r: r, s: s,
		time: s.imported("time"), fmt: s.imported("fmt"), testing: s.imported("testing"),
		tests: map[string]bool{},
	}
	if c.testing != "" {
		ast.Inspect(s.ast, c.collectTests)
	}
	for _, d := range s.ast.Decls {
		fn, isFunc := d.(*ast.FuncDecl)
		if isFunc && fn.Recv == nil && fn.Name.Name == "init" {
			r.add(s.at(fn), "use a var declaration, or a line in an explicit list", "func init() runs behind the reader's back")
		}
		c.example = isFunc && s.test && strings.HasPrefix(fn.Name.Name, "Example")
		ast.Inspect(d, c.visit)
	}
}

type calls struct {
	r                  *report
	s                  *source
	time, fmt, testing string          // names under which they are imported
	tests              map[string]bool // names of parameters and fields of testing's types
	example            bool
}

// collectTests remembers the names that stand for a test or benchmark.
func (c *calls) collectTests(n ast.Node) bool {
	f, ok := n.(*ast.Field)
	if !ok {
		return true
	}
	t := f.Type
	if star, ok := t.(*ast.StarExpr); ok {
		t = star.X
	}
	if sel, ok := t.(*ast.SelectorExpr); ok && isName(sel.X, c.testing) {
		for _, name := range f.Names {
			c.tests[name.Name] = true
		}
		if len(f.Names) == 0 {
			c.tests[sel.Sel.Name] = true
		}
	}
	return true
}

func isName(e ast.Expr, name string) bool {
	id, ok := e.(*ast.Ident)
	return ok && name != "" && id.Name == name
}

func (c *calls) visit(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.SelectorExpr: // not only calls: a function value runs too
		c.selector(n)
	case *ast.CallExpr:
		id, ok := n.Fun.(*ast.Ident)
		switch {
		case ok && id.Name == "panic" && len(n.Args) == 1:
			if slices.Contains(guarded, c.s.dir) && !c.s.test && bareString(n.Args[0]) {
				c.r.add(c.s.at(n), "return an error for what came from outside, or panic with the values of the invariant that broke",
					"panic with a bare string")
			}
		case ok && (id.Name == "print" || id.Name == "println"):
			c.r.add(c.s.at(n), "log through the slog.Logger that was passed in, or return the text", "%s writes to the terminal", id.Name)
		}
	}
	return true
}

func (c *calls) selector(n *ast.SelectorExpr) {
	s, name := c.s, n.Sel.Name
	switch {
	case isName(n.X, c.time) && (name == "Now" || name == "Since" || name == "Until"):
		for _, folder := range timeless {
			if under(s.dir, folder) && !s.test {
				c.r.add(s.at(n), "take the time from the commit's record, or a clock as an argument", "time.%s in %s", name, s.dir)
			}
		}
	case isName(n.X, c.time) && name == "Sleep":
		if s.test && !strings.HasSuffix(s.path, "_synctest_test.go") {
			c.r.add(s.at(n), "wait for the event itself, inject a clock, or use testing/synctest in an x_synctest_test.go", "time.Sleep in a test")
		}
	case isName(n.X, c.fmt) && strings.HasPrefix(name, "Print"):
		if !under(s.dir, "cmd") && !c.example {
			c.r.add(s.at(n), "log through the slog.Logger that was passed in, return the text, or t.Log in a test", "fmt.%s outside cmd", name)
		}
	case name == "Skip" || name == "Skipf" || name == "SkipNow":
		if c.isTest(n.X) {
			c.r.add(s.at(n), "make the test run everywhere, or delete it", "%s skips a test", name)
		}
	}
}

// isTest reports whether e is a *testing.T or the like, by its name.
func (c *calls) isTest(e ast.Expr) bool {
	switch e := e.(type) {
	case *ast.Ident:
		return c.tests[e.Name]
	case *ast.SelectorExpr:
		return c.tests[e.Sel.Name]
	}
	return false
}

func bareString(e ast.Expr) bool {
	switch e := e.(type) {
	case *ast.BasicLit:
		return e.Kind == token.STRING
	case *ast.BinaryExpr:
		return bareString(e.X) && bareString(e.Y)
	case *ast.ParenExpr:
		return bareString(e.X)
	}
	return false
}
