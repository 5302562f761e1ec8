package refs

import (
	"context"
	"errors"
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

// Tag returns what a tag names, and its object, or ErrNoTag.
func (p Place) Tag(ctx context.Context, name string) (tag Tag, info objectstore.Info, err error) {
	if err := CheckTag(name); err != nil {
		return Tag{}, info, err
	}
	info, err = p.readRef(ctx, refKey(tagsDir, name), &tag)
	if errors.Is(err, ErrNoTag) {
		err = &NameError{Err: ErrNoTag, What: "tag", Name: name, URI: p.URI}
	}
	return tag, info, err
}

// Tags returns the tags whose names come after one ("" for all) in the order of their objects, at most
// limit of them (0 or less: all), and the name to go on after, "" at the end.
func (p Place) Tags(ctx context.Context, after string, limit int) (tags map[string]Tag, next string, err error) {
	return listRefs(ctx, p, tagsDir, after, limit, p.Tag)
}

// TagNames returns the names of tags as Tags does, without reading what they name.
func (p Place) TagNames(ctx context.Context, after string, limit int) (names []string, next string, err error) {
	listed, next, err := listNames(ctx, p, tagsDir, after, limit)
	for _, one := range listed {
		if CheckTag(one.name) == nil {
			names = append(names, one.name)
		}
	}
	return names, next, err
}

// PutTag writes the object of a tag.
func (p Place) PutTag(ctx context.Context, name string, tag Tag, cond objectstore.Condition) error {
	return p.writeRef(ctx, refKey(tagsDir, name), tag, cond)
}
