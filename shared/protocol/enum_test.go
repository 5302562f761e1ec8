package protocol_test

import (
	"encoding"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"path/filepath"
	"slices"
	"testing"

	"tiltyard/shared/protocol"
)

// enumerations has a check for each enumeration of the package, by the name of its type.
var enumerations = map[string]func(*testing.T){
	"CreateMode":        enumeration(protocol.CreateModeOverwrite),
	"RegisterMode":      enumeration(protocol.RegisterModeOverwrite),
	"InsertMode":        enumeration(protocol.InsertModeOverwrite),
	"AccessObject":      enumeration(protocol.AccessNamespace),
	"DropMode":          enumeration(protocol.DropModeSkip),
	"DropBehavior":      enumeration(protocol.DropBehaviorCascade),
	"DistanceType":      enumeration(protocol.DistanceHamming),
	"TransactionStatus": enumeration(protocol.TransactionCanceled),
	"SetPropertyMode":   enumeration(protocol.SetPropertySkip),
	"UnsetPropertyMode": enumeration(protocol.UnsetPropertyFail),
	"NamingScheme":      enumeration(protocol.NamingSchemeV1),
	"TextOperator":      enumeration(protocol.TextAnd),
	"Granularity":       enumeration(protocol.GranularityElement),
}

func TestEnumerationsSurviveARoundTrip(t *testing.T) {
	for name, check := range enumerations {
		t.Run(name, check)
	}
}

// enumeration returns the check of an enumeration whose last value is given.
func enumeration[T interface {
	~uint8
	fmt.Stringer
	encoding.TextMarshaler
}, P interface {
	*T
	encoding.TextUnmarshaler
}](last T) func(*testing.T) {
	return func(t *testing.T) {
		for value := T(0); value <= last; value++ {
			text, err := json.Marshal(value)
			if want := `"` + value.String() + `"`; err != nil || string(text) != want {
				t.Errorf("value %d: got %s, %v; want %s", value, text, err, want)
			}
			got := last + 1 // any other value
			if err := json.Unmarshal(text, &got); err != nil || got != value {
				t.Errorf("%s: got value %d, %v; want %d", text, got, err, value)
			}
		}
		if text, err := (last + 1).MarshalText(); protocol.CodeOf(err) != protocol.InvalidInput {
			t.Errorf("the value after the last: got %q, %v; want InvalidInput", text, err)
		}
		var got T
		if err := P(&got).UnmarshalText([]byte("nothing")); protocol.CodeOf(err) != protocol.InvalidInput {
			t.Errorf("an unknown spelling: got value %d, %v; want InvalidInput", got, err)
		}
	}
}

func TestEachEnumerationIsChecked(t *testing.T) {
	sources, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	var parsed []string
	for _, source := range sources {
		file, err := parser.ParseFile(token.NewFileSet(), source, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Recv != nil && f.Name.Name == "UnmarshalText" {
				if name := f.Recv.List[0].Type.(*ast.StarExpr).X.(*ast.Ident).Name; name != "Concealed" { // any text
					parsed = append(parsed, name)
				}
			}
		}
	}
	slices.Sort(parsed)
	if checked := slices.Sorted(maps.Keys(enumerations)); !slices.Equal(parsed, checked) {
		t.Errorf("the package parses %v; checked are %v", parsed, checked)
	}
}
