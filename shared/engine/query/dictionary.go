package query

import (
	"context"
	"fmt"
	"iter"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"

	"tiltyard/shared/arrow/take"
	"tiltyard/shared/process/memory"
	"tiltyard/shared/protocol"
)

// maxDictionaryBytes bounds an answer with dictionary columns, because all of it is held in memory.
// The memory limit of the request may be lower.
const maxDictionaryBytes = 1 << 30

// oneDictionary joins an answer with dictionary columns into one batch. Each page of a table has
// its own dictionary, but the Arrow file that clients read allows only one per column. The joined
// dictionary may need a wider index type than those of the pages; the schema of the answer is
// changed accordingly.
//
// The memory of the batch is charged until the caller has ranged over it.
type oneDictionary struct{ Answer }

// Rows reads all rows if the answer has dictionary columns, and otherwise streams them.
func (a oneDictionary) Rows(ctx context.Context) (*protocol.Rows, error) {
	rows, err := a.Answer.Rows(ctx)
	if err != nil {
		return nil, err
	}
	fields := rows.Schema.Fields()
	if !slices.ContainsFunc(fields, func(f arrow.Field) bool { return take.HasDictionary(f.Type) }) {
		return rows, nil
	}
	var hold memory.Hold
	all, err := joined(ctx, &hold, rows)
	if err != nil {
		hold.Release()
		return nil, err
	}
	rows.Schema, rows.Batches = all.Schema(), only(all, hold)
	return rows, nil
}

// joined reads all rows into one batch. The hold grows with the rows as they are read, and then
// with the memory for joining them.
func joined(ctx context.Context, hold *memory.Hold, rows *protocol.Rows) (arrow.RecordBatch, error) {
	var all []arrow.RecordBatch
	var size take.Tally
	for batch, err := range rows.Batches {
		if err != nil {
			return nil, err
		}
		if size.Add(batch); size.Rows() > maxDictionaryBytes {
			return nil, &protocol.Error{
				Code: protocol.InvalidInput, TooLarge: true,
				Message: fmt.Sprintf("the answer is larger than %d bytes", maxDictionaryBytes),
				Detail:  "answers with dictionary columns are limited; ask for fewer rows, or leave those columns out",
			}
		}
		if err := hold.Resize(ctx, size.Rows()); err != nil {
			return nil, err
		}
		all = append(all, batch)
	}
	if len(all) == 1 {
		return all[0], nil
	}
	// The rows exist twice while they are joined.
	if err := hold.Resize(ctx, size.Rows()+size.Joined()); err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	one, err := take.Concat(rows.Schema, all)
	if err != nil {
		return nil, err
	}
	return one, hold.Resize(ctx, min(hold.Bytes(), take.BatchBytes(one)))
}

// only yields one batch, unless it is empty, and then releases its memory.
func only(batch arrow.RecordBatch, hold memory.Hold) iter.Seq2[arrow.RecordBatch, error] {
	return func(yield func(arrow.RecordBatch, error) bool) {
		defer hold.Release()
		if batch.NumRows() > 0 {
			yield(batch, nil)
		}
	}
}
