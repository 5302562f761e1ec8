package query

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"tiltyard/shared/engine/apierror"
	"tiltyard/shared/lance/dataset"
	"tiltyard/shared/lance/dataset/snapshot"
	"tiltyard/shared/lance/schema"
	"tiltyard/shared/protocol"
)

// vectorColumn finds the column to search for vectors with the given number of dimensions. name may
// be the path of a member of structs. If it is empty, the column is "vector", or else the only
// column of vectors, including members of structs; if there are several, the only one with these
// dimensions. The returned field has the name under which the column is read.
func vectorColumn(d *dataset.Dataset, name string, dimensions int) (arrow.Field, error) {
	if name != "" {
		field, err := d.Column(name)
		var unknown *snapshot.ErrNoColumn
		if errors.As(err, &unknown) {
			return arrow.Field{}, apierror.NoColumn(unknown)
		}
		return field, err
	}
	all, fitting := vectorPaths(d.Schema().Fields, dimensions)
	name, err := onlyVectors(all, fitting, dimensions)
	if err != nil {
		return arrow.Field{}, err
	}
	return d.Column(name)
}

// onlyVectors returns the column to search if a request names none. fitting are the columns in all
// with the given dimensions.
func onlyVectors(all, fitting []string, dimensions int) (string, error) {
	candidates := all
	if len(fitting) > 0 {
		candidates = fitting
	}
	switch {
	case slices.Contains(candidates, "vector"):
		return "vector", nil
	case len(candidates) == 1:
		return candidates[0], nil
	}
	if len(all) == 0 {
		return "", protocol.Errorf(protocol.InvalidInput, "the table has no column of vectors, which are fixed-size lists of numbers")
	}
	return "", protocol.Errorf(protocol.InvalidInput,
		"vector_column is required: the table has %d columns of vectors, %d of them with %d dimensions, and none of them is called vector; choose one of %s",
		len(all), len(fitting), dimensions, listed(candidates))
}

// listed joins column names for a message, up to 20.
func listed(columns []string) string {
	const most = 20
	if more := len(columns) - most; more > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(columns[:most], ", "), more)
	}
	return strings.Join(columns, ", ")
}

// vectorPaths returns the paths of all vector columns, including members of structs. fitting are
// those with the given dimensions.
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

// vectorType returns the type of the vectors in a column, or nil if it has none. lists means that
// each row has a list of vectors.
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

// vectorIndex returns the index that native Lance uses for a vector column: the first one in the
// manifest, unless it covers no rows. Otherwise it returns nil. column is named as in vectorColumn.
func vectorIndex(d *dataset.Dataset, column string) (*snapshot.Index, error) {
	indices, err := d.Indices()
	if err != nil {
		return nil, err
	}
	path := column
	if d.Schema().Field(column) != nil {
		path = schema.FormatPath(column)
	}
	var first *snapshot.Index
	for i := range indices {
		x := &indices[i]
		if x.Kind.Metric != "" && len(x.Columns) > 0 && x.Columns[0] == path && (first == nil || x.Position < first.Position) {
			first = x
		}
	}
	if first != nil && first.Indexed == 0 {
		return nil, nil
	}
	return first, nil
}
