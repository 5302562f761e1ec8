package dataset

import (
	"context"
	"errors"
	"fmt"

	"tiltyard/shared/lance/dataset/refs"
	"tiltyard/shared/objectstore"
)

// refs returns where the tags and branches of the table are.
func (t *Table) refs() refs.Place {
	return refs.Place{Store: t.at.Store, Prefix: t.at.Prefix, URI: t.at.URI, Cache: t.session.Cache, Now: t.session.now}
}

// Tag returns what a tag names, or refs.ErrNoTag.
func (t *Table) Tag(ctx context.Context, name string) (refs.Tag, error) {
	tag, _, err := t.refs().Tag(ctx, name)
	return tag, err
}

// Tags returns the tags whose names come after one ("" for all) in the order of their
// objects, at most limit of them (0 or less: all), and the name to go on after, "" at the end.
func (t *Table) Tags(ctx context.Context, after string, limit int) (tags map[string]refs.Tag, next string, err error) {
	return t.refs().Tags(ctx, after, limit)
}

// TagNames returns the names of tags as Tags does. Its only request is a LIST.
func (t *Table) TagNames(ctx context.Context, after string, limit int) (names []string, next string, err error) {
	return t.refs().TagNames(ctx, after, limit)
}

// Tagged opens the version that a tag names.
func (t *Table) Tagged(ctx context.Context, name string) (*Dataset, error) {
	tag, err := t.Tag(ctx, name)
	if err != nil {
		return nil, err
	}
	on, err := t.OpenBranch(ctx, tag.BranchName())
	if err != nil {
		return nil, err
	}
	return on.Version(ctx, tag.Version)
}

// CreateTag names a version of a branch ("" is the table itself), or returns
// refs.ErrExists. The version must be there, else it is ErrNoVersion or refs.ErrNoBranch.
func (t *Table) CreateTag(ctx context.Context, name, branch string, version uint64) error {
	if err := refs.CheckTag(name); err != nil {
		return err
	}
	tag, err := t.newTag(ctx, branch, version)
	if err == nil {
		err = t.confirmed()
	}
	if err != nil {
		return err
	}
	err = t.refs().PutTag(ctx, name, tag, objectstore.Condition{IfAbsent: true})
	if errors.Is(err, objectstore.ErrPrecondition) {
		return &refs.NameError{Err: refs.ErrExists, What: "tag", Name: name, URI: t.at.URI}
	}
	return err
}

// UpdateTag makes an existing tag name another version; its metadata stays. It is
// refs.ErrNoTag when there is no such tag, ErrNoVersion or refs.ErrNoBranch when there is no such version.
func (t *Table) UpdateTag(ctx context.Context, name, branch string, version uint64) error {
	to, err := t.newTag(ctx, branch, version)
	if err != nil {
		return err
	}
	for {
		tag, info, err := t.refs().Tag(ctx, name)
		if err != nil {
			return err
		}
		if err := t.confirmed(); err != nil {
			return err
		}
		to.Created, to.Metadata = tag.Created, tag.Metadata
		err = t.refs().PutTag(ctx, name, to, objectstore.Condition{IfMatch: info.ETag})
		if !errors.Is(err, objectstore.ErrPrecondition) {
			return err
		}
		// Somebody else was faster; of two updates either may be the last.
	}
}

// DeleteTag removes a tag, or returns refs.ErrNoTag.
func (t *Table) DeleteTag(ctx context.Context, name string) error {
	for {
		_, info, err := t.refs().Tag(ctx, name)
		if err != nil {
			return err
		}
		err = t.at.Store.Delete(ctx, info.Key, objectstore.Condition{IfMatch: info.ETag})
		if errors.Is(err, objectstore.ErrPrecondition) {
			continue // somebody else updated or deleted it: of two who delete a tag one did
		}
		if errors.Is(err, objectstore.ErrUnknownOutcome) {
			if _, _, now := t.refs().Tag(ctx, name); errors.Is(now, refs.ErrNoTag) {
				return nil
			}
		}
		if err != nil {
			return fmt.Errorf("delete tag %s of %s: %w", name, t.at.URI, err)
		}
		return nil
	}
}

// newTag describes a version that is there.
func (t *Table) newTag(ctx context.Context, branch string, version uint64) (refs.Tag, error) {
	on, err := t.OpenBranch(ctx, branch)
	if err != nil {
		return refs.Tag{}, err
	}
	info, err := on.find(ctx, version)
	if err != nil {
		return refs.Tag{}, err
	}
	now := t.session.now().UTC()
	tag := refs.Tag{Version: version, Created: &now, Updated: &now, ManifestBytes: info.Size, Metadata: map[string]string{}}
	if on != t {
		tag.Branch = &branch
	}
	return tag, nil
}
