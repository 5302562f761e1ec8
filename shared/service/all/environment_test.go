package all_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tiltyard/shared/protocol/operations"
)

// Configuration is read in one place. Tests may read the environment, and so may the
// gateway's library, which the platform configures, and what stands in for the platform. The examples of
// functions see the variables that their declarations give them, and the command line those of its user. A
// server learns from its environment which socket it was started with, and the clients of AWS what each SDK reads there.
func TestBootAloneReadsTheEnvironment(t *testing.T) {
	const root = "../../.."
	configured := []string{root + "/shared/boot", root + "/local/standins/lambda", root + "/local/tools/functionbench", root + "/local/guest", root + "/local/server/handover", root + "/local/command", root + "/shared/storage/cloud"}
	files := 0
	err := filepath.WalkDir(root, func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		hidden := strings.HasPrefix(entry.Name(), ".") && name != root
		if entry.IsDir() && (hidden || slices.Contains(configured, filepath.ToSlash(name))) {
			return fs.SkipDir
		}
		if !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			return nil
		}
		files++
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(node ast.Node) bool {
			if call, ok := node.(*ast.SelectorExpr); ok && isEnvironment(call) {
				t.Errorf("%s uses os.%s", name, call.Sel.Name)
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if files < 50 {
		t.Errorf("looked at %d files, want all", files)
	}
}

func isEnvironment(call *ast.SelectorExpr) bool {
	room, ok := call.X.(*ast.Ident)
	if !ok || room.Name != "os" && room.Name != "syscall" {
		return false
	}
	switch call.Sel.Name {
	case "Getenv", "LookupEnv", "Environ", "ExpandEnv":
		return true
	}
	return false
}

// Programs that list the stores of their tables themselves would differ in what they forget.
func TestMainsTakeStoresFromTheEnvironment(t *testing.T) {
	const root = "../../.."
	mains, err := filepath.Glob(root + "/functions/*/main.go")
	if err != nil || len(mains) < 10 {
		t.Fatalf("found %d mains of functions, error %v; want all", len(mains), err)
	}
	for _, name := range append(mains, root+"/local/server/serve.go", root+"/local/server/work.go") {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(node ast.Node) bool {
			literal, ok := node.(*ast.CompositeLit)
			if !ok {
				return true
			}
			if made, ok := literal.Type.(*ast.SelectorExpr); ok && (made.Sel.Name == "Stores" || made.Sel.Name == "Keeper") {
				t.Errorf("%s lists the fields of %s", name, made.Sel.Name)
			}
			return true
		})
	}
}

// The main of a function joins the services of the groups of its operations, and no others.
func TestMainsServeTheGroupsOfTheirOperations(t *testing.T) {
	want := map[string]map[string]bool{}
	for _, op := range operations.All {
		if want[op.Function] == nil {
			want[op.Function] = map[string]bool{}
		}
		want[op.Function][string(op.Group)] = true
	}
	for function, groups := range want {
		file, err := parser.ParseFile(token.NewFileSet(), "../../../functions/"+function+"/main.go", nil, parser.ImportsOnly)
		if err != nil {
			t.Fatal(err)
		}
		got := map[string]bool{}
		for _, imported := range file.Imports {
			if group, ok := strings.CutPrefix(strings.Trim(imported.Path.Value, `"`), "tiltyard/shared/service/"); ok {
				got[group] = true
			}
		}
		if diff := cmp.Diff(groups, got); diff != "" {
			t.Errorf("functions/%s (-groups of its operations +services):\n%s", function, diff)
		}
	}
}
