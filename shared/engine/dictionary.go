package engine

import (
	"iter"

	"github.com/apache/arrow-go/v18/arrow"
)

// maxDictionaryBytes bounds an answer with dictionary columns, which is held as a whole.
const maxDictionaryBytes = 1 << 30

// withOneDictionary makes one batch of an answer with dictionary columns. Each page of a
// table has a dictionary of its own, but the file that clients read allows only one for
// each column.
func withOneDictionary(schema *arrow.Schema, batches iter.Seq2[arrow.RecordBatch, error]) iter.Seq2[arrow.RecordBatch, error] {
	if !hasDictionary(schema.Fields()) {
		return batches
	}
	return func(yield func(arrow.RecordBatch, error) bool) {
		all, err := collect(schema, batches, maxDictionaryBytes, "the answer",
			"answers with dictionary columns are limited; ask for fewer rows, or leave those columns out")
		if err != nil {
			yield(nil, err)
			return
		}
		if all.NumRows() > 0 {
			yield(all, nil)
		}
	}
}

func hasDictionary(fields []arrow.Field) bool {
	for _, f := range fields {
		if f.Type.ID() == arrow.DICTIONARY {
			return true
		}
		if nested, ok := f.Type.(arrow.NestedType); ok && hasDictionary(nested.Fields()) {
			return true
		}
	}
	return false
}
