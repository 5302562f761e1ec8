package operations_test

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
	"tiltyard/shared/protocol/accessapi"
	"tiltyard/shared/protocol/dataapi"
	"tiltyard/shared/protocol/namespaceapi"
	"tiltyard/shared/protocol/queryapi"
	"tiltyard/shared/protocol/tableapi"
	"tiltyard/shared/protocol/transactionapi"
	"tiltyard/shared/protocol/versionapi"
)

// enumerations has a check for each enumeration of the groups, by its type.
var enumerations = map[string]func(*testing.T){
	"protocol.CreateMode":              enumeration(protocol.CreateModeOverwrite),
	"tableapi.RegisterMode":            enumeration(tableapi.RegisterModeOverwrite),
	"dataapi.InsertMode":               enumeration(dataapi.InsertModeOverwrite),
	"accessapi.Object":                 enumeration(accessapi.Namespace),
	"namespaceapi.DropMode":            enumeration(namespaceapi.DropModeSkip),
	"namespaceapi.DropBehavior":        enumeration(namespaceapi.DropBehaviorCascade),
	"protocol.DistanceType":            enumeration(protocol.DistanceHamming),
	"transactionapi.Status":            enumeration(transactionapi.Canceled),
	"transactionapi.SetPropertyMode":   enumeration(transactionapi.SetPropertySkip),
	"transactionapi.UnsetPropertyMode": enumeration(transactionapi.UnsetPropertyFail),
	"versionapi.NamingScheme":          enumeration(versionapi.NamingSchemeV1),
	"queryapi.TextOperator":            enumeration(queryapi.TextAnd),
	"queryapi.Description":             enumeration(queryapi.DescribeParameters),
	"queryapi.Granularity":             enumeration(queryapi.GranularityElement),
	"queryapi.RerankMethod":            enumeration(queryapi.RerankRRF),
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

func TestEnumerationsAreChecked(t *testing.T) {
	sources, err := filepath.Glob("../*.go")
	if err != nil {
		t.Fatal(err)
	}
	groups, err := filepath.Glob("../*/*.go")
	if err != nil {
		t.Fatal(err)
	}
	sources = append(sources, groups...)
	var parsed []string
	for _, source := range sources {
		file, err := parser.ParseFile(token.NewFileSet(), source, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Recv != nil && f.Name.Name == "UnmarshalText" {
				if name := f.Recv.List[0].Type.(*ast.StarExpr).X.(*ast.Ident).Name; name != "Concealed" { // any text
					parsed = append(parsed, file.Name.Name+"."+name)
				}
			}
		}
	}
	slices.Sort(parsed)
	if checked := slices.Sorted(maps.Keys(enumerations)); !slices.Equal(parsed, checked) {
		t.Errorf("the packages parse %v; checked are %v", parsed, checked)
	}
}

func TestEnumerationsInAnySpelling(t *testing.T) {
	for text, want := range map[string]protocol.CreateMode{
		"Create": protocol.CreateModeCreate, "create": protocol.CreateModeCreate, "ExistOk": protocol.CreateModeExistOk, "exist_ok": protocol.CreateModeExistOk,
		"EXIST_OK": protocol.CreateModeExistOk, "existok": protocol.CreateModeExistOk, "overwrite": protocol.CreateModeOverwrite,
	} {
		var got protocol.CreateMode
		if err := got.UnmarshalText([]byte(text)); err != nil || got != want {
			t.Errorf("%q is %v, %v; want %v", text, got, err, want)
		}
	}
	for text, want := range map[string]protocol.DistanceType{
		"L2": protocol.DistanceL2, "euclidean": protocol.DistanceL2, "Cosine": protocol.DistanceCosine, "dot": protocol.DistanceDot, "inner_product": protocol.DistanceDot, "HAMMING": protocol.DistanceHamming,
	} {
		var got protocol.DistanceType
		if err := got.UnmarshalText([]byte(text)); err != nil || got != want {
			t.Errorf("%q is %v, %v; want %v", text, got, err, want)
		}
	}
	for _, target := range []interface{ UnmarshalText([]byte) error }{
		new(protocol.CreateMode), new(tableapi.RegisterMode), new(dataapi.InsertMode), new(namespaceapi.DropMode), new(namespaceapi.DropBehavior), new(protocol.DistanceType), new(queryapi.TextOperator),
	} {
		if err := target.UnmarshalText(nil); err != nil {
			t.Errorf("%T refuses no text: %v", target, err)
		}
		for _, text := range []string{"nothing", " create", "cre-ate"} {
			if err := target.UnmarshalText([]byte(text)); protocol.CodeOf(err) != protocol.InvalidInput {
				t.Errorf("%T accepts %q: %v", target, text, err)
			}
		}
	}
	if got := namespaceapi.DropBehavior(9).String(); got != "invalid" {
		t.Errorf("a value of no meaning is %q", got)
	}
}
