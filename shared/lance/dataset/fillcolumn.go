package dataset

import (
	"context"

	"github.com/apache/arrow-go/v18/arrow"
	"golang.org/x/sync/errgroup"

	"tiltyard/shared/lance/dataset/fragment"
	"tiltyard/shared/lance/dataset/stage"
	"tiltyard/shared/lance/operation"
	"tiltyard/shared/lance/pb"
)

// ColumnValues are new values of columns.
type ColumnValues struct {
	Columns []string
	// Read are the columns, as in ScanOptions, that Values looks at.
	Read []string
	// Values returns the columns for the rows of a batch, in their types, and in how many rows they
	// may differ from what they were. It is called with the rows of a fragment in their order, each
	// once.
	Values func(context.Context, arrow.RecordBatch) (values []arrow.Array, changed int64, err error)
}

// StageColumns writes a file with new values of columns for one fragment, and returns how many rows
// they change. If they change none there is no file, and the replacement is nil. Replacements of several
// fragments are committed together, as a pb.DataReplacement.
func (d *Dataset) StageColumns(ctx context.Context, f *fragment.Fragment, v ColumnValues) (*pb.FileReplacement, int64, error) {
	if err := operation.CheckWritable(d.Manifest()); err != nil {
		return nil, 0, err
	}
	columns, err := d.Schema().Project(v.Columns)
	if err != nil {
		return nil, 0, err
	}
	p, err := d.Project(v.Read)
	if err != nil {
		return nil, 0, err
	}
	changed := int64(0)
	file, err := d.openColumns(ctx, f, columns, p, func(batch arrow.RecordBatch) ([]arrow.Array, error) {
		values, n, err := v.Values(ctx, batch)
		changed += n
		return values, err
	})
	if err != nil {
		return nil, 0, err
	}
	if changed == 0 {
		file.Abort()
		return nil, 0, nil
	}
	puts := new(errgroup.Group)
	made, err := file.Close(ctx, puts)
	if err != nil {
		return nil, 0, stage.CauseOf(puts, err)
	}
	return &pb.FileReplacement{FragmentID: f.Meta.ID, NewFile: made}, changed, puts.Wait()
}
