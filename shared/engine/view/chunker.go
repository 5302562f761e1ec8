package view

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"tiltyard/shared/engine/chunking"
	"tiltyard/shared/engine/computed"
	"tiltyard/shared/engine/selection"
	"tiltyard/shared/sql/syntax"
)

// The function of a view of kind chunker or udtf is an envelope: a JSON object, stored in the
// metadata as base64 with the SHA-256 of that text. The field backend names the runtime. Executors
// run most functions: see call.go. The built-in one runs the functions of package chunking:
//
//	{"backend": "builtin", "name": "split_text", "args": {"text": "body", "size": 800, "overlap": 100}}
//
// args maps parameter names to constants. text is an expression over the source; if it is absent,
// the text is the only column in the description's field input_columns.
type envelope struct {
	Backend string                     `json:"backend"`
	Name    string                     `json:"name"`
	Args    map[string]json.RawMessage `json:"args"`
}

const builtin = "builtin"

// pieces is the name of the values of a chunker; no column has it.
const pieces = "__piece"

// textArg is the argument with the text that a built-in function cuts.
const textArg = "text"

// envelopeOf reads the function of a view. missing is the reason if that fails.
func envelopeOf(function string) (e envelope, spec Spec, missing string) {
	if err := json.Unmarshal([]byte(function), &spec); err != nil {
		return e, spec, "the description of its function is not a JSON object"
	}
	if strings.HasPrefix(spec.UDTF, computed.EnvelopeFolder) {
		if spec.UDTF != computed.EnvelopeFolder+spec.SHA {
			return e, spec, "the SHA-256 of its function is not that of its udtf_spec"
		}
		return envelope{Backend: spec.Backend}, spec, ""
	}
	if sum := sha256.Sum256([]byte(spec.UDTF)); hex.EncodeToString(sum[:]) != spec.SHA {
		return e, spec, "the SHA-256 of its function is not that of its udtf_spec"
	}
	if e, ok := readEnvelope(spec.UDTF); ok {
		return e, spec, ""
	}
	return e, spec, fmt.Sprintf("its function, %.80q, is not a JSON object in base64", spec.Name)
}

func readEnvelope(text string) (e envelope, ok bool) {
	data, err := base64.StdEncoding.DecodeString(text)
	return e, err == nil && json.Unmarshal(data, &e) == nil
}

// chunks rewrites a query to return a row for each piece that a built-in function cuts from a row. missing
// is the reason if the function cannot be run here.
func chunks(query *selection.Query, e envelope, spec Spec) (missing string) {
	if query.Limit != nil {
		return "its source_query has base.limit, and its function makes several rows of one"
	}
	f := chunking.Find(e.Name)
	if f == nil {
		return fmt.Sprintf("there is no built-in function %.80q", e.Name)
	}
	args, missing := arguments(f, e, spec.InputColumns)
	if missing != "" {
		return missing
	}
	query.Each = &selection.Each{Function: f.Name, Args: args, Name: pieces}
	query.Spread = true
	return ""
}

// arguments returns the arguments of a function as SQL.
func arguments(f *chunking.Function, e envelope, columns []string) (args []string, missing string) {
	var text string
	switch raw, ok := e.Args[textArg]; {
	case ok:
		if json.Unmarshal(raw, &text) != nil {
			return nil, "the argument text of its function is not a text with an expression"
		}
	case len(columns) == 1:
		text = syntax.Identifier(columns[0])
	default:
		return nil, fmt.Sprintf("its function, %s, lacks the argument text", e.Name)
	}
	args = []string{text}
	given := len(e.Args)
	if _, ok := e.Args[textArg]; ok {
		given--
	}
	for _, p := range f.Params {
		raw, ok := e.Args[p.Name]
		if !ok && given == 0 {
			break // the further parameters have defaults
		}
		if !ok {
			raw, _ = json.Marshal(p.Default)
		} else {
			given--
		}
		literal, ok := literalOf(raw)
		if !ok {
			return nil, fmt.Sprintf("the argument %s of its function, %s, is neither a whole number nor a text", p.Name, e.Name)
		}
		args = append(args, literal)
	}
	if given > 0 {
		return nil, fmt.Sprintf("its function, %s, has an argument that it does not know", e.Name)
	}
	return args, ""
}

// literalOf returns a JSON value as a literal of SQL.
func literalOf(raw json.RawMessage) (string, bool) {
	var text string
	if json.Unmarshal(raw, &text) == nil && bytes.HasPrefix(raw, []byte{'"'}) {
		return "'" + strings.ReplaceAll(text, "'", "''") + "'", true
	}
	n, err := strconv.ParseInt(string(raw), 10, 64)
	return strconv.FormatInt(n, 10), err == nil
}
