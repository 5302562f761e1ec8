package engine

import (
	"errors"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"

	"tiltyard/shared/lance/dataset"
	"tiltyard/shared/lance/schema"
	"tiltyard/shared/protocol"
)

// vectorColumn finds the column to search: the one named, which may be the path of a member
// of structs, else the one called vector, else the only one of vectors, also within structs.
// The field is named as it is to be read.
func vectorColumn(d *dataset.Dataset, name string) (arrow.Field, error) {
	if name != "" {
		field, err := d.Column(name)
		var unknown *dataset.ErrNoColumn
		if errors.As(err, &unknown) {
			return arrow.Field{}, noColumn(unknown)
		}
		return field, err
	}
	if top := d.Schema().Field("vector"); top != nil {
		if vectors, _ := vectorType(top.Arrow().Type); vectors != nil {
			return top.Arrow(), nil
		}
	}
	candidates := vectorPaths(d.Schema().Fields)
	if len(candidates) != 1 {
		return arrow.Field{}, protocol.Errorf(protocol.InvalidInput,
			"vector_column is required: the table has %d columns of vectors and none is called vector", len(candidates))
	}
	return d.Column(candidates[0])
}

// vectorPaths returns the paths of all columns of vectors, and of such members of structs.
func vectorPaths(fields []*schema.Field, around ...string) []string {
	var paths []string
	for _, f := range fields {
		path := slices.Concat(around, []string{f.Name})
		t := f.Arrow().Type
		if vectors, _ := vectorType(t); vectors != nil {
			paths = append(paths, schema.FormatPath(path...))
		} else if t.ID() == arrow.STRUCT {
			paths = append(paths, vectorPaths(f.Children, path...)...)
		}
	}
	return paths
}

// vectorType returns the type of the vectors in a column, or nil when it holds none, and
// whether each row holds a list of them.
func vectorType(t arrow.DataType) (vectors *arrow.FixedSizeListType, lists bool) {
	if list, ok := t.(*arrow.ListType); ok {
		t, lists = list.Elem(), true
	}
	vectors, ok := t.(*arrow.FixedSizeListType)
	if !ok {
		return nil, false
	}
	switch vectors.Elem().ID() {
	case arrow.FLOAT16, arrow.FLOAT32, arrow.FLOAT64, arrow.UINT8:
		return vectors, lists
	}
	return nil, false
}

// vectorIndex returns the index of a column of vectors that covers something, or nil. The
// column is named as in vectorColumn.
func vectorIndex(d *dataset.Dataset, column string) (*dataset.Index, error) {
	indices, err := d.Indices()
	if err != nil {
		return nil, err
	}
	path := column
	if d.Schema().Field(column) != nil {
		path = schema.FormatPath(column)
	}
	for i := range indices {
		x := &indices[i]
		if x.Kind.Metric != "" && len(x.Columns) > 0 && x.Columns[0] == path && x.Indexed > 0 {
			return x, nil
		}
	}
	return nil, nil
}
