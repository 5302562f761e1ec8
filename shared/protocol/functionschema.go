package protocol

import (
	"encoding/json"

	"github.com/apache/arrow-go/v18/arrow"
)

// CheckFunctionSchema requires that a schema of a declaration, which has the given name in errors, has just
// the given fields. LanceDB keeps the schema with the table and refuses tables whose columns are others.
func CheckFunctionSchema(name string, raw json.RawMessage, want []arrow.Field) error {
	var given struct {
		Fields []JSONField `json:"fields"`
	}
	if err := json.Unmarshal(raw, &given); err != nil {
		return Errorf(InvalidInput, "function.%s is not a schema in JSON: %w", name, err)
	}
	if len(given.Fields) != len(want) {
		return Errorf(InvalidInput, "function.%s has %d fields; there are %d", name, len(given.Fields), len(want))
	}
	for i, f := range given.Fields {
		switch {
		case f.Name != want[i].Name:
			return Errorf(InvalidInput, "function.%s.fields[%d] is %s; it must be %s", name, i, quoteShort(f.Name), quoteShort(want[i].Name))
		case f.Nullable != want[i].Nullable:
			return Errorf(InvalidInput, "function.%s.fields[%d], %s, has nullable %v; it must be %v", name, i, quoteShort(f.Name), f.Nullable, want[i].Nullable)
		case want[i].Type == arrow.DataType(BlobType) && f.Type.Type == "struct": // clients know several forms of blobs
		case !f.Type.Matches(want[i].Type):
			return Errorf(InvalidInput, "function.%s.fields[%d], %s, is of type %s; it must be %s", name, i, quoteShort(f.Name), quoteShort(f.Type.Type), TypeText(want[i].Type))
		}
	}
	return nil
}

// CheckInputType requires that the text of a type is that of a column.
func (in InputBinding) CheckInputType(column arrow.DataType) error {
	if column == arrow.DataType(BlobType) && in.ArrowType == BlobWord {
		return nil
	}
	if typ, err := ParseFunctionType(in.ArrowType); err == nil && SameFunctionType(typ, column) {
		return nil
	}
	if text, err := FunctionTypeText(column); err == nil && text == in.ArrowType {
		return nil
	}
	return Errorf(InvalidInput, "function.input_bindings: %s is declared as %s; column %s is of type %s", quoteShort(in.Parameter), quoteShort(in.ArrowType), quoteShort(in.FieldPath), TypeText(column))
}
