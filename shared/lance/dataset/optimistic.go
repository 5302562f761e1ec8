package dataset

import (
	"context"
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
	case objectstore.Near(t.at.Store):
		g.answer(t.newest(ctx, k))
	default:
		g.read = k.dataset
		go func() { g.answer(t.newest(ctx, k)) }()
		return g, operation.CheckWritable(g.read.Manifest())
	}
	if g.err != nil {
		return nil, g.err
	}
	g.read = g.found
	return g, operation.CheckWritable(g.read.Manifest())
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
	return true, operation.CheckWritable(newest.Manifest())
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

// settleWritten settles the guess for rows whose files are partly written. It is errRedo when the
// guess was wrong and the files do not fit the newest version.
func (g *guess) settleWritten() error {
	read := g.read
	moved, err := g.settle()
	if moved && err == nil && !sameColumns(read, g.read) {
		return errRedo
	}
	return err
}

// sameColumns says whether files written for one version fit the other.
func sameColumns(a, b *Dataset) bool {
	av, aErr := a.Manifest().FileVersion()
	bv, bErr := b.Manifest().FileVersion()
	dictionaries := func(d *Dataset) map[int32]arrow.Array { return d.Manifest().Dictionaries }
	same := func(x, y *schema.Field) bool {
		return x.ID == y.ID && x.Name == y.Name && x.LogicalType == y.LogicalType && x.Nullable == y.Nullable
	}
	fields := func(d *Dataset) []*schema.Field { return slices.Collect(d.Schema().All()) }
	return aErr == nil && bErr == nil && av == bv && slices.EqualFunc(fields(a), fields(b), same) &&
		maps.EqualFunc(dictionaries(a), dictionaries(b), dictionary.Equal)
}
