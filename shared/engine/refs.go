package engine

import (
	"context"
	"errors"
	"fmt"

	"tiltyard/shared/lance/dataset"
	"tiltyard/shared/protocol"
)

// Tag tells what a tag names.
func (t *Table) Tag(ctx context.Context, name string) (dataset.Tag, error) {
	tag, err := t.data.Tag(ctx, name)
	return tag, t.tagError(name, err)
}

// Tags lists tags in the order of their names, after one ("": from the first), at most
// limit of them (0 or less: all), and tells the name to go on after, "" at the end.
func (t *Table) Tags(ctx context.Context, after string, limit int) (tags map[string]dataset.Tag, next string, err error) {
	tags, next, err = t.data.Tags(ctx, after, limit)
	return tags, next, t.translate(err)
}

// CreateTag names a version of a branch; branch "" is the table itself.
func (t *Table) CreateTag(ctx context.Context, name, branch string, version uint64) error {
	return t.tagError(name, t.data.CreateTag(ctx, name, branch, version))
}

// UpdateTag lets a tag name another version.
func (t *Table) UpdateTag(ctx context.Context, name, branch string, version uint64) error {
	return t.tagError(name, t.data.UpdateTag(ctx, name, branch, version))
}

// DeleteTag removes a tag.
func (t *Table) DeleteTag(ctx context.Context, name string) error {
	return t.tagError(name, t.data.DeleteTag(ctx, name))
}

// tagError gives errors about tags their name in the protocol.
func (t *Table) tagError(name string, err error) error {
	switch {
	case errors.Is(err, dataset.ErrNoRef):
		return &protocol.Error{Code: protocol.TableTagNotFound, Message: fmt.Sprintf("table %s has no tag %q", t.name, name), Err: err}
	case errors.Is(err, dataset.ErrRefExists):
		return &protocol.Error{Code: protocol.TableTagAlreadyExists, Message: fmt.Sprintf("table %s has a tag %q already", t.name, name), Err: err}
	}
	return t.translate(err)
}
