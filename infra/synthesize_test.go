package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"log"
	"maps"
	"os"
	"path/filepath"
	"testing"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/assertions"
	"github.com/aws/jsii-runtime-go"
)

// A template is the JSON of a stack.
type template struct {
	whole     map[string]any
	resources map[string]any
	outputs   map[string]any
}

// all returns the properties of the resources of a type, by their logical ids.
func (t template) all(kind string) map[string]map[string]any {
	found := map[string]map[string]any{}
	for id, resource := range t.resources {
		if r := resource.(map[string]any); r["Type"] == kind {
			properties, _ := r["Properties"].(map[string]any)
			found[id] = properties
		}
	}
	return found
}

// newStacks makes both stacks of an app of their own. The context is that of a small configuration and
// what the case changes in it.
func newStacks(t *testing.T, context map[string]any) (*Storage, *Service) {
	t.Helper()
	values := map[string]any{"functions": builtFunctions}
	if context["api-keys"] == nil {
		maps.Copy(values, map[string]any{
			"issuer": "https://id.example.com", "audience": "tiltyard", "jwks": "https://id.example.com/keys",
		})
	}
	maps.Copy(values, context)
	config, err := ReadConfig(values)
	if err != nil {
		t.Fatal(err)
	}
	app := awscdk.NewApp(nil)
	storage := NewStorage(app, config)
	return storage, NewService(app, config, storage)
}

// synthesized are the templates that were made, by their contexts. To make one takes a second.
var synthesized = map[string][2]template{}

// found are the findings of cdk-nag in the variants, by their contexts.
var found = map[string][]finding{}

// isVariant reports whether a context is one of the variants, which cdk-nag looks at.
func isVariant(key string) bool {
	for _, context := range variants {
		if fmt.Sprint(context) == key {
			return true
		}
	}
	return false
}

// synthesize makes the templates of both stacks. Tests must not change them.
func synthesize(t *testing.T, context map[string]any) (storage, service template) {
	t.Helper()
	key := fmt.Sprint(context) // sorts the names
	made, ok := synthesized[key]
	if !ok {
		first, second := newStacks(t, context)
		app := awscdk.Stage_Of(first.Stack)
		if isVariant(key) {
			addChecks(app)
		}
		made = [2]template{readTemplate(first.Stack), readTemplate(second.Stack)}
		synthesized[key] = made
		if isVariant(key) {
			found[key] = findings(app)
		}
	}
	return made[0], made[1]
}

// templates is where the templates of the variants are written for other programs to check.
var templates = flag.String("templates", "", "write the templates of the variants to this folder")

func TestTemplatesOfTheVariantsAreWritten(t *testing.T) {
	if *templates == "" {
		t.Skip("-templates is not given")
	}
	for name, context := range variants {
		storage, service := synthesize(t, context)
		for stack, made := range map[string]template{"storage": storage, "service": service} {
			text, err := json.Marshal(made.whole)
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(*templates, name+"-"+stack+".template.json"), text, 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func readTemplate(stack awscdk.Stack) template {
	whole := *assertions.Template_FromStack(stack, nil).ToJSON()
	t := template{whole: whole, resources: whole["Resources"].(map[string]any)}
	t.outputs, _ = whole["Outputs"].(map[string]any)
	return t
}

// builtFunctions is a folder with a file for each function.
var builtFunctions string

func buildFunctions() (folder string, err error) {
	if folder, err = os.MkdirTemp("", "functions"); err != nil {
		return "", err
	}
	for name := range functions {
		path := filepath.Join(folder, name, "bootstrap")
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return "", err
		}
		if err := os.WriteFile(path, []byte(name), 0o755); err != nil {
			return "", err
		}
	}
	return folder, nil
}

// TestMain ends the process that the CDK runs in.
func TestMain(m *testing.M) {
	folder, err := buildFunctions()
	if err != nil {
		log.Fatal(err)
	}
	builtFunctions = folder
	code := m.Run()
	jsii.Close()
	_ = os.RemoveAll(folder)
	os.Exit(code)
}
