package refs

import (
	"context"
	"errors"
	"time"

	"tiltyard/shared/storage/objectstore"
)

// A Tag names a version of a table or branch. Cleanups keep tagged versions.
type Tag struct {
	Branch        *string           `json:"branch"` // nil: the main table
	Version       uint64            `json:"version"`
	Created       *time.Time        `json:"createdAt,omitempty"` // nil if an older writer made the tag
	Updated       *time.Time        `json:"updatedAt,omitempty"`
	ManifestBytes int64             `json:"manifestSize"`
	Metadata      map[string]string `json:"metadata"`
}

// BranchName returns the branch of the version, "" for the main table.
func (t Tag) BranchName() string {
	if t.Branch == nil {
		return ""
	}
	return *t.Branch
}

// Tag returns the record of a tag and its object, or ErrNoTag.
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

// Tags returns at most limit tags (0 or less: all) after a name ("": from the first), in key order.
// next is the name to continue after, "" at the end.
func (p Place) Tags(ctx context.Context, after string, limit int) (tags map[string]Tag, next string, err error) {
	return listRefs(ctx, p, tagsDir, after, limit, p.Tag)
}

// TagNames lists tags like Tags, without reading their records.
func (p Place) TagNames(ctx context.Context, after string, limit int) (names []string, next string, err error) {
	listed, next, err := listNames(ctx, p, tagsDir, after, limit)
	for _, one := range listed {
		if CheckTag(one.name) == nil {
			names = append(names, one.name)
		}
	}
	return names, next, err
}

// PutTag writes the record of a tag.
func (p Place) PutTag(ctx context.Context, name string, tag Tag, cond objectstore.Condition) error {
	return p.writeRef(ctx, refKey(tagsDir, name), tag, cond)
}
