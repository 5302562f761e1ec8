package engine

import (
	"iter"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"

	"tiltyard/shared/gather"
	"tiltyard/shared/protocol"
)

// maxDictionaryBytes bounds an answer with dictionary columns, which is held as a whole.
const maxDictionaryBytes = 1 << 30

// withOneDictionary makes one batch of an answer with dictionary columns. Each page of a
// table has a dictionary of its own, but the file that clients read allows only one for
// each column. It may need wider indices than the pages do; then the schema says so.
func withOneDictionary(rows *protocol.Rows) error {
	fields := rows.Schema.Fields()
	if !slices.ContainsFunc(fields, func(f arrow.Field) bool { return gather.HasDictionary(f.Type) }) {
		return nil
	}
	all, err := collect(rows.Schema, rows.Batches, maxDictionaryBytes, "the answer",
		"answers with dictionary columns are limited; ask for fewer rows, or leave those columns out")
	if err != nil {
		return err
	}
	rows.Schema, rows.Batches = all.Schema(), only(all)
	return nil
}

// only yields one batch, unless it is empty.
func only(batch arrow.RecordBatch) iter.Seq2[arrow.RecordBatch, error] {
	return func(yield func(arrow.RecordBatch, error) bool) {
		if batch.NumRows() > 0 {
			yield(batch, nil)
		}
	}
}
