package main

import (
	"cmp"
	"go/ast"
	"maps"
	"path"
	"slices"
	"strings"
)

// module is the prefix of import paths of the main module.
const module = "tiltyard/"

// facades are central types that tend to gather methods, as folder and name.
var facades = []string{"shared/catalog.Catalog", "shared/engine.Table", "shared/lance/dataset.Table"}

// addStructure counts the imports of module packages, the exported names and the methods in one
// file.
func (p *folder) addStructure(syntax *ast.File) {
	for _, i := range syntax.Imports {
		if name, ok := strings.CutPrefix(strings.Trim(i.Path.Value, `"`), module); ok {
			p.imports[name] = true
		}
	}
	for _, d := range syntax.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			switch {
			case !d.Name.IsExported():
			case d.Recv == nil:
				p.exported++
			default:
				of := receiver(d.Recv.List[0].Type)
				if p.methods[of] == nil {
					p.methods[of] = map[string]bool{}
				}
				p.methods[of][d.Name.Name] = true
			}
		case *ast.GenDecl:
			for _, s := range d.Specs {
				p.exported += exportedNames(s)
				p.addEmbedded(s, syntax.Imports)
			}
		}
	}
}

// addEmbedded records the module types that a struct embeds, because it also has their methods.
func (p *folder) addEmbedded(s ast.Spec, imports []*ast.ImportSpec) {
	t, ok := s.(*ast.TypeSpec)
	if !ok {
		return
	}
	fields, ok := t.Type.(*ast.StructType)
	if !ok {
		return
	}
	for _, f := range fields.Fields.List {
		if len(f.Names) > 0 {
			continue
		}
		of := f.Type
		if star, ok := of.(*ast.StarExpr); ok {
			of = star.X
		}
		switch of := of.(type) {
		case *ast.Ident:
			p.embeds[t.Name.Name] = append(p.embeds[t.Name.Name], "."+of.Name)
		case *ast.SelectorExpr:
			pkg, _ := of.X.(*ast.Ident)
			for _, i := range imports {
				name, ours := strings.CutPrefix(strings.Trim(i.Path.Value, `"`), module)
				if ours && pkg != nil && i.Name == nil && path.Base(name) == pkg.Name {
					p.embeds[t.Name.Name] = append(p.embeds[t.Name.Name], name+"."+of.Sel.Name)
				}
			}
		}
	}
}

// methodsOf adds the exported methods of a type to found, including methods of embedded structs.
func (t *tree) methodsOf(folder, name string, found map[string]bool) {
	p := t.packages[folder]
	if p == nil {
		return
	}
	for method := range p.methods[name] {
		found[method] = true
	}
	for _, embedded := range p.embeds[name] {
		where, of, _ := strings.Cut(embedded, ".")
		t.methodsOf(cmp.Or(where, folder), of, found)
	}
}

// receiver returns the name of a method's receiver type.
func receiver(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.StarExpr:
		return receiver(e.X)
	case *ast.IndexExpr:
		return receiver(e.X)
	case *ast.IndexListExpr:
		return receiver(e.X)
	case *ast.Ident:
		return e.Name
	}
	return ""
}

// exportedNames counts the exported names that a specification declares.
func exportedNames(s ast.Spec) int {
	switch s := s.(type) {
	case *ast.TypeSpec:
		if s.Name.IsExported() {
			return 1
		}
	case *ast.ValueSpec:
		n := 0
		for _, name := range s.Names {
			if name.IsExported() {
				n++
			}
		}
		return n
	}
	return 0
}

// structure computes the figures of imports and of the breadth of packages and types.
func (t *tree) structure() []figure {
	chain := t.longestChain()
	imports, names := map[string]int{}, map[string]int{}
	for name, p := range t.packages {
		if p.files == 0 {
			continue
		}
		imports[name] = len(p.imports)
		if name == "shared/protocol" || strings.HasPrefix(name, "shared/protocol/") {
			names[name] = p.exported
		}
	}
	folders, arrows, circle := t.wings()
	all := []figure{
		atMost("folders below shared", folders, 17, ""),
		atMost("arrows between them", arrows, 110, ""),
		atMost("folders below shared in a circle of imports", len(circle), 0, strings.Join(circle, ", ")),
		atMost("longest chain of imports", len(chain), 13, strings.Join(chain, " > ")),
		atMost("imports of our packages, nine in ten", nineInTen(imports), 8, largest(imports)),
		atMost("exported names of a package of the protocol", greatest(names), 250, largest(names)),
	}
	for _, facade := range facades {
		folder, name := path.Split(facade)
		pkg, name, _ := strings.Cut(name, ".")
		if t.packages[folder+pkg] != nil {
			found := map[string]bool{}
			t.methodsOf(folder+pkg, name, found)
			all = append(all, atMost("methods of "+pkg+"."+name, len(found), 40, ""))
		}
	}
	return all
}

// longestChain returns one longest chain of packages in which each package imports the next.
func (t *tree) longestChain() []string {
	known := map[string][]string{}
	var from func(name string) []string
	from = func(name string) []string {
		if chain, ok := known[name]; ok {
			return chain
		}
		p := t.packages[name]
		if p == nil {
			return nil
		}
		var longest []string
		for _, next := range slices.Sorted(maps.Keys(p.imports)) {
			if chain := from(next); len(chain) > len(longest) {
				longest = chain
			}
		}
		known[name] = append([]string{name}, longest...)
		return known[name]
	}
	var longest []string
	for _, name := range slices.Sorted(maps.Keys(t.packages)) {
		if chain := from(name); len(chain) > len(longest) {
			longest = chain
		}
	}
	return longest
}

// wings returns the number of folders below shared, the number of their pairs with an import from the first to the second,
// and the folders of an import cycle.
func (t *tree) wings() (folders, arrows int, circle []string) {
	imports := map[string]map[string]bool{}
	for name, p := range t.packages {
		from, ok := wing(name)
		if !ok {
			continue
		}
		if imports[from] == nil {
			imports[from] = map[string]bool{}
		}
		for other := range p.imports {
			if to, ok := wing(other); ok && to != from {
				imports[from][to] = true
			}
		}
	}
	for _, to := range imports {
		arrows += len(to)
	}
	for from := range imports {
		if reaches(imports, from, from, map[string]bool{}) {
			circle = append(circle, from)
		}
	}
	slices.Sort(circle)
	return len(imports), arrows, circle
}

// wing returns the folder below shared that contains a package.
func wing(name string) (string, bool) {
	rest, ok := strings.CutPrefix(name, "shared/")
	folder, _, _ := strings.Cut(rest, "/")
	return folder, ok
}

// reaches reports whether a chain of imports leads from one folder to another.
func reaches(imports map[string]map[string]bool, from, to string, seen map[string]bool) bool {
	for next := range imports[from] {
		if next == to {
			return true
		}
		if !seen[next] {
			seen[next] = true
			if reaches(imports, next, to, seen) {
				return true
			}
		}
	}
	return false
}

// greatest returns the greatest count.
func greatest(counts map[string]int) int {
	most := 0
	for _, n := range counts {
		most = max(most, n)
	}
	return most
}
