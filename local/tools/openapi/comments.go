package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// comments contains source comments by the names of types on the wire: the comment of each type, the comments of its
// fields under Type.Field, and the values of the constants of each string type.
type comments struct {
	text      map[string]string
	constants map[string][]string
}

// readComments reads the Go files of folders, which may be patterns, except tests.
func readComments(folders ...string) (*comments, error) {
	c := &comments{text: map[string]string{}, constants: map[string][]string{}}
	for _, folder := range folders {
		paths, err := filepath.Glob(filepath.Join(folder, "*.go"))
		if err != nil {
			return nil, err
		}
		for _, path := range paths {
			if strings.HasSuffix(path, "_test.go") {
				continue
			}
			file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ParseComments|parser.SkipObjectResolution)
			if err != nil {
				return nil, err
			}
			for _, declaration := range file.Decls {
				if general, ok := declaration.(*ast.GenDecl); ok {
					c.add(file.Name.Name, general)
				}
			}
		}
	}
	return c, nil
}

// add stores the comments of a declaration in a package.
func (c *comments) add(in string, declaration *ast.GenDecl) {
	for _, spec := range declaration.Specs {
		switch spec := spec.(type) {
		case *ast.TypeSpec:
			doc := spec.Doc
			if doc == nil {
				doc = declaration.Doc
			}
			name := wireName(in + "." + spec.Name.Name)
			c.text[name] = onTheWire(in, renamed(doc.Text(), spec.Name.Name, name))
			if fields, ok := spec.Type.(*ast.StructType); ok {
				c.addFields(in, name, fields)
			}
		case *ast.ValueSpec:
			c.addConstant(in, spec)
		}
	}
}

func (c *comments) addFields(in, name string, fields *ast.StructType) {
	for _, field := range fields.Fields.List {
		text := field.Doc.Text()
		if text == "" {
			text = field.Comment.Text()
		}
		for _, ident := range field.Names {
			c.text[name+"."+ident.Name] = onTheWire(in, text)
		}
	}
}

// addConstant stores an exported constant of a string type, such as JobDone JobState = "DONE".
func (c *comments) addConstant(in string, spec *ast.ValueSpec) {
	typ, ok := spec.Type.(*ast.Ident)
	if !ok || len(spec.Values) != 1 || !spec.Names[0].IsExported() {
		return
	}
	if literal, ok := spec.Values[0].(*ast.BasicLit); ok && literal.Kind == token.STRING {
		if value, err := strconv.Unquote(literal.Value); err == nil {
			name := wireName(in + "." + typ.Name)
			c.constants[name] = append(c.constants[name], value)
		}
	}
}

var (
	reference = regexp.MustCompile(`[:;,]? (see|checked by) \[[^\]]+\]`)
	link      = regexp.MustCompile(`\[(\*?[A-Z][A-Za-z.]*)\]`)
	word      = regexp.MustCompile(`Lance Namespace|[A-Za-z]+`)
	source    = regexp.MustCompile(` Source: .*`)
	breaks    = regexp.MustCompile(`\n\n+`)
)

// describe returns a comment in terms of the wire: Go field names become names in JSON, and nil
// becomes absent. It returns "" if there is no comment.
func (c *comments) describe(key string, names map[string]string) string {
	text := reference.ReplaceAllString(strings.ReplaceAll(c.text[key], "\n[", " ["), "")
	text = strings.ReplaceAll(text, "[Empty]", "empty")
	text = source.ReplaceAllString(text, "")
	text = link.ReplaceAllString(text, "$1")
	text = word.ReplaceAllStringFunc(text, func(word string) string {
		switch {
		case word == "Lance Namespace":
			return word
		case names[word] != "":
			return "`" + names[word] + "`"
		case word == "nil":
			return "absent"
		case word == "Nil":
			return "Absent"
		}
		return word
	})
	return sentence(paragraphs(text))
}

// without removes the sentences of a text that contain one of the words.
func without(text string, words []string) string {
	var paragraphs []string
	for paragraph := range strings.SplitSeq(text, "\n\n") {
		kept := slices.DeleteFunc(strings.Split(paragraph, ". "), func(part string) bool {
			return slices.ContainsFunc(word.FindAllString(part, -1), func(said string) bool { return slices.Contains(words, said) })
		})
		if len(kept) > 0 {
			paragraphs = append(paragraphs, sentence(strings.Join(kept, ". ")))
		}
	}
	return strings.Join(paragraphs, "\n\n")
}

// paragraphs returns a text with each paragraph on one line.
func paragraphs(text string) string {
	all := breaks.Split(strings.TrimSpace(text), -1)
	for i, paragraph := range all {
		all[i] = strings.Join(strings.Fields(paragraph), " ")
	}
	return strings.Join(all, "\n\n")
}

// sentence capitalizes a text and ends it with a full stop.
func sentence(text string) string {
	if text == "" {
		return ""
	}
	first, size := utf8.DecodeRuneInString(text)
	text = string(unicode.ToUpper(first)) + text[size:]
	if !strings.HasSuffix(text, ".") {
		text += "."
	}
	return text
}
