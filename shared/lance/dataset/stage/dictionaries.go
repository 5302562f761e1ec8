package stage

import (
	"iter"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"tiltyard/shared/arrow/take"
	"tiltyard/shared/lance/internal/dictionary"
	"tiltyard/shared/lance/internal/legacyfile"
	"tiltyard/shared/lance/schema"
)

// FirstDictionaries returns the dictionaries of a new table of legacy data files. As in native
// Lance they come from the first batch, and all later batches must have the same. It also returns
// the complete rows, and a function that releases them.
func FirstDictionaries(match *schema.Match, rows iter.Seq2[arrow.RecordBatch, error]) (legacyfile.Options, iter.Seq2[arrow.RecordBatch, error], func(), error) {
	options := legacyfile.Options{Exact: true, Dictionaries: map[int32]arrow.Array{}}
	for _, field := range dictionary.Fields(match.Schema) {
		options.Dictionaries[field.ID] = take.Nulls(dictionary.TypeOf(field).ValueType, 0) // for a table without rows
	}
	if len(options.Dictionaries) == 0 {
		return options, rows, func() {}, nil
	}
	next, stop := iter.Pull2(rows)
	first, err, ok := next()
	if err == nil && ok {
		var columns []arrow.Array
		columns, err = match.Columns(first)
		for i := range columns {
			collectDictionaries(options.Dictionaries, match.Schema.Fields[i], columns[i])
		}
	}
	if err != nil {
		stop()
		return options, nil, nil, err
	}
	return options, func(yield func(arrow.RecordBatch, error) bool) {
		for batch := first; ok && yield(batch, err); {
			batch, err, ok = next()
		}
	}, stop, nil
}

// collectDictionaries collects the dictionaries of a column by field id.
func collectDictionaries(into map[int32]arrow.Array, field *schema.Field, column arrow.Array) {
	switch column := column.(type) {
	case *array.Dictionary:
		into[field.ID] = column.Dictionary()
	case *array.Struct:
		for i, child := range field.Children {
			collectDictionaries(into, child, column.Field(i))
		}
	case array.ListLike:
		if len(field.Children) == 1 {
			collectDictionaries(into, field.Children[0], column.ListValues())
		}
	}
}

// StoredDictionaries returns the dictionaries in the form in which readers of the table decode
// them.
func StoredDictionaries(given map[int32]arrow.Array) (map[int32]arrow.Array, error) {
	stored := make(map[int32]arrow.Array, len(given))
	for id, values := range given {
		var err error
		if stored[id], err = dictionary.Stored(values); err != nil {
			return nil, err
		}
	}
	return stored, nil
}
