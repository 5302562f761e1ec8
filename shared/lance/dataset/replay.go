package dataset

import (
	"iter"

	"github.com/apache/arrow-go/v18/arrow"
)

// maxReplay bounds the bytes of rows that a Replay keeps.
const maxReplay = 4 << 20

// A Replay yields rows of a write that may have to start again, because its version was stale or
// its table's name now refers to another table. It keeps the first rows that it takes from the
// source and yields them again to the next attempt.
type Replay struct {
	next  func() (arrow.RecordBatch, error, bool)
	kept  []arrow.RecordBatch
	bytes int64
	err   error // the error that ended next; a later attempt must not take it for the end
}

// NewReplay returns a Replay of the batches of next, a function as returned by [iter.Pull2].
func NewReplay(next func() (arrow.RecordBatch, error, bool)) *Replay { return &Replay{next: next} }

// Rows yields all rows for one attempt at a time. It keeps rows until settled, which does not
// block, reports that no further attempt will follow. Once it has kept 4 MiB, it calls settle for
// each batch. settle waits until this attempt is known to be the last, or to write the same files
// as any later one; its error ends the rows.
func (r *Replay) Rows(settled func() bool, settle func() error) iter.Seq2[arrow.RecordBatch, error] {
	return func(yield func(arrow.RecordBatch, error) bool) {
		for _, batch := range r.kept {
			if !yield(batch, nil) {
				return
			}
		}
		for {
			batch, err, ok := r.more()
			if !ok {
				return
			}
			switch {
			case err != nil:
			case settled():
				r.kept = nil
			case r.keep(batch) > maxReplay:
				err = settle()
			}
			if !yield(batch, err) || err != nil {
				return
			}
		}
	}
}

// more returns the next batch of the source. An error is returned again on each later call.
func (r *Replay) more() (arrow.RecordBatch, error, bool) { //nolint:revive // as iter.Pull2 has it
	if r.err != nil {
		return nil, r.err, true
	}
	batch, err, ok := r.next()
	r.err = err
	return batch, err, ok
}

// keep keeps a batch and returns the total bytes kept.
func (r *Replay) keep(batch arrow.RecordBatch) int64 {
	r.kept = append(r.kept, batch)
	for _, column := range batch.Columns() {
		r.bytes += int64(column.Data().SizeInBytes())
	}
	return r.bytes
}
