package lint

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
)

// module is our module's path; root is its folder.
const (
	module = "tidemill"
	root   = "../.."
)

// source is one Go file.
type source struct {
	path  string // from the root, with slashes
	dir   string
	test  bool // a test, or in a package for tests
	lines int
	set   *token.FileSet
	ast   *ast.File
}

func parse(name string, text []byte) (*source, error) {
	s := &source{path: name, dir: path.Dir(name), set: token.NewFileSet()}
	s.test = strings.HasSuffix(name, "_test.go") || testPackage(s.dir)
	s.lines = strings.Count(string(text), "\n")
	var err error
	s.ast, err = parser.ParseFile(s.set, name, text, parser.ParseComments|parser.SkipObjectResolution)
	return s, err
}

// testPackage reports whether a package is for tests only, by its name.
func testPackage(dir string) bool { return strings.HasSuffix(dir, "test") }

// under reports whether a package is in a folder or one below it.
func under(dir, folder string) bool { return dir == folder || strings.HasPrefix(dir, folder+"/") }

// readTree returns the Go files of the repository and the names of the root's folders.
func readTree() (files []*source, top []string, err error) {
	err = filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		if err != nil || name == root {
			return err
		}
		rel := filepath.ToSlash(strings.TrimPrefix(name, root+string(filepath.Separator)))
		switch {
		case d.IsDir() && (strings.HasPrefix(d.Name(), ".") || d.Name() == "testdata"):
			return fs.SkipDir
		case d.IsDir():
			if !strings.Contains(rel, "/") {
				top = append(top, rel)
			}
			return nil
		case !strings.HasSuffix(rel, ".go"):
			return nil
		}
		text, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		f, err := parse(rel, text)
		files = append(files, f)
		return err
	})
	return files, top, err
}

// finding is a broken rule, where, and what to do about it.
type finding struct {
	at, what, remedy string
}

func (f finding) String() string { return fmt.Sprintf("%s: %s; %s", f.at, f.what, f.remedy) }

// report collects findings.
type report struct{ findings []finding }

func (r *report) add(at, remedy, format string, args ...any) {
	r.findings = append(r.findings, finding{at, fmt.Sprintf(format, args...), remedy})
}

// at returns the place of a node as file and line.
func (s *source) at(n ast.Node) string {
	return fmt.Sprintf("%s:%d", s.path, s.set.Position(n.Pos()).Line)
}

// imported returns the name under which the file imports a package, or "".
func (s *source) imported(paths ...string) string {
	for _, spec := range s.ast.Imports {
		got := importPath(spec)
		for _, p := range paths {
			if got != p {
				continue
			}
			if spec.Name != nil {
				return spec.Name.Name
			}
			return path.Base(p)
		}
	}
	return ""
}

func importPath(spec *ast.ImportSpec) string {
	p, err := strconv.Unquote(spec.Path.Value)
	if err != nil {
		return spec.Path.Value // the parser has taken it, so it has quotes
	}
	return p
}
