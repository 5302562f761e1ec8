package dataset

import (
	"context"
	"maps"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"

	"tiltyard/shared/lance/internal/dictionary"
	"tiltyard/shared/lance/operation"
	"tiltyard/shared/lance/schema"
	"tiltyard/shared/storage/objectstore"
)

// A guess is the version that a write starts from: the newest in the cache, while storage is asked
// for the newest that exists. A write must see all versions committed before it was requested. If
// the guess was stale, the write therefore starts again from the right version; this is not a
// conflict.
type guess struct {
	read  *Dataset
	asked chan struct{} // closed when found and err are set
	found *Dataset
	err   error
}

// guess starts a write. It returns ErrNoTable if the table does not exist.
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

// answer records the newest version and wakes the waiters.
func (g *guess) answer(newest *Dataset, err error) {
	g.found, g.err = newest, err
	close(g.asked)
}

// newest waits for the newest version.
func (g *guess) newest() (*Dataset, error) {
	<-g.asked
	return g.found, g.err
}

// settle waits for the newest version and makes it the start of the write. moved reports whether
// the guess was stale.
func (g *guess) settle() (moved bool, err error) {
	newest, err := g.newest()
	if err != nil || newest == g.read {
		return false, err
	}
	g.read = newest
	return true, operation.CheckWritable(newest.Manifest())
}

// right reports, without waiting, whether the guess is already confirmed.
func (g *guess) right() bool {
	select {
	case <-g.asked:
		return g.err == nil && g.found == g.read
	default:
		return false
	}
}

// settleWritten settles the guess after part of the rows were written. It returns errRedo if the
// guess was stale and the written files do not fit the newest version.
func (g *guess) settleWritten() error {
	read := g.read
	moved, err := g.settle()
	if moved && err == nil && !sameColumns(read, g.read) {
		return errRedo
	}
	return err
}

// sameColumns reports whether data files written for one version fit the other: same file version,
// fields and dictionaries.
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
