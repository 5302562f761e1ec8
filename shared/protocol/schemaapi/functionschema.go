package schemaapi

import (
	"encoding/json"

	"github.com/apache/arrow-go/v18/arrow"

	"tiltyard/shared/protocol"
)

// CheckFunctionSchema checks that a schema in a declaration has exactly the given fields. name is
// the schema's name in errors. LanceDB stores the schema with the table and refuses tables whose
// columns differ from it.
func CheckFunctionSchema(name string, raw json.RawMessage, want []arrow.Field) error {
	var given struct {
		Fields []protocol.JSONField `json:"fields"`
	}
	if err := json.Unmarshal(raw, &given); err != nil {
		return protocol.Errorf(protocol.InvalidInput, "function.%s is not a schema in JSON: %w", name, err)
	}
	if len(given.Fields) != len(want) {
		return protocol.Errorf(protocol.InvalidInput, "function.%s has %d fields; there are %d", name, len(given.Fields), len(want))
	}
	for i, f := range given.Fields {
		switch {
		case f.Name != want[i].Name:
			return protocol.Errorf(protocol.InvalidInput, "function.%s.fields[%d] is %s; it must be %s", name, i, protocol.QuoteShort(f.Name), protocol.QuoteShort(want[i].Name))
		case f.Nullable != want[i].Nullable:
			return protocol.Errorf(protocol.InvalidInput, "function.%s.fields[%d], %s, has nullable %v; it must be %v", name, i, protocol.QuoteShort(f.Name), f.Nullable, want[i].Nullable)
		case want[i].Type == arrow.DataType(protocol.BlobType) && f.Type.Type == "struct": // clients use several forms of blobs
		case !f.Type.Matches(want[i].Type):
			return protocol.Errorf(protocol.InvalidInput, "function.%s.fields[%d], %s, is of type %s; it must be %s", name, i, protocol.QuoteShort(f.Name), protocol.QuoteShort(f.Type.Type), protocol.TypeText(want[i].Type))
		}
	}
	return nil
}

// CheckInputType checks that the declared type of an input is the type of its column.
func (in InputBinding) CheckInputType(column arrow.DataType) error {
	if column == arrow.DataType(protocol.BlobType) && in.ArrowType == protocol.BlobWord {
		return nil
	}
	if typ, err := protocol.ParseFunctionType(in.ArrowType); err == nil && protocol.SameFunctionType(typ, column) {
		return nil
	}
	if text, err := protocol.FunctionTypeText(column); err == nil && text == in.ArrowType {
		return nil
	}
	return protocol.Errorf(protocol.InvalidInput, "function.input_bindings: %s is declared as %s; column %s is of type %s", protocol.QuoteShort(in.Parameter), protocol.QuoteShort(in.ArrowType), protocol.QuoteShort(in.FieldPath), protocol.TypeText(column))
}
