package engine

import (
	"context"

	"tiltyard/shared/lance/dataset"
	"tiltyard/shared/lance/dataset/clone"
)

// CloneTo makes a table that begins as a version of this one, the newest when number is nil. There
// must be no table at the location of the clone. The clone refers to the files of this table, which
// must stay, unless it is deep: then it has copies of them.
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
