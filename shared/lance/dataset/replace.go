package dataset

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"

	"golang.org/x/sync/errgroup"

	"tiltyard/shared/lance"
	"tiltyard/shared/lance/deletion"
	"tiltyard/shared/lance/manifest"
	"tiltyard/shared/lance/pb"
)

// A Replacement takes rows out of a version and puts others in.
type Replacement struct {
	Delete []uint64 // addresses of rows of the version, in any order
	Insert Rows     // Schema nil: none; columns are matched as for Table.Append
	// Exclusive says that rows added by others since d matter too: the replacement
	// would be another one if it had seen them.
	Exclusive bool
}

// Replace commits a replacement that was worked out on d. Commits since then are no
// matter unless they changed or moved rows that it deletes: see IsRowsChanged.
// confirm is as for Table.Append.
func (d *Dataset) Replace(ctx context.Context, r Replacement, confirm func() error) (Commit, error) {
	if err := d.manifest.CheckWritable(); err != nil {
		return Commit{}, err
	}
	if d.manifest.StableRowIDs() && len(r.Delete) > 0 {
		return Commit{}, fmt.Errorf("%w: updating rows of a table with stable row ids", lance.ErrUnsupported)
	}
	files := &staged{puts: new(errgroup.Group)}
	if r.Insert.Schema != nil {
		version, err := d.manifest.FileVersion()
		if err != nil {
			return Commit{}, err
		}
		match, err := d.Schema().Match(r.Insert.Schema)
		if err != nil {
			return Commit{}, err
		}
		if files, err = d.table.stage(ctx, match, version, r.Insert.Batches); err != nil {
			return Commit{}, err
		}
	}
	rows := &rowChange{table: d.table, read: d, deleted: byFragment(r.Delete), files: files, exclusive: r.Exclusive}
	made, err := d.table.commit(ctx, &change{read: d, wait: files.wait, confirm: confirm, onto: rows.onto})
	return Commit{Dataset: made, Rows: files.rows}, err
}

// byFragment sorts row addresses into one vector per fragment.
func byFragment(addresses []uint64) map[uint64]*deletion.Vector {
	offsets := map[uint64][]uint32{}
	for _, a := range addresses {
		offsets[a>>32] = append(offsets[a>>32], uint32(a))
	}
	vectors := make(map[uint64]*deletion.Vector, len(offsets))
	for id, rows := range offsets {
		vectors[id] = deletion.New(rows...)
	}
	return vectors
}

// A rowChange deletes rows of fragments and adds new fragments, as one Update.
type rowChange struct {
	table   *Table
	read    *Dataset
	deleted map[uint64]*deletion.Vector // by fragment id
	files   *staged

	exclusive bool
}

// onto makes the operation and the manifest after base. The rows to be deleted must be
// there: in the same files, and not deleted by others.
func (c *rowChange) onto(ctx context.Context, base *Dataset) (pb.Operation, *manifest.Manifest, error) {
	m, err := base.next()
	if err != nil {
		return nil, nil, err
	}
	if c.exclusive && addedRows(c.read, base) {
		return nil, nil, errRedo
	}
	op := &pb.Update{NewFragments: c.files.fragments, Mode: pb.RewriteRows, FieldsForPreservingFragBitmap: fieldIDs(base)}
	updated, err := c.updated(ctx, base)
	if err != nil {
		return nil, nil, err
	}
	m.Fragments = m.Fragments[:0:0]
	for _, f := range base.manifest.Fragments {
		change, touched := updated[f.ID]
		switch {
		case !touched:
			m.Fragments = append(m.Fragments, f)
		case change == nil:
			op.RemovedFragmentIDs = append(op.RemovedFragmentIDs, f.ID)
		default:
			op.UpdatedFragments = append(op.UpdatedFragments, change)
			m.Fragments = append(m.Fragments, change)
		}
	}
	m.Fragments = append(m.Fragments, withRowIDs(m, numbered(c.files.fragments, m))...)
	return op, m, finish(m)
}

// addedRows says whether base has fragments that read did not have.
func addedRows(read, base *Dataset) bool {
	for _, f := range base.fragments {
		if read.fragment(f.meta.ID) == nil {
			return true
		}
	}
	return false
}

// updated returns, for each fragment that loses rows, what it becomes: nil when it loses
// its last. Deletion files are written side by side.
func (c *rowChange) updated(ctx context.Context, base *Dataset) (map[uint64]*pb.Fragment, error) {
	updated := make(map[uint64]*pb.Fragment, len(c.deleted))
	for id := range c.deleted {
		updated[id] = nil
	}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(maxConcurrentReads)
	results := make(chan *pb.Fragment, len(c.deleted))
	for id, rows := range c.deleted {
		group.Go(func() error {
			f, err := c.shrink(ctx, base, id, rows)
			if f != nil {
				results <- f
			}
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	close(results)
	for f := range results {
		updated[f.ID] = f
	}
	return updated, nil
}

// shrink deletes rows of one fragment; nil means that none are left.
func (c *rowChange) shrink(ctx context.Context, base *Dataset, id uint64, rows *deletion.Vector) (*pb.Fragment, error) {
	was, now := c.read.fragment(id), base.fragment(id)
	if was == nil {
		return nil, fmt.Errorf("version %d has no fragment %d", c.read.Version(), id)
	}
	if now == nil || !sameFiles(was.meta, now.meta) {
		return nil, errRedo
	}
	already, err := now.deletions(ctx)
	if err != nil {
		return nil, err
	}
	if already.Intersects(rows) {
		return nil, errRedo
	}
	all := already.Union(rows)
	if int64(all.Len()) == now.rows {
		return nil, nil
	}
	file, err := deletion.Write(ctx, c.table.store, c.table.prefix, id, base.Version(), rand.Uint64(), all)
	if err != nil {
		return nil, err
	}
	f := *now.meta
	f.DeletionFile = file
	return &f, nil
}

// fragment returns the fragment with the id, or nil.
func (d *Dataset) fragment(id uint64) *fragment {
	at, ok := slices.BinarySearchFunc(d.fragments, id, func(f *fragment, id uint64) int {
		return int(int64(f.meta.ID) - int64(id))
	})
	if !ok {
		return nil
	}
	return d.fragments[at]
}

func sameFiles(a, b *pb.Fragment) bool {
	return slices.EqualFunc(a.Files, b.Files, func(x, y pb.DataFile) bool {
		return x.Path == y.Path && slices.Equal(x.Fields, y.Fields)
	})
}

// fieldIDs returns the ids of all fields: those whose values an update of whole rows may
// have changed.
func fieldIDs(d *Dataset) []uint32 {
	var ids []uint32
	for f := range d.Schema().All() {
		ids = append(ids, uint32(f.ID))
	}
	return ids
}

// IsRowsChanged says whether a write should be worked out again.
func IsRowsChanged(err error) bool { return errors.Is(err, errRedo) }
