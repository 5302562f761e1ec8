package rowfile_test

import (
	"bytes"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"tiltyard/local/rowfile"
)

// Any file becomes rows of the inferred columns, or an error. Rows have whole vectors.
func FuzzInfer(f *testing.F) {
	for _, seed := range []string{
		"a,b\n1,x\n", "a;b\n1;[1,2]\n;\n", `{"a":1,"b":{"c":[1,2]}} {"a":"2024-02-29T01:02Z"}`, `[{"a":[]},{"a":null}]`, "\ufeff\"", `{"a":"[1,2]"}`,
	} {
		f.Add([]byte(seed), true)
		f.Add([]byte(seed), false)
	}
	f.Fuzz(func(t *testing.T, file []byte, isCSV bool) {
		format := rowfile.JSON
		if isCSV {
			format = rowfile.CSV
		}
		schema, in, err := rowfile.Infer(bytes.NewReader(file), format, nil)
		if err != nil {
			return
		}
		rows, err := rowfile.Read(t.Context(), in, format, schema, false)
		if err != nil {
			t.Fatalf("columns were inferred, but not read: %v", err)
		}
		for batch, err := range rows.Batches {
			if err != nil {
				return
			}
			for _, column := range batch.Columns() {
				if list, ok := column.(*array.FixedSizeList); ok && list.ListValues().Len() != column.Len()*int(list.DataType().(*arrow.FixedSizeListType).Len()) {
					t.Errorf("%d vectors of %s have %d elements", column.Len(), column.DataType(), list.ListValues().Len())
				}
			}
		}
	})
}

func TestTypesAreParsedFromTheirWords(t *testing.T) {
	for _, word := range []string{"int64", "float32", "bool", "utf8", "date32", "timestamp", "timestamp[us]", "timestamp[ns]", "vector[2]", "list<utf8>", "list<float64>", "list<list<int8>>"} {
		typ, err := rowfile.ParseType(word)
		if err != nil || rowfile.TypeWord(typ) != word {
			t.Errorf("%s becomes %v, %v", word, typ, err)
		}
	}
}
