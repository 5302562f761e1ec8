package dataset

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"

	"golang.org/x/sync/errgroup"

	"tiltyard/shared/lance/dataset/fragment"
	"tiltyard/shared/lance/dataset/part"
	"tiltyard/shared/lance/dataset/snapshot"
	"tiltyard/shared/lance/dataset/stage"
	"tiltyard/shared/lance/internal/deletion"
	"tiltyard/shared/lance/operation"
	"tiltyard/shared/lance/pb"
	"tiltyard/shared/lance/rowid"
	"tiltyard/shared/lance/rowset"
	"tiltyard/shared/storage/objectstore"
)

// A Replacement deletes rows of a version and inserts others in one commit.
type Replacement struct {
	Delete *rowset.Set // rows of the version to delete; may be nil
	Insert Rows        // no rows if Schema is nil; columns are matched as by Table.Append
	// Staged holds rows already written by [Dataset.StageRows], in place of Insert.
	Staged []*part.Part
	// Moved holds row addresses, a subset of Delete. The first rows of Insert replace them one by
	// one and keep their row ids; later rows are new. It matters only for tables with stable row
	// ids.
	Moved []uint64
	// Changed names the columns in which an inserted row may differ from the row it replaces. Nil
	// means all. Indices on other columns stay valid.
	Changed []string
	// Exclusive makes rows added by others since d a conflict too, because the replacement would
	// differ had it seen them.
	Exclusive bool
	// Whole makes any change of rows by others since d a conflict, whichever rows they are.
	Whole bool
	// Keys holds the key filter of the inserted rows, as recorded in the transaction; may be nil.
	// Replacements with a common key conflict, and so do those with unknown keys.
	Keys *pb.KeyExistenceFilter
	// Properties are added to the transaction; may be nil.
	Properties map[string]string
}

// Replace commits a replacement that was planned on d, the newest version a moment ago. Commits
// since then conflict only if they changed or moved rows that it deletes; see [IsRowsChanged].
func (d *Dataset) Replace(ctx context.Context, r Replacement) (Commit, error) {
	if err := operation.CheckWritable(d.Manifest()); err != nil {
		return Commit{}, err
	}
	rows := newRowChange(d, r.Delete)
	rows.exclusive, rows.whole = r.Exclusive, r.Whole
	files := &stage.Files{Puts: new(errgroup.Group)}
	// New rows upload while the deletion vectors are read.
	if r.Insert.Schema != nil {
		var err error
		if files, err = d.Stage(ctx, r.Insert); err != nil {
			return Commit{}, err
		}
	}
	for _, p := range r.Staged {
		if !d.Takes(p) {
			return Commit{}, fmt.Errorf("%w: the table's columns have changed since rows were written", ErrConflict)
		}
		files.Fragments = append(files.Fragments, p.Fragments()...)
		files.Rows += p.Rows()
	}
	shrunk, err := rows.shrink(ctx, d, files.Puts)
	if err != nil {
		return Commit{}, err
	}
	op := &pb.Update{NewFragments: files.Fragments, Mode: pb.RewriteRows, InsertedRows: r.Keys}
	op.RemovedFragmentIDs, op.UpdatedFragments = shrunk.removed, shrunk.updated
	if op.FieldsForPreservingFragBitmap, err = d.changedFields(r.Changed); err != nil {
		return Commit{}, err
	}
	if err := d.keepRowIDs(ctx, files.Fragments, r.Moved); err != nil {
		return Commit{}, err
	}
	made, err := d.table.Commit(ctx, &Change{
		Read: d, Operation: op, Fresh: true, Wait: files.Wait, RowsKnown: true, Rebase: rows.rebase,
		Properties: r.Properties,
	})
	return Commit{Dataset: made, Rows: files.Rows}, err
}

// Delete commits the deletion of rows of d. predicate is recorded for people to read. Commits since
// d conflict only if they changed the same rows.
func (d *Dataset) Delete(ctx context.Context, gone *rowset.Set, predicate string) (Commit, error) {
	if err := operation.CheckWritable(d.Manifest()); err != nil {
		return Commit{}, err
	}
	rows := newRowChange(d, gone)
	puts := new(errgroup.Group)
	shrunk, err := rows.shrink(ctx, d, puts)
	if err != nil {
		return Commit{}, err
	}
	op := &pb.Delete{UpdatedFragments: shrunk.updated, DeletedFragmentIDs: shrunk.removed, Predicate: predicate}
	made, err := d.table.Commit(ctx, &Change{
		Read: d, Operation: op, Fresh: true, Wait: puts.Wait, RowsKnown: true, Rebase: rows.rebase,
	})
	return Commit{Dataset: made}, err
}

// StageRows writes rows as fragments and returns when they are durable. A later [Replacement] may
// commit them to any version with the same columns; see [Dataset.Takes]. No rows make no fragments.
func (d *Dataset) StageRows(ctx context.Context, rows Rows) (*part.Part, error) {
	if err := operation.CheckWritable(d.Manifest()); err != nil {
		return nil, err
	}
	files, err := d.Stage(ctx, rows)
	if err != nil {
		return nil, err
	}
	return &part.Part{Operation: &pb.Append{Fragments: files.Fragments}, Columns: part.ColumnsOf(d.Manifest(), false)}, files.Wait()
}

// Takes reports whether staged rows have the columns of this version.
func (d *Dataset) Takes(p *part.Part) bool {
	return !p.Overwrites() && p.Columns == part.ColumnsOf(d.Manifest(), false)
}

// Stage writes rows of the table's columns as new files. Their uploads may still be in flight when
// it returns.
func (d *Dataset) Stage(ctx context.Context, rows Rows) (*stage.Files, error) {
	format, err := d.Format(rows.Trusted)
	if err != nil {
		return nil, err
	}
	match, err := d.Schema().Match(rows.Schema)
	if err != nil {
		return nil, err
	}
	return d.table.Stage().WriteRows(ctx, match, format, rows.Batches)
}

// keepRowIDs gives the first rows of the new fragments the stable row ids of the moved rows, in
// order.
func (d *Dataset) keepRowIDs(ctx context.Context, fragments []*pb.Fragment, moved []uint64) error {
	if !d.Manifest().StableRowIDs() {
		return nil
	}
	for _, f := range fragments {
		here := moved[:min(uint64(len(moved)), f.PhysicalRows)]
		moved = moved[len(here):]
		if len(here) == 0 {
			break
		}
		ids := make([]uint64, len(here))
		for i, address := range here {
			from := d.Fragment(address >> 32)
			if from == nil {
				return fmt.Errorf("version %d has no fragment %d", d.Version(), address>>32)
			}
			idOf, err := from.RowIDs(ctx)
			if err != nil {
				return err
			}
			ids[i] = idOf(int64(uint32(address)))
		}
		f.RowIDs = rowid.New(ids).Encode()
	}
	return nil
}

// changedFields returns the field ids of columns, nested fields included; nil means all columns.
// Indices on these fields do not cover the rows in their new places.
func (d *Dataset) changedFields(columns []string) ([]uint32, error) {
	s := d.Schema()
	if columns != nil {
		var err error
		if s, err = s.Project(columns); err != nil {
			return nil, err
		}
	}
	var ids []uint32
	for f := range s.All() {
		ids = append(ids, uint32(f.ID))
	}
	return ids, nil
}

// A rowChange deletes rows of one version.
type rowChange struct {
	read      *Dataset
	deleted   map[uint64]*deletion.Vector // deleted rows by fragment id
	exclusive bool
	whole     bool
}

func newRowChange(d *Dataset, rows *rowset.Set) *rowChange {
	return &rowChange{read: d, deleted: rows.Vectors()}
}

// shrunk lists the fragments that a rowChange alters.
type shrunk struct {
	updated []*pb.Fragment // fragments with a new deletion file
	removed []uint64       // ids of fragments that lose their last row
}

// rebase adapts our Delete or Update to base, a version that others have made since.
func (c *rowChange) rebase(ctx context.Context, base *Dataset, op pb.Operation) (pb.Operation, error) {
	if c.exclusive && addedRows(c.read, base) {
		return nil, fmt.Errorf("%w: rows were added", errRedo)
	}
	if c.whole && !sameRows(c.read, base) {
		return nil, fmt.Errorf("%w: rows were changed", errRedo)
	}
	puts := new(errgroup.Group)
	now, err := c.shrink(ctx, base, puts)
	if err != nil {
		return nil, err
	}
	if err := puts.Wait(); err != nil {
		return nil, err
	}
	switch op := op.(type) {
	case *pb.Update:
		again := *op
		again.UpdatedFragments, again.RemovedFragmentIDs = now.updated, now.removed
		return &again, nil
	case *pb.Delete:
		again := *op
		again.UpdatedFragments, again.DeletedFragmentIDs = now.updated, now.removed
		return &again, nil
	}
	return op, nil
}

// addedRows reports whether base has fragments that read did not have.
func addedRows(read, base *Dataset) bool {
	return slices.ContainsFunc(base.Fragments(), func(f *fragment.Fragment) bool { return read.Fragment(f.Meta.ID) == nil })
}

// sameRows reports whether base has the same rows as read, in the same places.
func sameRows(read, base *Dataset) bool {
	return slices.EqualFunc(read.Fragments(), base.Fragments(), func(a, b *fragment.Fragment) bool {
		return a.Meta.ID == b.Meta.ID && sameFiles(a.Meta, b.Meta) && sameDeletions(a.Meta.DeletionFile, b.Meta.DeletionFile)
	})
}

// sameDeletions compares deletion files by read version and random id.
func sameDeletions(a, b *pb.DeletionFile) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.ID == b.ID && a.ReadVersion == b.ReadVersion
}

// shrink deletes the rows in base. It fails with errRedo if their fragment has other files or
// others have deleted one of them. The new deletion files are uploaded by puts.
func (c *rowChange) shrink(ctx context.Context, base *Dataset, puts *errgroup.Group) (shrunk, error) {
	var out shrunk
	for id := range c.deleted {
		if c.read.Fragment(id) == nil {
			return shrunk{}, fmt.Errorf("version %d has no fragment %d", c.read.Version(), id)
		}
		if base.Fragment(id) == nil {
			return shrunk{}, fmt.Errorf("%w: fragment %d is gone", errRedo, id)
		}
	}
	if err := c.load(ctx, base); err != nil {
		return shrunk{}, err
	}
	for _, f := range base.Fragments() {
		rows := c.deleted[f.Meta.ID]
		if rows == nil {
			continue
		}
		all, err := c.union(ctx, f, rows)
		if err != nil {
			return shrunk{}, err
		}
		// A fragment without live rows is removed instead.
		if int64(all.Len()) == f.Rows {
			out.removed = append(out.removed, f.Meta.ID)
			continue
		}
		again := *f.Meta
		if again.DeletionFile, err = base.putDeletions(ctx, f.Meta.ID, all, puts); err != nil {
			return shrunk{}, err
		}
		out.updated = append(out.updated, &again)
	}
	return out, nil
}

// load reads the deletion vectors of the affected fragments in parallel.
func (c *rowChange) load(ctx context.Context, base *Dataset) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(snapshot.MaxConcurrentReads)
	for id := range c.deleted {
		group.Go(func() error {
			_, err := base.Fragment(id).Deletions(ctx)
			return err
		})
	}
	return group.Wait()
}

// union adds our deleted rows to those of a fragment. It fails with errRedo on overlap.
func (c *rowChange) union(ctx context.Context, f *fragment.Fragment, rows *deletion.Vector) (*deletion.Vector, error) {
	if !sameFiles(c.read.Fragment(f.Meta.ID).Meta, f.Meta) {
		return nil, fmt.Errorf("%w: fragment %d has other files", errRedo, f.Meta.ID)
	}
	already, err := f.Deletions(ctx)
	if err != nil {
		return nil, err
	}
	if already.Intersects(rows) {
		return nil, fmt.Errorf("%w: rows of fragment %d were deleted", errRedo, f.Meta.ID)
	}
	all := already.Union(rows)
	if behind := rows.Deleted(f.Rows, 1<<32); behind > 0 {
		return nil, fmt.Errorf("fragment %d has %d rows, and %d to be deleted are behind them", f.Meta.ID, f.Rows, behind)
	}
	return all, nil
}

// putDeletions uploads a new deletion file by puts. Its random id makes the name unique.
func (d *Dataset) putDeletions(ctx context.Context, fragment uint64, v *deletion.Vector, puts *errgroup.Group) (*pb.DeletionFile, error) {
	data, fileType, err := deletion.Encode(v)
	if err != nil {
		return nil, err
	}
	file := &pb.DeletionFile{FileType: fileType, ReadVersion: d.Version(), ID: rand.Uint64(), DeletedRows: uint64(v.Len())}
	key := d.table.at.Prefix + "/" + deletion.Path(fragment, file)
	puts.Go(func() error {
		if _, err := d.table.at.Store.Put(ctx, key, data, objectstore.Condition{}); err != nil {
			return fmt.Errorf("write deletion file %s: %w", key, err)
		}
		d.Fragment(fragment).KeepDeletions(d.table.at.URI, key, file, v)
		return nil
	})
	return file, nil
}

// sameFiles compares data files by path and fields.
func sameFiles(a, b *pb.Fragment) bool {
	return slices.EqualFunc(a.Files, b.Files, func(x, y pb.DataFile) bool {
		return x.Path == y.Path && slices.Equal(x.Fields, y.Fields)
	})
}
