package inspect

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"tiltyard/shared/lance/dataset"
	"tiltyard/shared/lance/manifest"
	"tiltyard/shared/lance/pb"
	"tiltyard/shared/lance/schema"
	"tiltyard/shared/storage/objectstore"
)

// reads is the number of files that are read concurrently.
const reads = 8

// Options selects the contents of a report. The zero value selects the newest version only.
type Options struct {
	Version  uint64 // the version to describe; 0 is the newest
	Versions int    // number of versions to list, newest first; negative is all
}

// Table describes the table at a location. The error is [dataset.ErrNoTable] if there is no table, and
// [dataset.ErrNoVersion] if the version does not exist.
func Table(ctx context.Context, at objectstore.Location, opts Options) (*Report, error) {
	t := &table{Location: at}
	session := dataset.NewSession(0, time.Now).Table(at, 0)
	newest, err := session.Versions(ctx, nil, 1)
	if err != nil {
		return nil, err
	}
	if len(newest) == 0 {
		return nil, fmt.Errorf("%w: %s", dataset.ErrNoTable, at.URI)
	}
	r := &Report{Location: at.URI, Latest: dataset.VersionOf(newest[0])}
	detail := newest[0]
	if opts.Version != 0 && opts.Version != r.Latest {
		if detail, err = t.find(ctx, session, opts.Version); err != nil {
			return nil, err
		}
	}
	if r.Detail, err = t.detail(ctx, detail); err != nil {
		return nil, err
	}
	if r.Tags, err = tags(ctx, session); err != nil {
		return nil, err
	}
	return r, t.history(ctx, session, r, opts.Versions)
}

// A table is the table that is described.
type table struct {
	objectstore.Location
}

// find returns the manifest of a version.
func (t *table) find(ctx context.Context, session *dataset.Table, version uint64) (objectstore.Info, error) {
	after := version + 1
	if found, err := session.Versions(ctx, &after, 1); err != nil {
		return objectstore.Info{}, err
	} else if len(found) == 1 && dataset.VersionOf(found[0]) == version {
		return found[0], nil
	}
	return objectstore.Info{}, fmt.Errorf("%w: %d of %s", dataset.ErrNoVersion, version, t.URI)
}

func tags(ctx context.Context, session *dataset.Table) ([]Tag, error) {
	found, _, err := session.Refs().Tags(ctx, "", 0)
	if err != nil {
		return nil, err
	}
	list := make([]Tag, 0, len(found))
	for _, name := range slices.Sorted(maps.Keys(found)) {
		list = append(list, Tag{Name: name, Branch: found[name].BranchName(), Version: found[name].Version})
	}
	return list, nil
}

// history adds the newest versions to a report.
func (t *table) history(ctx context.Context, session *dataset.Table, r *Report, count int) error {
	limit := count
	if count >= 0 {
		limit++ // one more, to detect further versions
	}
	found, err := session.Versions(ctx, nil, limit)
	if err != nil {
		return err
	}
	if count >= 0 && len(found) > count {
		found, r.More = found[:count], true
	}
	r.Versions = make([]Version, len(found))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(reads)
	for i, info := range found {
		group.Go(func() error {
			_, v, err := t.version(ctx, info)
			if err != nil {
				v.Error = err.Error()
			}
			r.Versions[i] = v
			return ctx.Err()
		})
	}
	return group.Wait()
}

// version reads the manifest of a version and its transaction.
func (t *table) version(ctx context.Context, info objectstore.Info) (*manifest.Manifest, Version, error) {
	v := Version{Version: dataset.VersionOf(info), ManifestBytes: info.Size}
	m, err := manifest.Read(ctx, t.Store, info.Key, info.Size)
	if err != nil {
		return nil, v, err
	}
	v.Time, v.Fragments = m.Time(), len(m.Fragments)
	for _, f := range m.Fragments {
		v.Rows += f.PhysicalRows
		if f.DeletionFile != nil {
			v.Rows -= f.DeletionFile.DeletedRows
		}
	}
	switch txn, err := m.ReadTransaction(ctx, t.Store, t.Prefix); {
	case err == nil:
		v.Operation, v.Message = txn.OperationName(), txn.Properties[pb.CommitMessage]
	case !errors.Is(err, manifest.ErrNoTransaction):
		v.Error = err.Error()
	}
	return m, v, nil
}

// detail describes one version.
func (t *table) detail(ctx context.Context, info objectstore.Info) (Detail, error) {
	m, v, err := t.version(ctx, info)
	if err != nil {
		return Detail{}, err
	}
	d := Detail{
		Version: v, ReaderFlags: m.ReaderFlags, WriterFlags: m.WriterFlags,
		Features:  manifest.FlagNames(m.ReaderFlags | m.WriterFlags),
		NextRowID: m.NextRowID, Config: m.Config, TableMetadata: m.TableMetadata, SchemaMetadata: m.Schema.Metadata,
		Fields: fields(m.Schema),
	}
	if w := m.WriterVersion; w != nil {
		d.Writer = w.Library + " " + w.Number()
	}
	if m.DataFormat != nil {
		d.FileVersion = m.DataFormat.Version
	}
	if m.Branch != nil {
		d.Branch = *m.Branch
	}
	for _, b := range m.BasePaths {
		path := BasePath{ID: b.ID, Path: b.Path}
		if b.Name != nil {
			path.Name = *b.Name
		}
		d.BasePaths = append(d.BasePaths, path)
	}
	if d.Indices, err = indices(m, d.Fields); err != nil {
		d.IndexError = err.Error()
	}
	d.Contents, err = t.fragments(ctx, m.Fragments, d.Fields)
	return d, err
}

// fields lists the fields of a schema in pre-order.
func fields(s *schema.Schema) []Field {
	var list []Field
	var add func(fields []*schema.Field, above []string)
	add = func(fields []*schema.Field, above []string) {
		for _, f := range fields {
			path := append(slices.Clip(above), f.Name)
			list = append(list, Field{
				ID: f.ID, Path: strings.Join(path, "."), Type: f.LogicalType, Nullable: f.Nullable,
				Depth: len(above), Metadata: f.Metadata,
			})
			add(f.Children, path)
		}
	}
	add(s.Fields, nil)
	return list
}
