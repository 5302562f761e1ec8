package dataset

import (
	"context"
	"errors"
	"fmt"
	"time"

	"tiltyard/shared/objectstore"
)

// A Tag is a name for a version of a table or of one of its branches. Versions that are
// tagged outlive cleanups.
type Tag struct {
	Branch        *string           `json:"branch"` // nil is the table itself
	Version       uint64            `json:"version"`
	Created       *time.Time        `json:"createdAt,omitempty"` // nil in tags of older writers
	Updated       *time.Time        `json:"updatedAt,omitempty"`
	ManifestBytes int64             `json:"manifestSize"`
	Metadata      map[string]string `json:"metadata"`
}

// BranchName returns the branch that the version is of, "" for the table itself.
func (t Tag) BranchName() string {
	if t.Branch == nil {
		return ""
	}
	return *t.Branch
}

// Tag returns what a tag names, or ErrNoRef.
func (t *Table) Tag(ctx context.Context, name string) (Tag, error) {
	tag, _, err := t.tag(ctx, name)
	return tag, err
}

func (t *Table) tag(ctx context.Context, name string) (tag Tag, info objectstore.Info, err error) {
	if err := CheckTag(name); err != nil {
		return Tag{}, info, err
	}
	info, err = t.readRef(ctx, refKey(tagsDir, name), &tag)
	return tag, info, err
}

// Tags returns the tags whose names come after one ("" for all) in the order of their
// objects, at most limit of them (0 or less: all), and the name to go on after, "" at the end.
func (t *Table) Tags(ctx context.Context, after string, limit int) (tags map[string]Tag, next string, err error) {
	return listRefs(ctx, t, tagsDir, after, limit, t.tag)
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
// ErrRefExists. The version must be there, else it is ErrNoVersion or ErrNoBranch.
func (t *Table) CreateTag(ctx context.Context, name, branch string, version uint64) error {
	if err := CheckTag(name); err != nil {
		return err
	}
	tag, err := t.newTag(ctx, branch, version)
	if err != nil {
		return err
	}
	err = t.writeRef(ctx, refKey(tagsDir, name), tag, objectstore.Condition{IfAbsent: true})
	if errors.Is(err, objectstore.ErrPrecondition) {
		return fmt.Errorf("%w: tag %s of %s", ErrRefExists, name, t.at.URI)
	}
	return err
}

// UpdateTag makes an existing tag name another version; its metadata stays. It is
// ErrNoRef when there is no such tag, ErrNoVersion or ErrNoBranch when there is no such version.
func (t *Table) UpdateTag(ctx context.Context, name, branch string, version uint64) error {
	to, err := t.newTag(ctx, branch, version)
	if err != nil {
		return err
	}
	for {
		tag, info, err := t.tag(ctx, name)
		if err != nil {
			return err
		}
		to.Created, to.Metadata = tag.Created, tag.Metadata
		err = t.writeRef(ctx, refKey(tagsDir, name), to, objectstore.Condition{IfMatch: info.ETag})
		if !errors.Is(err, objectstore.ErrPrecondition) {
			return err
		}
		// Somebody else was faster; of two updates either may be the last.
	}
}

// DeleteTag removes a tag, or returns ErrNoRef.
func (t *Table) DeleteTag(ctx context.Context, name string) error {
	for {
		_, info, err := t.tag(ctx, name)
		if err != nil {
			return err
		}
		err = t.at.Store.Delete(ctx, info.Key, objectstore.Condition{IfMatch: info.ETag})
		if errors.Is(err, objectstore.ErrPrecondition) {
			continue // somebody else updated or deleted it: of two who delete a tag one did
		}
		if errors.Is(err, objectstore.ErrUnknownOutcome) {
			if _, _, now := t.tag(ctx, name); errors.Is(now, ErrNoRef) {
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
func (t *Table) newTag(ctx context.Context, branch string, version uint64) (Tag, error) {
	on, err := t.OpenBranch(ctx, branch)
	if err != nil {
		return Tag{}, err
	}
	info, err := on.find(ctx, version)
	if err != nil {
		return Tag{}, err
	}
	now := t.session.now().UTC()
	tag := Tag{Version: version, Created: &now, Updated: &now, ManifestBytes: info.Size, Metadata: map[string]string{}}
	if on != t {
		tag.Branch = &branch
	}
	return tag, nil
}
