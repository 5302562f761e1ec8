package engine

import (
	"errors"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"

	"tiltyard/shared/lance/dataset"
	"tiltyard/shared/lance/schema"
	"tiltyard/shared/protocol"
)

// vectorColumn finds the column to search for vectors of so many dimensions: the one named,
// which may be the path of a member of structs. Without a name it is the one called vector,
// or the only one of vectors, also within structs, and of several those with the dimensions
// come first. The field is named as it is to be read.
func vectorColumn(d *dataset.Dataset, name string, dimensions int) (arrow.Field, error) {
	if name != "" {
		field, err := d.Column(name)
		var unknown *dataset.ErrNoColumn
		if errors.As(err, &unknown) {
			return arrow.Field{}, noColumn(unknown)
		}
		return field, err
	}
	all, fitting := vectorPaths(d.Schema().Fields, dimensions)
	candidates := all
	if len(fitting) > 0 {
		candidates = fitting
	}
	switch {
	case slices.Contains(candidates, "vector"):
		return d.Column("vector")
	case len(candidates) == 1:
		return d.Column(candidates[0])
	}
	return arrow.Field{}, protocol.Errorf(protocol.InvalidInput,
		"vector_column is required: the table has %d columns of vectors, %d of them with %d dimensions, and none of these is called vector",
		len(all), len(fitting), dimensions)
}

// vectorPaths returns the paths of all columns of vectors, and of such members of structs,
// and which of them are of so many dimensions.
func vectorPaths(fields []*schema.Field, dimensions int, around ...string) (all, fitting []string) {
	for _, f := range fields {
		path := slices.Concat(around, []string{f.Name})
		t := f.Arrow().Type
		if vectors, _ := vectorType(t); vectors != nil {
			all = append(all, schema.FormatPath(path...))
			if int(vectors.Len()) == dimensions {
				fitting = append(fitting, schema.FormatPath(path...))
			}
		} else if t.ID() == arrow.STRUCT {
			inner, innerFitting := vectorPaths(f.Children, dimensions, path...)
			all, fitting = append(all, inner...), append(fitting, innerFitting...)
		}
	}
	return all, fitting
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
