package build

import (
	"github.com/apache/arrow-go/v18/arrow"

	"tiltyard/shared/index/ivf"
	"tiltyard/shared/lance/dataset"
	"tiltyard/shared/lance/dataset/snapshot"
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
	v := vectors{source{dataset: d, column: n.Column, stores: snapshot.RowID, kind: column.Type, watch: n.Watch}, recipe}
	return plan{version: recipe.Version(), details: recipe.Details(), write: v.write, parts: v}, nil
}
