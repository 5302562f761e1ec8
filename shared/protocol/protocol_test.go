package protocol_test

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"tiltyard/shared/protocol"
)

func TestOperationsAgreeWithTheSpecification(t *testing.T) {
	f, err := os.Open("testdata/paths.txt")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	inSpec := map[string]bool{}
	for lines := bufio.NewScanner(f); lines.Scan(); {
		var name, method, path string
		if _, err := fmt.Sscan(lines.Text(), &name, &method, &path); err != nil {
			t.Fatalf("parse %q: %v", lines.Text(), err)
		}
		inSpec[name] = true
		op, ok := protocol.Lookup(name)
		if !ok {
			t.Errorf("no operation %s", name)
			continue
		}
		if op.Path != path || op.Methods[0] != method || op.Origin != protocol.Spec {
			t.Errorf("%s is %v %s (%s), want %s %s (spec)", name, op.Methods, op.Path, op.Origin, method, path)
		}
	}
	if len(inSpec) != 54 {
		t.Errorf("%d operations in the specification, want 54", len(inSpec))
	}
	for _, op := range protocol.Operations {
		if op.Origin == protocol.Spec && !inSpec[op.Name] {
			t.Errorf("%s is not in the specification", op.Name)
		}
	}
}

func TestOperationsAreDistinct(t *testing.T) {
	names, paths := map[string]bool{}, map[string]bool{}
	for _, op := range protocol.Operations {
		if names[op.Name] || paths[op.Path] {
			t.Errorf("%s %s is there twice", op.Name, op.Path)
		}
		names[op.Name], paths[op.Path] = true, true
		if len(op.Methods) == 0 || strings.HasSuffix(op.Path, "/") || (op.Access != protocol.Read && op.Access != protocol.Write) {
			t.Errorf("%+v is not whole", op)
		}
	}
	if _, ok := protocol.Lookup("NoSuchThing"); ok {
		t.Error("Lookup finds NoSuchThing")
	}
}

func TestAnErrorNamesItsObjectAndItsCause(t *testing.T) {
	cause := errors.New("object does not exist")
	err := fmt.Errorf("describe: %w", &protocol.Error{Code: protocol.TableVersionNotFound, Object: "a$t", Message: "no version 7", Err: cause})
	if protocol.CodeOf(err) != protocol.TableVersionNotFound || !errors.Is(err, cause) {
		t.Errorf("%v has code %v, want TableVersionNotFound and the cause", err, protocol.CodeOf(err))
	}
	if got, want := err.Error(), "describe: a$t: no version 7: object does not exist"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := protocol.CodeOf(cause); got != protocol.Internal {
		t.Errorf("code of a foreign error is %v, want Internal", got)
	}
	if got, want := (&protocol.Error{Code: protocol.TableNotFound}).Text(), "TableNotFound"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	wrapped := protocol.Errorf(protocol.InvalidInput, "columns: %w", cause)
	if wrapped.Text() != "columns: object does not exist" || !errors.Is(wrapped, cause) {
		t.Errorf("Errorf makes %q, want the text of the cause once", wrapped.Text())
	}
	if got := protocol.Code(24).String(); got != "Code(24)" {
		t.Errorf("unknown code is %q", got)
	}
}

func TestIDsAreSplitAtTheirDelimiter(t *testing.T) {
	cases := []struct {
		joined, delimiter string
		want              []string // nil: an error
	}{
		{"t", "$", []string{"t"}},
		{"a$b$t", "$", []string{"a", "b", "t"}},
		{"$", "$", []string{}},
		{"$$$", "$", []string{}},
		{"$$t$$", "$", []string{"t"}},
		{"a.b", "$", []string{"a.b"}},
		{".", ".", []string{}},
		{"a::b", "::", []string{"a", "b"}},
		{"a:b", "::", []string{"a:b"}},
		{"a/b c", "$", []string{"a/b c"}},
		{"", "$", nil},
		{"a", "", nil},
		{"a$b", ".", nil},
		{"a\x00b", "$", nil},
		{"a\xffb", "$", nil},
		{strings.Repeat("x", 257), "$", nil},
		{strings.Repeat("x$", 17), "$", nil},
	}
	for _, c := range cases {
		got, err := protocol.SplitID(c.joined, c.delimiter)
		if (err == nil) != (c.want != nil) {
			t.Errorf("SplitID(%.40q, %q): error %v", c.joined, c.delimiter, err)
			continue
		}
		if err == nil && !cmp.Equal(c.want, got) {
			t.Errorf("SplitID(%q, %q) = %q, want %q", c.joined, c.delimiter, got, c.want)
		}
		if err != nil && protocol.CodeOf(err) != protocol.InvalidInput {
			t.Errorf("SplitID(%.40q, %q): code %v, want InvalidInput", c.joined, c.delimiter, protocol.CodeOf(err))
		}
	}
}

func TestIDsSurviveJoiningAndSplitting(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		delimiter := rapid.SampledFrom([]string{"$", ".", "::", "/"}).Draw(t, "delimiter")
		id := rapid.SliceOfN(rapid.StringMatching(`[a-zA-Z0-9 é%+_-]{1,20}`), 0, protocol.MaxIDLevels).Draw(t, "id")
		got, err := protocol.SplitID(protocol.JoinID(id, delimiter), delimiter)
		if err != nil {
			t.Fatalf("split %q: %v", protocol.JoinID(id, delimiter), err)
		}
		if !slices.Equal(got, id) {
			t.Fatalf("%q becomes %q", id, got)
		}
	})
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
		new(protocol.CreateMode), new(protocol.RegisterMode), new(protocol.InsertMode), new(protocol.DropMode), new(protocol.DropBehavior), new(protocol.DistanceType), new(protocol.TextOperator),
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
	if got := protocol.DropBehavior(9).String(); got != "invalid" {
		t.Errorf("a value of no meaning is %q", got)
	}
}

func TestEmptyAnswersHoldNoNull(t *testing.T) {
	for want, value := range map[string]any{
		`{"namespaces":[]}`:         protocol.ListNamespacesResponse{},
		`{"tables":[]}`:             protocol.ListTablesResponse{},
		`{"versions":[]}`:           protocol.ListTableVersionsResponse{},
		`{"properties":{}}`:         protocol.DescribeNamespaceResponse{},
		`{"id":[],"properties":{}}`: protocol.DropTableResponse{},
		`0`:                         protocol.CountTableRowsResponse{},
		`{"fields":[]}`:             protocol.JSONSchema{},
		`{"tables":["a"]}`:          protocol.ListTablesResponse{Tables: []string{"a"}},
		`{"properties":{"a":"1"}}`:  protocol.DescribeNamespaceResponse{Properties: map[string]string{"a": "1"}},
		`{"properties":{},"version":0,"updated_rows":0}`:                                                         protocol.UpdateTableResponse{},
		`{"properties":{},"version":0,"rows_updated":0}`:                                                         protocol.UpdateTableResponse{Dialect: protocol.DialectLanceDB},
		`{"version":0,"manifest_path":"","timestamp_millis":0,"timestamp":"0001-01-01T00:00:00Z","metadata":{}}`: protocol.TableVersion{},
	} {
		got, err := json.Marshal(value)
		if err != nil {
			t.Fatal(err)
		}
		var a, b any
		if err := errors.Join(json.Unmarshal(got, &a), json.Unmarshal([]byte(want), &b)); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(b, a); diff != "" {
			t.Errorf("%T is %s, want %s", value, got, want)
		}
	}
}

func TestANegativeLimitIsNone(t *testing.T) {
	n := func(v int64) *int64 { return &v }
	for _, c := range []struct {
		limit   *int64
		want    int64
		limited bool
	}{{nil, 0, false}, {n(-1), 0, false}, {n(0), 0, true}, {n(10), 10, true}} {
		if got, limited := (protocol.Page{Limit: c.limit}).Bound(); got != c.want || limited != c.limited {
			t.Errorf("bound of %v is %d, %v; want %d, %v", c.limit, got, limited, c.want, c.limited)
		}
	}
}
