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
		case !isTypeOf(f.Type, want[i].Type):
			return Errorf(InvalidInput, "function.%s.fields[%d], %s, is of type %s; it must be %s", name, i, quoteShort(f.Name), quoteShort(f.Type.Type), TypeText(want[i].Type))
		}
	}
	return nil
}

// CheckInputType requires that the text of a type is that of a column.
func (in InputBinding) CheckInputType(column arrow.DataType) error {
	if column == arrow.DataType(BlobType) && in.ArrowType == blobWord {
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

// isTypeOf reports whether the JSON of a type stands for a type. Some words leave open what the type has, such
// as the unit of a time; they stand for all types that are written so.
func isTypeOf(given JSONType, typ arrow.DataType) bool {
	if decoded, err := decodeType(given, 0); err == nil && SameFunctionType(decoded, typ) {
		return true
	}
	written, err := encodeType(DialectNamespace, "", typ, 0)
	return err == nil && sameJSONType(given, written)
}

// sameJSONType compares types in JSON. The names and the nullability of the items of lists do not count.
func sameJSONType(a, b JSONType) bool {
	if a.Type != b.Type || len(a.Fields) != len(b.Fields) || (a.Length == nil) != (b.Length == nil) || a.Length != nil && *a.Length != *b.Length {
		return false
	}
	for i := range a.Fields {
		x, y := a.Fields[i], b.Fields[i]
		if a.Type == "struct" && (x.Name != y.Name || x.Nullable != y.Nullable) || !sameJSONType(x.Type, y.Type) {
			return false
		}
	}
	return true
}
