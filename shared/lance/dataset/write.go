package dataset

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"tiltyard/shared/lance"
	"tiltyard/shared/lance/manifest"
	"tiltyard/shared/lance/pb"
	"tiltyard/shared/lance/rowid"
	"tiltyard/shared/lance/schema"
)

// writerVersion is what our manifests say of who wrote them.
var writerVersion = pb.WriterVersion{Library: "tiltyard", Version: "0.1.0"}

// Create writes rows as version 1 of a table where there is none, or returns
// ErrTableExists. confirm is as for Append.
func (t *Table) Create(ctx context.Context, rows Rows, confirm func() error) (Commit, error) {
	s, err := schema.FromArrow(rows.Schema)
	if err != nil {
		return Commit{}, err
	}
	files, err := t.stageNew(ctx, s, lance.V2_2, rows)
	if err != nil {
		return Commit{}, err
	}
	d, err := t.commit(ctx, &change{wait: files.wait, confirm: confirm, onto: func(context.Context, *Dataset) (pb.Operation, *manifest.Manifest, error) {
		m := &manifest.Manifest{Schema: s}
		m.Version = 1
		m.DataFormat = &pb.DataFormat{FileFormat: "lance", Version: lance.V2_2.String()}
		m.WriterVersion = &writerVersion
		m.Fragments = numbered(files.fragments, m)
		return overwriteOf(files, s), m, finish(m)
	}})
	return Commit{Dataset: d, Rows: files.rows}, err
}

// Append adds rows as new fragments. Columns are matched by name; the error is
// schema.ErrMismatch when they are not the table's. confirm may be nil; the rows are not
// committed when it returns an error. Without a table ErrNoTable is returned before any row is taken.
func (t *Table) Append(ctx context.Context, rows Rows, confirm func() error) (Commit, error) {
	read, fresh, err := t.base(ctx)
	if err != nil {
		return Commit{}, err
	}
	version, err := read.manifest.FileVersion()
	if err != nil {
		return Commit{}, err
	}
	match, err := read.Schema().Match(rows.Schema)
	if err != nil {
		return Commit{}, err
	}
	files, err := t.stage(ctx, match, version, rows.Batches)
	if err != nil {
		return Commit{}, err
	}
	if files.rows == 0 {
		if confirm != nil {
			err = confirm()
		}
		return Commit{Dataset: read}, err
	}
	d, err := t.commit(ctx, &change{read: read, fresh: fresh, wait: files.wait, confirm: confirm, onto: func(_ context.Context, base *Dataset) (pb.Operation, *manifest.Manifest, error) {
		m, err := base.next()
		if err != nil {
			return nil, nil, err
		}
		m.Fragments = append(slices.Clip(m.Fragments), withRowIDs(m, numbered(files.fragments, m))...)
		return &pb.Append{Fragments: files.fragments}, m, finish(m)
	}})
	if errors.Is(err, errRedo) {
		err = fmt.Errorf("%w: the table's columns have changed", ErrConflict)
	}
	return Commit{Dataset: d, Rows: files.rows}, err
}

// Overwrite replaces all rows, the columns and the indices of a table by a new version.
// Its older versions stay. confirm is as for Append.
func (t *Table) Overwrite(ctx context.Context, rows Rows, confirm func() error) (Commit, error) {
	read, fresh, err := t.base(ctx)
	if err != nil {
		return Commit{}, err
	}
	version, err := read.manifest.FileVersion()
	if err != nil {
		return Commit{}, err
	}
	s, err := schema.FromArrow(rows.Schema)
	if err != nil {
		return Commit{}, err
	}
	files, err := t.stageNew(ctx, s, version, rows)
	if err != nil {
		return Commit{}, err
	}
	d, err := t.commit(ctx, &change{read: read, fresh: fresh, wait: files.wait, confirm: confirm, onto: func(_ context.Context, base *Dataset) (pb.Operation, *manifest.Manifest, error) {
		m, err := base.next()
		if err != nil {
			return nil, nil, err
		}
		m.Schema, m.IndexSection = s, nil
		m.Fragments = withRowIDs(m, numbered(files.fragments, m))
		return overwriteOf(files, s), m, finish(m)
	}})
	return Commit{Dataset: d, Rows: files.rows}, err
}

// base returns the version that a write begins with: the newest known, which the commit
// checks, or the newest, which is fresh.
func (t *Table) base(ctx context.Context) (d *Dataset, fresh bool, err error) {
	if k, ok := t.known(); ok {
		return k.dataset, false, k.dataset.manifest.CheckWritable()
	}
	if d, err = t.list(ctx); err != nil {
		return nil, false, err
	}
	return d, true, d.manifest.CheckWritable()
}

// stageNew stages rows that make up a schema of their own.
func (t *Table) stageNew(ctx context.Context, s *schema.Schema, version lance.Version, rows Rows) (*staged, error) {
	match, err := s.Match(rows.Schema)
	if err != nil {
		return nil, err
	}
	return t.stage(ctx, match, version, rows.Batches)
}

func overwriteOf(files *staged, s *schema.Schema) *pb.Overwrite {
	return &pb.Overwrite{Fragments: files.fragments, Schema: s.PB(), SchemaMetadata: s.Metadata}
}

// next returns a copy of the version's manifest, to become that of the next one.
func (d *Dataset) next() (*manifest.Manifest, error) {
	if err := d.manifest.CheckWritable(); err != nil {
		return nil, err
	}
	m := d.manifest.Next()
	m.WriterVersion = &writerVersion
	m.Config = maps.Clone(m.Config)
	return m, nil
}

// numbered returns copies of new fragments with the next ids of the table.
func numbered(fragments []*pb.Fragment, m *manifest.Manifest) []*pb.Fragment {
	next := uint32(0)
	if m.MaxFragmentID != nil {
		next = *m.MaxFragmentID + 1
	}
	out := make([]*pb.Fragment, len(fragments))
	for i, f := range fragments {
		c := *f
		c.ID = uint64(next)
		highest := next
		m.MaxFragmentID = &highest
		next++
		out[i] = &c
	}
	return out
}

// withRowIDs gives new rows of a table with stable row ids their ids, and the version
// that they were created in.
func withRowIDs(m *manifest.Manifest, fragments []*pb.Fragment) []*pb.Fragment {
	if !m.StableRowIDs() {
		return fragments
	}
	for _, f := range fragments {
		f.RowIDs = rowid.Range(m.NextRowID, m.NextRowID+f.PhysicalRows).Encode()
		f.CreatedAt = rowid.SameVersion(int64(f.PhysicalRows), m.Version).Encode()
		f.UpdatedAt = f.CreatedAt
		m.NextRowID += f.PhysicalRows
	}
	return fragments
}

// finish computes what follows from the rest of a manifest, and checks it.
func finish(m *manifest.Manifest) error {
	if err := m.SetFlags(); err != nil {
		return err
	}
	return m.Validate()
}
