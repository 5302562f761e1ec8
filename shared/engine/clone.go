package engine

import (
	"context"

	"tiltyard/shared/lance/dataset"
	"tiltyard/shared/lance/dataset/clone"
)

// CloneTo makes a table whose first version has the content of a version of this one; a nil number
// means the newest. There must be no table at the location of the clone. A shallow clone refers to
// the files of this table, so they must be kept; a deep one copies them.
func (t *Table) CloneTo(ctx context.Context, to *Table, number *int64, deep bool) (Written, error) {
	var source *dataset.Dataset
	var err error
	if number == nil {
		source, err = t.data.Latest(ctx)
	} else {
		source, err = t.data.Version(ctx, uint64(*number))
	}
	if err != nil {
		return Written{}, t.Translate(err)
	}
	var made *dataset.Dataset
	if deep {
		made, err = clone.Deep(ctx, source, to.data)
	} else {
		made, err = clone.Shallow(ctx, source, to.data, "")
	}
	if err != nil {
		return Written{}, t.Translate(err)
	}
	return Made(made), nil
}
