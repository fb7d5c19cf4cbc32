package lint

import (
	"fmt"
	"go/ast"
	"path"
	"regexp"
	"strings"
)

// checkPackageComments looks for one in every package that has code.
func checkPackageComments(r *report, files []*source) {
	has, first := map[string]bool{}, map[string]*source{}
	var order []string
	for _, s := range files {
		if strings.HasSuffix(s.path, "_test.go") {
			continue
		}
		if first[s.dir] == nil {
			first[s.dir] = s
			order = append(order, s.dir)
		}
		if s.ast.Doc == nil {
			continue
		}
		has[s.dir] = true
		if want := packageStart(s); !strings.HasPrefix(s.ast.Doc.Text(), want+" ") {
			r.add(s.at(s.ast.Doc), "say what the package owns, promises and does not do",
				"the package comment begins otherwise than with %q", want)
		}
	}
	for _, dir := range order {
		if !has[dir] {
			r.add(dir, fmt.Sprintf("write one that begins with %q and says what it owns, promises and does not do", packageStart(first[dir])),
				"package %s has no package comment", dir)
		}
	}
}

func packageStart(s *source) string {
	if s.ast.Name.Name == "main" {
		return "Command " + path.Base(s.dir)
	}
	return "Package " + s.ast.Name.Name
}

// checkComments looks for exported names whose comment is missing or begins with another word. Members
// of a group of constants or variables may share the group's comment.
func checkComments(r *report, s *source) {
	if strings.HasSuffix(s.path, "_test.go") {
		return
	}
	for _, d := range s.ast.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if d.Name.IsExported() && (d.Recv == nil || ast.IsExported(receiver(d.Recv.List[0].Type))) {
				requireComment(r, s, d, d.Name.Name, d.Doc)
			}
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				checkSpec(r, s, d, spec)
			}
		}
	}
}

func checkSpec(r *report, s *source, d *ast.GenDecl, spec ast.Spec) {
	switch spec := spec.(type) {
	case *ast.TypeSpec:
		doc := spec.Doc
		if doc == nil && !d.Lparen.IsValid() {
			doc = d.Doc
		}
		if spec.Name.IsExported() {
			requireComment(r, s, spec, spec.Name.Name, doc)
		}
	case *ast.ValueSpec:
		for _, name := range spec.Names {
			switch {
			case !name.IsExported():
			case !d.Lparen.IsValid():
				requireComment(r, s, spec, spec.Names[0].Name, d.Doc)
			case d.Doc == nil && spec.Doc == nil && spec.Comment == nil:
				r.add(s.at(name), "comment it, or the group", "exported %s %s has no comment", d.Tok, name.Name)
			}
		}
	}
}

func requireComment(r *report, s *source, n ast.Node, name string, doc *ast.CommentGroup) {
	remedy := fmt.Sprintf("write a full sentence that begins with %q", name)
	switch text := doc.Text(); {
	case text == "":
		r.add(s.at(n), remedy, "exported %s has no comment", name)
	case strings.TrimSuffix(strings.TrimRight(strings.Fields(text)[0], ",:."), "'s") != name:
		r.add(s.at(n), remedy, "the comment of exported %s begins with another word", name)
	}
}

// receiver returns the name of a receiver's type.
func receiver(t ast.Expr) string {
	switch t := t.(type) {
	case *ast.Ident:
		return t.Name
	case *ast.StarExpr:
		return receiver(t.X)
	case *ast.IndexExpr:
		return receiver(t.X)
	case *ast.IndexListExpr:
		return receiver(t.X)
	}
	return ""
}

var (
	vagueName    = regexp.MustCompile(`^(misc|utils?|helpers?|common|stuff)$`)
	numberedName = regexp.MustCompile(`_v?[0-9]+$`)
)

// The limits on lines, beyond which a file is split by noun or has a reason in longFiles.
const (
	maxLines     = 600
	maxTestLines = 1000
)

// checkFile judges a file's name and size.
func checkFile(r *report, s *source) {
	base := strings.TrimSuffix(path.Base(s.path), ".go")
	base = strings.TrimSuffix(base, "_test")
	if vagueName.MatchString(base) {
		r.add(s.path, "name it after the noun that it holds", "the file's name says nothing")
	}
	if numberedName.MatchString(base) {
		r.add(s.path, "replace the old one in the same change, or name it after the noun that it holds", "the file's name ends in a number")
	}
	limit := maxLines
	if strings.HasSuffix(s.path, "_test.go") {
		limit = maxTestLines
	}
	if _, listed := longFiles[s.path]; s.lines > limit && !listed && !ast.IsGenerated(s.ast) {
		r.add(s.path, "split it by noun, or give the reason in longFiles in cmd/lint/table_test.go", "%d lines pass %d", s.lines, limit)
	}
}

// checkLongFiles finds reasons for files that no longer need one.
func checkLongFiles(r *report, files []*source) {
	lines := map[string]int{}
	for _, s := range files {
		lines[s.path] = s.lines
	}
	for name, reason := range longFiles {
		if lines[name] <= maxLines || reason == "" {
			r.add(name, "delete its line in longFiles", "%d lines with the reason %q", lines[name], reason)
		}
	}
}
