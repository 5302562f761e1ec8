package protocol

import (
	"encoding/json"
	"strconv"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
)

// The types of parameters and results of functions are texts: words such as utf8 and float32;
// list<…>, large_list<…> and fixed_size_list<…, n> of such words, with items that are not null;
// blob_v2; and, for all other types, the JSON of a type in the public specification.
//
// Source: the fixtures of lancedb 0.40, tests/fixtures/first_class_functions/v1/arrow_types.json.

// BlobWord is the text of the type of blobs.
const BlobWord = "blob_v2"

// BlobType is the type of a blob column in the signatures of functions.
var BlobType = arrow.StructOf(
	arrow.Field{Name: "data", Type: arrow.BinaryTypes.LargeBinary, Nullable: true},
	arrow.Field{Name: "uri", Type: arrow.BinaryTypes.String, Nullable: true},
)

// functionWords are the words for types without children.
var functionWords = map[string]bool{
	"null": true, "bool": true, "int8": true, "int16": true, "int32": true, "int64": true,
	"uint8": true, "uint16": true, "uint32": true, "uint64": true, "float16": true, "float32": true, "float64": true,
	"utf8": true, "large_utf8": true, "binary": true, "date32": true, "date64": true,
}

// ParseFunctionType returns the type of a text. The error is InvalidInput.
func ParseFunctionType(text string) (arrow.DataType, error) {
	if strings.HasPrefix(text, "{") {
		var written JSONType
		if err := unmarshalStrict(text, &written); err != nil {
			return nil, Errorf(InvalidInput, "arrow_type %s is not the JSON of a type: %w", QuoteShort(text), err)
		}
		typ, err := decodeType(written, 0)
		if err == nil {
			err = checkMembers(typ)
		}
		return typ, err
	}
	return parseFunctionType(text, 0)
}

// unmarshalStrict decodes JSON without unknown fields.
func unmarshalStrict(text string, to any) error {
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(to); err != nil {
		return err
	}
	if decoder.More() {
		return Errorf(InvalidInput, "there is more behind it")
	}
	return nil
}

// checkMembers requires that structs have members with different names.
func checkMembers(typ arrow.DataType) error {
	children := typeChildren(typ)
	if _, ok := typ.(*arrow.StructType); ok {
		seen := map[string]bool{}
		for _, f := range children {
			if f.Name == "" || seen[f.Name] {
				return Errorf(InvalidInput, "a struct in arrow_type has members without a name, or two of the same name")
			}
			seen[f.Name] = true
		}
		if len(children) == 0 {
			return Errorf(InvalidInput, "a struct in arrow_type has no members")
		}
	}
	for _, f := range children {
		if err := checkMembers(f.Type); err != nil {
			return err
		}
	}
	return nil
}

// parseFunctionType parses the text of a type, to a limited depth.
func parseFunctionType(text string, depth int) (arrow.DataType, error) {
	bad := func() error {
		return Errorf(InvalidInput, "arrow_type %s is not known; there are utf8, float32 and other words, list<…>, large_list<…>, fixed_size_list<…, n>, blob_v2, and JSON", QuoteShort(text))
	}
	if depth > maxTypeNesting {
		return nil, Errorf(InvalidInput, "arrow_type is nested deeper than %d", maxTypeNesting)
	}
	if functionWords[text] {
		return plainTypes[text], nil
	}
	word, inner, ok := strings.Cut(text, "<")
	inner, closed := strings.CutSuffix(inner, ">")
	if !ok || !closed {
		return nil, bad()
	}
	length := 0
	if word == "fixed_size_list" {
		comma := strings.LastIndexByte(inner, ',')
		if comma < 0 {
			return nil, bad()
		}
		n, err := strconv.ParseInt(strings.TrimLeft(inner[comma+1:], " "), 10, 32)
		if err != nil || n < 1 || n > 1<<20 {
			return nil, bad()
		}
		inner, length = inner[:comma], int(n)
	}
	item, err := parseFunctionType(inner, depth+1)
	if err != nil {
		return nil, err
	}
	child := arrow.Field{Name: "item", Type: item}
	switch word {
	case "list":
		return arrow.ListOfField(child), nil
	case "large_list":
		return arrow.LargeListOfField(child), nil
	case "fixed_size_list":
		return arrow.FixedSizeListOfField(int32(length), child), nil
	}
	return nil, bad()
}

// FunctionTypeText is the inverse of [ParseFunctionType]. A type that has no text is an Unsupported error.
func FunctionTypeText(typ arrow.DataType) (string, error) {
	if text := plainFunctionType(typ); text != "" {
		return text, nil
	}
	written, err := encodeType(DialectNamespace, "", typ, 0)
	if err != nil {
		return "", err
	}
	encoded, err := json.Marshal(written)
	return string(encoded), err
}

// plainFunctionType returns the text of a type without JSON, or "" if it needs JSON.
func plainFunctionType(typ arrow.DataType) string {
	list, ok := typ.(arrow.ListLikeType)
	if !ok {
		if word := namespaceName(typ); functionWords[word] && arrow.TypeEqual(plainTypes[word], typ) {
			return word
		}
		return ""
	}
	child := list.ElemField()
	if child.Name != "item" || child.Nullable || child.Metadata.Len() > 0 {
		return ""
	}
	inner := plainFunctionType(child.Type)
	if inner == "" {
		return ""
	}
	switch typ := typ.(type) {
	case *arrow.ListType:
		return "list<" + inner + ">"
	case *arrow.LargeListType:
		return "large_list<" + inner + ">"
	case *arrow.FixedSizeListType:
		return "fixed_size_list<" + inner + ", " + strconv.Itoa(int(typ.Len())) + ">"
	}
	return ""
}

// SameFunctionType reports whether a column's type fits the type that a function declares. It
// ignores the names and the nullability of list items, because Lance does not store them.
func SameFunctionType(declared, column arrow.DataType) bool {
	a, b := typeChildren(declared), typeChildren(column)
	if declared.ID() != column.ID() || len(a) != len(b) {
		return false
	}
	if len(a) == 0 {
		return arrow.TypeEqual(declared, column)
	}
	if x, ok := declared.(*arrow.FixedSizeListType); ok && x.Len() != column.(*arrow.FixedSizeListType).Len() { //nolint:forcetypeassert // of the same id
		return false
	}
	_, members := declared.(*arrow.StructType)
	for i := range a {
		if members && (a[i].Name != b[i].Name || a[i].Nullable != b[i].Nullable) || !SameFunctionType(a[i].Type, b[i].Type) {
			return false
		}
	}
	return true
}
