package fulltext

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
)

// A JSON document becomes terms "path,type,value": one for each number, bool and null, and
// one for each word of each string. The path joins the names of nested objects by dots; the
// elements of a list have the path of the list. {"a": {"b": ["red car", 7]}} becomes
// "a.b,str,red", "a.b,str,car" and "a.b,number,7".

// triples yields the terms of a query of JSON documents.
func (a *Analyzer) triples(text string, yield func(term string, position int)) error {
	position := 0
	for triple := range strings.SplitSeq(text, ";") {
		parts := strings.SplitN(triple, ",", 3)
		if len(parts) != 3 {
			return fmt.Errorf("%q is not a query of a JSON column; write it as path,type,value", triple)
		}
		prefix := parts[0] + "," + parts[1] + ","
		switch parts[1] {
		case "number", "bool", "null":
			yield(triple, position)
			position++
		case "str":
			a.terms(parts[2], func(term string, _ int) {
				yield(prefix+term, position)
				position++
			})
		default:
			return fmt.Errorf("%q is not a type of JSON values; the types are str, number, bool and null", parts[1])
		}
	}
	return nil
}

// maxJSONDepth is the deepest nesting of documents. Members below it are ignored.
const maxJSONDepth = 128

// jsonTerms yields the terms of a JSON document.
func (a *Analyzer) jsonTerms(text string, yield func(term string, position int)) error {
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.UseNumber()
	var document any
	if err := decoder.Decode(&document); err == io.EOF {
		return nil
	} else if err != nil {
		return fmt.Errorf("document is no JSON: %w", err)
	}
	w := jsonWalk{analyzer: a, yield: yield}
	w.value(document, "", 0)
	return nil
}

// jsonWalk collects the terms of a JSON document.
type jsonWalk struct {
	analyzer *Analyzer
	yield    func(string, int)
	position int
}

// value yields the terms of a value below path. Object members are visited in the order of their names, so
// that positions are deterministic. Values below maxJSONDepth are ignored.
func (w *jsonWalk) value(value any, path string, depth int) {
	if depth > maxJSONDepth {
		return
	}
	switch v := value.(type) {
	case map[string]any:
		names := make([]string, 0, len(v))
		for name := range v {
			names = append(names, name)
		}
		slices.Sort(names)
		for _, name := range names {
			below := name
			if path != "" {
				below = path + "." + name
			}
			w.value(v[name], below, depth+1)
		}
	case []any:
		for _, element := range v {
			w.value(element, path, depth+1)
		}
	case string:
		w.analyzer.terms(v, func(term string, _ int) { w.term(path + ",str," + term) })
	case json.Number:
		w.term(path + ",number," + v.String())
	case bool:
		w.term(fmt.Sprintf("%s,bool,%t", path, v))
	default:
		w.term(path + ",null,null")
	}
}

func (w *jsonWalk) term(term string) {
	w.yield(term, w.position)
	w.position++
}
