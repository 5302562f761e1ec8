package prefilter

import (
	"tiltyard/shared/index"
	"tiltyard/shared/index/kinds"
	"tiltyard/shared/lance/dataset"
	"tiltyard/shared/lance/dataset/snapshot"
	"tiltyard/shared/lance/schema"
	"tiltyard/shared/sql/pruning"
)

// answerOf returns how native Lance uses an index for a probe of its column. The index may be nil.
func answerOf(x *snapshot.Index, p pruning.Probe) pruning.Answer {
	if x == nil {
		return pruning.Open
	}
	return filters(x).Answers(p)
}

// isUsed reports whether filters use an index.
func isUsed(x *snapshot.Index) bool {
	f := filters(x)
	return f != nil && (f.Usable == nil || f.Usable(x.Kind.Details))
}

// filters returns the functions by which filters use an index, or nil if they cannot.
func filters(x *snapshot.Index) *index.Filters {
	if kind := kinds.Of(x.Kind.Of); kind != nil {
		return kind.Filters
	}
	return nil
}

// scalarIndices returns the indices that filters can use and that cover rows, by column. If a
// column has several, it returns the oldest, as native Lance does.
func scalarIndices(d *dataset.Dataset) (map[string]*snapshot.Index, error) {
	return snapshot.Once(d.Snapshot, scalarIndicesKey{}, func() (map[string]*snapshot.Index, error) { return readScalarIndices(d) })
}

type scalarIndicesKey struct{}

func readScalarIndices(d *dataset.Dataset) (map[string]*snapshot.Index, error) {
	all, err := d.Indices()
	if err != nil {
		return nil, err
	}
	byColumn := map[string]*snapshot.Index{}
	for i := range all {
		x := &all[i]
		if len(x.Columns) != 1 || x.Indexed == 0 || !isUsed(x) {
			continue
		}
		if path, err := schema.ParsePath(x.Columns[0]); err != nil || len(path) > 1 && !filters(x).Members {
			continue
		}
		if other := byColumn[x.Columns[0]]; other == nil || x.Created.Before(other.Created) {
			byColumn[x.Columns[0]] = x
		}
	}
	return byColumn, nil
}
