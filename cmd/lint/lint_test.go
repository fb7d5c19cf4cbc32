package lint

import (
	"slices"
	"strings"
	"testing"
)

// check applies every rule.
func check(files []*source, top []string) []finding {
	r := &report{}
	checkPlaces(r, files, top)
	checkPackageComments(r, files)
	checkLongFiles(r, files)
	for _, s := range files {
		checkImports(r, s)
		checkCalls(r, s)
		checkComments(r, s)
		checkFile(r, s)
	}
	return r.findings
}

// TestTree applies the rules to the repository.
func TestTree(t *testing.T) {
	files, top, err := readTree()
	if err != nil {
		t.Fatal(err)
	}
	if len(files) == 0 || !slices.Contains(top, "cmd") {
		t.Fatalf("%d files, folders %v", len(files), top)
	}
	for _, f := range check(files, top) {
		t.Error(f)
	}
}

// TestTable: every package has one line, and names only packages above it.
func TestTable(t *testing.T) {
	above := map[string]bool{all: true}
	for _, p := range packages {
		if above[p.path] {
			t.Errorf("%s stands twice", p.path)
		}
		for _, name := range slices.Concat(p.imports, p.errors) {
			if !above[name] {
				t.Errorf("%s names %s, which is not above it", p.path, name)
			}
		}
		above[p.path] = true
		if first, _, _ := strings.Cut(p.path, "/"); !slices.Contains(folders, first) {
			t.Errorf("%s is in no folder of the root", p.path)
		}
	}
	for _, p := range packages {
		for _, name := range p.tests {
			if !above[name] || slices.Contains(p.imports, name) {
				t.Errorf("the tests of %s name %s, which is no package or is in imports", p.path, name)
			}
		}
	}
	for _, g := range gates {
		for _, name := range g.in {
			if first, _, _ := strings.Cut(name, "/"); !slices.Contains(folders, first) {
				t.Errorf("the gate of %s names %s", g.module, name)
			}
		}
	}
}
