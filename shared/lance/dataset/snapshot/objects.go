package snapshot

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"strings"

	"tiltyard/shared/lance"
	"tiltyard/shared/lance/dataset/fragment"
	"tiltyard/shared/lance/internal/deletion"
	"tiltyard/shared/lance/internal/fragreuse"
	"tiltyard/shared/storage/objectstore"
)

// An Object is a file of a version other than its manifest and transaction.
type Object struct {
	Store objectstore.Store
	Key   string // in the store
	Path  string // path below the root of a table without base paths
}

// Objects yields the files that a version needs: data files and their blob side files, deletion
// files and index files. It excludes external blobs. It fails with [lance.ErrUnsupported] if the
// files cannot all be copied into one folder.
func (s *Snapshot) Objects(ctx context.Context) iter.Seq2[Object, error] {
	return func(yield func(Object, error) bool) {
		o := objects{s: s, bases: s.place.bases(s.manifest), from: map[string]string{}, yield: yield}
		if err := o.all(ctx); err != nil {
			yield(Object{}, err)
		}
	}
}

// objects is one iteration of [Snapshot.Objects]. Its methods return more = false after yield has
// ended the iteration.
type objects struct {
	s     *Snapshot
	bases *fragment.Bases
	from  map[string]string // URI of the base by file path, for versions with base paths
	yield func(Object, error) bool
}

// all yields the files of each fragment and of each index.
func (o *objects) all(ctx context.Context) error {
	if err := o.check(); err != nil {
		return err
	}
	blobs := o.s.blobFields()
	for _, f := range o.s.Fragments() {
		for _, file := range f.Files() {
			if more, err := o.data(ctx, file, blobs); err != nil || !more {
				return err
			}
		}
		if d := f.Meta.DeletionFile; d != nil {
			if more, err := o.one(d.BaseID, deletion.Path(f.Meta.ID, d)); err != nil || !more {
				return err
			}
		}
	}
	indices, err := o.s.manifest.Indices()
	if err != nil {
		return err
	}
	for _, x := range indices {
		if more, err := o.folder(ctx, x.BaseID, "_indices/"+x.UUID.String()+"/"); err != nil || !more {
			return err
		}
	}
	return nil
}

// check rejects versions with files that this package cannot list.
func (o *objects) check() error {
	m := o.s.manifest
	indices, err := m.Indices()
	if err != nil {
		return err
	}
	for _, x := range indices {
		if x.Name == fragreuse.Name && x.IndexVersion != nil && *x.IndexVersion > 0 {
			return fmt.Errorf("%w: a copy of a table whose index %s has version %d", lance.ErrUnsupported, x.Name, *x.IndexVersion)
		}
	}
	if len(o.s.blobFields()) == 0 {
		return nil
	}
	for _, base := range m.BasePaths {
		if !base.IsDatasetRoot { // data files refer to the base by its id
			return fmt.Errorf("%w: a copy of a table with blobs below the base path %d", lance.ErrUnsupported, base.ID)
		}
	}
	return nil
}

// blobFields returns the ids of fields whose values may lie in blob side files.
func (s *Snapshot) blobFields() (ids []int32) {
	for f := range s.Schema().All() {
		if f.HoldsBlobsV2() {
			ids = append(ids, f.ID)
		}
	}
	return ids
}

// data yields a data file and its blob side files.
func (o *objects) data(ctx context.Context, file *fragment.File, blobs []int32) (more bool, err error) {
	store, key, err := file.Place()
	if err != nil {
		return false, err
	}
	meta := file.Meta()
	path := "data/" + meta.Path
	if more, err := o.add(meta.BaseID, Object{store, key, path}); err != nil || !more {
		return false, err
	}
	if !slices.ContainsFunc(meta.Fields, func(id int32) bool { return slices.Contains(blobs, id) }) {
		return true, nil
	}
	return o.list(ctx, store, strings.TrimSuffix(key, ".lance")+"/", strings.TrimSuffix(path, ".lance")+"/")
}

// one yields the file at a path below a base.
func (o *objects) one(base *uint32, path string) (more bool, err error) {
	at, err := o.bases.At(base)
	if err != nil {
		return false, err
	}
	return o.add(base, Object{at.Store, at.Prefix + "/" + path, path})
}

// folder yields the files in a folder below a base.
func (o *objects) folder(ctx context.Context, base *uint32, path string) (more bool, err error) {
	at, err := o.bases.At(base)
	if err != nil {
		return false, err
	}
	if len(o.s.manifest.BasePaths) > 0 {
		if err := o.alone(base, path); err != nil {
			return false, err
		}
	}
	return o.list(ctx, at.Store, at.Prefix+"/"+path, path)
}

// list yields the files below a key prefix; path replaces the prefix in their paths.
func (o *objects) list(ctx context.Context, store objectstore.Store, prefix, path string) (more bool, err error) {
	for info, err := range objectstore.Objects(ctx, store, objectstore.ListOptions{Prefix: prefix, Limit: objectsPage}) {
		if err != nil {
			return false, fmt.Errorf("list %s: %w", prefix, err)
		}
		if !o.yield(Object{store, info.Key, path + strings.TrimPrefix(info.Key, prefix)}, nil) {
			return false, nil
		}
	}
	return true, nil
}

// objectsPage is the number of names per listing request.
const objectsPage = 1000

// add yields a file after checking that its path is unique.
func (o *objects) add(base *uint32, object Object) (more bool, err error) {
	if len(o.s.manifest.BasePaths) > 0 {
		if err := o.alone(base, object.Path); err != nil {
			return false, err
		}
	}
	return o.yield(object, nil), nil
}

// alone rejects a path that occurs below two bases.
func (o *objects) alone(base *uint32, path string) error {
	at, err := o.bases.At(base)
	if err != nil {
		return err
	}
	if other, ok := o.from[path]; ok && other != at.URI {
		return fmt.Errorf("%w: a copy of a table with two files %s", lance.ErrUnsupported, path)
	}
	o.from[path] = at.URI
	return nil
}
