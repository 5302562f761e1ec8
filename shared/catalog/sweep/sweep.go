// Package sweep deletes unused objects of a catalog (sweep.go, orphans.go), and reports inconsistencies (examine.go).
package sweep

import (
	"context"
	"strings"
	"time"

	"tiltyard/shared/catalog/drops"
	"tiltyard/shared/catalog/functions"
	"tiltyard/shared/catalog/ledger"
	"tiltyard/shared/catalog/lists"
	"tiltyard/shared/catalog/namespaces"
	"tiltyard/shared/catalog/naming"
	"tiltyard/shared/catalog/objects"
	"tiltyard/shared/catalog/result"
	"tiltyard/shared/catalog/stored"
	"tiltyard/shared/protocol"
	"tiltyard/shared/storage/objectstore"
)

// Sweeper sweeps and examines a catalog. It is safe for concurrent use.
type Sweeper struct {
	names      *naming.Registry
	lists      *lists.Lists
	functions  *functions.Functions
	drops      *drops.Drops
	namespaces *namespaces.Namespaces
}

// New returns the sweeper of a catalog with these parts.
func New(names *naming.Registry, lists *lists.Lists, functions *functions.Functions, drops *drops.Drops, namespaces *namespaces.Namespaces) *Sweeper {
	return &Sweeper{names, lists, functions, drops, namespaces}
}

// Sweep deletes expired drops and results, and the leftovers of crashed writers: objects of batches, copies of manifests,
// records in namespaces that do not exist, unused artifacts, and arguments of function calls. Leftovers must be older than
// age, and are never younger than [objects.MinSweepAge]. Sweep returns the number of deleted leftovers. It first completes
// committed batches, so that their decisions and copies of manifests become unused.
//
// A record that cannot be read protects only objects to which it may refer; the error is then an [*objects.Unswept].
func (s *Sweeper) Sweep(ctx context.Context, age time.Duration) (deleted int, err error) {
	oldest := s.names.Now().Add(-max(age, objects.MinSweepAge))
	left := new(objects.Unswept)
	for _, step := range []func() (int, error){
		func() (int, error) { return s.sweepBatches(ctx, oldest) },
		func() (int, error) { return s.sweepOrphans(ctx, oldest) },
		func() (int, error) {
			return s.names.Store.Sweep(ctx, functions.CallsFolder, oldest, s.names.Store.DeleteSwept)
		},
		func() (int, error) {
			return s.names.Store.Sweep(ctx, result.Folder, s.names.Now().Add(-result.Lifetime), s.names.Store.DeleteSwept)
		},
		func() (int, error) { return s.functions.Sweep(ctx, oldest) },
		func() (int, error) { return s.drops.Sweep(ctx) },
	} {
		n, err := step()
		if deleted += n; left.Add(ctx, err) != nil {
			return deleted, err
		}
	}
	return deleted, left.OrNil()
}

// sweepBatches completes or aborts batches, and deletes their decisions and copies of manifests. It keeps the copies if a
// batch could not be completed, because they may still be needed.
func (s *Sweeper) sweepBatches(ctx context.Context, oldest time.Time) (deleted int, err error) {
	decisions, err := s.names.Store.Sweep(ctx, stored.BatchesPrefix, oldest, func(ctx context.Context, object objectstore.Info) (bool, error) {
		if err := s.endBatch(ctx, strings.TrimPrefix(object.Key, stored.BatchesPrefix)); err != nil {
			return false, err
		}
		return s.names.Store.DeleteSwept(ctx, object)
	})
	if err != nil {
		return decisions, err
	}
	copies, err := s.names.Store.Sweep(ctx, ledger.CopiesPrefix, oldest, s.names.Store.DeleteSwept)
	return decisions + copies, err
}

// endBatch carries out a committed batch on all of its tables.
func (s *Sweeper) endBatch(ctx context.Context, batch string) error {
	d, err := s.names.DecisionOf(ctx, batch)
	if err != nil {
		return err
	}
	for _, id := range d.Tables {
		record, _, err := s.names.Table(ctx, id)
		switch {
		case err == nil && record.Pending != nil && record.Pending.Batch == batch:
			return objects.LostRace("table", id, objectstore.ErrPrecondition)
		case protocol.HasCode(err, protocol.TableNotFound), protocol.HasCode(err, protocol.NamespaceNotFound):
			continue
		case err != nil:
			return err
		}
	}
	return nil
}
