package main

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"strings"
)

// A tree contains the measures of all Go files below a folder.
type tree struct {
	packages map[string]*folder // by folder
	files    []file
	contexts []string // positions of contexts in structs
}

// A folder contains the measures of a package and its tests, including external tests.
type folder struct {
	files, lines int  // without tests
	tests        int  // number of files
	kit          bool // the package supports tests of other packages
	errorChecks  int  // calls of errors.Is, As and AsType outside of tests

	imports  map[string]bool            // of packages of the module, by folder
	exported int                        // number of functions, types, constants and variables
	methods  map[string]map[string]bool // exported methods by the name of their type
	embeds   map[string][]string        // types that a struct embeds: ".Name" in its own package, or folder.Name
}

// A file contains the line counts of a Go file. A line with code and a comment counts as both.
type file struct {
	name           string
	lines          int
	written        int // lines that are not blank
	comments       int
	test, external bool // a test, and a test in an external package
}

// measure reads all Go files of a tree, except generated ones.
func measure(files fs.FS) (*tree, error) {
	t := &tree{packages: map[string]*folder{}}
	err := fs.WalkDir(files, ".", func(name string, entry fs.DirEntry, err error) error {
		switch base := path.Base(name); {
		case err != nil:
			return err
		case entry.IsDir() && name != "." && (base == "testdata" || base == "node_modules" || base[0] == '.' || base[0] == '_'):
			return fs.SkipDir
		case entry.IsDir() || path.Ext(name) != ".go":
			return nil
		}
		text, err := fs.ReadFile(files, name)
		if err != nil {
			return err
		}
		return t.add(name, text)
	})
	return t, err
}

// add counts one file.
func (t *tree) add(name string, text []byte) error {
	set := token.NewFileSet()
	syntax, err := parser.ParseFile(set, name, text, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	if ast.IsGenerated(syntax) {
		return nil
	}
	f := file{
		name:     name,
		test:     strings.HasSuffix(name, "_test.go"),
		external: strings.HasSuffix(syntax.Name.Name, "_test"),
	}
	for line := range bytes.Lines(text) {
		f.lines++
		if len(bytes.TrimSpace(line)) > 0 {
			f.written++
		}
	}
	for _, group := range syntax.Comments {
		f.comments += set.Position(group.End()).Line - set.Position(group.Pos()).Line + 1
	}
	t.files = append(t.files, f)

	p := t.packages[path.Dir(name)]
	if p == nil {
		p = &folder{imports: map[string]bool{}, methods: map[string]map[string]bool{}, embeds: map[string][]string{}}
		t.packages[path.Dir(name)] = p
	}
	if f.test {
		p.tests++
		return nil
	}
	p.files++
	p.lines += f.lines
	p.addStructure(syntax)
	for _, i := range syntax.Imports {
		p.kit = p.kit || i.Path.Value == `"testing"`
	}
	ast.Inspect(syntax, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CallExpr:
			if selects(n.Fun, "errors", "Is", "As", "AsType") {
				p.errorChecks++
			}
		case *ast.StructType:
			for _, field := range n.Fields.List {
				if selects(field.Type, "context", "Context") {
					t.contexts = append(t.contexts, set.Position(field.Pos()).String())
				}
			}
		}
		return true
	})
	return nil
}

// selects reports whether an expression is one of the given names of a package, such as errors.Is.
// It may be a generic function with type arguments.
func selects(e ast.Expr, pkg string, names ...string) bool {
	if index, ok := e.(*ast.IndexExpr); ok {
		e = index.X
	}
	selector, ok := e.(*ast.SelectorExpr)
	if !ok {
		return false
	}
	of, ok := selector.X.(*ast.Ident)
	if !ok || of.Name != pkg {
		return false
	}
	for _, name := range names {
		if selector.Sel.Name == name {
			return true
		}
	}
	return false
}
