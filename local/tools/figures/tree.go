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

// A tree is what the Go files below a folder hold.
type tree struct {
	packages map[string]*folder // by folder
	files    []file
	contexts []string // the positions of contexts that structs hold
}

// A folder is a package with its tests, those of the external package among them.
type folder struct {
	files, lines int  // without tests
	tests        int  // files
	kit          bool // its own files are what tests of others call
	errorChecks  int  // calls of errors.Is, As and AsType outside of tests

	imports  map[string]bool            // of packages of the module, by folder
	exported int                        // functions, types, constants and variables
	methods  map[string]map[string]bool // exported ones, by the name of their type
	embeds   map[string][]string        // the types that a struct embeds: ".Name" of its own package, or folder.Name
}

// A file is one Go file, counted in lines. A line with code and a comment counts as both.
type file struct {
	name           string
	lines          int
	written        int // lines that are not blank
	comments       int
	test, external bool // a test, and one in a package of its own
}

// measure reads all Go files of a tree but those that a program wrote.
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

// add counts what one file holds.
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

// selects reports whether an expression is one of the names of a package, such as errors.Is. A
// generic function may have its type arguments.
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
