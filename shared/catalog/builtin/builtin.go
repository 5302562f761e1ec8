// Package builtin has the records of the functions that the service brings along. They are in the namespace
// [Namespace], which no storage holds, with one version each. Package function/builtin runs them.
package builtin

import (
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/apache/arrow-go/v18/arrow"

	"tiltyard/shared/catalog/stored"
	"tiltyard/shared/protocol"
	"tiltyard/shared/protocol/functionapi"
)

const (
	// Namespace has the functions. Its name is reserved: no namespace of a catalog has it.
	Namespace = "__builtin"
	// Runtime is the kind of the runtime of the functions.
	Runtime = "builtin"
	// ArtifactKind is the kind of their artifacts, which have no content.
	ArtifactKind = "none"
)

// created is the time that clients see as that of the versions, the same in every deployment.
var created = time.Date(2026, time.January, 1, 0, 0, 0, 0, time.UTC)

// IsReserved reports whether an id names the namespace, or something in it.
func IsReserved(id []string) bool { return len(id) > 0 && id[0] == Namespace }

// Reserved returns the error for a change of what the service brings along.
func Reserved() error {
	return protocol.Errorf(protocol.InvalidInput, "the namespace %s is reserved for the functions that the service brings along; choose another name", Namespace)
}

// Find returns the record of the function of an id, nil if there is none.
func Find(id []string) (*stored.Function, error) {
	if len(id) != 2 || id[0] != Namespace {
		return nil, nil
	}
	signature, ok := signatures[id[1]]
	if !ok {
		return nil, nil
	}
	definition := functionapi.Definition{
		Artifact: functionapi.Artifact{Kind: ArtifactKind, Digest: functionapi.DigestOf(nil)}, Signature: signature,
	}
	var err error
	if definition.Runtime, err = json.Marshal(map[string]string{"kind": Runtime, "function": id[1]}); err != nil {
		return nil, err
	}
	version := stored.FunctionVersion{Created: created, Proved: true}
	if version.Digest, err = definition.Digest(); err != nil {
		return nil, err
	}
	if version.Definition, err = json.Marshal(definition); err != nil {
		return nil, err
	}
	return &stored.Function{ID: id, UID: "builtin-" + id[1], Created: created, Versions: []stored.FunctionVersion{version}}, nil
}

// Names returns the names of the functions behind a name, in their order.
func Names(after string) []string {
	var names []string
	for name := range signatures {
		if name > after {
			names = append(names, name)
		}
	}
	slices.SortFunc(names, strings.Compare)
	return names
}

// signatures are the signatures of the functions. A parameter also takes columns of other types that the
// function knows, such as vectors of a fixed length for list<float32>.
var signatures = map[string]functionapi.Signature{
	"sha256":    one("text", "utf8", "utf8"),
	"html_text": one("html", "utf8", "utf8"),

	"normalize_l2": one("vector", "list<float32>", "list<float32>"),
	"truncate_vector": one("vector", "list<float32>", "list<float32>",
		constant("dimensions", "int64", false), constant("normalize", "bool", true)),

	"json_rows":       one("text", "utf8", pieces(), constant("path", "utf8", true)),
	"split_lines":     one("text", "utf8", pieces()),
	"split_markdown":  one("text", "utf8", pieces(arrow.Field{Name: "path", Type: arrow.ListOf(arrow.BinaryTypes.String), Nullable: true})),
	"split_sentences": one("text", "utf8", pieces()),
	"split_text": one("text", "utf8", pieces(),
		constant("size", "int64", false), constant("overlap", "int64", true), constant("unit", "utf8", true)),
}

// one returns the signature of a function of one parameter, which may be null.
func one(param, input, output string, constants ...functionapi.Field) functionapi.Signature {
	never := false
	return functionapi.Signature{
		Inputs:         []functionapi.Field{{Name: param, ArrowType: input, Nullable: true}},
		Output:         functionapi.Output{Kind: functionapi.ScalarOutput, ArrowType: output, Nullable: &never},
		Initialization: constants,
	}
}

func constant(name, arrowType string, optional bool) functionapi.Field {
	return functionapi.Field{Name: name, ArrowType: arrowType, Nullable: optional}
}

// pieces returns the type of a list of pieces of a text, as package splitting makes them.
func pieces(more ...arrow.Field) string {
	fields := append([]arrow.Field{
		{Name: "text", Type: arrow.BinaryTypes.String, Nullable: true},
		{Name: "start", Type: arrow.PrimitiveTypes.Int64, Nullable: true},
		{Name: "end", Type: arrow.PrimitiveTypes.Int64, Nullable: true},
		{Name: "ordinal", Type: arrow.PrimitiveTypes.Int32, Nullable: true},
	}, more...)
	text, err := protocol.FunctionTypeText(arrow.ListOf(arrow.StructOf(fields...)))
	if err != nil {
		panic(err) // a type of this file without a text
	}
	return text
}
