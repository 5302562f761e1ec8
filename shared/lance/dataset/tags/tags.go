// Package tags creates, moves and deletes tags of a table. Package refs reads and lists them. A tag
// is a small object with a version number; cleanups keep that version. For example, Create(t, "v1",
// "", 7) puts _refs/tags/v1.json, on condition that it does not exist, and Update moves it by its
// ETag. The functions take the main table, never a branch.
package tags

import (
	"context"
	"errors"
	"fmt"

	"tiltyard/shared/lance/dataset"
	"tiltyard/shared/lance/dataset/branches"
	"tiltyard/shared/lance/dataset/refs"
	"tiltyard/shared/storage/objectstore"
)

// Create tags a version of a branch; "" is the main table. The error is refs.ErrName or
// refs.ErrExists for the name, dataset.ErrNoVersion or refs.ErrNoBranch for the version.
func Create(ctx context.Context, t *dataset.Table, name, branch string, version uint64) error {
	if err := refs.CheckTag(name); err != nil {
		return err
	}
	tag, err := newTag(ctx, t, branch, version)
	if err == nil {
		err = t.Confirm()
	}
	if err != nil {
		return err
	}
	err = t.Refs().PutTag(ctx, name, tag, objectstore.Condition{IfAbsent: true})
	if errors.Is(err, objectstore.ErrPrecondition) {
		return &refs.NameError{Err: refs.ErrExists, What: "tag", Name: name, URI: t.Place().URI}
	}
	return err
}

// Update moves an existing tag to another version and keeps its metadata. The error is
// refs.ErrNoTag for the tag, dataset.ErrNoVersion or refs.ErrNoBranch for the version.
func Update(ctx context.Context, t *dataset.Table, name, branch string, version uint64) error {
	to, err := newTag(ctx, t, branch, version)
	if err != nil {
		return err
	}
	for {
		tag, info, err := t.Refs().Tag(ctx, name)
		if err != nil {
			return err
		}
		if err := t.Confirm(); err != nil {
			return err
		}
		to.Created, to.Metadata = tag.Created, tag.Metadata
		err = t.Refs().PutTag(ctx, name, to, objectstore.Condition{IfMatch: info.ETag})
		if !errors.Is(err, objectstore.ErrPrecondition) {
			return err
		}
		// Another writer was faster. Of two concurrent updates, either may win.
	}
}

// Delete deletes a tag, or returns refs.ErrNoTag.
func Delete(ctx context.Context, t *dataset.Table, name string) error {
	for {
		_, info, err := t.Refs().Tag(ctx, name)
		if err != nil {
			return err
		}
		err = t.Place().Store.Delete(ctx, info.Key, objectstore.Condition{IfMatch: info.ETag})
		if errors.Is(err, objectstore.ErrPrecondition) {
			continue // another writer updated or deleted the tag
		}
		if errors.Is(err, objectstore.ErrUnknownOutcome) {
			if _, _, now := t.Refs().Tag(ctx, name); errors.Is(now, refs.ErrNoTag) {
				return nil
			}
		}
		if err != nil {
			return fmt.Errorf("delete tag %s of %s: %w", name, t.Place().URI, err)
		}
		return nil
	}
}

// newTag returns the record of a tag for an existing version.
func newTag(ctx context.Context, t *dataset.Table, branch string, version uint64) (refs.Tag, error) {
	on, err := branches.Open(ctx, t, branch)
	if err != nil {
		return refs.Tag{}, err
	}
	info, err := on.Info(ctx, version)
	if err != nil {
		return refs.Tag{}, err
	}
	now := t.Now().UTC()
	tag := refs.Tag{Version: version, Created: &now, Updated: &now, ManifestBytes: info.Size, Metadata: map[string]string{}}
	if on != t {
		tag.Branch = &branch
	}
	return tag, nil
}
