// Package builtin has the records of the built-in functions. They have one version each, in the
// namespace [Namespace], which exists in no storage. Package function/builtin runs them.
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
	// Namespace contains the functions. Catalogs cannot have a namespace of that name.
	Namespace = "__builtin"
	// Runtime is the runtime kind of the functions.
	Runtime = "builtin"
	// ArtifactKind is the kind of the functions' artifacts, which have no content.
	ArtifactKind = "none"
)

// created is the creation time of the versions that clients see, the same in every deployment.
var created = time.Date(2026, time.January, 1, 0, 0, 0, 0, time.UTC)

// IsReserved reports whether an id is the reserved namespace or an object in it.
func IsReserved(id []string) bool { return len(id) > 0 && id[0] == Namespace }

// Reserved returns the error for an attempt to change the reserved namespace.
func Reserved() error {
	return protocol.Errorf(protocol.InvalidInput, "the namespace %s is reserved for the functions that the service brings along; choose another name", Namespace)
}

// Find returns the record of a built-in function, or nil if there is none of that id.
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

// Names returns, in order, the function names that sort after the given one.
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

// signatures are the signatures of the functions. Some functions accept further column types, such
// as fixed-size vectors where the signature has list<float32>.
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

// one returns the signature of a function with one nullable parameter.
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

// pieces returns the Arrow type, as text, of the lists that the text splitters return: see package
// splitting.
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
