package engine

import (
	"context"
	"fmt"
	"iter"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"

	"tiltyard/shared/gather"
	"tiltyard/shared/memory"
	"tiltyard/shared/protocol"
)

// maxDictionaryBytes bounds an answer with dictionary columns, which is held as a whole,
// where no share of a budget bounds it closer.
const maxDictionaryBytes = 1 << 30

// withOneDictionary makes one batch of an answer with dictionary columns. Each page of a
// table has a dictionary of its own, but the file that clients read allows only one for
// each column. It may need wider indices than the pages do; then the schema says so.
//
// The share of the context holds the batch until it has been ranged over.
func withOneDictionary(ctx context.Context, rows *protocol.Rows) error {
	fields := rows.Schema.Fields()
	if !slices.ContainsFunc(fields, func(f arrow.Field) bool { return gather.HasDictionary(f.Type) }) {
		return nil
	}
	var hold memory.Hold
	all, err := joined(ctx, &hold, rows)
	if err != nil {
		hold.Release()
		return err
	}
	rows.Schema, rows.Batches = all.Schema(), only(all, hold)
	return nil
}

// joined reads all rows into one batch, for whose memory the hold grows: first by what was
// read, then by what it takes to join that.
func joined(ctx context.Context, hold *memory.Hold, rows *protocol.Rows) (arrow.RecordBatch, error) {
	var all []arrow.RecordBatch
	var size gather.Tally
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
	if err := hold.Resize(ctx, size.Rows()+size.Joined()); err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	one, err := gather.Concat(rows.Schema, all)
	if err != nil {
		return nil, err
	}
	return one, hold.Resize(ctx, min(hold.Bytes(), batchBytes(one)))
}

// only yields one batch, unless it is empty, and then releases what is held for it.
func only(batch arrow.RecordBatch, hold memory.Hold) iter.Seq2[arrow.RecordBatch, error] {
	return func(yield func(arrow.RecordBatch, error) bool) {
		defer hold.Release()
		if batch.NumRows() > 0 {
			yield(batch, nil)
		}
	}
}
