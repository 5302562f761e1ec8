package prefilter

import (
	"context"

	"github.com/apache/arrow-go/v18/arrow"

	"tiltyard/shared/index"
	"tiltyard/shared/lance/dataset"
	"tiltyard/shared/lance/dataset/snapshot"
	"tiltyard/shared/lance/schema"
	"tiltyard/shared/process/memory"
	"tiltyard/shared/sql/pruning"
)

const (
	// maxValues bounds the number of values in one question.
	maxValues = 1 << 14
	// valueBytes is the approximate memory of a value in a question, without its own bytes.
	valueBytes = 1 << 10
	// havingBytes multiplies the minimum size of the column compared to a filter. The found rows are in
	// many places and must be read as well, so an index pays later.
	havingBytes = 16
)

// Having finds the rows of a version with one of some values in a column, by the index on the
// column. It returns nil if a scan of all rows is cheaper, if the index is unreadable, or if no
// index finds exact values. values contains no nulls.
func Having(ctx context.Context, d *dataset.Dataset, column string, values arrow.Array, policy Policy) (*snapshot.Candidates, error) {
	n, x, t, err := indexOfValues(d, column, policy)
	if x == nil || err != nil || values.Len() > maxValues || !arrow.TypeEqual(t, values.DataType()) {
		return nil, err
	}
	order, err := index.OrderOf(t)
	if err != nil {
		return nil, nil //nolint:nilnil // the index is of another kind
	}
	held, ok := memory.Try(ctx, valueBytes*int64(values.Len())+2*int64(values.Data().SizeInBytes()))
	if !ok {
		return nil, nil //nolint:nilnil // the scan holds less
	}
	defer held.Release()
	f, err := n.search(ctx, x, t, index.Equal(values, order))
	switch {
	case IsUnusable(err):
		policy.warn(ctx, []string{x.Name}, err)
		return nil, nil //nolint:nilnil // the scan reads all rows
	case f == nil || err != nil:
		return nil, err
	}
	return &snapshot.Candidates{Covers: f.covers, All: f.all, Rows: f.rows}, nil
}

// findsValues reports whether an index finds rows by their exact values.
func findsValues(f *index.Filters) bool {
	return !f.Coarse && f.Answers(pruning.Probe{Test: pruning.Equal}) == pruning.Answers
}

// indexOfValues returns the index on a large column, and the type of the column. It returns nil if
// there is no index or equal values may differ in their bits, as floats do.
func indexOfValues(d *dataset.Dataset, column string, policy Policy) (*Narrowing, *snapshot.Index, arrow.DataType, error) {
	indices, err := scalarIndices(d)
	if err != nil {
		return nil, nil, nil, err
	}
	x := indices[schema.FormatPath(column)]
	if x == nil || !findsValues(filters(x)) {
		return nil, nil, nil, nil
	}
	if bytes, err := d.ScanBytes(x.Columns); err != nil || bytes < havingBytes*policy.Bytes {
		return nil, nil, nil, err
	}
	field, err := d.Column(x.Columns[0])
	if err != nil || arrow.IsFloating(field.Type.ID()) {
		return nil, nil, nil, err
	}
	return &Narrowing{policy: policy, dataset: d}, x, field.Type, nil
}
