package main

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// A checker checks values against schemas of a document. It knows the keywords that the document uses,
// and refuses others.
type checker struct{ document map[string]any }

// resolve returns what a reference refers to.
func (c checker) resolve(reference string) (map[string]any, error) {
	var at any = c.document
	for part := range strings.SplitSeq(strings.TrimPrefix(reference, "#/"), "/") {
		inner, ok := at.(map[string]any)
		if !ok || inner[part] == nil {
			return nil, fmt.Errorf("%s refers to nothing", reference)
		}
		at = inner[part]
	}
	found, ok := at.(map[string]any)
	if !ok {
		return nil, fmt.Errorf("%s is no object", reference)
	}
	return found, nil
}

// check returns an error for a value that is not valid, or that has a member without a schema.
func (c checker) check(where string, schema map[string]any, value any) error {
	for keyword := range schema {
		if !slices.Contains(strings.Fields("$ref type properties required items additionalProperties anyOf enum const default description format minimum maxLength examples writeOnly"), keyword) {
			return fmt.Errorf("%s: the keyword %s is not known here", where, keyword)
		}
	}
	if reference, ok := schema["$ref"].(string); ok {
		found, err := c.resolve(reference)
		if err != nil {
			return err
		}
		return c.check(where, found, value)
	}
	if forms, ok := schema["anyOf"].([]any); ok {
		var all []string
		for _, form := range forms {
			err := c.check(where, form.(map[string]any), value)
			if err == nil {
				return nil
			}
			all = append(all, err.Error())
		}
		return fmt.Errorf("%s has none of its forms: %s", where, strings.Join(all, "; "))
	}
	if constant, ok := schema["const"]; ok && !reflect.DeepEqual(constant, value) {
		return fmt.Errorf("%s is %v, want %v", where, value, constant)
	}
	if values, ok := schema["enum"].([]any); ok && !slices.Contains(values, value) {
		return fmt.Errorf("%s is %v, want one of %v", where, value, values)
	}
	if err := checkType(where, schema["type"], value); err != nil {
		return err
	}
	switch value := value.(type) {
	case []any:
		if items, ok := schema["items"].(map[string]any); ok {
			for i, item := range value {
				if err := c.check(fmt.Sprintf("%s[%d]", where, i), items, item); err != nil {
					return err
				}
			}
		}
	case map[string]any:
		return c.checkMembers(where, schema, value)
	}
	return nil
}

func checkType(where string, want, value any) error {
	kind := map[string]any{}
	switch value := value.(type) {
	case nil:
		kind["null"] = true
	case bool:
		kind["boolean"] = true
	case string:
		kind["string"] = true
	case json.Number:
		kind["number"] = true
		if !strings.ContainsAny(value.String(), ".eE") {
			kind["integer"] = true
		}
	case []any:
		kind["array"] = true
	case map[string]any:
		kind["object"] = true
	}
	switch want := want.(type) {
	case string:
		if kind[want] == nil {
			return fmt.Errorf("%s is %v, want %s", where, value, want)
		}
	case []any:
		if !slices.ContainsFunc(want, func(one any) bool { return kind[one.(string)] != nil }) {
			return fmt.Errorf("%s is %v, want one of %v", where, value, want)
		}
	}
	return nil
}

func (c checker) checkMembers(where string, schema, value map[string]any) error {
	properties, _ := schema["properties"].(map[string]any)
	needed, _ := schema["required"].([]any)
	for _, name := range needed {
		if _, ok := value[name.(string)]; !ok {
			return fmt.Errorf("%s has no %s", where, name)
		}
	}
	for name, inner := range value {
		known, ok := properties[name].(map[string]any)
		if !ok {
			known, ok = schema["additionalProperties"].(map[string]any)
		}
		if !ok && (schema["type"] != nil || properties != nil) {
			return fmt.Errorf("%s has the member %s, which the schema does not know", where, name)
		}
		if err := c.check(where+"."+name, known, inner); err != nil {
			return err
		}
	}
	return nil
}
