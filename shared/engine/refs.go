package engine

import (
	"context"
	"errors"
	"fmt"

	"tiltyard/shared/lance/dataset/refs"
	"tiltyard/shared/protocol"
)

// Tag returns the target of a tag.
func (t *Table) Tag(ctx context.Context, name string) (refs.Tag, error) {
	tag, err := t.data.Tag(ctx, name)
	return tag, t.tagError(name, err)
}

// Tags lists tags in the order of their names: at most limit of them (0 or less: all) after the
// given name ("": from the first). next is the name to continue after, "" at the end.
func (t *Table) Tags(ctx context.Context, after string, limit int) (tags map[string]refs.Tag, next string, err error) {
	tags, next, err = t.data.Tags(ctx, after, limit)
	return tags, next, t.translate(err)
}

// TagNames lists the names of tags as Tags does. Its only storage request is a LIST.
func (t *Table) TagNames(ctx context.Context, after string, limit int) (names []string, next string, err error) {
	names, next, err = t.data.TagNames(ctx, after, limit)
	return names, next, t.translate(err)
}

// CreateTag makes a tag for a version of a branch; branch "" is the table itself.
func (t *Table) CreateTag(ctx context.Context, name, branch string, version uint64) error {
	return t.tagError(name, t.data.CreateTag(ctx, name, branch, version))
}

// UpdateTag moves a tag to another version.
func (t *Table) UpdateTag(ctx context.Context, name, branch string, version uint64) error {
	return t.tagError(name, t.data.UpdateTag(ctx, name, branch, version))
}

// DeleteTag removes a tag.
func (t *Table) DeleteTag(ctx context.Context, name string) error {
	return t.tagError(name, t.data.DeleteTag(ctx, name))
}

// tagError turns errors about tags into protocol errors.
func (t *Table) tagError(name string, err error) error {
	switch {
	case errors.Is(err, refs.ErrNoTag):
		return &protocol.Error{Code: protocol.TableTagNotFound, Message: fmt.Sprintf("table %s has no tag %q", t.name, name), Err: err}
	case errors.Is(err, refs.ErrExists):
		return &protocol.Error{Code: protocol.TableTagAlreadyExists, Message: fmt.Sprintf("table %s already has a tag %q", t.name, name), Err: err}
	}
	return t.translate(err)
}
