package legacyfile

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"tiltyard/shared/lance"
	"tiltyard/shared/lance/schema"
)

func textArray(values ...string) arrow.Array {
	b := array.NewStringBuilder(memory.DefaultAllocator)
	for _, v := range values {
		if v == "" {
			b.AppendNull()
		} else {
			b.Append(v)
		}
	}
	return b.NewArray()
}

// indexedBy returns values as indices into a dictionary; an index of -1 is null.
func indexedBy(t testing.TB, values arrow.Array, indices ...int8) arrow.Array {
	t.Helper()
	b := array.NewInt8Builder(memory.DefaultAllocator)
	for _, i := range indices {
		if i < 0 {
			b.AppendNull()
		} else {
			b.Append(i)
		}
	}
	typ := &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int8, ValueType: values.DataType()}
	return array.NewDictionaryArray(typ, b.NewArray(), values)
}

// writeWords writes a column whose dictionary is the table's.
func writeWords(t testing.TB, table, column arrow.Array, exact bool) ([]byte, error) {
	t.Helper()
	fields := arrow.NewSchema([]arrow.Field{{Name: "word", Type: column.DataType(), Nullable: true}}, nil)
	s, err := schema.FromArrowAbove(fields, -1)
	if err != nil {
		t.Fatal(err)
	}
	options := Options{Exact: exact}
	if table != nil {
		options.Dictionaries = map[int32]arrow.Array{0: table}
	}
	var out bytes.Buffer
	w, err := NewWriter(&out, s, options)
	if err != nil {
		return nil, err
	}
	if err := w.Write(array.NewRecordBatch(fields, []arrow.Array{column}, int64(column.Len()))); err != nil {
		return nil, err
	}
	_, err = w.Close()
	return out.Bytes(), err
}

// Rows become indices into the table's dictionary, whatever dictionary they come with; or are
// refused, when they have to come with that one or it does not have their values.
func TestRowsAreWrittenWithTheDictionaryOfTheTable(t *testing.T) {
	words, bare := textArray("a", "bb", "", "a", "ccc"), textArray("a", "bb")
	cases := []struct {
		name          string
		table, column arrow.Array
		exact         bool
		want          string // the rows as they are read, or a part of the error
	}{
		{"the same", words, indexedBy(t, words, 4, 3, 0, 2, 1), true, "ccc a a null bb"},
		{"equal values", words, indexedBy(t, textArray("a", "bb", "", "a", "ccc"), 4, 3, 0), true, "ccc a a"},
		{"a null beside a null value", words, indexedBy(t, words, 1, -1), true, "bb null"},
		{"a null beside no null value", bare, indexedBy(t, bare, 1, -1), true, "bb a"},
		{"other order", words, indexedBy(t, textArray("ccc", "a", ""), 0, 1, 2), false, "ccc a null"},
		{"other order, exactly", words, indexedBy(t, textArray("ccc", "a", ""), 0, 1, 2), true, "field word has another dictionary"},
		{"less, exactly", words, indexedBy(t, bare, 0), true, "field word has another dictionary"},
		{"a value that no row has", words, indexedBy(t, textArray("a", "new"), 0, 0), false, "a a"},
		{"a new value", words, indexedBy(t, textArray("a", "new"), 0, 1), false, "field word has a value that the table's dictionary does not have"},
		{"no dictionary", nil, indexedBy(t, bare, 0), false, "has no dictionary"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			data, err := writeWords(t, c.table, c.column, c.exact)
			if err != nil {
				known := errors.Is(err, schema.ErrMismatch) || errors.Is(err, lance.ErrUnsupported)
				if !known || !strings.Contains(err.Error(), c.want) {
					t.Errorf("got error %v, want %q", err, c.want)
				}
				return
			}
			file, _, columns := ownColumns(t, data)
			got := columns[0].(*array.Dictionary)
			var rows []string
			for i := range got.Len() {
				if got.IsNull(i) {
					rows = append(rows, "null")
				} else {
					rows = append(rows, got.Dictionary().(*array.String).Value(got.GetValueIndex(i)))
				}
			}
			if strings.Join(rows, " ") != c.want {
				t.Errorf("got %v, want %q", rows, c.want)
			}
			if own := ownDictionaries(file)[0]; !array.Equal(own, c.table) {
				t.Errorf("the file's dictionary is %v, want %v", own, c.table)
			}
		})
	}
}

// An index type that is too narrow for a place in the dictionary is no reason to store another.
func TestPlacesThatNoIndexTellsAreRefused(t *testing.T) {
	var many []string
	for i := range 200 {
		many = append(many, fmt.Sprint("w", i))
	}
	table := textArray(many...)
	for _, at := range []int{127, 128} {
		_, err := writeWords(t, table, indexedBy(t, textArray(many[at]), 0), false)
		if (err == nil) != (at == 127) || err != nil && !errors.Is(err, schema.ErrMismatch) {
			t.Errorf("value %d: got error %v", at, err)
		}
	}
}

// Dictionaries in structs and lists, and those of numbers, are shared by the table too, also if
// rows are written in slices.
func TestNestedDictionariesAreThoseOfTheTable(t *testing.T) {
	for name, data := range nativeFiles(t) {
		if !strings.Contains(name, "/types") {
			continue
		}
		file, fields, columns := ownColumns(t, data)
		fields, columns = slices.Clone(fields), slices.Clone(columns)
		n := 0
		for i, field := range fields {
			if slices.Contains([]string{"word", "code", "words", "nested"}, field.Name) {
				fields[n], columns[n] = fields[i], columns[i]
				n++
			}
		}
		if n != 4 {
			t.Fatalf("%s has %d columns with dictionaries, want 4", name, n)
		}
		dictionaries := ownDictionaries(file)
		for id, values := range dictionaries {
			short := map[int32]arrow.Array{}
			for other, same := range dictionaries {
				short[other] = same
			}
			short[id] = array.NewSlice(values, 0, 0)
			var out bytes.Buffer
			w, err := NewWriter(&out, &schema.Schema{Fields: fields[:n]}, Options{Dictionaries: short})
			if err != nil {
				t.Fatal(err)
			}
			rec := array.NewRecordBatch(arrowSchema(fields[:n]), columns[:n], file.NumRows())
			if err := w.Write(rec); !errors.Is(err, schema.ErrMismatch) {
				t.Errorf("%s: got error %v without the values of field %d", name, err, id)
			}
		}
	}
}
