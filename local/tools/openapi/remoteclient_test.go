package main

import (
	"encoding/json"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"tiltyard/shared/lance/indexmeta"
	"tiltyard/shared/protocol"
	"tiltyard/shared/protocol/operations"
)

// A remoteClient is what a version of LanceDB's remote client sends and reads, by operation.
type remoteClient struct {
	IndexTypes []string `json:"index_types"`
	Requests   map[string][]string
	Answers    map[string]struct {
		Required []string            // an answer without such a field is an error
		Aliases  map[string][]string // other names of a field; an answer with two of them is an error
	}
}

func readRemoteClients(t *testing.T) map[string]remoteClient {
	t.Helper()
	text, err := os.ReadFile("testdata/remoteclient.json")
	if err != nil {
		t.Fatal(err)
	}
	var clients map[string]remoteClient
	if err := json.Unmarshal(text, &clients); err != nil {
		t.Fatal(err)
	}
	return clients
}

// Each field that LanceDB's clients send is one of the operation, or listed as ignored. Those of the public
// specification are compared by local/e2e/server/test_openapi.py.
func TestFieldsOfRemoteClientsAreKnownOrListed(t *testing.T) {
	_, c := written(t)
	ignored := map[string]bool{}
	for _, f := range operations.Ignored {
		ignored[f.Operation+"."+f.Field] = true
	}
	sent := 0
	for version, client := range readRemoteClients(t) {
		for name, fields := range client.Requests {
			op, ok := operations.Lookup(name)
			if !ok {
				t.Errorf("%s: no operation %s", version, name)
				continue
			}
			known := map[string]bool{}
			c.collect(c.document["paths"].(map[string]any)[op.Path], known, map[string]bool{})
			for _, field := range fields {
				sent++
				if !known[field] && !ignored[name+"."+field] {
					t.Errorf("lancedb %s sends %s.%s, which is neither a field of the operation nor listed in operations.Ignored", version, name, field)
				}
				if known[field] && ignored[name+"."+field] {
					t.Errorf("%s.%s is a field of the operation and listed in operations.Ignored", name, field)
				}
			}
		}
	}
	if sent < 250 {
		t.Errorf("%d fields are sent, want more than 250", sent)
	}
}

func TestIndexTypesOfRemoteClientsAreKnown(t *testing.T) {
	for version, client := range readRemoteClients(t) {
		if len(client.IndexTypes) < 14 {
			t.Errorf("lancedb %s has %d types of indices, want 14 or more", version, len(client.IndexTypes))
		}
		for _, name := range client.IndexTypes {
			if indexmeta.KindNamed(name) == indexmeta.Unknown {
				t.Errorf("lancedb %s sends the index_type %s, which is unknown", version, name)
			}
		}
	}
}

// collect adds the names of all members and parameters of a part of the document to known.
func (c checker) collect(part any, known, seen map[string]bool) {
	switch part := part.(type) {
	case []any:
		for _, one := range part {
			c.collect(one, known, seen)
		}
	case map[string]any:
		if reference, ok := part["$ref"].(string); ok && !seen[reference] {
			seen[reference] = true
			if found, err := c.resolve(reference); err == nil {
				c.collect(found, known, seen)
			}
		}
		if name, ok := part["name"].(string); ok && part["in"] != nil {
			known[name] = true
		}
		properties, _ := part["properties"].(map[string]any)
		for name := range properties {
			known[name] = true
		}
		for keyword, value := range part {
			if keyword != "responses" && keyword != "x-ignored" && keyword != "examples" {
				c.collect(value, known, seen)
			}
		}
	}
}

// detailed are required fields that answers lack only when nothing is described.
var detailed = []string{"DescribeTable.version", "DescribeTable.schema"}

// Answers have what LanceDB's clients require of them, and no field under two names.
func TestRemoteClientsReadTheAnswers(t *testing.T) {
	for version, client := range readRemoteClients(t) {
		for place, want := range client.Answers {
			operation, list, isEntry := strings.Cut(place, ".")
			op, _ := operations.Lookup(operation)
			answer := reflect.New(op.ResponseType()).Elem()
			if dialect := answer.FieldByName("Dialect"); dialect.IsValid() {
				dialect.Set(reflect.ValueOf(protocol.DialectLanceDB))
			}
			if isEntry {
				at := slices.IndexFunc(fieldsOf(answer.Type()), func(f field) bool { return f.name == list })
				answer = reflect.New(fieldsOf(answer.Type())[at].Type.Elem()).Elem()
			}
			text, err := json.Marshal(answer.Interface())
			if err != nil {
				t.Fatal(err)
			}
			var has map[string]any
			if err := json.Unmarshal(text, &has); err != nil {
				t.Errorf("%s is no object: %v", place, err)
			}
			for _, name := range want.Required {
				if _, ok := has[name]; !ok && !slices.Contains(detailed, place+"."+name) {
					t.Errorf("lancedb %s requires %s.%s, which an answer may lack", version, place, name)
				}
			}
			for name, aliases := range want.Aliases {
				var names []string
				for _, one := range append(aliases, name) {
					if _, ok := has[one]; ok {
						names = append(names, one)
					}
				}
				if len(names) != 1 {
					t.Errorf("lancedb %s reads %s.%s under one of its names; the answer has %q", version, place, name, names)
				}
			}
		}
	}
}
