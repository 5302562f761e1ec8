package engine

import (
	"context"
	"errors"

	"tiltyard/shared/engine/computed"
	"tiltyard/shared/lance/dataset"
	"tiltyard/shared/lance/dataset/multipart"
	"tiltyard/shared/lance/dataset/part"
	"tiltyard/shared/protocol"
)

// WritePart writes rows to the files of a part, for [Table.CommitParts]. They are appended or, if
// overwrite is true, replace all rows and columns of the table.
func (t *Table) WritePart(ctx context.Context, rows dataset.Rows, overwrite bool) (*part.Part, error) {
	if overwrite {
		if err := checkColumns(rows); err != nil {
			return nil, err
		}
		if err := computed.CheckUndeclared(rows.Schema); err != nil {
			return nil, err
		}
	}
	rows.Check = notComputed(rows.Schema)
	made, err := multipart.Write(ctx, t.data, rows, overwrite)
	return made, t.Translate(err)
}

// CommitParts commits the parts of an upload in one version, once per id. since is a version before
// all commits with that id. Parts with differing schemas are a TableSchemaValidationError.
func (t *Table) CommitParts(ctx context.Context, id string, since uint64, parts []*part.Part) (Written, error) {
	made, err := multipart.Commit(ctx, t.data, id, parts, since)
	if errors.Is(err, multipart.ErrUnlikeParts) {
		return Written{}, &protocol.Error{Code: protocol.TableSchemaValidationError, Message: err.Error(), Err: err}
	}
	return written(made), t.Translate(err)
}
