package main

import (
	"bytes"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"tiltyard/shared/http/httpapi"
	"tiltyard/shared/protocol"
	"tiltyard/shared/protocol/operations"
	"tiltyard/shared/protocol/refapi"
)

// written returns the files, and the document among them.
func written(t *testing.T) (map[string][]byte, checker) {
	t.Helper()
	files, err := generate()
	if err != nil {
		t.Fatal(err)
	}
	decoder := json.NewDecoder(bytes.NewReader(files["openapi.json"]))
	decoder.UseNumber()
	var document map[string]any
	if err := decoder.Decode(&document); err != nil {
		t.Fatal(err)
	}
	return files, checker{document}
}

func TestFilesAreCurrent(t *testing.T) {
	files, _ := written(t)
	for name, want := range files {
		got, err := os.ReadFile(filepath.Join(folder, name))
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s is not what the operations and types give now (%v); run: go generate ./local/tools/openapi", name, err)
		}
	}
}

func TestDocumentDescribesEachOperation(t *testing.T) {
	_, c := written(t)
	paths := c.document["paths"].(map[string]any)
	if len(paths) != len(operations.All) {
		t.Errorf("the document has %d paths, want %d", len(paths), len(operations.All))
	}
	seen := map[string]bool{}
	for _, op := range operations.All {
		item, _ := paths[op.Path].(map[string]any)
		if len(item) != len(op.Methods) {
			t.Errorf("%s has %d methods, want %v", op.Path, len(item), op.Methods)
		}
		if op.Summary == "" {
			t.Errorf("%s has no summary", op.Name)
		}
		for _, method := range op.Methods {
			got, _ := item[strings.ToLower(method)].(map[string]any)
			id, _ := got["operationId"].(string)
			if id == "" || seen[id] {
				t.Errorf("%s %s has the id %q, which is empty or that of another", method, op.Path, id)
			}
			seen[id] = true
			if got["x-operation"] != op.Name || got["x-origin"] != string(op.Origin) || got["x-access"] != string(op.Access) {
				t.Errorf("%s %s is described as %v", method, op.Path, got)
			}
			checkPathParameters(t, c, op, got)
		}
	}
}

// checkPathParameters requires a parameter for each variable of the path, and no other.
func checkPathParameters(t *testing.T, c checker, op protocol.Operation, described map[string]any) {
	t.Helper()
	var want, got []string
	for _, match := range regexp.MustCompile(`\{(\w+)\}`).FindAllStringSubmatch(op.Path, -1) {
		want = append(want, match[1])
	}
	for _, p := range described["parameters"].([]any) {
		parameter := p.(map[string]any)
		if reference, ok := parameter["$ref"].(string); ok {
			found, err := c.resolve(reference)
			if err != nil {
				t.Errorf("%s: %v", op.Name, err)
				continue
			}
			parameter = found
		}
		if parameter["in"] == "path" {
			got = append(got, parameter["name"].(string))
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("%s has the path parameters %v, want %v", op.Name, got, want)
	}
}

func TestTablesNameNoUnknownOperation(t *testing.T) {
	for what, names := range map[string][]string{
		"needsOne": slices.Collect(maps.Keys(needsOne)), "examples": slices.Collect(maps.Keys(examples)),
	} {
		for _, name := range names {
			if _, ok := operations.Lookup(name); !ok {
				t.Errorf("%s has %s, which is no operation", what, name)
			}
		}
	}
}

func TestReferencesReferToSomething(t *testing.T) {
	files, c := written(t)
	all := regexp.MustCompile(`"\$ref":"([^"]+)"`).FindAllSubmatch(files["openapi.json"], -1)
	if len(all) < 500 {
		t.Fatalf("the document has %d references, want many", len(all))
	}
	for _, match := range all {
		if _, err := c.resolve(string(match[1])); err != nil {
			t.Error(err)
		}
	}
	for name := range c.document["components"].(map[string]any)["schemas"].(map[string]any) {
		if !bytes.Contains(files["openapi.json"], []byte(`"#/components/schemas/`+name+`"`)) && name != "ServerVersion" {
			t.Errorf("nothing refers to the schema %s", name)
		}
	}
}

// decoded decodes a body as the service does, and validates it.
func decoded(op protocol.Operation, body any) error {
	text, err := json.Marshal(body)
	if err != nil {
		return err
	}
	request := reflect.New(op.RequestType()).Interface()
	if err := json.Unmarshal(text, request); err != nil {
		return err
	}
	if strings.Contains(op.Path, "{id}") {
		request.(protocol.Request).RequestCommon().ID = []string{"shop", "orders"}
	}
	if v, ok := request.(interface{ Validate() error }); ok {
		return v.Validate()
	}
	return nil
}

// plainValue returns a value as encoding/json decodes it, with numbers as they are written.
func plainValue(t *testing.T, text []byte) any {
	t.Helper()
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	var value any
	if err := decoder.Decode(&value); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	return value
}

// The service accepts the examples, and refuses each of them without a field that is said to be needed.
// It accepts a body of all operations that are said to need nothing.
func TestRequestsNeedWhatIsSaid(t *testing.T) {
	_, c := written(t)
	shapes, err := readShapes()
	if err != nil {
		t.Fatal(err)
	}
	tried := map[string]bool{}
	for _, op := range operations.All {
		if shapes[op.Name].IsUpload {
			continue
		}
		t.Run(op.Name, func(t *testing.T) {
			name := nameOf(op.RequestType())
			schema := map[string]any{"$ref": "#/components/schemas/" + name}
			for _, e := range examples[op.Name] {
				value := plainValue(t, e.body)
				if err := c.check(e.name, schema, value); err != nil {
					t.Errorf("the example is not valid: %v", err)
				}
				if err := decoded(op, value); err != nil {
					t.Errorf("the example %s is refused: %v", e.name, err)
				}
				removeEach(t, c, schema, value, func(what string) {
					tried[what] = true
					if decoded(op, value) == nil {
						t.Errorf("the example %s is accepted without %s", e.name, what)
					}
				})
				if whole, ok := value.(map[string]any); ok {
					checkMinimum(t, op, whole)
				}
			}
			if len(examples[op.Name]) > 0 || len(op.Methods) == 1 && op.Methods[0] == "GET" {
				return
			}
			values := slices.DeleteFunc(slices.Clone(required[name]), isParameter(op.RequestType()))
			if len(values) > 0 {
				t.Errorf("there is no example of %v", values)
			}
			if err := decoded(op, map[string]any{}); len(required[name]) == 0 && err != nil {
				t.Errorf("an empty body is refused: %v", err)
			}
		})
	}
	for name, fields := range required {
		for _, field := range fields {
			if !tried[name+"."+field] && name != "MergeInsertIntoTableRequest" && name != "EndMultipartWriteRequest" {
				t.Errorf("no example has %s of %s", field, name)
			}
		}
	}
}

// isParameter reports whether a field comes from the query string.
func isParameter(request reflect.Type) func(string) bool {
	return func(name string) bool {
		return slices.ContainsFunc(fieldsOf(request), func(f field) bool { return f.Tag.Get("query") == name })
	}
}

// checkMinimum removes what is not said to be needed from a body, and sends the rest.
func checkMinimum(t *testing.T, op protocol.Operation, whole map[string]any) {
	t.Helper()
	least := map[string]any{}
	for name, value := range whole {
		if slices.Contains(required[nameOf(op.RequestType())], name) {
			least[name] = value
		}
	}
	err := decoded(op, least)
	if alternatives := needsOne[op.Name]; len(alternatives) > 0 {
		if err == nil {
			t.Errorf("a body with none of %v is accepted", alternatives)
		}
		return
	}
	if err != nil {
		t.Errorf("a body with the required fields only is refused: %v", err)
	}
}

// removeEach removes each required member of a value and of its parts, calls try, and puts it back.
func removeEach(t *testing.T, c checker, schema map[string]any, value any, try func(what string)) {
	t.Helper()
	name := ""
	for schema["$ref"] != nil {
		reference := schema["$ref"].(string)
		name = reference[strings.LastIndexByte(reference, '/')+1:]
		found, err := c.resolve(reference)
		if err != nil {
			t.Fatal(err)
		}
		schema = found
	}
	if forms, ok := schema["anyOf"].([]any); ok {
		for _, form := range forms {
			if c.check(name, form.(map[string]any), value) == nil {
				removeEach(t, c, form.(map[string]any), value, try)
				return
			}
		}
	}
	switch value := value.(type) {
	case []any:
		items, _ := schema["items"].(map[string]any)
		for _, item := range value {
			removeEach(t, c, items, item, try)
		}
	case map[string]any:
		properties, _ := schema["properties"].(map[string]any)
		for _, field := range required[name] {
			kept, ok := value[field]
			if !ok {
				continue
			}
			delete(value, field)
			try(name + "." + field)
			value[field] = kept
		}
		for field, inner := range value {
			if known, ok := properties[field].(map[string]any); ok {
				removeEach(t, c, known, inner, try)
			}
		}
	}
}

// Answers are valid by their schemas, both those with a value in every field and those without any.
func TestAnswersHaveTheirSchemas(t *testing.T) {
	_, c := written(t)
	shapes, err := readShapes()
	if err != nil {
		t.Fatal(err)
	}
	types := map[reflect.Type]bool{httpapi.ProblemType: true, reflect.TypeFor[protocol.ServerVersion](): true}
	for _, op := range operations.All {
		if response := op.ResponseType(); shapes[op.Name].Answers == "" && response != reflect.TypeFor[protocol.Empty]() {
			types[response] = true
		}
	}
	s := &schemas{comments: &comments{}, made: map[string]object{}, kinds: map[string]reflect.Type{}}
	if s.comments, err = readComments("../../../shared/protocol", "../../../shared/protocol/*api", "../../../shared/http/httpapi"); err != nil {
		t.Fatal(err)
	}
	for typ := range types {
		text, err := json.Marshal(s.of(typ)) // most often a reference
		if err != nil {
			t.Fatal(err)
		}
		schema := plainValue(t, text).(map[string]any)
		for _, isFull := range []bool{true, false} {
			value := reflect.New(typ).Elem()
			fill(t, value, isFull, s.comments.constants)
			encoded, err := json.Marshal(value.Interface())
			if err != nil {
				t.Errorf("%s: %v", typ, err)
				continue
			}
			if err := c.check(nameOf(typ), schema, plainValue(t, encoded)); err != nil {
				t.Errorf("an answer that is full: %v: %v", isFull, err)
			}
		}
	}
	if len(types) < 70 {
		t.Errorf("%d types of answers were tried, want all", len(types))
	}
}

// fill gives a value all that it may have, or the least.
func fill(t *testing.T, v reflect.Value, isFull bool, constants map[string][]string) {
	t.Helper()
	switch field := v.Addr().Interface().(type) {
	case *json.RawMessage:
		*field = json.RawMessage(`{"x":1}`)
		return
	case *time.Time:
		*field = time.Unix(1, 0)
		return
	case **struct{}, *protocol.Dialect:
		return
	case *map[string]refapi.BranchContents, *map[string]protocol.Properties:
		v.Set(reflect.MakeMap(v.Type())) // as the services do
	}
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				fill(t, v.Field(i), isFull, constants)
			}
		}
	case reflect.String:
		if known := constants[nameOf(v.Type())]; len(known) > 0 {
			v.SetString(known[0])
		} else if isFull {
			v.SetString("a")
		}
	case reflect.Uint8:
		v.SetUint(1) // the zero value of an enumeration may be that of a request
	case reflect.Pointer, reflect.Slice, reflect.Map:
		if isFull {
			fillPart(t, v, constants)
		}
	case reflect.Bool:
		v.SetBool(isFull)
	case reflect.Int, reflect.Int32, reflect.Int64:
		v.SetInt(3)
	case reflect.Uint32, reflect.Uint64:
		v.SetUint(3)
	case reflect.Float64:
		v.SetFloat(1.5)
	case reflect.Interface:
		v.Set(reflect.ValueOf(map[string]int{"x": 1}))
	default:
		t.Fatalf("no value for %s", v.Type())
	}
}

// fillPart makes what a pointer refers to, or one element.
func fillPart(t *testing.T, v reflect.Value, constants map[string][]string) {
	t.Helper()
	element := reflect.New(v.Type().Elem())
	recursive := v.Type().Elem() == reflect.TypeFor[protocol.JSONField]()
	if !recursive {
		fill(t, element.Elem(), true, constants)
	}
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(element)
	case reflect.Slice:
		v.Set(reflect.Append(v, element.Elem()))
	default:
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(reflect.ValueOf("a").Convert(v.Type().Key()), element.Elem())
	}
}
