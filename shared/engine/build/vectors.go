package build

import (
	"context"

	"github.com/apache/arrow-go/v18/arrow"

	"tiltyard/shared/index"
	"tiltyard/shared/index/ivf"
	"tiltyard/shared/lance/dataset"
	"tiltyard/shared/protocol"
)

// isVector reports whether a column can have an index of vectors.
func isVector(column arrow.Field) bool { return ivf.Fits(column.Type) }

// planVectors prepares the build of an index of vectors. Parameters that do not fit the column or each
// other are InvalidInput.
func planVectors(d *dataset.Dataset, n Index, column arrow.Field) (plan, error) {
	recipe, err := n.Vectors.Complete(column.Type)
	if err != nil {
		return plan{}, protocol.Errorf(protocol.InvalidInput, "column %q: %w", n.Column, err)
	}
	return plan{
		version: recipe.Version(), details: recipe.Details(),
		write: func(ctx context.Context, out index.Output) error {
			return ivf.Build(ctx, recipe, column.Type, d.IndexSource(n.Column, dataset.RowID), out)
		},
	}, nil
}
