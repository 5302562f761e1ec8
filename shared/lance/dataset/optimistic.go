package dataset

import (
	"context"
	"iter"
	"maps"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"

	"tiltyard/shared/lance/dictionary"
	"tiltyard/shared/lance/operation"
	"tiltyard/shared/lance/schema"
	"tiltyard/shared/objectstore"
)

// A guess is the version that a write begins with: the newest that is known, while the
// storage is asked for the newest there is. A write that was asked for after others had
// committed is made on what they left, so when the guess was wrong it begins again, as if
// it had been begun on the right one.
type guess struct {
	read  *Dataset
	asked chan struct{} // closed when the answer is there
	found *Dataset
	err   error
}

// guess begins a write. It returns ErrNoTable where there is no table.
func (t *Table) guess(ctx context.Context) (*guess, error) {
	g := &guess{asked: make(chan struct{})}
	k, ok := t.known()
	switch {
	case !ok:
		g.answer(t.list(ctx))
	case objectstore.Near(t.store):
		g.answer(t.newest(ctx, k))
	default:
		g.read = k.dataset
		go func() { g.answer(t.newest(ctx, k)) }()
		return g, operation.CheckWritable(g.read.manifest)
	}
	if g.err != nil {
		return nil, g.err
	}
	g.read = g.found
	return g, operation.CheckWritable(g.read.manifest)
}

func (g *guess) answer(newest *Dataset, err error) {
	g.found, g.err = newest, err
	close(g.asked)
}

// newest waits for the newest version.
func (g *guess) newest() (*Dataset, error) {
	<-g.asked
	return g.found, g.err
}

// settle waits for the newest version and makes it the one that the write begins with. It
// says whether the guess was wrong.
func (g *guess) settle() (moved bool, err error) {
	newest, err := g.newest()
	if err != nil || newest == g.read {
		return false, err
	}
	g.read = newest
	return true, operation.CheckWritable(newest.manifest)
}

// right says whether the guess is known to have been right, without waiting.
func (g *guess) right() bool {
	select {
	case <-g.asked:
		return g.err == nil && g.found == g.read
	default:
		return false
	}
}

// maxReplay is how many bytes of rows are kept until it is known that they need not be
// written again.
const maxReplay = 4 << 20

// A replay yields rows, once more from the first after a wrong guess.
type replay struct {
	guess *guess
	next  func() (arrow.RecordBatch, error, bool)
	kept  []arrow.RecordBatch
	bytes int64
	err   error // with which next ended; who asks again must not take it for the end
}

// rows yields all rows. It is errRedo when they are more than can be kept and the guess
// turns out wrong.
func (r *replay) rows() iter.Seq2[arrow.RecordBatch, error] {
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
			if err == nil {
				err = r.keep(batch)
			}
			if !yield(batch, err) || err != nil {
				return
			}
		}
	}
}

// more returns the next batch of those that have not been taken.
func (r *replay) more() (arrow.RecordBatch, error, bool) { //nolint:revive // as iter.Pull2 has it
	if r.err != nil {
		return nil, r.err, true
	}
	batch, err, ok := r.next()
	r.err = err
	return batch, err, ok
}

// keep keeps a batch for as long as the guess may be wrong.
func (r *replay) keep(batch arrow.RecordBatch) error {
	if r.guess.right() {
		r.kept = nil
		return nil
	}
	r.kept = append(r.kept, batch)
	for _, column := range batch.Columns() {
		r.bytes += int64(column.Data().SizeInBytes())
	}
	if r.bytes <= maxReplay {
		return nil
	}
	read := r.guess.read
	moved, err := r.guess.settle()
	if moved && err == nil && !sameColumns(read, r.guess.read) {
		return errRedo
	}
	return err
}

// sameColumns says whether files written for one version fit the other.
func sameColumns(a, b *Dataset) bool {
	av, aErr := a.manifest.FileVersion()
	bv, bErr := b.manifest.FileVersion()
	dictionaries := func(d *Dataset) map[int32]arrow.Array { return d.manifest.Dictionaries }
	same := func(x, y *schema.Field) bool {
		return x.ID == y.ID && x.Name == y.Name && x.LogicalType == y.LogicalType && x.Nullable == y.Nullable
	}
	fields := func(d *Dataset) []*schema.Field { return slices.Collect(d.Schema().All()) }
	return aErr == nil && bErr == nil && av == bv && slices.EqualFunc(fields(a), fields(b), same) &&
		maps.EqualFunc(dictionaries(a), dictionaries(b), dictionary.Equal)
}
