package lint

import (
	"path"
	"slices"
	"strings"
)

// checkImports holds the file's imports against the table and the gates.
func checkImports(r *report, s *source) {
	for _, spec := range s.ast.Imports {
		p := importPath(spec)
		switch first, _, _ := strings.Cut(p, "/"); {
		case first == module:
			checkOurs(r, s, s.at(spec), strings.TrimPrefix(p, module+"/"))
		case p == "C" || strings.Contains(first, "."):
			checkGate(r, s, s.at(spec), p)
		case path.Dir(p) == "math" && path.Base(p) == "rand", p == "math/rand/v2":
			if !s.test && s.dir != "nexmark" && !under(s.dir, "cmd") {
				r.add(s.at(spec), "take what must be random as an argument, use crypto/rand for seeds, or a counter",
					"%s imports %s: results must be functions of the log", s.dir, p)
			}
		}
	}
}

func checkOurs(r *report, s *source, at, target string) {
	if s.dir == target && strings.HasSuffix(s.path, "_test.go") {
		return
	}
	if testPackage(target) {
		if !s.test {
			r.add(at, "move what is shared out of the package for tests", "%s imports %s, which is for tests", s.dir, target)
		}
		return
	}
	for _, p := range packages {
		if p.path != s.dir {
			continue
		}
		if slices.Contains(p.imports, all) || slices.Contains(p.imports, target) || s.test && slices.Contains(p.tests, target) {
			return
		}
		if base := path.Base(s.path); (base == "errors.go" || base == "errors_test.go") && slices.Contains(p.errors, target) {
			return
		}
		r.add(at, "declare the few methods that are needed here, or move the code to the layer that may; the table is in cmd/lint/table_test.go",
			"%s may not import %s", s.dir, target)
		return
	}
}

func checkGate(r *report, s *source, at, p string) {
	best := -1
	for i, g := range gates {
		if under(p, g.module) && (best < 0 || len(g.module) > len(gates[best].module)) {
			best = i
		}
	}
	if best < 0 {
		r.add(at, "use what the module has already, or give the new one a line in gates in cmd/lint/table_test.go",
			"%s imports %s, which has no gate", s.dir, p)
		return
	}
	g := gates[best]
	if s.test && g.inTests || slices.Contains(g.in, s.dir) || slices.Contains(g.in, "cmd") && under(s.dir, "cmd") {
		return
	}
	where := "in " + strings.Join(g.in, ", ")
	if len(g.in) == 0 {
		where = "in tests"
	}
	r.add(at, "call the package that wraps it: it is used only "+where, "%s may not import %s", s.dir, p)
}

// checkPlaces holds the packages against the table and the root's folders against theirs.
func checkPlaces(r *report, files []*source, top []string) {
	for _, name := range top {
		if !slices.Contains(folders, name) {
			r.add(name, "move it below one of "+strings.Join(folders, ", "), "folder %s is not one of the root's", name)
		}
	}
	seen := map[string]bool{}
	for _, s := range files {
		if seen[s.dir] {
			continue
		}
		seen[s.dir] = true
		known := false
		for _, p := range packages {
			known = known || p.path == s.dir
		}
		if !known {
			r.add(s.dir, "give it a line in packages in cmd/lint/table_test.go, or put the code into a package that is there",
				"package %s is not in the import table", s.dir)
		}
	}
}
