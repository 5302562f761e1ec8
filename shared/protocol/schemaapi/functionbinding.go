package schemaapi

import (
	"encoding/base64"
	"encoding/json"

	"tiltyard/shared/protocol"
	"tiltyard/shared/protocol/functionapi"
)

// FunctionBindingsKey is the key of the metadata of a schema that holds the uses of functions by columns.
const FunctionBindingsKey = "lancedb::function_bindings"

// functionBindingsVersion is the version of the bindings in the metadata, and of column
// declarations.
const functionBindingsVersion = 1

// WholeResult is the name of the result of a function that becomes one column.
const WholeResult = "$value"

// MaxFunctionBindings bounds the bytes of all uses of functions in a table, which every reader of the
// table reads.
const MaxFunctionBindings = 1 << 20

// A FunctionDeclaration declares new columns that a function computes.
type FunctionDeclaration struct {
	Application     FunctionApplication `json:"application"`
	MetadataVersion int                 `json:"binding_metadata_version"`
	Inputs          []InputBinding      `json:"input_bindings"`
	InputSchema     json.RawMessage     `json:"input_schema"`
	OutputSchema    json.RawMessage     `json:"output_schema"`
	Outputs         []OutputMapping     `json:"outputs"`
}

// A FunctionApplication is the use of a version of a function.
type FunctionApplication struct {
	Function       FunctionReference          `json:"function"`
	Inputs         []ApplicationInput         `json:"inputs"`
	Output         functionapi.Output         `json:"output"`
	Columns        map[string]string          `json:"columns"` // new names of fields of the result
	Initialization map[string]json.RawMessage `json:"initialization"`
}

// A FunctionReference names a version of a function.
type FunctionReference struct {
	Name           string   `json:"name"`
	Namespace      []string `json:"namespace_path,omitempty"`
	ObjectID       string   `json:"object_id"`
	Location       string   `json:"location"`
	Version        string   `json:"version"`
	ManifestDigest string   `json:"manifest_digest"`
}

// ID returns the id of the function.
func (r FunctionReference) ID() []string { return append(append([]string{}, r.Namespace...), r.Name) }

// An ApplicationInput gives a column to a parameter.
type ApplicationInput struct {
	Parameter string          `json:"parameter"`
	Kind      string          `json:"kind"`
	Value     json.RawMessage `json:"value"`
}

// An InputBinding is a parameter and the field that it gets.
type InputBinding struct {
	Parameter string `json:"parameter"`
	FieldID   int32  `json:"field_id"`
	FieldPath string `json:"field_path"`
	ArrowType string `json:"arrow_type"`
	Nullable  bool   `json:"nullable"`
}

// An OutputMapping is a part of the result and the column that it becomes.
type OutputMapping struct {
	ResultField string `json:"result_field"`
	OutputName  string `json:"output_name"`
	FieldID     int32  `json:"output_field_id"`
	Ordinal     uint32 `json:"output_ordinal"`
	ArrowType   string `json:"arrow_type"`
	Nullable    bool   `json:"nullable"`
}

// An AssignmentMapping is the column that says which rows have a value, where all parts of a result may
// be null.
type AssignmentMapping struct {
	OutputName string `json:"output_name"`
	FieldID    int32  `json:"output_field_id"`
}

// A FunctionBinding is the use of a function by columns of a table.
type FunctionBinding struct {
	ID             string             `json:"binding_id"`
	Function       FunctionReference  `json:"function"`
	Inputs         []InputBinding     `json:"inputs"`
	Outputs        []OutputMapping    `json:"outputs"`
	Assignment     *AssignmentMapping `json:"assignment,omitempty"`
	InputSchema    json.RawMessage    `json:"input_schema"`
	OutputSchema   json.RawMessage    `json:"output_schema"`
	Initialization string             `json:"initialization,omitempty"` // base64 of an Arrow stream of one row
}

// InitializationRow returns the Arrow stream of the constants of the use, nil without any.
func (b *FunctionBinding) InitializationRow() ([]byte, error) {
	if b.Initialization == "" {
		return nil, nil
	}
	return base64.StdEncoding.DecodeString(b.Initialization)
}

// functionBindings is the JSON form of the metadata.
type functionBindings struct {
	Version  int               `json:"version"`
	Bindings []FunctionBinding `json:"bindings"`
}

// DecodeFunctionBindings reads the uses of functions from the metadata of a schema. The error is
// Unsupported for a later version, and InvalidTableState for malformed metadata.
func DecodeFunctionBindings(metadata map[string]string) ([]FunctionBinding, error) {
	text, ok := metadata[FunctionBindingsKey]
	if !ok {
		return nil, nil
	}
	var all functionBindings
	if err := json.Unmarshal([]byte(text), &all); err != nil {
		return nil, protocol.Errorf(protocol.InvalidTableState, "the schema metadata %s is malformed: %w", FunctionBindingsKey, err)
	}
	if all.Version != functionBindingsVersion {
		return nil, protocol.Errorf(protocol.Unsupported, "the schema metadata %s has the version %d; this service knows %d", FunctionBindingsKey, all.Version, functionBindingsVersion)
	}
	return all.Bindings, nil
}

// EncodeFunctionBindings is the inverse of [DecodeFunctionBindings].
func EncodeFunctionBindings(all []FunctionBinding) (string, error) {
	text, err := json.Marshal(functionBindings{functionBindingsVersion, all})
	if err == nil && len(text) > MaxFunctionBindings {
		return "", protocol.Errorf(protocol.InvalidInput, "the functions of all columns of the table take %d bytes of metadata; at most %d are possible", len(text), MaxFunctionBindings)
	}
	return string(text), err
}

// path returns the path of the column that an input names. The error is InvalidInput or Unsupported.
func (in ApplicationInput) path() (string, error) {
	if in.Kind != "column" {
		return "", protocol.Errorf(protocol.Unsupported, "function.application: the input %s is of kind %s; only columns are supported", protocol.QuoteShort(in.Parameter), protocol.QuoteShort(in.Kind))
	}
	var value struct {
		Path string `json:"path"`
	}
	if err := json.Unmarshal(in.Value, &value); err != nil || value.Path == "" {
		return "", protocol.Errorf(protocol.InvalidInput, "function.application: the input %s has no value with the path of a column", protocol.QuoteShort(in.Parameter))
	}
	return value.Path, nil
}

// validate checks that the parts of a declaration match each other and the new columns.
func (d *FunctionDeclaration) validate(columns []NewColumn) error {
	if d.MetadataVersion == 0 {
		return protocol.Errorf(protocol.InvalidInput, "function.binding_metadata_version is required; this service knows %d", functionBindingsVersion)
	}
	if d.MetadataVersion != functionBindingsVersion {
		return protocol.Errorf(protocol.Unsupported, "function.binding_metadata_version is %d; this service knows %d", d.MetadataVersion, functionBindingsVersion)
	}
	ref := d.Application.Function
	if err := protocol.CheckID(ref.ID()); err != nil || ref.Name == "" || functionapi.VersionNumber(ref.Version) == 0 {
		return protocol.Errorf(protocol.InvalidInput, "function.application.function does not name a version of a function")
	}
	if len(d.Inputs) != len(d.Application.Inputs) || len(d.Inputs) > functionapi.MaxFields {
		return protocol.Errorf(protocol.InvalidInput, "function.input_bindings has %d entries, and application.inputs %d; they must agree, and at most %d are possible",
			len(d.Inputs), len(d.Application.Inputs), functionapi.MaxFields)
	}
	for i, in := range d.Application.Inputs {
		path, err := in.path()
		if err != nil {
			return err
		}
		if in.Parameter != d.Inputs[i].Parameter || path != d.Inputs[i].FieldPath {
			return protocol.Errorf(protocol.InvalidInput, "function.input_bindings[%d] is not application.inputs[%d]", i, i)
		}
	}
	if len(d.Outputs) != len(columns) {
		return protocol.Errorf(protocol.InvalidInput, "function.outputs has %d entries, and new_columns %d; they must agree", len(d.Outputs), len(columns))
	}
	for i, out := range d.Outputs {
		if out.OutputName != columns[i].Name || out.Ordinal != uint32(i) || !columns[i].AllNull {
			return protocol.Errorf(protocol.InvalidInput, "function.outputs[%d] is not new_columns[%d], which has its name and is all_null", i, i)
		}
	}
	for name, raw := range map[string]json.RawMessage{"input_schema": d.InputSchema, "output_schema": d.OutputSchema} {
		if len(raw) == 0 || raw[0] != '{' || len(raw) > functionapi.MaxDefinition {
			return protocol.Errorf(protocol.InvalidInput, "function.%s is required: a schema, of at most %d bytes", name, functionapi.MaxDefinition)
		}
	}
	return nil
}
