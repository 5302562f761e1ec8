package dataset

import (
	"iter"

	"github.com/apache/arrow-go/v18/arrow"
)

// maxReplay is how many bytes of rows a Replay keeps.
const maxReplay = 4 << 20

// A Replay yields the rows of a write that may have to begin again: because it was begun on a
// version that is not the newest, or on a table whose name now stands for another one. It keeps
// the first rows that it takes from its source, and yields them once more to the next try.
type Replay struct {
	next  func() (arrow.RecordBatch, error, bool)
	kept  []arrow.RecordBatch
	bytes int64
	err   error // with which next ended; a later try must not take it for the end
}

// NewReplay returns a Replay of the batches that next returns, in the way of [iter.Pull2].
func NewReplay(next func() (arrow.RecordBatch, error, bool)) *Replay { return &Replay{next: next} }

// Rows yields all rows, for one try at a time. The rows are kept until settled, which does not
// wait, reports that no further try will need them. From 4 MiB of kept rows on, settle is called
// for each batch. It waits until the try is known to be the last one, or to write what a further
// try would write too; its error ends the rows.
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

// more returns the next batch of those that have not been taken.
func (r *Replay) more() (arrow.RecordBatch, error, bool) { //nolint:revive // as iter.Pull2 has it
	if r.err != nil {
		return nil, r.err, true
	}
	batch, err, ok := r.next()
	r.err = err
	return batch, err, ok
}

// keep keeps a batch and returns the bytes of all that were kept.
func (r *Replay) keep(batch arrow.RecordBatch) int64 {
	r.kept = append(r.kept, batch)
	for _, column := range batch.Columns() {
		r.bytes += int64(column.Data().SizeInBytes())
	}
	return r.bytes
}
